# SPDX-License-Identifier: GPL-3.0-or-later
"""Headless Firefox, as far as one case needs it: WebDriver BiDi on its own port, without a driver."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from .browser import Program

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    def __init__(self) -> None:
        self.numbers = itertools.count(1)

    async def __aenter__(self) -> "Firefox":
        assert PROGRAM
        self.program = Program(PROGRAM)
        address = await self.program.start(
            "--headless", "--no-remote", "--profile", self.program.folder.name, "--remote-debugging-port", "0",
            mark="BiDi listening on")
        self.socket = await connect(address + "/session", max_size=None)
        await self.call("session.new", capabilities={})
        tree = await self.call("browsingContext.getTree")
        self.context = tree["contexts"][0]["context"]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.program.end()

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(await asyncio.wait_for(self.socket.recv(), 60))
            if answer.get("id") == number:
                if answer.get("type") == "error":
                    raise AssertionError(f"{method}: {answer['message']}")
                return answer["result"]

    async def open(self, file: Path) -> None:
        await self.call("browsingContext.navigate", context=self.context, url=f"file://{file}", wait="complete")

    async def run(self, script: str) -> Any:
        """The value of an expression, through JSON."""
        found = await self.call(
            "script.evaluate", expression=f"JSON.stringify({script})", target={"context": self.context}, awaitPromise=True)
        if found["type"] != "success":
            raise AssertionError(f"{script}: {found['exceptionDetails']['text']}")
        return json.loads(found["result"]["value"])
