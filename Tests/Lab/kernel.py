# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel of the guest can't do."""

from __future__ import annotations

import os
import re


def cannot_pair_anew() -> bool:
    """Whether it has the bug “pairing again” (docs/kernel.md), by the day on which Debian built it: the stable
    kernels got the fix in December 2025."""
    built = re.search(r"\((\d{4}-\d\d)-\d\d\)", os.uname().version)
    return built is not None and built[1] < "2025-12"
