# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd tui` in tmux: what its screen shows, and its keys."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from Harness.case import Failure, check


class Screen:
    """A window of tmux in which `ancsd tui` runs. When it ends, its status is shown."""

    def __init__(self, work: Path) -> None:
        self.server = work / "tmux"

    async def tmux(self, *words: object) -> str:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        process = await asyncio.create_subprocess_exec(
            "tmux", "-u", "-f", "/dev/null", "-S", str(self.server), *map(str, words), env=environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        out, error = await process.communicate()
        check(process.returncode == 0, f"tmux {words[0]}: {error.decode()}")
        return out.decode()

    async def open(self, binary: Path, socket: Path, terminal: str) -> None:
        name = f"TERM={terminal} " if terminal else ""
        command = f"trap : INT; {name}'{binary}' tui --socket '{socket}'; echo status $?; sleep 1000"
        await self.tmux("new-session", "-d", "-x", 80, "-y", 24, command)
        await self.tmux("set-option", "-g", "window-size", "manual")

    def close(self) -> None:
        if self.server.exists():
            subprocess.run(["tmux", "-S", str(self.server), "kill-server"], check=False)

    async def resize(self, columns: int, rows: int) -> None:
        await self.tmux("resize-window", "-x", columns, "-y", rows)

    async def press(self, *keys: str) -> None:
        """Presses keys, by tmux's names."""
        for key in keys:
            await self.tmux("send-keys", "--", key)

    async def rows(self) -> list[str]:
        """What the window shows."""
        return (await self.tmux("capture-pane", "-p")).split("\n")

    async def shows(
        self, wanted: Callable[[str], bool] | str, within: float = 10
    ) -> list[str]:
        """Waits until the window shows it; returns its rows."""
        holds = wanted if callable(wanted) else lambda text: wanted in text
        for _ in range(int(within * 20)):
            rows = await self.rows()
            if holds("\n".join(rows)):
                return rows
            await asyncio.sleep(0.05)
        what = "what was wanted" if callable(wanted) else f"“{wanted}”"
        raise Failure(f"the screen never showed {what}, but\n" + "\n".join(rows))

    async def shows_not(self, text: str) -> list[str]:
        return await self.shows(lambda shown: text not in shown)
