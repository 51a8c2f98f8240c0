#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completes command lines with the completions in a folder: python3 Tests/Installed/completions.py FOLDER"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: What is typed, and what must be among the offers; after `!`, what must not.
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
    ("ancsd config ", ["check", "show", "!--json", "!--socket"]),
    ("ancsd config check HERE/s", ["HERE/some.toml", "HERE/subfolder", "!HERE/some.txt"]),
    ("ancsd --config HERE/some", ["HERE/some.toml", "!HERE/some.txt"]),
    ("ancsd decode ", ["!--json"]),
    ("ancsd decode -", ["--json"]),
    ("ancsd decode /etc/pass", ["/etc/passwd"]),
    ("ancsd act ", ["positive", "7", "12", "!--all"]),
    ("ancsd show ", ["7", "12"]),
    ("ancsd list --app com.", ["com.apple.MobileSMS"]),
    ("ancsd gatt wri", ["write", "write-command"]),
    ("ancsd --adv", ["--advertise"]),
    ("ancsd run --advertise sol", ["solicit", "solicit+data"]),
]

#: Stands in for ancsd when a completion asks the running daemon.
ANCSD = """#!/bin/sh
case $1 in
  list) case "$*" in
    *--template*) printf '%s\\t%s\\n' 7 'Messages Mum $(touch EVIL) `touch EVIL`' 12 "Mail it's; touch EVIL" ;;
    *) printf '%s\\n' '{"adapter":"hci0","uid":7,"category":"social"}' '{"adapter":"hci0","uid":12,"category":"email"}' ;;
    esac ;;
  apps) printf '%s\\n' '{"app_id":"com.apple.MobileSMS","name":"Messages","count":1}' \\
    '{"app_id":"com.$(touch EVIL)","name":"x","count":1}' '{"app_id":"com.`touch EVIL`","name":"x","count":1}' ;;
esac
"""

BASH = """
. "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 != *" " ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _ancsd; printf '%s\\n' "${COMPREPLY[@]}"
"""


def offers(shell: str, folder: Path, line: str) -> list[str]:
    """Returns what a shell offers for a line."""
    if shell == "bash":
        command = ["bash", "-c", BASH, "bash", folder / "bash/ancsd", line]
    else:
        command = ["fish", "--no-config", "-c", f"source {folder}/fish/ancsd.fish; complete -C '{line}'"]
    with tempfile.TemporaryDirectory() as programs:
        program = Path(programs, "ancsd")
        program.write_text(ANCSD.replace("EVIL", f"{programs}/evil"))
        program.chmod(0o755)
        for file in ("some.toml", "some.txt"):
            Path(programs, file).touch()
        Path(programs, "subfolder").mkdir()
        command = [str(word).replace("HERE", programs) for word in command]
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        found = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
        if Path(programs, "evil").exists():
            sys.exit(f"{shell}, {line!r}: what a phone has sent was run")
    if found.stderr:
        sys.exit(f"{shell}, {line!r}: {found.stderr}")
    return [offer.replace(programs, "HERE").split("\t")[0].rstrip("=/") for offer in found.stdout.splitlines()]


def main(folder: Path) -> None:
    for shell in filter(shutil.which, ("bash", "fish")):
        for line, wanted in EXPECTED:
            found = offers(shell, folder, line)
            for word in wanted:
                if (word.lstrip("!") in found) == word.startswith("!"):
                    sys.exit(f"{shell} offers {found} for {line!r}, which has {word}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
