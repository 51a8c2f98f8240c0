# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian package in a clean Debian with systemd, in QEMU, with a phone on Bumble's host stack."""
