#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completes command lines with the completions in a folder: python3 Tests/Installed/completions.py FOLDER"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

#: What is typed, and what must be among the offers; `!` in front: what must not.
EXPECTED = [
    ("ancsd ", ["run", "watch", "act", "gatt", "!--hci0"]),
    ("ancsd wa", ["watch"]),
    ("ancsd watch --f", ["--format", "--flag", "!--fetch"]),
    ("ancsd watch --format ", ["text", "json"]),
    ("ancsd list --category inc", ["incoming-call"]),
    ("ancsd watch --event batt", ["battery"]),
    ("ancsd media pl", ["play"]),
    ("ancsd act 7 neg", ["negative"]),
    ("ancsd config ch", ["check"]),
    ("ancsd gatt wri", ["write", "write-command"]),
    ("ancsd --adv", ["--advertise"]),
    ("ancsd run --advertise sol", ["solicit", "solicit+data"]),
]

BASH = """
. "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 != *" " ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _ancsd; printf '%s\\n' "${COMPREPLY[@]}"
"""


def offers(shell: str, folder: Path, line: str) -> list[str]:
    """What a shell offers for a line."""
    if shell == "bash":
        command = ["bash", "-c", BASH, "bash", folder / "bash/ancsd", line]
    else:
        command = ["fish", "--no-config", "-c", f"source {folder}/fish/ancsd.fish; complete -C '{line}'"]
    found = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if found.stderr:
        sys.exit(f"{shell}, {line!r}: {found.stderr}")
    return [offer.split("\t")[0].rstrip("=") for offer in found.stdout.splitlines()]


def main(folder: Path) -> None:
    for shell in filter(shutil.which, ("bash", "fish")):
        for line, wanted in EXPECTED:
            found = offers(shell, folder, line)
            for word in wanted:
                if (word.lstrip("!") in found) == word.startswith("!"):
                    sys.exit(f"{shell} offers {found} for {line!r}, which has {word}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
