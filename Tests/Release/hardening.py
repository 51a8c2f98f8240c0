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

from Release.program import Elf, Part  # noqa: E402

#: What nobody writes to.
CONSTANTS = (".rodata", ".text")
#: Tables of addresses, which the start may write to, and nobody after it.
TABLES = (".data.rel.ro", ".got", ".got.plt", ".init_array", ".fini_array")
#: The pages of a kernel, of which it protects whole ones: as large as those for this processor may have them.
PAGES = {"AArch64": 16384}


def overlaps(section: Part, segment: Part) -> bool:
    return section.address < segment.end and segment.address < section.end


def faults(elf: Elf) -> Iterator[str]:
    """What does not hold, as a sentence each."""
    loaded, relro, stacks, dynamic = (
        [segment for segment in elf.segments if segment.name == name] for name in ("LOAD", "GNU_RELRO", "GNU_STACK", "DYNAMIC"))
    if not elf.kind.startswith("DYN") or not dynamic:
        yield "it is at a fixed address (no PIE)"
    if ".relr.dyn" not in elf.sections:
        yield "its relocations are not packed (DT_RELR)"
    for segment in loaded:
        if {"W", "E"} <= set(segment.flags):
            yield f"the segment at {segment.address:#x} is both writable and executable"
    if not stacks or any("E" in segment.flags for segment in stacks):
        yield "the stack is executable (PT_GNU_STACK)"
    sections = {name: section for name, section in elf.sections.items() if section.size}
    for name in CONSTANTS:
        if name not in sections:
            yield f"there is no {name}"
        elif any("W" in segment.flags and overlaps(sections[name], segment) for segment in loaded):
            yield f"{name}, {sections[name].size:,} bytes, is in a writable segment"
    if not relro:
        yield "no memory is made read-only after the start (PT_GNU_RELRO)"
    for segment in relro:
        if segment.end % PAGES.get(elf.machine, 4096):
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
