# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd on a real kernel, and a phone on Bumble's host stack behind a virtual controller."""
