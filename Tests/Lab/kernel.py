# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of the guest: its log, and what it can't do."""

import os
import re
from pathlib import Path

from Harness.case import check


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


def reports_lost_commands() -> bool:
    """Whether a request of mgmt fails if the controller does not answer (docs/kernel.md, on 5.10)."""
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return release is not None and (int(release[1]), int(release[2])) >= (5, 17)


class KernelLog:
    """Watches the kernel's log for what must never be there."""

    TROUBLE = re.compile(r"kernel BUG|BUG:|Oops|general protection|Call Trace|WARNING:|blocked for more")

    def __init__(self, path: str = "/dev/kmsg") -> None:
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.fd = -1  # not root, or no such device: the script that runs the lab looks too

    def lines(self) -> list[str]:
        """What the kernel has logged since the last call, each line with its time since boot."""
        found = []
        while self.fd >= 0:
            try:
                line = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                break
            except OSError:
                continue  # lines were lost; the rest still counts
            prefix, _, text = line.partition(";")
            found.append(f"{int(prefix.split(',')[2]) / 1e6:.3f} {text.splitlines()[0]}")
        return found

    def check(self, copy: Path) -> None:
        """Fails for trouble since the last call; `copy` gets the lines, which the runner shows of a case
        that failed."""
        lines = self.lines()
        copy.write_text("".join(f"{line}\n" for line in lines))
        trouble = next(filter(self.TROUBLE.search, lines), None)
        check(trouble is None, f"the kernel reports: {trouble}")
