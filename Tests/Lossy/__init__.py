# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd on a real kernel, in an air that loses: two processes of RootCanal with a proxy between them, whose weather a seed
decides. Each seed is a case.
"""
