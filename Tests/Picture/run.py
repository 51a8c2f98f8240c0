# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cases of the page: scripts/picture."""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


async def run(arguments: argparse.Namespace, names: list[str]) -> int:
    from Picture.browser import Browser
    from Picture.cases import CASES, Bed, Skipped

    failed = []
    async with Browser() as browser:
        for name in names:
            began = time.monotonic()
            try:
                await CASES[name](Bed(arguments.binary, arguments.out, browser))
            except Skipped as reason:
                print(f"skipped page case {name}: {reason}")
            except Exception as error:
                failed.append(name)
                print(f"FAILED {name}: {error}")
                if not isinstance(error, AssertionError):
                    traceback.print_exc()
            else:
                print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--case", nargs="+", default=["*"])
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    from Picture.cases import CASES

    names = [name for name in CASES if any(fnmatch.fnmatchcase(name, pattern) for pattern in arguments.case)]
    if arguments.list or not names:
        for name in CASES:
            print(f"{name:12} {CASES[name].__doc__}")
        return 0 if arguments.list else 64
    arguments.out.mkdir(parents=True, exist_ok=True)
    return asyncio.run(run(arguments, names))


if __name__ == "__main__":
    sys.exit(main())
