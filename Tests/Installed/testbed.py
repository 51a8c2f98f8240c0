# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed of this suite: a clean Debian, and the lab's adapter and phones.

The cases run in a chroot of the machine that runs the lab; what happens in the Debian is done in the root directory
of its first process, which is systemd.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from Harness.case import Failure, answered, check, eventually
from Harness.process import Outcome, run
from Lab import testbed

#: The Debian's files, as the cases see them.
DEBIAN = Path("/proc/1/root")
STATE = "/var/lib/ancsd"
#: The same, and the control socket, as the cases see them.
STATE_FILES, SOCKET = DEBIAN / "var/lib/ancsd", DEBIAN / "run/ancsd/control.sock"


class Testbed(testbed.Testbed):
    """A case's Debian. The packages are purged before each case."""

    SECONDS = 120.0

    async def open(self) -> None:
        await self.inside("dpkg", "--purge", "ancsd-forward", "ancsd-mqtt", "ancsd", within=60)
        await self.inside("rm", "-rf", "/etc/systemd/system/ancsd.service.d", "/etc/ancsd", STATE)
        await super().open()

    # The versions of a package differ only in their numbers.

    def package(self, number: int = 1, product: str = "ancsd") -> Path:
        """A package's first, second or third version."""
        return sorted(self.binary.parent.glob(f"{product}_*.deb"), key=lambda path: path.stem)[number - 1]

    async def install(self, number: int = 1, by: Sequence[str] = ("dpkg", "--install"), product: str = "ancsd") -> str:
        """Installs a version of a package; returns what dpkg printed."""
        copy = DEBIAN / "tmp/package.deb"
        copy.write_bytes(self.package(number, product).read_bytes())
        return (await self.inside(*by, "/tmp/package.deb", within=60)).out

    def override(self, text: str) -> None:
        """Adds this to the service's unit. systemd reads it at an installation or a daemon-reload."""
        folder = DEBIAN / "etc/systemd/system/ancsd.service.d"
        folder.mkdir(exist_ok=True)
        (folder / "case.conf").write_text(text)

    # Inside the Debian

    async def inside(self, *words: Any, status: int | None = 0, within: float = 20) -> Outcome:
        """Runs a command in it as root; None allows any exit status."""
        root = ["chroot", DEBIAN]
        outcome = await run("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                            *root, *words, within=within)
        if status is not None:
            said = (outcome.err or outcome.out).strip()[-300:]
            check(outcome.status == status, f"`{' '.join(map(str, words))}`: status {outcome.status}: {said}")
        return outcome

    async def property(self, name: str, unit: str = "ancsd") -> str:
        """A property of a unit."""
        return (await self.inside("systemctl", "show", "--property", name, "--value", unit)).out.strip()

    async def until_state(self, state: str, unit: str = "ancsd", within: float = 15) -> None:
        """Waits until systemd reports a unit in a state such as `active/running`."""
        async def found() -> str:
            return "/".join([await self.property("ActiveState", unit), await self.property("SubState", unit)])

        await self.until(found, lambda found: found == state, f"{unit} is not {state}", within)

    async def until_status(self, words: str) -> None:
        """Waits until the status line in `systemctl status` has these words."""
        await self.until(lambda: self.property("StatusText"), lambda text: words in text, f"the status is not {words!r}")

    async def until(
        self, question: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool], otherwise: str, within: float = 15
    ) -> None:
        """Asks until the answer is as it should be."""
        try:
            await answered(question, holds, otherwise, within, pause=within / 100)
        except Failure as failure:
            raise Failure(f"{failure}; {await self.journal()}") from None

    async def journal(self) -> str:
        lines = (await self.inside("journalctl", "--no-pager", "--lines", 12, "--output", "cat")).out
        return f"the journal: {lines.strip()}"

    async def entries(self) -> list[dict[str, Any]]:
        """The service's entries in the journal."""
        await self.inside("journalctl", "--sync", status=None)
        outcome = await self.inside("journalctl", "--no-pager", "--output", "json", "--unit", "ancsd")
        return [json.loads(line) for line in outcome.out.splitlines()]

    async def pid(self) -> int:
        return int(await self.property("MainPID"))

    # What must survive

    def bonds(self) -> dict[str, str]:
        """Returns the files of the bonds, with a digest of each."""
        files = STATE_FILES.rglob("*.bond.json")
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    async def comes_back(self, phone: testbed.Phone) -> None:
        """The phone connects, and is served by its bond."""
        await phone.connect()
        await self.until_status(": subscribed")
        check(phone.pairings == 1, f"the phone paired {phone.pairings} times")

    async def paired(self) -> testbed.Phone:
        """Returns a phone that has paired with the service and is subscribed."""
        phone = await self.phone()
        await self.until_status("on the air")
        await phone.connect()
        await self.until_status(": subscribed")
        await eventually(self.bonds, "no bond was kept")
        return phone

    async def close(self) -> None:
        (self.out / "journal").write_text((await self.inside("journalctl", "--no-pager", status=None)).out)
        await super().close()
