#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cases, several at a time, in one process: most of them wait for a time-out.

A line a case, then `N passed, N failed`; exit status 1 if one failed. scripts/interop calls this.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Lab")]
sys.dont_write_bytecode = True

# The names of the cases come in this order.
import cases_setup  # noqa: E402, F401, I001
import cases_attributes  # noqa: E402, F401
import cases_queue  # noqa: E402, F401
import cases_faults  # noqa: E402, F401
import cases_publishing  # noqa: E402, F401
import cases_media  # noqa: E402, F401
import cases_malformed  # noqa: E402, F401
import cases_database  # noqa: E402, F401
import cases_control  # noqa: E402, F401
import cases_commands  # noqa: E402, F401
import cases_process  # noqa: E402, F401
import cases_gatt  # noqa: E402, F401
import cases_gatt_faults  # noqa: E402, F401
import cases_gatt_answers  # noqa: E402, F401
import cases_ownphone  # noqa: E402, F401
from harness import Failure  # noqa: E402
from room import Case, Room, cases  # noqa: E402

TAIL = 25


def say(text: str) -> None:
    print(text, flush=True)


def tail(path: Path) -> None:
    """The end of what a daemon said, indented under its case."""
    if path.exists() and path.stat().st_size:
        say(f"  {path.relative_to(path.parent.parent)}:")
        for line in path.read_text(errors="replace").splitlines()[-TAIL:]:
            say(f"    {line[:400]}")


def first_failure(error: BaseException) -> BaseException:
    """What made a group of parts end: the others were only cancelled."""
    while isinstance(error, BaseExceptionGroup):
        parts: list[BaseException] = list(error.exceptions)
        error = next((part for part in parts if isinstance(part, Failure)), parts[0])
    return error


async def run(case: Case, arguments: argparse.Namespace) -> bool:
    """One case, whatever happens in it; says how it went."""
    began = time.monotonic()
    room = Room(arguments.binary, arguments.out / case.name)
    trouble = ""
    try:
        async with asyncio.timeout(case.seconds) as limit:
            await case.run(room)
        room.check()
    except Exception as error:  # a mistake in the suite itself is a failure, never a pass
        error = first_failure(error)  # type: ignore[assignment]
        trouble = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        if limit.expired():
            trouble = f"not over after {case.seconds:.0f} s"
        elif not isinstance(error, Failure):
            text = "".join(traceback.format_exception(error))
            (room.failed.out / "traceback").write_text(text)
    try:
        await asyncio.wait_for(room.close(), 15)
    except (Failure, TimeoutError, OSError) as error:
        trouble = trouble or f"the end of the case: {error or 'it hangs'}"
    took = f"({time.monotonic() - began:.1f} s)"
    if not trouble:
        say(f"ok {case.name} {took}" + "".join(f"; {remark}" for remark in room.remarks))
        return True
    say(f"FAILED {case.name}: {trouble} {took}")
    for name in ("events", "log", "traceback"):
        tail(room.failed.out / name)
    return False


async def run_all(chosen: list[Case], arguments: argparse.Namespace) -> int:
    gate = asyncio.Semaphore(arguments.jobs)

    async def one(case: Case) -> bool:
        async with gate:
            return await run(case, arguments)

    together = sorted((c for c in chosen if not c.alone), key=lambda c: -c.seconds)
    results = list(await asyncio.gather(*map(one, together)))
    for case in chosen:
        if case.alone:
            results.append(await run(case, arguments))
    say(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--out", type=Path, default=Path("interop-out"))
    parser.add_argument("--jobs", type=int, default=8)
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
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    logging.basicConfig(level=logging.ERROR, filename=arguments.out / "bumble.log")
    return asyncio.run(run_all([cases[name] for name in arguments.case], arguments))


if __name__ == "__main__":
    sys.exit(main())
