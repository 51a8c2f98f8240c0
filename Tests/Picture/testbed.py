# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: a browser, and the pages of captures that are made for the case."""

from __future__ import annotations

import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

from Harness import testbed
from Harness.case import Skipped, check

from . import sample
from .browser import Browser, Page, program


class Testbed(testbed.Testbed):
    """The case's own browser, next to the program."""

    SECONDS = 120.0
    JOBS = 1  # some look at the page after a while

    def __init__(self, binary: Path, out: Path) -> None:
        super().__init__(binary, out)
        self.contexts = AsyncExitStack()
        self.pages: list[Page] = []

    async def open(self) -> None:
        if not program():
            raise Skipped("there is no chromium (scripts/setup --tests)")
        self.browser = await self.contexts.enter_async_context(Browser())

    async def close(self) -> None:
        await self.contexts.aclose()
        await super().close()

    def decode(self, capture: Path, *options: str) -> Path:
        """The page of a capture."""
        page = capture.with_suffix(".html")
        subprocess.run([self.binary, "decode", *options, "--html", page, capture], check=True, timeout=120)
        return page

    def lines(self, *options: str) -> list[str]:
        """What decode prints of the session as JSON."""
        command = [self.binary, "decode", "--json", *options, self.capture]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    @property
    def capture(self) -> Path:
        """The file of the session that most cases look at."""
        return self.out / "session.btsnoop"

    def session(self) -> Path:
        """Its page."""
        page = self.capture.with_suffix(".html")
        return page if page.exists() else self.decode(sample.session().write(self.capture))

    async def page(self, file: Path, width: int = 1280, height: int = 800, dark: bool = False, fragment: str = "") -> Page:
        """A tab in which the file is drawn."""
        page = await self.browser.page()
        self.pages.append(page)
        await page.size(width, height, dark)
        await page.open(f"file://{file}{fragment}")
        check((await page.numbers()).get("ready") == "yes", f"{file.name} is not drawn: {page.errors}")
        return page

    def check(self) -> None:
        """On no page was anything refused or thrown, or requested from the network."""
        super().check()
        for page in self.pages:
            check(page.errors == [], f"errors: {page.errors}")
            asked = [url for url in page.requests if not url.startswith(("file:", "about:"))]
            check(asked == [], f"requests: {asked}")
