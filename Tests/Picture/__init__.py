# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of `decode --html` in a real browser, which is asked what it shows."""
