# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd setup`, typed by somebody at a terminal of a clean Debian."""

import asyncio
import json
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from typing import Self

from Harness.ancs import Notification
from Harness.case import Failure, case, check, patient

from .testbed import DEBIAN, Testbed


class Session:
    """A command on a terminal, and the person who reads its output and types."""

    def __init__(self, process: Process, shown: str) -> None:
        self.process = process
        self.text = f"$ {shown}\n"
        self.read_to = 0

    @classmethod
    async def start(cls, *words: str) -> Self:
        process = await asyncio.create_subprocess_exec(
            "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SUDO_USER=pi", "chroot", DEBIAN, *words, stdin=PIPE, stdout=PIPE, stderr=STDOUT)
        return cls(process, " ".join(["sudo", *words]))

    async def reads(self, words: str) -> None:
        """Reads until these words have appeared."""
        assert self.process.stdout
        try:
            async with asyncio.timeout(patient(40)):
                while words not in self.text[self.read_to:]:
                    more = await self.process.stdout.read(4096)
                    if not more:
                        raise Failure(f"it ended without “{words}”: …{self.text[-300:]}")
                    self.text += more.decode()
        except TimeoutError:
            raise Failure(f"it did not say “{words}”: …{self.text[-300:]}") from None
        self.read_to = self.text.index(words, self.read_to) + len(words)

    def types(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n".encode())
        self.text += f"{line}\n"

    async def ends(self) -> None:
        assert self.process.stdout
        self.text += (await self.process.stdout.read()).decode()
        check(await self.process.wait() == 0, f"its status is {self.process.returncode}: …{self.text[-300:]}")


@case("setup", seconds=240)
async def setup(bed: Testbed) -> None:
    """From the installed package to the first notification by `ancsd setup`; a second call pairs nobody."""
    began = time.monotonic()
    await bed.install(by=["apt", "install", "-y"])
    installed = time.monotonic()
    await bed.inside("useradd", "--create-home", "pi", status=None)
    phone = await bed.phone()
    session = await Session.start("ancsd", "setup")
    await session.reads("as the phone shows it [")
    await session.reads("]: ")
    session.types("kitchen")
    await session.reads("[none]: ")
    session.types("")
    await session.reads("[pi]: ")
    session.types("")
    await session.reads("tap “kitchen”")
    await phone.connect()
    await session.reads("Now send yourself a message")
    phone.ancs.post(Notification(1, title="Mum", message="Are you there?"))
    await session.reads("Are you there?")
    bed.remark(f"{time.monotonic() - began:.1f} s from apt install to the notification, {installed - began:.1f} s of them by apt")
    await session.ends()
    (bed.out / "session").write_text(session.text)
    settings = (DEBIAN / "etc/ancsd/ancsd.toml").read_text()
    check('\nname = "kitchen"\n' in settings, f"the settings are {settings}")
    groups = (await bed.inside("id", "-Gn", "pi")).out.split()
    check("ancsd" in groups, f"pi is in {groups}")
    check(await bed.property("UnitFileState") == "enabled", "it is not started at boot")
    # After an interruption, a second call keeps what was done.
    before = await bed.pid()
    phone.ancs.post(Notification(2, title="Dad"))
    again = await Session.start("ancsd", "setup", "--yes", "--name", "kitchen")
    await again.reads("Paired already")
    await again.ends()
    check(await bed.pid() == before and phone.pairings == 1, "it has started or paired again")
    bonds = [json.loads(line)["phone"] for line in (
        await bed.inside("ancsd", "phones", "--json")).out.splitlines()]
    check(len(bonds) == 1, f"bonded are {bonds}")
