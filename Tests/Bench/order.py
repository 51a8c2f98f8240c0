#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the symbols of the functions that ancsd calls: those of a start, then those of a session. scripts/order says what
for. The arguments are ancsd with its symbols, and the file to write."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench import runs  # noqa: E402
from Bench.runs import INSTRUCTIONS  # noqa: E402

#: Notifications in the session.
COUNT = 50


def functions(profile: Path) -> set[str]:
    """The functions in a profile. A recursive one occurs several times, with a number; one without a name has its address."""
    names = re.findall(r"^c?fn=\(\d+\) (?!0x|\(below)(\S+)$", profile.read_text(errors="replace"), re.MULTILINE)
    return {re.sub(r"'\d+$", "", name) for name in names}


def of_daemon(binary: Path, work: Path) -> tuple[set[str], set[str]]:
    """The functions that it takes to be ready, and those of a session."""
    ancsd = runs.ancsd(binary, work)
    with runs.ready(ancsd, work, INSTRUCTIONS):
        pass
    start = functions(work / "tool")
    runs.run(ancsd, work, COUNT, tool=INSTRUCTIONS, clients=1)
    return start, functions(work / "tool")


def main() -> None:
    binary, order = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        start, session = of_daemon(binary, Path(folder))
    names = [*sorted(start), *sorted(session - start)]
    order.write_text("".join(f"{name}\n" for name in names))
    print(f"{order.name}: {len(start)} functions of a start, {len(names) - len(start)} more")


if __name__ == "__main__":
    main()
