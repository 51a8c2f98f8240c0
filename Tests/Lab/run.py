#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cases one after the other, in one process: Bumble is slow to import under emulation.

A line a case, then `N passed, N failed`; exit status 1 if one failed. scripts/lab calls this, in
the virtual machine or on a real one.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True

# In the order in which they run.
import cases_pairing  # noqa: E402, F401, I001
import cases_service  # noqa: E402, F401
import cases_bonds  # noqa: E402, F401
import cases_machine  # noqa: E402, F401
import cases_trace  # noqa: E402, F401
import cases_link  # noqa: E402, F401
import cases_gatt  # noqa: E402, F401
from harness import Case, Failure, KernelLog, Lab, cases  # noqa: E402

TAIL = 25


def say(text: str) -> None:
    print(text, flush=True)


def tail(path: Path) -> None:
    """The end of what a daemon said, indented under its case."""
    if path.exists() and path.stat().st_size:
        say(f"  {path.name}:")
        for line in path.read_text(errors="replace").splitlines()[-TAIL:]:
            say(f"    {line[:400]}")


async def run(case: Case, arguments: argparse.Namespace, kernel: KernelLog) -> bool:
    """One case, whatever happens in it; says how it went."""
    began = time.monotonic()
    lab = Lab(arguments.binary, arguments.bluez, arguments.out / case.name)
    trouble = ""
    try:
        async with asyncio.timeout(case.seconds):
            await lab.open()
            await case.run(lab)
        for daemon in lab.daemons:
            if daemon.bad_lines:
                raise Failure(
                    f"standard output has a line that is no JSON object: {daemon.bad_lines[0]}"
                )
    except Failure as failure:
        trouble = str(failure)
    except TimeoutError:
        trouble = f"not over after {case.seconds:.0f} s"
    except Exception as error:  # a mistake in the lab itself is a failure, never a pass
        trouble = f"{type(error).__name__}: {error}"
        (arguments.out / case.name / "traceback").write_text(traceback.format_exc())
    try:
        await asyncio.wait_for(lab.close(), 15)
        kernel.check()
    except (Failure, TimeoutError, OSError) as error:
        trouble = trouble or f"the end of the case: {error or 'it hangs'}"
    if not trouble:
        say(f"ok {case.name} ({time.monotonic() - began:.1f} s)")
        return True
    say(f"FAILED {case.name}: {trouble}")
    for name in ("events", "log", "traceback"):
        tail(arguments.out / case.name / name)
    return False


async def run_all(chosen: list[Case], arguments: argparse.Namespace) -> int:
    import phone  # noqa: F401 (Bumble comes with it: no case shall wait for that)

    kernel = KernelLog()
    passed = 0
    for case in chosen:
        say(f"running {case.name}")
        passed += await run(case, arguments, kernel)
    say(f"{passed} passed, {len(chosen) - passed} failed")
    return 0 if passed == len(chosen) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--bluez", type=Path, default=Path("/nonexistent"))
    parser.add_argument("--out", type=Path, default=Path("lab-out"))
    parser.add_argument("--case", nargs="+", metavar="NAME", default=list(cases))
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for case in cases.values():
            say(f"{case.name:26} {case.about}")
        return 0
    unknown = [name for name in arguments.case if name not in cases]
    if unknown or arguments.binary is None:
        parser.error(f"no case {' '.join(unknown)}" if unknown else "--binary is needed")
    logging.basicConfig(level=logging.ERROR, filename=arguments.out / "bumble.log")
    return asyncio.run(run_all([cases[name] for name in arguments.case], arguments))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Not sys.exit: Python would kill a daemon that was frozen because it must not end.
    os._exit(status)
