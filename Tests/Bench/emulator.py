# SPDX-License-Identifier: GPL-3.0-or-later
"""Another processor, emulated by qemu-user: what runs its programs, compiles the C consumer for it, and counts instead of the
tools, which can't see into the emulator."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from Bench.runs import INSTRUCTIONS, SYSTEM_CALLS, Tool, Unavailable

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


def arm64(work: Path, sdk: Path) -> Emulator:
    """An arm64 processor, with the SDK from scripts/sdk."""
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
