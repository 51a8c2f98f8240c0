# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases, and how they state what they expect."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any


#: The factor by which anything may take longer than on an idle machine. An emulated one that shares its processor took
#: ten times as long for a while, and slowness alone must not fail a case.
PATIENCE = float(os.environ.get("PATIENCE", "1"))


def patient(seconds: float) -> float:
    """The time limit for something expected within these seconds."""
    return seconds * PATIENCE


class Failure(AssertionError):
    """An expectation that was not met; the text says which."""

    def __init__(self, text: str) -> None:
        super().__init__(text if len(text) <= 500 else text[:500] + "...")


class Skipped(Exception):
    """A case that can't run here; the text says why."""


def check(condition: Any, text: str) -> None:
    """Fails with the text unless the condition holds."""
    if not condition:
        raise Failure(text)


def expect(found: Mapping[str, Any], **fields: Any) -> None:
    """Checks that an event has these fields; None stands for a JSON null, which must be present."""
    for key, value in fields.items():
        seen = found.get(key, "absent")
        check(seen == value, f"{key} is {seen!r}, not {value!r}, in {dict(found)}")


def check_plain(text: str, what: str) -> None:
    """Checks that a text can't control the terminal: newline is its only control character."""
    bad = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    check(not bad, f"{what} has the control character {bad[:1]}")


async def eventually(condition: Callable[[], Any], text: str | Callable[[], str], within: float = 5) -> None:
    """Waits until the condition holds; fails with the text, as it is then, if it does not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patient(within)
    while not condition():
        if loop.time() > deadline:
            raise Failure(f"{text if isinstance(text, str) else text()} (waited {patient(within):.0f} s)")
        await asyncio.sleep(0.02)


async def answered(
    question: Callable[[], Awaitable[Any]], holds: Callable[[Any], Any], otherwise: str, within: float, pause: float = 0.05
) -> Any:
    """The answer to a question, asked again until it is as it should be; fails with `otherwise` and the last one."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patient(within)
    while not holds(answer := await question()):
        if loop.time() > deadline:
            raise Failure(f"{otherwise}: …{str(answer)[-1000:]} (waited {patient(within):.0f} s)")
        await asyncio.sleep(pause)
    return answer


async def settled(value: Callable[[], Any], quiet: float, within: float = 10) -> None:
    """Waits until the value has stayed the same for `quiet` seconds, at most `within` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    before = object()
    while before != (before := value()) and loop.time() < deadline:
        await asyncio.sleep(quiet)


@dataclass(frozen=True)
class Case:
    """A case: an async function of a testbed."""

    name: str
    about: str
    run: Callable[[Any], Awaitable[None]]
    seconds: float | None
    alone: bool
    native: str | None


cases: dict[str, Case] = {}


def case(
    name: str, seconds: float | None = None, alone: bool = False, native: str | None = None, about: str = ""
) -> Callable[..., Any]:
    """Registers a case. It is described by `about`, or by the first line of its docstring.

    `seconds` is its time limit (default: the testbed's); the longest cases start first. A case that
    measures runs `alone`. `native` says why a case does not apply to a program for another processor, which qemu-user
    runs here.
    """

    def register(run: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        if name in cases:
            raise ValueError(f"two cases are called {name}")
        cases[name] = Case(name, about or (run.__doc__ or "").split("\n")[0], run, seconds, alone, native)
        return run

    return register
