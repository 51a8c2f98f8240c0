# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the machine code of a program for 32-bit ARM, as the toolchain's llvm-objdump prints it: for instructions that a
Raspberry Pi Zero's ARM1176 (ARMv6) lacks, and for a fault of the compiler.

The fault: with -Osize, LLVM's load and store optimiser for ARM turns `ldm r10, {…}` into `ldm r10!, {…}` at the last use of
r10. That is Swift's self, which the caller still needs, and the function does not save it, because the optimiser runs after
its prologue was made. scripts/build turns the optimiser off (-arm-load-store-opt=false)."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: The toolchain's own programs: another llvm-objdump may not know the processor's name.
TOOLS = Path(shutil.which("swiftc") or "swiftc").resolve().parent

#: The start of a function, or of the data after it; an instruction or a word of data.
START = re.compile(r"^[0-9a-f]+ <(.*)>:$")
CODE = re.compile(r"^ *[0-9a-f]+: +(.*)$")
#: Saves r10, so that the function can restore it.
SAVES = re.compile(r"^push\b.*\br10\b|^strd? (?:r\d+, )?r10\b")
#: Writes an address back to r10.
WRITES_BACK = re.compile(r"^(ldm|stm|vldm|vstm)\w*\s+r10!|\[r10\], |\[r10[^\]]*\]!")
#: Async functions, whose callers expect no register back (swifttailcc).
ASYNC = re.compile(r"Ya|T[YQ]\d+_$")
#: libgcc's unwinder and libatomic have these for newer processors, and call them there only.
CHOSEN = re.compile(r"^(__gnu_Unwind_(Save|Restore)_|libat_\w+_i\d+$)")


@dataclass
class Function:
    name: str
    code: list[str] = field(default_factory=list)

    @property
    def loses_self(self) -> str | None:
        """The instruction that changes r10, if the function does not restore it."""
        if ASYNC.search(self.name) or any(SAVES.search(line) for line in self.code):
            return None
        return next((line for line in self.code if WRITES_BACK.search(line)), None)

    @property
    def unknown(self) -> bool:
        return not CHOSEN.match(self.name) and any("<unknown>" in line for line in self.code)


def functions(lines: Iterable[str]) -> Iterator[Function]:
    """The functions in the output of llvm-objdump -d, each with the data after it."""
    function = None
    for line in lines:
        if start := START.match(line):
            if function is not None:
                yield function
            function = Function(start[1])
        elif function is not None and (code := CODE.match(line)):
            function.code.append(code[1].replace("\t", " ").strip())
    if function is not None:
        yield function


def disassembled(program: Path) -> Iterator[Function]:
    """The functions of a program; instructions that an ARM1176 lacks are <unknown>."""
    command = [TOOLS / "llvm-objdump", "-d", "--no-show-raw-insn", "--triple=armv6kz-linux-gnueabi", "--mcpu=arm1176jzf-s", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        yield from functions(process.stdout)
    if process.returncode:
        raise SystemExit(f"llvm-objdump cannot read {program}")


def check_probe(probe: Path, folder: Path) -> str | None:
    """Disassembles Tests/Release/arm.s, whose functions are named after what is found in them. Says what is not, or nothing."""
    program = folder / "arm.o"
    subprocess.run([TOOLS / "clang", "--target=armv7-unknown-linux-gnueabihf", "-c", probe, "-o", program], check=True)
    found = {function.name: (bool(function.loses_self), function.unknown) for function in disassembled(program)}
    wanted = {"keeps_self": (False, False), "loses_self": (True, False), "is_newer": (False, True)}
    return next((name for name, what in wanted.items() if found.get(name) != what), None)
