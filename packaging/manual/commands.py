# SPDX-License-Identifier: GPL-3.0-or-later
"""The program's table of commands, as its own help shows it, which is made from that table.

A line of the help that fits no rule is an error: nothing is left out silently.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field

WORDS = r"[a-z][a-z0-9+-]*"
LIST = rf"{WORDS}(?:, {WORDS}){{2,}}"


@dataclass
class Entry:
    """A name in the left column of a help page, and what stands to the right of it."""

    name: str
    text: str


@dataclass
class Option:
    """`-n, --count N`: an option, its value's name, and the values that it takes, if they are few."""

    names: list[str]
    value: str
    is_optional: bool
    text: str
    choices: list[str]

    @property
    def places(self) -> str:
        """Whether the value is a `file`, a `directory`, or something else (``)."""
        if self.value in ("FILE", "PATH", "unix:PATH", "EVENT=PROGRAM"):
            return "file"
        return "directory" if self.value == "DIR" else ""


@dataclass
class Command:
    """A command, and its help page."""

    name: str
    summary: str
    usage: list[str] = field(default_factory=list)
    tables: dict[str, list[Entry]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    @property
    def options(self) -> list[Option]:
        entries = [entry for table in self.tables.values() for entry in table if entry.name.startswith("-")]
        return [option(entry, self.notes) for entry in entries]

    @property
    def operands(self) -> list[str]:
        """The words that may stand behind the options."""
        named = [re.match(rf"Commands: ({LIST})", note) for note in self.notes]
        listed = [name for match in named if match for name in match[1].split(", ")]
        parts = [entry.name.split()[0] for entry in self.tables.get("Commands", [])]
        usage = " ".join(self.usage[:1])
        alternatives = [word for group in re.findall(rf" ({WORDS}(?:\|{WORDS})+)", usage) for word in group.split("|")]
        verbs = [match[1] for line in self.usage if (match := re.match(rf"ancsd {self.name} ({WORDS})", line))]
        return listed or parts or verbs or alternatives


def option(entry: Entry, notes: list[str]) -> Option:
    """The option that an entry shows."""
    match = re.fullmatch(r"((?:-\w|--[\w-]+)(?:, (?:-\w|--[\w-]+))*)(?: (\S+)|\[=(\S+)\])?", entry.name)
    if match is None:
        raise ValueError(f"no option: {entry.name!r}")
    value = match[2] or match[3] or ""
    choices = [word for word in value.split("|") if re.fullmatch(WORDS, word)]
    if re.fullmatch(r"[A-Z]+(,\.\.\.)?", value):
        listed = re.search(rf"[(:] ?({LIST})", entry.text)
        # What an option's values are, a paragraph may say that begins with its name: “Events: …”.
        title = match[1].split(", ")[-1].lstrip("-").capitalize() + "s: "
        told = next((re.match(LIST, note.removeprefix(title)) for note in notes if note.startswith(title)), None)
        words = listed[1].split(", ") if listed else told[0].split(", ") if told else []
        choices = [word for word in words if word != "or"]
    return Option(match[1].split(", "), value, bool(match[3]), entry.text, choices)


def page(binary: str, *arguments: str) -> list[str]:
    output = subprocess.run([binary, *arguments, "--help"], check=True, capture_output=True, text=True)
    return output.stdout.splitlines()


def parse(command: Command, lines: list[str]) -> Command:
    """Reads a help page into a command: its usage, its sentence, tables and paragraphs."""
    blocks = [block.split("\n") for block in "\n".join(lines).strip().split("\n\n")]
    command.usage = [line.removeprefix("Usage:").strip() for line in blocks[0]]
    for block in blocks[1:]:
        title, rest = block[0], block[1:]
        if title == "Examples:":
            command.examples = [line.strip() for line in rest]
        elif title.endswith(":") and rest and all(line.startswith("  ") for line in rest):
            command.tables[title[:-1]] = table(rest)
        elif any(line.startswith(" ") for line in block):
            raise ValueError(f"{command.name}: neither a table nor a paragraph: {block}")
        else:
            command.notes.append(" ".join(block))
    return command


def table(lines: list[str]) -> list[Entry]:
    entries: list[Entry] = []
    for line in lines:
        if re.match(r"  \S", line):
            name, _, text = line.strip().partition("  ")
            entries.append(Entry(name, text.strip()))
        elif entries:
            entries[-1].text = f"{entries[-1].text} {line.strip()}".strip()
        else:
            raise ValueError(f"a table begins with {line!r}")
    return entries


def read(binary: str) -> tuple[Command, list[Command]]:
    """The program as a whole, and its commands."""
    program = parse(Command("ancsd", "iPhone notifications and media over Bluetooth LE"), page(binary))
    found = []
    for entry in program.tables["Commands"]:
        command = parse(Command(entry.name, entry.text), page(binary, entry.name))
        command.notes = command.notes[1:]  # the first is the summary again
        found.append(command)
    return program, found
