# SPDX-License-Identifier: GPL-3.0-or-later
"""Another processor, which qemu-user plays here: what runs its programs, what compiles the consumer in C for it, and what
counts in the place of the tools, which can't look into it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from Bench.runs import INSTRUCTIONS, SYSTEM_CALLS, Tool, Unavailable

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Unable(Tool):
    """A tool that would count what qemu-user does itself."""

    def wrap(self, command: list[str], log: Path) -> list[str]:
        raise Unavailable("qemu-user plays the processor")


UNABLE = Unable("none", (), "")


@dataclass(frozen=True)
class Emulator:
    #: What stands before a program's name.
    command: tuple[str, ...]
    #: Compiles C for the processor, with the compiler of the Swift that is used.
    compiler: tuple[str, ...]
    #: What is used in the place of which tool.
    tools: dict[Tool, Tool]


def arm64(work: Path, sdk: Path) -> Emulator:
    """An arm64, with the SDK that scripts/sdk has made."""
    plugin = work / "instructions.so"
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", plugin, HERE / "instructions.c"], check=True)
    instructions = Tool("qemu-user", ("env", f"QEMU_PLUGIN={plugin},out=LOG"), r"^instructions: (\d+)$")
    compiler = ("clang", "--target=aarch64-linux-gnu", f"--sysroot={sdk / 'debian-arm64.artifactbundle/sysroot'}", "-fuse-ld=lld", "-static")
    return Emulator(
        # The processor of a Raspberry Pi 3 or Zero 2 W.
        ("qemu-aarch64", "-cpu", "cortex-a53"),
        compiler,
        {INSTRUCTIONS: instructions, SYSTEM_CALLS: UNABLE},
    )
