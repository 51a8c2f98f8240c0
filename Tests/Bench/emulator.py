# SPDX-License-Identifier: GPL-3.0-or-later
"""Another processor, emulated by qemu-user: what runs its programs, compiles the C consumer for it, and counts instead of the
tools, which can't see into the emulator."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from Bench.runs import INSTRUCTIONS, LONGEST_TURN, SYSTEM_CALLS, Tool, Unavailable

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Unable(Tool):
    """A tool that would count qemu-user's own work."""

    def wrap(self, command: list[str], log: Path) -> list[str]:
        raise Unavailable("qemu-user plays the processor")


UNABLE = Unable("none", (), "")


@dataclass(frozen=True)
class Emulator:
    #: The command in front of a program's name.
    command: tuple[str, ...]
    #: Compiles C for the processor, with Swift's own clang.
    compiler: tuple[str, ...]
    #: Which tool replaces which.
    tools: dict[Tool, Tool]


def emulator(command: str, work: Path, sdk: Path) -> Emulator:
    """The command of scripts/emulator --plugins, and the SDK for its processor, of scripts/sdk."""
    plugin = work / "instructions.so"
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", plugin, HERE / "instructions.c"], check=True)
    (triple,) = json.loads((sdk / "swift-sdk.json").read_text())["targetTriples"]
    # epoll_pwait, and epoll_wait on 32-bit ARM.
    wait = 22 if triple.startswith("aarch64") else 252
    under = ("env", f"QEMU_PLUGIN={plugin},out=LOG,wait={wait}")
    tools = {
        INSTRUCTIONS: Tool("qemu-user", under, r"^instructions: (\d+)$"),
        LONGEST_TURN: Tool("qemu-user", under, r"^longest: (\d+)$"),
        SYSTEM_CALLS: UNABLE,
    }
    options = json.loads((sdk / "toolset.json").read_text()).get("cCompiler", {}).get("extraCLIOptions", [])
    compiler = ("clang", f"--target={triple}", f"--sysroot={sdk / 'sysroot'}", *options, "-fuse-ld=lld", "-static")
    return Emulator(tuple(command.split()), compiler, tools)
