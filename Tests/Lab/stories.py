# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads Tests/Vectors/stories.json. `run.py --list` imports this, so it needs no Bumble."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = json.loads((Path(__file__).resolve().parent.parent / "Vectors" / "stories.json").read_text())
#: The events that are compared, and which of their fields.
FIELDS: dict[str, list[str]] = FILE["fields"]


@dataclass(frozen=True)
class Scene:
    """What somebody does, and the events that follow, in the words of `told`. Those of one group come in
    either order."""

    act: str
    groups: list[list[str]]


@dataclass(frozen=True)
class Story:
    name: str
    about: str
    io: str
    private: bool
    scenes: list[Scene]
    end: list[str]

    @property
    def case(self) -> str:
        return f"story-{self.name}"


def read(fields: Mapping[str, Any]) -> Story:
    scenes = [
        Scene(act, [[item] if isinstance(item, str) else item for item in items])
        for act, *items in fields["scenes"]
    ]
    return Story(
        fields["name"], fields["about"], fields.get("io", "none"), fields.get("private", False), scenes,
        fields["end"],
    )


def told(event: Mapping[str, Any]) -> str | None:
    """An event as stories have it: its name and the fields that are compared; None if it is not."""
    if (fields := FIELDS.get(event["event"])) is None:
        return None
    words = {True: "true", False: "false"}
    return " ".join(
        [event["event"], *(f"{name}={words.get(event[name], event[name])}" for name in fields)]
    )


STORIES = [read(story) for story in FILE["stories"]]
