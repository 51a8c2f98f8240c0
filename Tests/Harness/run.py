#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cases of a suite in one process: Bumble is slow to import, and most cases wait for time-outs.

Prints a line for each case, then `N passed, N skipped, N failed`. Exit status: 0 all passed, 1 one failed, 64 usage.
scripts/suite and scripts/lab call it.
"""

import argparse
import asyncio
import fnmatch
import importlib
import logging
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[0] = str(TESTS)
sys.dont_write_bytecode = True

from Harness.case import Case, Failure, Skipped, cases, patient  # noqa: E402
from Harness.testbed import Testbed  # noqa: E402

#: Lines of each log that are printed when a case fails.
TAIL = 25


def registered(suite: str) -> dict[str, Case]:
    """The suite's cases by name: those in its modules `cases*`, and not the other suites' of which they make use."""
    for path in sorted((TESTS / suite).glob("cases*.py")):
        importlib.import_module(f"{suite}.{path.stem}")
    return {name: one for name, one in cases.items() if one.run.__module__.startswith(f"{suite}.")}


def say(text: str) -> None:
    print(text, flush=True)


def print_tail(path: Path) -> None:
    if path.exists() and path.stat().st_size:
        say(f"  {path.relative_to(path.parent.parent)}:")
        for line in path.read_text(errors="replace").splitlines()[-TAIL:]:
            say(f"    {line[:400]}")


def first_failure(error: BaseException) -> BaseException:
    """The exception that ended a task group: the group's other tasks were only cancelled."""
    while isinstance(error, BaseExceptionGroup):
        parts: list[BaseException] = list(error.exceptions)
        error = next((part for part in parts if isinstance(part, Failure)), parts[0])
    return error


async def run(one: Case, testbed: Testbed) -> str:
    """Runs one case; prints and returns the outcome. A mistake in the case itself fails it too."""
    began = time.monotonic()
    seconds = patient(one.seconds or testbed.SECONDS)
    trouble = skipped = ""
    try:
        async with asyncio.timeout(seconds) as limit:
            await testbed.open()
            await one.run(testbed)
        testbed.check()
    except Skipped as why:
        skipped = str(why)
    except Exception as caught:
        error = first_failure(caught)
        trouble = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
        if limit.expired():
            trouble = f"not over after {seconds:.0f} s"
        elif not isinstance(error, Failure):
            text = "".join(traceback.format_exception(error))
            (testbed.failed.out / "traceback").write_text(text)
    try:
        await asyncio.wait_for(testbed.close(), patient(15))
    except (Failure, TimeoutError, OSError) as error:
        trouble = trouble or f"cleaning up: {error or 'it hangs'}"
    took = f"({time.monotonic() - began:.1f} s)"
    if not trouble:
        say(f"skipped {one.name}: {skipped}" if skipped else "; ".join([f"ok {one.name} {took}", *testbed.remarks]))
        return "skipped" if skipped else "passed"
    say(f"FAILED {one.name}: {trouble} {took}")
    for name in ("events", "log", "kernel", "traceback"):
        print_tail(testbed.failed.out / name)
    return "failed"


async def run_all(chosen: list[Case], kind: type[Testbed], arguments: argparse.Namespace) -> int:
    jobs = arguments.jobs or kind.JOBS
    gate = asyncio.Semaphore(jobs)
    begun: Counter[str] = Counter()

    async def gated(one: Case) -> str:
        if arguments.emulated and one.native:
            say(f"skipped {one.name}: {one.native}")
            return "skipped"
        async with gate:
            if jobs == 1:
                say(f"running {one.name}")
            begun[one.name] += 1
            folder = one.name if begun[one.name] == 1 else f"{one.name}.{begun[one.name]}"
            return await run(one, kind(arguments.binary, arguments.out / folder))

    together = [one for one in chosen if not one.alone]
    if jobs > 1:
        together.sort(key=lambda one: -(one.seconds or kind.SECONDS))
    results = list(await asyncio.gather(*map(gated, together)))
    for one in chosen:
        if one.alone:
            results.append(await gated(one))
    if summary := kind.summary():
        say(summary)
    say(", ".join(f"{results.count(end)} {end}" for end in ("passed", "skipped", "failed")))
    return 1 if "failed" in results else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", metavar="SUITE", help="the package of its cases, such as Lab")
    parser.add_argument("--binary", type=Path, help="the ancsd to run")
    parser.add_argument("--out", type=Path, help="the directory for each case's events and logs")
    parser.add_argument("--jobs", type=int, help="cases at a time")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these cases; * and ? stand for anything")
    parser.add_argument("--repeat", type=int, default=1, help="run all this often, to find a flaky case")
    parser.add_argument("--emulated", action="store_true", help="the ancsd is another processor's, which qemu-user plays")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    arguments = parser.parse_args()
    known = registered(arguments.suite)
    patterns = arguments.case or ["*"]
    names = list(dict.fromkeys(name for pattern in patterns for name in fnmatch.filter(known, pattern)))
    if unknown := [pattern for pattern in patterns if not fnmatch.filter(known, pattern)]:
        say(f"no case {' '.join(unknown)}; --list names them")
        return 64
    if arguments.list:
        for name in names:
            say(f"{name:26} {known[name].about}")
        return 0
    if arguments.binary is None or arguments.out is None:
        parser.error("--binary and --out are needed")
    arguments.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.ERROR, filename=arguments.out / "bumble.log")
    kind = importlib.import_module(f"{arguments.suite}.testbed").Testbed
    return asyncio.run(run_all([known[name] for name in names] * arguments.repeat, kind, arguments))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Not sys.exit: Python would kill a daemon that the lab has frozen because it must not end.
    os._exit(status)
