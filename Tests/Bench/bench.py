#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ancsd costs, compared with Python consumers of the same phone in the same run: one as plain as
possible, which trusts the phone in everything, and Bumble's own.

User CPU is that of the process from start to end (getrusage), and again without the cost of the start.
After that, wake-ups of an idle daemon, threads and memory.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench.phone import Phone  # noqa: E402
from Harness import procfs  # noqa: E402

GOAL = 0.1


@dataclass
class Cost:
    """One run of a consumer: seconds of CPU from its start to its end, and other measurements."""

    user: float
    system: float
    seconds: float  # from the first notification to the last one fetched
    requests: int
    wake_ups: int = 0
    threads: int = 0
    resident: int = 0  # KiB, at the end
    peak: int = 0


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b'"event":"notification"') + path.read_bytes().count(
        b'"event": "notification"'
    )


def measure(command: list[str], work: Path, count: int, idle: float = 0) -> Cost:
    """Runs a consumer with a phone that has `count` notifications, then watches it for `idle` seconds."""
    path, output = work / "phone", work / "output"
    phone = Phone(path, count)
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
    threads = 0
    try:
        phone.accept(60)
        end = time.monotonic() + 120
        while not phone.done:
            phone.turn(end - time.monotonic())
            if count and phone.fetched % 200 == 0:
                threads = max(threads, procfs.status(process.pid)["Threads"])
        while lines_of(output) < count:
            phone.turn(0.05)
            if time.monotonic() > end:
                raise TimeoutError(f"{lines_of(output)} of {count} were printed")
        cost = Cost(0, 0, phone.done - phone.subscribed, phone.requests, threads=threads)
        if idle:
            while phone.turn(1):  # until it has nothing more to request
                pass
            before = procfs.wake_ups(process.pid)
            time.sleep(idle)
            cost.wake_ups = procfs.wake_ups(process.pid) - before
            after = procfs.status(process.pid)
            cost.threads = max(cost.threads, after["Threads"])
            cost.resident, cost.peak = after["VmRSS"], after["VmHWM"]
    finally:
        process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        phone.close(path)
    cost.user, cost.system = usage.ru_utime, usage.ru_stime
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--bumble", metavar="PYTHON", help="an interpreter that has Bumble")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=10)
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    count = arguments.count
    here = Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory(prefix="ancsd.") as directory:
        work = Path(directory)
        path = str(work / "phone")
        ancsd = [
            str(arguments.binary), "--att", f"unix:{path}", "--format", "json",
            "--socket", str(work / "control"), "--state-dir", str(work / "state"),
        ]  # fmt: skip
        commands = {"ancsd": ancsd, "python": [sys.executable, str(here / "consumer.py"), path]}
        if arguments.bumble:
            commands["bumble"] = [arguments.bumble, str(here / "bumble_consumer.py"), path]
        print(
            f"{count} notifications, all attributes, MTU 185; the median of {arguments.rounds} rounds"
        )
        runs: dict[str, list[Cost]] = {name: [] for name in commands}
        starts: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                starts[name].append(measure(command, work, 0))
                runs[name].append(measure(command, work, count))
        whole: dict[str, float] = {}
        each: dict[str, float] = {}
        for name in commands:
            user = statistics.median(run.user for run in runs[name])
            system = statistics.median(run.system for run in runs[name])
            start = statistics.median(run.user for run in starts[name])
            seconds = statistics.median(run.seconds for run in runs[name])
            whole[name], each[name] = user / count, max(user - start, 0) / count
            print(
                f"{name:7} {whole[name] * 1e6:7.1f} us of user CPU a notification, "
                f"{each[name] * 1e6:.1f} without the start ({start * 1e3:.0f} ms); "
                f"system {system / count * 1e6:.1f} us; {seconds:.2f} s in all"
            )
        ratios = {name: whole["ancsd"] / whole[name] for name in commands if name != "ancsd"}
        for name, ratio in ratios.items():
            bare = each["ancsd"] / each[name]
            print(
                f"ratio   {ratio:.3f} of {name} ({bare:.3f} without the start); the goal is {GOAL}"
            )
        quiet = measure(ancsd, work, 200, arguments.idle)
        print(
            f"idle    {quiet.wake_ups} wake-ups in {arguments.idle:.0f} s; {quiet.threads} thread(s) "
            f"while serving; {quiet.resident} KiB resident, {quiet.peak} at most"
        )
    met = min(ratios.values()) <= GOAL and quiet.wake_ups == 0 and quiet.threads == 1
    return 0 if met or not arguments.strict else 1


if __name__ == "__main__":
    sys.exit(main())
