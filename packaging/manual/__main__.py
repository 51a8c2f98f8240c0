# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the manual pages and the completions: python3 packaging/manual BINARY VERSION DIRECTORY

ancsd(1), the keys of ancsd.toml(5) and the completions come from the program's own table of commands (`ancsd help --json`
and its help); the other pages come from docs/, so each fact is written once.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import commands
import completions
import roff

ROOT = Path(__file__).resolve().parents[2]

#: The pages that are sections of documents: name, number, summary, document, headings.
SECTIONS = [
    ("ancsd.toml", 5, "settings, hooks and rules of ancsd", "settings.md",
     ["Settings, hooks and rules", "Rules", "The history", "Expressions", "Checking and changing"]),
    ("ancsd-events", 7, "events, control socket and hooks of ancsd", "interface.md",
     ["Events (JSON Lines)", "The control socket", "Hooks", "Under a service manager"]),
]


def ancsd(whole: commands.Program) -> list[str]:
    """ancsd(1)."""
    program, found = whole.page, whole.commands
    lines = [".SH NAME", f"ancsd \\- {roff.escape(program.summary)}", ".SH SYNOPSIS"]
    for number, usage in enumerate(program.usage):
        form, _, meaning = usage.partition("    ")
        lines += [*([".br"] if number else []), roff.bold(form), *([".br", "    " + roff.escape(meaning.strip())] if meaning else [])]
    lines += [".SH DESCRIPTION"]
    for note in program.notes[:1]:
        lines += [".PP", roff.escape(note)]
    every = [(entry.name, entry.text) for command in found for entry in command.tables.get("Options", [])]
    common = {entry for entry in every if every.count(entry) >= 5}
    lines += [".SH COMMON OPTIONS", "Those of several commands, which name them."]
    for name, text in sorted(common):
        lines += [".TP", roff.bold(name), roff.escape(text)]
    lines += [".SH COMMANDS"]
    for command in found:
        lines += [f".SS {roff.escape(command.name)}", roff.escape(command.summary[0].upper() + command.summary[1:] + ".")]
        for usage in command.usage:
            lines += [".br" if usage != command.usage[0] else ".PP", roff.bold(usage)]
        for title, entries in command.tables.items():
            if title != "Options":
                lines += [".PP", roff.escape(title + ":")]
            for entry in entries:
                if (entry.name, entry.text) not in common:
                    lines += [".TP", roff.bold(entry.name), roff.escape(entry.text or " ")]
        if own := [entry.name.split()[0] for entry in command.tables.get("Options", []) if (entry.name, entry.text) in common]:
            lines += [".PP", roff.escape(f"Common options: {', '.join(own)}.")]
        for note in command.notes:
            lines += [".PP", roff.escape(note)]
        if command.examples:
            lines += [".PP", ".RS 4", ".nf", *map(roff.escape, command.examples), ".fi", ".RE"]
    document = (ROOT / "docs/interface.md").read_text()
    lines += list(roff.markdown(roff.section(document, "Exit statuses").replace("### ", "## ", 1)))
    lines += [".SH ENVIRONMENT"]
    for variable in whole.environment:
        lines += [".TP", roff.bold(variable.name), roff.escape(sentence(variable.text))]
    lines += [
        ".SH FILES", ".TP", roff.bold("/etc/ancsd/ancsd.toml"), "Settings: ancsd.toml(5).", ".TP", roff.bold("/var/lib/ancsd"), "Bonds and caches, and log.db, the history.",
        ".TP", roff.bold("/run/ancsd/control.sock"), "The control socket of the system's daemon.",
        ".SH SEE ALSO", ", ".join(f"\\fB{roff.escape(name)}\\fR({number})" for name, number, *_ in SECTIONS) + ", \\fBsystemctl\\fR(1)",
    ]
    return lines


def sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def keys(whole: commands.Program) -> list[str]:
    """The section of ancsd.toml(5) with the top-level keys of a file."""
    (run,) = (command for command in whole.commands if command.name == "run")
    lines = [".SH KEYS", "Each is an option of \\fBancsd run\\fR, without its dashes. A change takes effect at once (live), on a new link, or at the "
             "next start."]
    for option in run.options:
        if option.setting:
            lines += [".TP", roff.bold(option.setting), roff.escape(f"{sentence(option.text)} Value: {option.expects}. Takes effect: {option.effect.replace('-', ' ')}.")]
    return lines


def main(binary: str, version: str, directory: str) -> None:
    whole = commands.read(os.path.abspath(binary))
    found = whole.commands
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    pages = {("ancsd", 1): ancsd(whole)}
    for name, number, summary, source, headings in SECTIONS:
        document = (ROOT / "docs" / source).read_text()
        lines = [".SH NAME", f"{roff.escape(name)} \\- {roff.escape(summary)}"]
        for heading in headings:
            lines += roff.markdown(roff.section(document, heading))
            if name == "ancsd.toml" and heading == headings[0]:
                lines += keys(whole)
        pages[name, number] = [*lines, ".SH SEE ALSO", "\\fBancsd\\fR(1)"]
    target = Path(directory)
    for (name, number), lines in pages.items():
        write(target / f"man/{name}.{number}", "\n".join([*roff.head(name, number, version, date), *lines]) + "\n")
    write(target / "completions/bash/ancsd", completions.bash(found))
    write(target / "completions/zsh/_ancsd", completions.zsh(found))
    write(target / "completions/fish/ancsd.fish", completions.fish(found))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if len(sys.argv) != 4:
        sys.exit("usage: python3 packaging/manual BINARY VERSION DIRECTORY")
    main(*sys.argv[1:])
