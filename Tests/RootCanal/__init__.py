# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd on a real kernel, with RootCanal for a radio: Google's controller emulator, which keeps to the link
layer where Bumble's simple controller does not, and whose commands fail when a case says so.

The phone is that of Tests/Lab, and so are the ordinary cases, which are played for each preset.
"""
