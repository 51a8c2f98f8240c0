# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks, in its ELF file, what makes it hard to turn a fault of a released program into somebody else's code:
python3 Tests/Release/hardening.py BINARY…   (Tests/Release/alone; docs/security.md, “The program itself”)

Exit status: 0 all of it holds, 1 something does not.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Release.program import (  # noqa: E402
    AARCH64, DYNAMIC, EXECUTABLE, LOAD, POSITION_INDEPENDENT, RELRO, STACK, WRITABLE, Elf, Section, Segment,
)

#: What nobody writes to.
CONSTANTS = (".rodata", ".text")
#: Tables of addresses, which the start may write to, and nobody after it.
TABLES = (".data.rel.ro", ".got", ".got.plt", ".init_array", ".fini_array")


#: The pages of a kernel, of which it protects whole ones: as large as those for this processor may have them.
PAGES = {AARCH64: 16384}


def overlaps(section: Section, segment: Segment) -> bool:
    return section.address < segment.address + segment.memory_size and segment.address < section.address + section.size


def faults(elf: Elf) -> Iterator[str]:
    """What does not hold, as a sentence each."""
    if elf.kind != POSITION_INDEPENDENT or not any(segment.kind == DYNAMIC for segment in elf.segments):
        yield "it is at a fixed address (no PIE)"
    if not any(section.name == ".relr.dyn" for section in elf.sections):
        yield "its relocations are not packed (DT_RELR)"
    loaded = [segment for segment in elf.segments if segment.kind == LOAD]
    relro = [segment for segment in elf.segments if segment.kind == RELRO]
    stacks = [segment for segment in elf.segments if segment.kind == STACK]
    sections = {section.name: section for section in elf.sections if section.size}
    for segment in loaded:
        if segment.flags & WRITABLE and segment.flags & EXECUTABLE:
            yield f"the segment at {segment.address:#x} is both writable and executable"
    if not stacks or any(segment.flags & EXECUTABLE for segment in stacks):
        yield "the stack is executable (PT_GNU_STACK)"
    for name in CONSTANTS:
        if name not in sections:
            yield f"there is no {name}"
        elif any(segment.flags & WRITABLE and overlaps(sections[name], segment) for segment in loaded):
            yield f"{name}, {sections[name].size:,} bytes, is in a writable segment"
    if not relro:
        yield "no memory is made read-only after the start (PT_GNU_RELRO)"
    for segment in relro:
        if (segment.address + segment.memory_size) % PAGES.get(elf.machine, 4096):
            yield "what is made read-only after the start does not end with a page"
    for name in TABLES:
        if name in sections and not any(overlaps(sections[name], segment) for segment in relro):
            yield f"{name}, {sections[name].size:,} bytes, stays writable after the start"


def main(paths: list[str]) -> int:
    status = 0
    for path in paths:
        for fault in faults(Elf(Path(path))):
            print(f"hardening: {path}: {fault}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
