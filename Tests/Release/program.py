# SPDX-License-Identifier: GPL-3.0-or-later
"""A linked program: its ELF file, and the map that lld has written beside it (-Map, scripts/build)."""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Iterator

#: Kinds of segments and of files, and what may be done with a segment's memory (elf(5)).
LOAD, DYNAMIC, STACK, RELRO = 1, 2, 0x6474E551, 0x6474E552
POSITION_INDEPENDENT = 3
EXECUTABLE, WRITABLE = 1, 2
X86_64, AARCH64 = 62, 183


@dataclass
class Segment:
    """A program header (elf(5))."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


@dataclass
class Section:
    """A section header (elf(5))."""

    name: str
    address: int
    size: int


class Elf:
    """An ELF file of 64 bits, little endian."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no ELF file of 64 bits, little endian")
        self.kind, self.machine = struct.unpack_from("<HH", self.bytes, 16)
        (start,) = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = []
        for place in range(start, start + size * count, size):
            kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", self.bytes, place)
            self.segments.append(Segment(kind, flags, offset, address, in_file, in_memory))

    @cached_property
    def sections(self) -> list[Section]:
        """The sections that are in memory."""
        (start,) = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        headers = [struct.unpack_from("<IIQQQQ", self.bytes, start + size * index) for index in range(count)]
        texts = headers[names][4]
        found = []
        for name, _, flags, address, _, length in headers:
            if flags & 2:
                text = self.bytes[texts + name:self.bytes.index(0, texts + name)].decode()
                found.append(Section(text, address, length))
        return found

    def code(self, address: int, size: int) -> bytes:
        """The instructions there; none if no instructions are there."""
        for segment in self.segments:
            if segment.kind == LOAD and segment.flags & EXECUTABLE:
                place = address - segment.address
                if 0 <= place < segment.file_size:
                    return self.bytes[segment.offset + place:][:size]
        return b""


@dataclass
class Symbol:
    """A symbol of the map, with the object that it is from."""

    address: int
    size: int
    name: str
    origin: str


class LinkMap:
    """What was linked, symbol by symbol."""

    LINE = re.compile(r" *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ ( *)(.*)")

    def __init__(self, path: Path) -> None:
        self.symbols = []
        self.origins = set()
        origin = ""
        for line in path.read_text(errors="replace").splitlines():
            if match := self.LINE.fullmatch(line):
                address, size, indent, text = match.groups()
                if len(indent) == 8:  # OBJECT:(SECTION)
                    origin = text.rsplit(":(", 1)[0]
                    self.origins.add(origin)
                elif len(indent) == 16:
                    self.symbols.append(Symbol(int(address, 16), int(size, 16), text, origin))

    @cached_property
    def names(self) -> set[str]:
        return {symbol.name for symbol in self.symbols}


def targets(machine: int, address: int, code: bytes) -> Iterator[int]:
    """Where the calls and jumps of these instructions may lead: on x86-64, whose instructions have no fixed length, what
    is read out of step is among them, but leads to the beginning of a function only by rare chance."""
    if machine == AARCH64:
        for place in range(0, len(code) - 3, 4):
            (word,) = struct.unpack_from("<I", code, place)
            if word & 0x7C000000 == 0x14000000:  # b, bl
                distance = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
                yield address + place + 4 * distance
    else:
        for match in re.finditer(rb"[\xE8\xE9](?=(....))", code, re.DOTALL):  # call, jmp
            (distance,) = struct.unpack("<i", match[1])
            yield address + match.start() + 5 + distance


def calls(elf: Elf, linked: LinkMap, origin: str) -> Counter[str]:
    """How often the code of an object calls each function."""
    names = {symbol.address: symbol.name for symbol in linked.symbols}
    counted: Counter[str] = Counter()
    for symbol in linked.symbols:
        if symbol.origin == origin:
            code = elf.code(symbol.address, symbol.size)
            counted.update(names[target] for target in targets(elf.machine, symbol.address, code) if target in names)
    return counted
