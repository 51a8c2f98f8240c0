# SPDX-License-Identifier: GPL-3.0-or-later
"""A linked program's ELF file."""

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: Kinds of segments and of files, and what may be done with a segment's memory (elf(5)).
LOAD, DYNAMIC, INTERPRETER, STACK, RELRO = 1, 2, 3, 0x6474E551, 0x6474E552
POSITION_INDEPENDENT = 3
EXECUTABLE, WRITABLE = 1, 2
ARM, X86_64, AARCH64 = 40, 62, 183


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
    """An ELF file, little endian."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        if self.bytes[:4] != b"\x7fELF" or self.bytes[5] != 1:
            raise ValueError(f"{path} is no ELF file, little endian")
        self.has_64_bits = self.bytes[4] == 2
        self.kind, self.machine = struct.unpack_from("<HH", self.bytes, 16)
        self.segments = []
        for header in self._headers(28, "<IIIIIIII", 32, "<IIQQQQQQ"):
            if self.has_64_bits:
                kind, flags, offset, address, _, in_file, in_memory, _ = header
            else:
                kind, offset, address, _, in_file, in_memory, flags, _ = header
            self.segments.append(Segment(kind, flags, offset, address, in_file, in_memory))

    def _headers(self, at: int, short: str, at_64: int, long: str) -> list[tuple[int, ...]]:
        """The table of headers whose place the file's own header has there, with 32 or with 64 bits."""
        (start,) = struct.unpack_from("<Q", self.bytes, at_64) if self.has_64_bits else struct.unpack_from("<I", self.bytes, at)
        sizes = (54 if self.has_64_bits else 42) + (0 if at == 28 else 4)
        size, count = struct.unpack_from("<HH", self.bytes, sizes)
        return [struct.unpack_from(long if self.has_64_bits else short, self.bytes, start + size * index) for index in range(count)]

    @cached_property
    def sections(self) -> list[Section]:
        """The sections that are in memory."""
        headers = self._headers(32, "<IIIIII", 40, "<IIQQQQ")
        (names,) = struct.unpack_from("<H", self.bytes, 62 if self.has_64_bits else 50)
        texts = headers[names][4]
        found = []
        for name, _, flags, address, _, length in headers:
            if flags & 2:
                text = self.bytes[texts + name:self.bytes.index(0, texts + name)].decode()
                found.append(Section(text, address, length))
        return found

    @cached_property
    def interpreter(self) -> str:
        """The dynamic linker that starts it; empty if it is linked statically."""
        return next((self.bytes[segment.offset:self.bytes.index(0, segment.offset)].decode()
                     for segment in self.segments if segment.kind == INTERPRETER), "")

    @cached_property
    def libraries(self) -> list[str]:
        """The shared libraries that it needs (DT_NEEDED)."""
        table = next((segment for segment in self.segments if segment.kind == DYNAMIC), None)
        if table is None:
            return []
        form, size = ("<QQ", 16) if self.has_64_bits else ("<II", 8)
        places = range(table.offset, table.offset + table.file_size, size)
        entries = [struct.unpack_from(form, self.bytes, place) for place in places]
        names = next((value for tag, value in entries if tag == 5), 0)  # DT_STRTAB
        start = next((names - segment.address + segment.offset for segment in self.segments
                      if segment.kind == LOAD and segment.address <= names < segment.address + segment.file_size), 0)
        return [self.bytes[start + value:self.bytes.index(0, start + value)].decode() for tag, value in entries if tag == 1]
