# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless browser, driven over its DevTools protocol: Debian's chromium."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

PROGRAMS = ("chromium", "chromium-headless-shell", "google-chrome")


def program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Page:
    """A tab: its console, its errors, and every request that it makes."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self.browser, self.session = browser, session
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.loaded = asyncio.Event()

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return await self.browser.call(method, self.session, **parameters)

    def received(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded.set()

    async def open(self, address: str) -> None:
        self.loaded.clear()
        await self.call("Page.navigate", url=address)
        await asyncio.wait_for(self.loaded.wait(), 60)

    async def run(self, script: str) -> Any:
        """The value of an expression, which may be a promise."""
        result = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def settle(self) -> None:
        """Waits until the requested view is drawn."""
        await self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))")

    async def numbers(self) -> dict[str, str]:
        await self.settle()
        return await self.run("({...document.body.dataset})")

    async def text(self, name: str) -> str:
        """The text of an element, by its id, as it is seen."""
        return await self.run(f"document.getElementById({json.dumps(name)}).innerText")

    async def size(self, width: int, height: int, dark: bool = False) -> None:
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        await self.settle()

    async def picture(self, path: Path) -> None:
        image = await self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)
        path.write_bytes(base64.b64decode(image["data"]))

    async def key(self, key: str) -> None:
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36}
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        await self.settle()


class Browser:
    """One process. `async with Browser() as browser: page = await browser.page()`."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.pages: dict[str, Page] = {}

    async def __aenter__(self) -> "Browser":
        found = program()
        assert found, "there is no browser"
        self.program = Program(found)
        address = await self.program.start(
            "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--mute-audio",
            "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars=false",
            "--allow-file-access-from-files", f"--user-data-dir={self.program.folder.name}", "about:blank",
            mark="listening on")
        self.socket = await connect(address, max_size=None)
        self.reading = asyncio.create_task(self.read())
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.call("Browser.close", None), 5)
        self.reading.cancel()
        await self.program.end()

    async def read(self) -> None:
        async for message in self.socket:
            answer = json.loads(message)
            if "id" in answer:
                future = self.waiting.pop(answer["id"])
                if not future.done():
                    future.set_result(answer)
            elif page := self.pages.get(answer.get("sessionId", "")):
                page.received(answer["method"], answer["params"])

    async def call(self, method: str, session: str | None, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        await self.socket.send(json.dumps(message))
        answer = await asyncio.wait_for(self.waiting[number], 120)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    async def page(self) -> Page:
        target = await self.call("Target.createTarget", None, url="about:blank")
        attached = await self.call("Target.attachToTarget", None, targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"])
        self.pages[page.session] = page
        for domain in "Page", "Runtime", "Network", "Log":
            await page.call(f"{domain}.enable")
        return page


class Program:
    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = tempfile.TemporaryDirectory(prefix="ancsd-browser-")

    async def start(self, *arguments: str, mark: str) -> str:
        """Starts it; returns the address that it prints after `mark`."""
        self.process = await asyncio.create_subprocess_exec(
            self.name, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            start_new_session=True, env={**os.environ, "HOME": self.folder.name})
        assert self.process.stderr
        while line := (await asyncio.wait_for(self.process.stderr.readline(), 60)).decode():
            if mark in line:
                self.reading = asyncio.create_task(self.drain())
                return line.split()[-1]
        raise AssertionError(f"{self.name} ended at once")

    async def end(self) -> None:
        self.reading.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        with contextlib.suppress(OSError):
            self.folder.cleanup()

    async def drain(self) -> None:
        assert self.process.stderr
        while await self.process.stderr.readline():
            pass
