# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd-mqtt between a daemon and brokers: a real mosquitto, and a scripted one for what a real one rarely does."""

MODULES = """
    cases_state cases_requests cases_outage cases_limits cases_security cases_metrics cases_home cases_other
    cases_fleet cases_names cases_hostile
""".split()
