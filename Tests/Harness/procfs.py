# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc says about processes."""

import os
from pathlib import Path


def status(pid: int) -> dict[str, int]:
    """The numbers in /proc/PID/status by name: `Threads`, `VmRSS` and `VmHWM` in KiB, and others."""
    lines = (line.partition(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    words = {name: value.split() for name, _, value in lines}
    return {name: int(value[0]) for name, value in words.items() if value and value[0].isdigit()}


def privileges(pid: int) -> dict[str, int]:
    """Its capabilities and the signals that it catches, as bits by the names in /proc/PID/status, whether it may gain
    others (`NoNewPrivs`), the largest core dump in bytes (`core`), and the owner of its memory (`owner`): root, if it
    can't be dumped."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    found = {words[0][:-1]: int(words[1], 16) for words in lines if words and words[0].startswith(("Cap", "NoNew", "SigCgt"))}
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    core = next(line.split() for line in limits if line.startswith("Max core file size"))
    owner = Path(f"/proc/{pid}/environ").stat().st_uid
    return found | {"core": -1 if "unlimited" in core[4:6] else int(core[5]), "owner": owner}


def wake_ups(pid: int) -> int:
    """How often the process's threads have slept and woken up so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(status(int(task.name))["voluntary_ctxt_switches"] for task in tasks)


def cpu_seconds(pid: int) -> float:
    """User and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that its first thread has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid: int) -> bool:
    """Whether it runs: one that has ended and whose status nobody has asked for has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False
