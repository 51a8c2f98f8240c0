# SPDX-License-Identifier: GPL-3.0-or-later
"""A linked program's ELF file, as readelf prints it, whatever its processor."""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """A segment or a section of the program's memory. A segment may be `W`, writable, and `E`, executable."""

    name: str
    address: int
    size: int
    flags: str = ""

    @property
    def end(self) -> int:
        return self.address + self.size


class Elf:
    def __init__(self, path: Path) -> None:
        what = ("--file-header", "--segments", "--sections", "--dynamic", "--version-info")
        said = subprocess.run(["readelf", "--wide", *what, path], env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)
        if said.returncode or said.stderr:
            raise SystemExit(f"readelf cannot read {path}: {said.stderr.strip()}")
        self.text = said.stdout
        self.kind, self.machine = (self.found(rf"^  {name}: +(\S.*)$")[0] for name in ("Type", "Machine"))
        self.segments = [
            Part(name, int(address, 16), int(size, 16), flags)
            for name, address, size, flags in self.found(r"^  (\w+) +0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+) ([RWE ]{3}) ")
        ]
        #: Those in memory, by name.
        self.sections = {
            name: Part(name, int(address, 16), int(size, 16))
            for name, address, size in self.found(r"^  \[ *\d+\] (\S+) +[A-Z]\w+ +(\w+) \w+ (\w+) \w+ +\w*A")
        }
        #: The shared libraries that it needs.
        self.libraries = self.found(r"\(NEEDED\) +Shared library: \[(.*)\]")
        #: The dynamic linker that starts it; empty if it is linked statically.
        self.interpreter = "".join(self.found(r"\[Requesting program interpreter: (.*)\]"))

    def found(self, pattern: str) -> list:
        return re.findall(pattern, self.text, re.MULTILINE)
