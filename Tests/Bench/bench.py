#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ancsd costs, in one table (docs/performance.md explains the figures): instructions, allocations and
system calls a notification beside a consumer in plain C that prints the same lines; what runs, waits and takes
memory when nothing happens; the start, a client, and captures.

Instructions and counts repeat, so they can be kept (`--keep`) and held against later (`--check`).
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench import emulator, runs  # noqa: E402
from Bench.phone import Phone  # noqa: E402
from Bench.runs import Consumer, Unavailable  # noqa: E402
from Harness import procfs  # noqa: E402

HERE = Path(__file__).resolve().parent


@dataclass
class Bench:
    """What is measured, and where."""

    ancsd: Consumer
    binary: Path
    #: None if there is nothing to compare with.
    c: Consumer | None
    work: Path
    idle: float
    #: The emulator, if the program is for another processor.
    emulator: emulator.Emulator | None = None
    #: Runs that several rows share, by name.
    cache: dict[str, object] = field(default_factory=dict)

    def once(self, name: str, measure: Callable[[], object]) -> object:
        if name not in self.cache:
            self.cache[name] = measure()
        return self.cache[name]

    @property
    def compared(self) -> list[Consumer]:
        return [self.ancsd, self.c] if self.c else [self.ancsd]

    def client(self, *words: str) -> list[str]:
        played = self.emulator.command if self.emulator else ()
        return [*played, str(self.binary), *words, "--socket", str(self.ancsd.control)]

    def tool(self, tool: runs.Tool) -> runs.Tool:
        """The tool that counts the same on this processor."""
        return self.emulator.tools[tool] if self.emulator else tool

    def alone(self) -> None:
        """A process that contains an emulator is not measured."""
        if self.emulator:
            raise Unavailable("qemu-user plays the processor")


# MARK: What is measured


@dataclass(frozen=True)
class Figure:
    """A value, and that of the C consumer, if it does the same."""

    value: float
    c: float | None = None


@dataclass(frozen=True)
class Row:
    """A figure of the table. Greater is worse, except for rates."""

    name: str
    goal: float | None
    measure: Callable[[Bench], Figure]
    is_rate: bool = False
    #: Whether it takes long, and so is left out of a quick run.
    is_slow: bool = False
    #: Whether it is counted, not timed, and so the same on any machine, and can be recorded.
    is_counted: bool = False

    def meets_goal(self, value: float) -> bool:
        return self.goal is None or (value >= self.goal if self.is_rate else value <= self.goal)


def cost(bench: Bench, consumer: Consumer, tool: runs.Tool, mtu: int = runs.MTU, clients: int = 0) -> runs.Cost:
    return bench.once(
        f"{consumer.name} {tool.name} {mtu} {clients}",
        lambda: runs.each(consumer, bench.work, bench.tool(tool), mtu=mtu, clients=clients),
    )  # type: ignore[return-value]


def each(tool: runs.Tool, mtu: int = runs.MTU) -> Callable[[Bench], Figure]:
    return lambda bench: Figure(*(cost(bench, one, tool, mtu).count for one in bench.compared))


def allocations(bench: Bench) -> Figure:
    bench.alone()
    figure = Figure(*(cost(bench, one, runs.INSTRUCTIONS).allocations for one in bench.compared))
    if figure.value == 0:
        raise Unavailable("the program has neither symbols nor the linker's map (scripts/build) beside it")
    return figure


def subscribed(bench: Bench, clients: int) -> float:
    """Instructions per notification with this number of clients."""
    return cost(bench, bench.ancsd, runs.INSTRUCTIONS, clients=clients).count


def each_client(bench: Bench) -> Figure:
    # Of several clients, because the difference of two runs varies by hundreds.
    return Figure((subscribed(bench, 5) - subscribed(bench, 0)) / 5)


@dataclass
class Quiet:
    """An idle daemon, and a client of a busy one."""

    wake_ups: int = 0
    threads: int = 0
    anonymous: int = 0
    resident: int = 0


def quiet(bench: Bench) -> Quiet:
    bench.alone()

    def measure() -> Quiet:
        quiet = Quiet()

        def watch(pid: int, phone: Phone) -> None:
            runs.pause(phone, 3)  # until it has nothing more to request
            before = procfs.wake_ups(pid)
            time.sleep(bench.idle)
            quiet.wake_ups = procfs.wake_ups(pid) - before
            quiet.threads = procfs.status(pid)["Threads"]

        # The phone has no AMS, and the daemon would keep searching for it.
        runs.run(bench.ancsd.with_options("--quirk", "search=off"), bench.work, 200, during=watch)
        with runs.ready(bench.ancsd, bench.work) as pid:
            quiet.anonymous, quiet.resident = runs.memory(pid)
        return quiet

    return bench.once("quiet", measure)  # type: ignore[return-value]


def start(bench: Bench) -> Figure:
    tool = bench.tool(runs.INSTRUCTIONS)
    daemon = runs.ready(bench.ancsd, bench.work, tool)
    with daemon:
        pass
    return Figure(tool.read(daemon.log))


def status(bench: Bench) -> Figure:
    with runs.ready(bench.ancsd, bench.work):
        return Figure(runs.count(bench.client("status"), bench.work, bench.tool(runs.INSTRUCTIONS)))


def listing(count: int) -> Callable[[Bench], Figure]:
    def measure(bench: Bench) -> Figure:
        found: list[int] = []

        def ask(_: int, phone: Phone) -> None:
            runs.pause(phone, 1)
            command = bench.client("list", "--format", "json")
            shown = subprocess.run(command, capture_output=True)
            listed = shown.stdout.count(b'"uid":')
            # With such texts these are slightly more than the 16 MiB that are kept per phone (docs/security.md).
            if shown.returncode or listed < 0.99 * count:
                said = shown.stderr.decode().strip()
                raise Unavailable(f"{listed} of {count} were listed, status {shown.returncode}: {said}")
            found.append(runs.count(command, bench.work, bench.tool(runs.INSTRUCTIONS)))

        runs.run(bench.ancsd, bench.work, count, during=ask)
        return Figure(found[0])

    return measure


#: Notifications while the longest turn is measured.
MANY = 3_000


def longest_turn(*command: str) -> Callable[[Bench], Figure]:
    """The longest turn of a daemon that fetches many notifications, and then serves this client."""

    def measure(bench: Bench) -> Figure:
        def ask(_: int, phone: Phone) -> None:
            runs.pause(phone, 1)
            if command:
                subprocess.run(bench.client(*command), stdout=subprocess.DEVNULL, check=True)

        return Figure(runs.run(bench.ancsd, bench.work, MANY, tool=bench.tool(runs.LONGEST_TURN), during=ask).count)

    return measure


def stripped(bench: Bench) -> Figure:
    copy = bench.work / "stripped"
    # Swift's compiler supports every processor.
    objcopy = "llvm-objcopy" if bench.emulator else "objcopy"
    if shutil.which(objcopy) is None:
        raise Unavailable(f"{objcopy} is not installed")
    subprocess.run([objcopy, "--strip-all", bench.binary, copy], check=True)
    return Figure(copy.stat().st_size / 1e6)


def needed(bench: Bench) -> Figure:
    """Libraries that the board needs in addition to the C library."""
    told = subprocess.run(["objdump", "-p", bench.binary], capture_output=True, text=True, check=True).stdout
    libraries = [line.split()[1] for line in told.splitlines() if line.split()[:1] == ["NEEDED"]]
    return Figure(len(libraries))


# MARK: Captures

#: Notifications in the decoded capture.
CAPTURED = 5_000


def capture(bench: Bench) -> tuple[Path, int]:
    """A capture by the daemon of its own link, and its number of records."""

    def measure() -> tuple[Path, int]:
        path = bench.work / "capture.btsnoop"
        runs.run(bench.ancsd.with_options("--btsnoop", str(path)), bench.work, CAPTURED)
        data = path.read_bytes()
        at, records = 16, 0
        while at < len(data):
            at += 24 + int.from_bytes(data[at + 4 : at + 8], "big")
            records += 1
        return path, records

    return bench.once("capture", measure)  # type: ignore[return-value]


def decode(*options: str) -> Callable[[Bench], Figure]:
    """Records per second of CPU time."""

    def measure(bench: Bench) -> Figure:
        bench.alone()
        path, records = capture(bench)
        words = [str(bench.binary), "decode", *options, str(path)]
        return Figure(records / statistics.median(runs.cpu_seconds(words) for _ in range(3)))

    return measure


def page(bench: Bench) -> Figure:
    """Instructions a record of the page of --html."""
    path, records = capture(bench)
    words = [str(bench.binary), "decode", str(path), "--html", str(bench.work / "page")]
    played = bench.emulator.command if bench.emulator else ()
    return Figure(runs.count([*played, *words], bench.work, bench.tool(runs.INSTRUCTIONS)) / records)


#: The table, by goal.
ROWS = (
    Row("instructions a notification, MTU 185", 33_000, each(runs.INSTRUCTIONS), is_counted=True),
    Row("instructions a notification, MTU 23", 46_000, each(runs.INSTRUCTIONS, mtu=23), is_slow=True, is_counted=True),
    Row("allocations a notification", 8, allocations, is_counted=True),
    Row("instructions, each of five subscribed clients", 2_500, each_client, is_slow=True, is_counted=True),
    Row("system calls a notification, MTU 185", 4.1, each(runs.SYSTEM_CALLS), is_counted=True),
    Row("system calls a notification, MTU 23", 4.6, each(runs.SYSTEM_CALLS, mtu=23), is_slow=True, is_counted=True),
    Row("wake-ups while idle", 0, lambda bench: Figure(quiet(bench).wake_ups)),
    Row("threads", 1, lambda bench: Figure(quiet(bench).threads)),
    Row("binary, stripped, MB", 14, stripped),
    Row("shared libraries that it needs", 0, needed),
    Row("anonymous memory when ready, KiB", 1_024, lambda bench: Figure(quiet(bench).anonymous)),
    Row("resident memory when ready, KiB", 7_168, lambda bench: Figure(quiet(bench).resident)),
    Row("instructions from start to ready, and to the end", 4.5e6, start, is_counted=True),
    Row("instructions of “ancsd status”", 4.5e6, status, is_counted=True),
    Row("instructions of “ancsd list”, 1,000", 8e6, listing(1_000), is_counted=True),
    Row("instructions of “ancsd list”, 16,384", 8e6 * 16.384, listing(16_384), is_slow=True),
    Row("instructions of the longest turn, 3,000 fetched", 100e6, longest_turn(), is_slow=True),
    Row("instructions of the longest turn, 3,000 listed", 100e6, longest_turn("list", "--json"), is_slow=True),
    Row("decode as text, records a CPU second", None, decode(), is_rate=True),
    Row("decode as JSON, records a CPU second", None, decode("--format", "json"), is_rate=True),
    Row("instructions a record of “decode --html”", None, page),
)


# MARK: The table


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if abs(value) < 100 and value != int(value) else f"{value:,.0f}"


def table(bench: Bench, rows: list[Row]) -> Iterator[tuple[Row, float]]:
    """Prints the table line by line; if something can't be measured here, its line says why."""
    print(f"{'figure':48} {'ancsd':>12} {'C':>10} {'ratio':>6} {'goal':>12}")
    for row in rows:
        try:
            figure = row.measure(bench)
        except (Unavailable, TimeoutError, OSError) as error:
            print(f"{row.name:48} not measured: {error}", flush=True)
            continue
        ratio = f"{figure.value / figure.c:.1f}" if figure.c else ""
        met = "" if row.meets_goal(figure.value) else "  missed"
        print(
            f"{row.name:48} {number(figure.value):>12} {number(figure.c):>10} {ratio:>6} "
            f"{number(row.goal):>12}{met}",
            flush=True,
        )
        yield row, figure.value


#: The tolerance, unless the file has one.
TOLERANCE = 0.03


def check(path: Path, found: dict[Row, float]) -> list[str]:
    """A sentence for each figure that is worse than recorded, and for each that could not be measured."""
    values = {row.name: value for row, value in found.items()}
    said = []
    for name, kept in json.loads(path.read_text()).items():
        if name not in values:
            said.append(f"{name}: it was not measured")
        elif values[name] > kept["kept"] * (1 + kept["tolerance"]):
            said.append(
                f"{name}: {number(values[name])}, where {number(kept['kept'])} were kept and {kept['tolerance']:.0%} more "
                "are tolerated"
            )
    return said


def keep(path: Path, found: dict[Row, float]) -> None:
    """Records the figures, replacing those with the same names."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    for row, value in found.items():
        if row.is_counted:
            tolerance = kept.get(row.name, {}).get("tolerance", TOLERANCE)
            kept[row.name] = {"kept": round(value, 1), "tolerance": tolerance}
    ordered = {row.name: kept[row.name] for row in ROWS if row.name in kept}
    lines = (f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(figure)}" for name, figure in ordered.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compiled(work: Path, played: emulator.Emulator | None) -> Path:
    """The consumer in C."""
    compiler = played.compiler if played else ("cc",)
    if shutil.which(compiler[0]) is None:
        raise SystemExit(f"bench: there is no C compiler ({compiler[0]}) for Tests/Bench/consumer.c: install gcc")
    program = work / "consumer"
    subprocess.run([*compiler, "-O2", "-Wall", "-o", program, HERE / "consumer.c"], check=True)
    return program


def readable(binary: Path, work: Path) -> Path:
    """The program with symbols, if it has any, but without debugging information, which valgrind can't read."""
    if shutil.which("strip") is None:
        return binary
    copy = work / "ancsd"
    subprocess.run(["strip", "--strip-debug", "-o", copy, binary], check=True)
    return copy


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--emulator", metavar="COMMAND", help="what runs the program, which is one for another processor")
    parser.add_argument("--sdk", metavar="DIRECTORY", type=Path, help="the SDK for that processor")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--row", metavar="TEXT", action="append")
    parser.add_argument("--idle", type=float, default=60)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--check", metavar="FILE", type=Path)
    parser.add_argument("--keep", metavar="FILE", type=Path)
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    if arguments.check and (arguments.emulator or platform.machine() != "x86_64"):
        print("skipped scripts/bench --check: the figures that are kept are those of x86-64")
        return 0
    wanted = [text.lower() for text in arguments.row or []]

    def is_measured(row: Row) -> bool:
        if arguments.check:
            return row.is_counted
        return any(text in row.name.lower() for text in wanted) if wanted else not (arguments.quick and row.is_slow)

    rows = [row for row in ROWS if is_measured(row)]
    with tempfile.TemporaryDirectory(prefix="ancsd.") as directory:
        work = Path(directory)
        played = emulator.emulator(arguments.emulator, work, arguments.sdk) if arguments.emulator else None
        binary = arguments.binary if played else readable(arguments.binary, work)
        program = compiled(work, played)
        prefix = played.command if played else ()
        # scripts/build leaves the linker's map there.
        ancsd = runs.ancsd(binary, work, prefix, arguments.binary.parents[2] / "ancsd.map")
        c = Consumer("c", lambda phone: [*prefix, str(program), str(phone)])
        idle = min(arguments.idle, 5) if arguments.quick else arguments.idle
        bench = Bench(ancsd, binary, None if arguments.check else c, work, idle, played)
        one, other = (runs.run(consumer, work, 50).lines for consumer in (ancsd, c))
        if difference := runs.same_lines(one, other):
            print(f"bench: ancsd and the consumer in C print different lines:\n{difference}", file=sys.stderr)
            return 1
        found = dict(table(bench, rows))
    failures = check(arguments.check, found) if arguments.check else []
    if arguments.strict:
        failures += [f"{row.name}: the goal is missed" for row, value in found.items() if not row.meets_goal(value)]
    for failure in failures:
        print(f"bench: {failure}", file=sys.stderr)
    if arguments.keep:
        keep(arguments.keep, found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
