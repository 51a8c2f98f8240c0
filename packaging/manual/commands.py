# SPDX-License-Identifier: GPL-3.0-or-later
"""The program's table of commands: what is laid out for people from the help, and what options and operands are from
`ancsd help --json`, which has the grammar's own fields.

A line of the help that fits no rule is an error: nothing is left out silently.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field


@dataclass
class Entry:
    """A name in the left column of a help page, and the text on the right."""

    name: str
    text: str


@dataclass
class Option:
    """`-n, --count N`: an option, with the name and the kind of its value."""

    names: list[str]
    value: str
    is_optional: bool
    text: str
    #: text, number, time, word, words, file, settings, directory, notification, app or phone
    kind: str
    choices: list[str]
    repeats: bool
    #: Its key in a settings file, the valid values, and when a change takes effect; empty for options of the command line only.
    setting: str
    expects: str
    effect: str


@dataclass
class Operand:
    """An operand."""

    kind: str
    choices: list[str]


@dataclass
class Command:
    """A command, and its help page."""

    name: str
    summary: str
    usage: list[str] = field(default_factory=list)
    tables: dict[str, list[Entry]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words that are valid operands."""
        return [word for operand in self.operands for word in operand.choices]

    def takes(self, kind: str) -> bool:
        return any(operand.kind == kind for operand in self.operands)


def option(entry: dict) -> Option:
    return Option(
        entry["names"], entry["value"] or "" if "value" in entry else "", entry["optional"], entry["help"],
        entry["kind"], entry.get("words", []), entry["repeats"], entry.get("setting") or "", entry["expects"],
        entry.get("effect") or "",
    )


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


@dataclass
class Program:
    """The program as a whole."""

    page: Command
    commands: list[Command]
    environment: list[Entry]


def read(binary: str) -> Program:
    whole = parse(Command("ancsd", "iPhone notifications and media over Bluetooth LE"), page(binary))
    output = subprocess.run([binary, "help", "--json"], check=True, capture_output=True, text=True)
    catalogue = json.loads(output.stdout)
    described = {command["name"]: command for command in catalogue["commands"]}
    found = []
    for entry in whole.tables["Commands"]:
        command = parse(Command(entry.name, entry.text), page(binary, "help", entry.name))
        command.notes = command.notes[1:]  # the first is the summary again
        command.options = [option(part) for part in described[entry.name]["options"]]
        command.operands = [Operand(part["kind"], part.get("words", [])) for part in described[entry.name]["operands"]]
        found.append(command)
    return Program(whole, found, [Entry(part["name"], part["text"]) for part in catalogue["environment"]])
