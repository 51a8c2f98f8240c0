# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd-mqtt between a daemon and brokers: a real mosquitto, and a scripted one for what a real one rarely does."""
