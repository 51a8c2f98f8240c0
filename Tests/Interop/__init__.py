# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd and a phone or device on Bumble's GATT server, over UNIX SOCK_SEQPACKET sockets, one PDU a packet."""

MODULES = """
    cases_setup cases_attributes cases_publishing cases_malformed cases_database cases_control
    cases_process cases_stuck cases_gatt cases_gatt_answers cases_hooks
    cases_examples cases_screen cases_virtual_phone cases_forward
""".split()
