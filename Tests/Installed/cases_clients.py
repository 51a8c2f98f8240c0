# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages beside ancsd's, clients with a network: the bridge, with a scripted broker, and the forwarder, with a web service."""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from Fleet.scripted import ScriptedBroker
from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.web import Service
from Lab.testbed import Phone

from .testbed import DEBIAN, Testbed

SETTINGS = DEBIAN / "etc/ancsd/conf.d"
BRIDGE, PASSWORD = SETTINGS / "mqtt.toml", DEBIAN / "etc/ancsd/mqtt.password"
FORWARD, URL = SETTINGS / "forward.toml", DEBIAN / "etc/ancsd/board.url"


def documented(name: str, pattern: str) -> str:
    """What the pattern finds in a document."""
    found = re.search(pattern, (Path(__file__).resolve().parents[2] / f"docs/{name}.md").read_text(), re.MULTILINE)
    check(found is not None, f"docs/{name}.md has nothing like {pattern}")
    assert found is not None
    return found[1]


def example(name: str) -> str:
    """The first example of settings in a document."""
    return re.sub("^ +", "", documented(name, rf"^ *# /etc/ancsd/conf\.d/{name}\.toml\n((?: *[^\s`].+\n)+)"), flags=re.MULTILINE)


async def begun(bed: Testbed, product: str) -> Phone:
    """Installs the daemon and a client, which is not started, because it lacks settings."""
    await bed.install()
    await bed.install(product=product)
    check(await bed.property("ActiveState", product) == "inactive", "it was started without settings")
    enabled = await bed.inside("systemctl", "is-enabled", product, status=None)
    check(enabled.out.strip() == "disabled", f"it is {enabled.out.strip()}")
    return await bed.paired()


async def started(bed: Testbed, product: str) -> int:
    """Starts a client as the documents say; returns its process, which has no privileges."""
    await bed.inside("ancsd", "config", "check")
    await bed.inside("systemctl", "enable", "--now", product)
    await bed.until_state("active/running", product)
    pid = int(await bed.property("MainPID", product))
    held = procfs.privileges(pid)
    check(held["CapPrm"] == held["CapEff"] == held["CapBnd"] == 0 and held["NoNewPrivs"] == 1, f"it holds {held}")
    return pid


async def upgraded(bed: Testbed, product: str, before: int) -> None:
    """Until here it was one process; an upgrade replaces it."""
    check(int(await bed.property("MainPID", product)) == before, "a reload has started another process")
    await bed.install(2, product=product)
    await bed.until_state("active/running", product)
    check(int(await bed.property("MainPID", product)) != before, "after an upgrade the former version runs on")


async def ended(bed: Testbed, product: str, file: Path, wrongs: Sequence[tuple[str, str]]) -> None:
    """With wrong settings it ends with a status, and is not restarted; a purge removes all that it has but its user."""
    for wrong, expected in wrongs:
        file.write_text(wrong)
        await bed.inside("systemctl", "restart", product, status=None)
        await bed.until_state("failed/failed", product)
        status = await bed.property("ExecMainStatus", product)
        check(status == expected, f"with {wrong} it ended with {status}")
        await asyncio.sleep(6)
        check(await bed.property("NRestarts", product) == "0", f"after {expected} it was restarted")
    await bed.inside("dpkg", "--purge", product)
    places = [DEBIAN / folder / product for folder in ("var/lib", "run", "usr/lib", "usr/share/doc")]
    left = [path for path in [*places, file] if path.exists()]
    check(not left, f"there is still {left}")
    await bed.until_state("active/running")


@case("bridge", seconds=240)
async def bridge(bed: Testbed) -> None:
    """ancsd-mqtt waits for settings, gets the password from systemd, publishes, reloads, and a purge removes its files."""
    bed.cleanups.append(lambda: PASSWORD.unlink(missing_ok=True))
    phone = await begun(bed, "ancsd-mqtt")
    broker = await ScriptedBroker().start()
    bed.cleanups.append(broker.close)

    def settings(board: str) -> str:
        return example("mqtt").replace("mqtt://ha.lan", broker.url) + f'board = "{board}"\n'

    BRIDGE.write_text(settings("kitchen"))
    PASSWORD.write_text("secret\n")
    PASSWORD.chmod(0o600)
    before = await started(bed, "ancsd-mqtt")
    connect = await broker.connected(within=20)
    check((connect.user, connect.password) == ("kitchen", b"secret"), f"it came as {connect}")
    phone.ancs.post(Notification(1, title="Mum"))
    told = await broker.seen("ancsd/kitchen/phone/iphone/event/notification", within=20)
    check(b"Mum" not in told.payload, f"it tells texts without being asked to: {told.payload!r}")
    BRIDGE.write_text(settings("attic"))
    await bed.inside("systemctl", "reload", "ancsd-mqtt")
    await broker.seen("ancsd/attic/state", within=20)
    BRIDGE.write_text("[mqtt]\nurl = 5\n")
    await bed.inside("systemctl", "reload", "ancsd-mqtt", status=1)
    BRIDGE.write_text(settings("attic"))
    await upgraded(bed, "ancsd-mqtt", before)
    # A secret that everybody may read.
    await ended(bed, "ancsd-mqtt", BRIDGE, [("[mqtt]\nurl = 5\n", "78"), (settings("attic") + 'dedupe-key-file = "/etc/hostname"\n', "77")])


def news(uid: int, **changes: str) -> Notification:
    """A notification of this moment, which is news even just after a subscription."""
    return Notification(uid, date=datetime.now().strftime("%Y%m%dT%H%M%S"), **changes)


@case("forward", seconds=400)
async def forward(bed: Testbed) -> None:
    """ancsd-forward sends through Apprise what the settings allow, reads a URL from a file, and loses nothing in a restart or an upgrade."""
    bed.cleanups.append(lambda: URL.unlink(missing_ok=True))
    phone = await begun(bed, "ancsd-forward")
    service, secret = await Service(bed).start(), await Service(bed).start()
    hour = (datetime.now().hour + 12) % 24
    FORWARD.write_text(example("forward").replace("ntfys://ntfy.sh/my-board", service.url).replace("22:00-07:00", f"{hour:02}:00-{hour:02}:30"))
    await bed.inside("systemctl", "reload", "ancsd")
    told = (await bed.inside("ancsd", "status")).out
    check("“1” (json://…)" in told and "sudo systemctl enable --now ancsd-forward" in told, f"without the service, status tells {told}")
    before = await started(bed, "ancsd-forward")
    phone.ancs.post(news(1, app_id="com.apple.mobilephone"), news(2))
    await eventually(lambda: service.messages == [("Mum – Messages", "New notification")], lambda: f"it got {service.messages}", 60)

    # A secret in a file, as docs/forward.md says.
    line = documented("forward", r"^ *(echo '.+' \| sudo install .+ /etc/ancsd/board\.url)$")
    await bed.inside("sh", "-c", re.sub("'.+'", f"'{secret.url}'", line).replace("sudo ", ""))
    FORWARD.write_text(f'{FORWARD.read_text()}\n[[forward]]\nname = "secret"\nto-file = "/etc/ancsd/board.url"\ncontent = "full"\n')
    check(not (await bed.inside("ancsd", "config", "check")).err, "it has a remark about these settings")
    tested = await bed.inside("runuser", "-u", "ancsd-forward", "--", "ancsd", "forward", "--test", within=60)
    check(tested.err.count("delivered") == len(service.messages) == 2 and len(secret.messages) == 1, f"its test tells {tested.err}")
    await bed.inside("systemctl", "reload", "ancsd-forward")
    await until_told(bed, "“secret” (the URL in /etc/ancsd/board.url)")
    phone.ancs.post(news(3))
    await eventually(lambda: secret.messages[1:] == [("Mum – Messages", "Are you coming on Saturday?")], lambda: f"it got {secret.messages}", 60)
    await eventually(lambda: len(service.messages) == 3, lambda: f"it got {service.messages}", 60)

    # What waits survives a restart of the daemon, and an upgrade of the client.
    service.close()
    phone.ancs.post(news(4, title="4"))
    await until_told(bed, "1 waiting – ")
    doctor = (await bed.inside("ancsd", "doctor", status=None)).out
    check("“1” (json://…): " in doctor and "“secret” (the URL in /etc/ancsd/board.url): " in doctor, f"doctor tells {doctor}")
    await bed.inside("systemctl", "restart", "ancsd")
    await bed.comes_back(phone)
    await service.start()
    await eventually(lambda: len(service.messages) == 4, lambda: f"after a restart of the daemon: {service.messages}", 60)
    service.close()
    phone.ancs.post(news(5, title="5"))
    await until_told(bed, "1 waiting – ")
    await upgraded(bed, "ancsd-forward", before)
    await service.start()
    await eventually(lambda: len(secret.messages) == 4 and len(service.messages) == 5, lambda: f"after an upgrade: {service.messages}", 60)
    check([title for title, _ in service.messages[3:]] == ["4 – Messages", "5 – Messages"], f"it got {service.messages}")
    await ended(bed, "ancsd-forward", FORWARD, [("[[forward]]\nto = 5\n", "78"), ("", "78")])


async def until_told(bed: Testbed, words: str) -> None:
    """Waits until `ancsd status` has these words."""
    async def told() -> str:
        return (await bed.inside("ancsd", "status")).out

    await bed.until(told, lambda told: words in told, f"status does not tell {words}", within=30)
