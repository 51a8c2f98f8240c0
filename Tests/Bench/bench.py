#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The budget: what ancsd costs, in one table (docs/performance.md explains the figures). Instructions and counts repeat, so
they can be kept (`--keep`) and held against later (`--check`).
"""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from Bench import runs  # noqa: E402
from Bench.runs import Ancsd, Unavailable  # noqa: E402
from Harness import procfs  # noqa: E402


ROOT = Path(__file__).resolve().parents[2]
FIGURES = Path(__file__).with_name("figures.json")


# MARK: What is measured


@dataclass(frozen=True)
class Row:
    """A figure of the table. Greater is worse."""

    name: str
    goal: float
    measure: Callable[[Ancsd], float]
    #: Whether it is counted, not timed, and so the same on any machine, and can be recorded.
    is_counted: bool = False


#: The cost of a notification, of which several rows are made.
each = cache(runs.each)


def allocations(bench: Ancsd) -> float:
    count = each(bench).allocations
    if count == 0:
        raise Unavailable("the program has neither symbols nor the linker's map (scripts/build) beside it")
    return count


@cache
def memory(bench: Ancsd) -> dict[str, int]:
    """The memory of a daemon that is ready, in KiB."""
    with runs.ready(bench) as pid:
        return procfs.status(pid)


def start(bench: Ancsd) -> int:
    with runs.ready(bench, is_counted=True):
        pass
    return bench.instructions()


def stripped(bench: Ancsd) -> float:
    copy = bench.work / "stripped"
    if shutil.which("objcopy") is None:
        raise Unavailable("objcopy is not installed")
    subprocess.run(["objcopy", "--strip-all", bench.binary, copy], check=True)
    return copy.stat().st_size / 1e6


#: The table, by goal.
ROWS = (
    Row("instructions a notification, MTU 185", 30_000, lambda bench: each(bench).instructions, is_counted=True),
    Row("instructions a notification, MTU 23", 41_500, lambda bench: each(bench, mtu=23).instructions, is_counted=True),
    Row("allocations a notification", 8, allocations, is_counted=True),
    Row("binary, stripped, MB", 14, stripped),
    Row("anonymous memory when ready, KiB", 1_024, lambda bench: memory(bench)["RssAnon"]),
    Row("resident memory when ready, KiB", 7_168, lambda bench: memory(bench)["VmRSS"]),
    Row("instructions from start to ready, and to the end", 4.5e6, start, is_counted=True),
)


# MARK: The table


def number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 100 and value != int(value) else f"{value:,.0f}"


def table(bench: Ancsd, rows: list[Row]) -> Iterator[tuple[Row, float]]:
    """Prints the table line by line; if something can't be measured here, its line says why."""
    print(f"{'figure':48} {'ancsd':>12} {'goal':>12}")
    for row in rows:
        try:
            value = row.measure(bench)
        except (Unavailable, TimeoutError, OSError) as error:
            print(f"{row.name:48} not measured: {error}", flush=True)
            continue
        print(f"{row.name:48} {number(value):>12} {number(row.goal):>12}{'  missed' if value > row.goal else ''}", flush=True)
        yield row, value


#: The tolerance, unless the file has one.
TOLERANCE = 0.03


def check(found: dict[Row, float]) -> list[str]:
    """A sentence for each figure that is worse than recorded, and for each that could not be measured."""
    values = {row.name: value for row, value in found.items()}
    said = []
    for name, kept in json.loads(FIGURES.read_text()).items():
        if name not in values:
            said.append(f"{name}: it was not measured")
        elif values[name] > kept["kept"] * (1 + kept["tolerance"]):
            said.append(
                f"{name}: {number(values[name])}, where {number(kept['kept'])} were kept and {kept['tolerance']:.0%} more "
                "are tolerated"
            )
    return said


def keep(found: dict[Row, float]) -> None:
    """Records the figures, replacing those with the same names."""
    kept = json.loads(FIGURES.read_text())
    for row, value in found.items():
        if row.is_counted:
            tolerance = kept.get(row.name, {}).get("tolerance", TOLERANCE)
            kept[row.name] = {"kept": round(value, 1), "tolerance": tolerance}
    ordered = {row.name: kept[row.name] for row in ROWS if row.name in kept}
    lines = (f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(figure)}" for name, figure in ordered.items())
    FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def readable(binary: Path, work: Path) -> Path:
    """The program with symbols, if it has any, but without debugging information, which valgrind can't read."""
    if shutil.which("strip") is None:
        return binary
    copy = work / "ancsd"
    subprocess.run(["strip", "--strip-debug", "-o", copy, binary], check=True)
    return copy


#: Notifications in the session whose functions are put in order.
SESSION = 50


def functions(profile: Path) -> set[str]:
    """The functions in a profile. A recursive one occurs several times, with a number; one without a name has its address."""
    names = re.findall(r"^c?fn=\(\d+\) (?!0x|\(below)(\S+)$", profile.read_text(errors="replace"), re.MULTILINE)
    return {re.sub(r"'\d+$", "", name) for name in names}


def write_order(path: Path, ancsd: Ancsd) -> None:
    """Writes the symbols of the functions that ancsd calls: those of a start, then those of a session."""
    start(ancsd)
    first = functions(ancsd.profile)
    runs.cost(ancsd, SESSION)
    session = functions(ancsd.profile) - first
    path.write_text("".join(f"{name}\n" for name in [*sorted(first), *sorted(session)]))
    print(f"{path.name}: {len(first)} functions of a start, {len(session)} more")


def built(folder: str, *options: str) -> Path:
    """The program of a release build, which is made if it is missing."""
    program = ROOT / folder / "release/ancsd"
    if options or not program.exists():
        subprocess.run([ROOT / "scripts/build", *options], stdout=sys.stderr, check=True)
    return program


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"bench: {message}\n")


def parsed() -> argparse.Namespace:
    parser = Parser(prog="scripts/bench", description=__doc__, epilog="""
        Instructions, allocations and the order need valgrind; without it, the figure's line says so.
        With --fleet as the first option, it measures how long a notification takes to a broker's subscriber (docs/fleet.md);
        a further option: --count N (notifications).""")
    parser.add_argument("--binary", type=Path, help="the ancsd to measure (default: .build/release/ancsd, built if it is missing)")
    parser.add_argument("--check", action="store_true", help="""compare the counted figures with those in Tests/Bench/figures.json;
        exit status 1, with a sentence for each, if one is worse by more than its tolerance there""")
    parser.add_argument("--keep", action="store_true", help="record the counted figures in that file")
    parser.add_argument("--order", action="store_true", help="""writes scripts/ancsd.order instead, the link order of ancsd
        (docs/building.md): first the functions that a start calls, then those of a session. Run it when scripts/check-release asks
        for it; stale names are harmless""")
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    if arguments.check and platform.machine() != "x86_64":
        print("skipped scripts/bench --check: the figures that are kept are those of x86-64")
        return 0
    if arguments.order:
        binary = built(".build/symbols", "--product", "ancsd", "--symbols")
    else:
        binary = arguments.binary or built(".build")
    binary = binary.resolve()
    with tempfile.TemporaryDirectory(prefix="ancsd.") as directory:
        work = Path(directory)
        # scripts/build leaves the linker's map there.
        bench = Ancsd(readable(binary, work), work, linker_map=binary.parents[2] / "ancsd.map")
        if arguments.order:
            write_order(ROOT / "scripts/ancsd.order", bench)
            return 0
        found = dict(table(bench, [row for row in ROWS if row.is_counted or not arguments.check]))
    failures = check(found) if arguments.check else []
    for failure in failures:
        print(f"bench: {failure}", file=sys.stderr)
    if arguments.keep:
        keep(found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
