#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the functions that ancsd takes, by their symbols: those of a start, then those of a session besides.
scripts/order says what for. The arguments are a program with its symbols and the file to write."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench import runs  # noqa: E402
from Bench.runs import INSTRUCTIONS  # noqa: E402

#: Notifications of the session.
COUNT = 50


def functions(profile: Path) -> set[str]:
    """The functions in a profile; one that has called itself is there several times, with a number."""
    names = re.findall(r"^c?fn=\(\d+\) (\S+)$", profile.read_text(errors="replace"), re.MULTILINE)
    return {re.sub(r"'\d+$", "", name) for name in names} - {"(below"}


def main() -> None:
    binary, order = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ancsd = runs.ancsd(Path(binary), work)
        with runs.ready(ancsd, work, INSTRUCTIONS):
            pass
        start = functions(work / "tool")
        runs.run(ancsd, work, COUNT, tool=INSTRUCTIONS, clients=1)
        session = functions(work / "tool")
    names = sorted(start) + sorted(session - start)
    Path(order).write_text("".join(f"{name}\n" for name in names))
    print(f"{len(start)} functions of a start, {len(names) - len(start)} more of a session")


if __name__ == "__main__":
    main()
