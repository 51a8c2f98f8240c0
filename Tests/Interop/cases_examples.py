# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documents, run as they are printed."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

from Harness.ancs import Notification
from Harness.case import Failure, case, check, patient

from .testbed import Testbed

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / document).read_text(), re.DOTALL | re.MULTILINE)


async def play(socket: Path, *command: str) -> str:
    """Runs an example to its end; returns what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, "SOCKET": str(socket)}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), patient(20))
    if process.returncode:
        raise Failure(f"an example ended with {process.returncode}: {err.decode()}\n{command[-1]}")
    return out.decode()


@case("example-control-socket")
async def control_socket(bed: Testbed) -> None:
    """docs/control-socket.md: each example prints what it says."""
    for tool in ("socat", "jq"):
        check(shutil.which(tool), f"{tool} is not installed: scripts/setup")
    daemon, phone, _ = await bed.served()
    phone.ancs.post(Notification(1), Notification(2, title="Dad"))
    await daemon.event("notification", uid=2)
    await daemon.event("media")
    shells = examples("control-socket.md", "sh")
    check(len(shells) == 4, f"there are {len(shells)} examples")
    wanted = ["Messages: Mum\nMessages: Dad\n", "Sinnerman\n", "done\n", "added Dad\n"]
    for shell, text in zip(shells, wanted, strict=True):
        printed = await play(daemon.socket, "sh", "-c", shell)
        check(printed == text, f"an example printed {printed!r} instead of {text!r}:\n{shell}")
    phone.ancs.post(Notification(3))
    await daemon.event("notification", uid=3)
    (python,) = examples("control-socket.md", "python")
    printed = await play(daemon.socket, sys.executable, "-c", python)
    check(printed == "added Dad\nadded Mum\npaused\n", f"the example in Python printed {printed!r}")


@case("example-settings")
async def settings(bed: Testbed) -> None:
    """docs/settings.md: its example is a good file, and `rules test` says what its rules make of events."""
    (example,) = examples("settings.md", "toml")
    file = bed.work / "ancsd.toml"
    file.write_text(example)
    (await bed.run("config", "check", str(file))).expect(0)
    daemon, phone, _ = await bed.served()
    phone.ancs.post(Notification(1, app_id="com.example.game.two"), Notification(2))
    await daemon.event("notification", uid=2)
    found = await bed.run(
        "rules", "test", "--config", str(file), "--format", "text", stdin=daemon.text.encode()
    )
    found.expect(0)
    check('rule “2”: hide' in found.out and "#2 social com.apple.MobileSMS “Mum”: no rule" in found.out, found.out)
