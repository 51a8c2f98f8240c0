# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd and a phone or device on Bumble's GATT server, over UNIX SOCK_SEQPACKET sockets, one PDU a packet."""
