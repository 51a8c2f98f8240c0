# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel of the guest can't do."""

from __future__ import annotations

import os
import re


def is_older_than(month: str) -> bool:
    """Whether Debian built it before this month, in which the stable kernels got a fix."""
    built = re.search(r"\((\d{4}-\d\d)-\d\d\)", os.uname().version)
    return built is not None and built[1] < month


def cannot_pair_anew() -> bool:
    """Whether it has the bug “pairing again” (docs/kernel.md)."""
    return is_older_than("2025-12")


def survives_packets_of_others() -> bool:
    """Whether it survives packets that others send over its links (docs/kernel.md, “Connection parameters”)."""
    return not is_older_than("2025-09")
