# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes ancsd-mqtt(1) and its completions: python3 packaging/manual/bridge.py BINARY VERSION DIRECTORY

The options come from the program's own help, the rest from docs/mqtt.md.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import commands  # noqa: E402
import roff  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "ancsd-mqtt"
#: The headings of docs/mqtt.md that are in the page.
HEADINGS = ["Settings", "Topics", "Requests", "Privacy", "Several boards"]
#: The names of values that are files.
FILES = ("FILE", "PATH", "DIR")


def read(binary: str, *words: str) -> commands.Command:
    """The program's help, or that of one of its commands."""
    command = commands.parse(commands.Command(" ".join([PROGRAM, *words]), ""), commands.page(binary, *words))
    command.summary, *command.notes = command.notes
    return command


def described(command: commands.Command) -> list[str]:
    lines = []
    for number, usage in enumerate(command.usage):
        lines += [".br" if number else ".PP", roff.bold(usage)]
    lines += [".PP", roff.escape(command.summary)]
    for entries in command.tables.values():
        for entry in entries:
            lines += [".TP", roff.bold(entry.name), roff.escape(entry.text or " ")]
    for note in command.notes:
        lines += [".PP", roff.escape(note)]
    return lines


def manual(found: list[commands.Command]) -> list[str]:
    summary = found[0].summary.rstrip(".")
    # Topics are long words, so lines are not justified.
    lines = [".ad l", ".SH NAME", f"{PROGRAM} \\- {roff.escape(summary[0].lower() + summary[1:])}", ".SH SYNOPSIS"]
    for number, command in enumerate(found):
        lines += [*([".br"] if number else []), roff.bold(command.usage[0])]
    lines += [".SH DESCRIPTION"]
    for command in found:
        lines += described(command)
    document = (ROOT / "docs/mqtt.md").read_text()
    for heading in HEADINGS:
        lines += roff.markdown(roff.section(document, heading))
    return [
        *lines, ".SH FILES", ".TP", roff.bold("/etc/ancsd/conf.d/mqtt.toml"), "Settings.",
        ".TP", roff.bold("/etc/ancsd/mqtt.password"), "The password for the broker, which systemd passes to the service.",
        ".SH SEE ALSO", "\\fBancsd\\fR(1), \\fBancsd.toml\\fR(5), \\fBmosquitto\\fR(8)",
    ]


def options(command: commands.Command) -> list[tuple[str, str, str]]:
    """Each option's name, the name of its value, and its text."""
    found = []
    for entry in command.tables.get("Options", []):
        names, _, value = entry.name.partition(" ")
        found += [(name.rstrip(","), value.split(" ")[-1], entry.text) for name in entry.name.split(", ") if name.startswith("-")]
        found[-1] = (found[-1][0].split(" ")[0], value.split(" ")[-1], entry.text)
    return [*((name.split(" ")[0], value, text) for name, value, text in found), ("--help", "", "show this help"), ("--version", "", "show the version")]


def bash(command: commands.Command) -> str:
    found = options(command)
    files = "|".join(name for name, value, _ in found if value in FILES)
    return (f"# Completion of {PROGRAM} for bash, generated from its help.\n_ancsd_mqtt()\n{{\n"
            '    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n    COMPREPLY=()\n'
            f'    case $previous in\n        {files}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;\n    esac\n'
            f'    mapfile -t COMPREPLY < <(compgen -W "{" ".join(name for name, *_ in found)}" -- "$current")\n}}\n'
            f"complete -F _ancsd_mqtt {PROGRAM}\n")


def zsh(command: commands.Command) -> str:
    lines = [f"#compdef {PROGRAM}", f"# Completion of {PROGRAM} for zsh, generated from its help.", "_arguments -s -S : \\"]
    for name, value, text in options(command):
        short = text.split(" (")[0].translate(str.maketrans("[]:'", "() ’"))
        lines.append(f"    '{name}[{short}]{f':{value}:_files' if value in FILES else f':{value}: ' if value else ''}' \\")
    return "\n".join(lines)[:-2] + "\n"


def fish(command: commands.Command) -> str:
    lines = [f"# Completion of {PROGRAM} for fish, generated from its help.", f"complete -c {PROGRAM} -f"]
    for name, value, text in options(command):
        short = text.split(" (")[0].replace("'", "’")
        flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        lines.append(f"complete -c {PROGRAM} {flag} {'-r -F ' if value in FILES else '-x ' if value else ''}-d '{short}'")
    return "\n".join(lines) + "\n"


def main(binary: str, version: str, directory: str) -> None:
    found = [read(os.path.abspath(binary)), read(os.path.abspath(binary), "fleet")]
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    for path, text in {
        f"man/{PROGRAM}.1": "\n".join([*roff.head(PROGRAM, 1, version, date), *manual(found)]) + "\n",
        f"completions/bash/{PROGRAM}": bash(found[0]), f"completions/zsh/_{PROGRAM}": zsh(found[0]),
        f"completions/fish/{PROGRAM}.fish": fish(found[0]),
    }.items():
        target = Path(directory, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python3 packaging/manual/bridge.py BINARY VERSION DIRECTORY")
    main(*sys.argv[1:])
