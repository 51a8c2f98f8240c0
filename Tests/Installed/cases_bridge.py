# SPDX-License-Identifier: GPL-3.0-or-later
"""The package ancsd-mqtt beside ancsd's: its service as systemd runs it, with a scripted broker."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path

from Fleet.scripted import ScriptedBroker
from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check

from .testbed import DEBIAN, Testbed

FILE, PASSWORD = DEBIAN / "etc/ancsd/conf.d/mqtt.toml", DEBIAN / "etc/ancsd/mqtt.password"


def settings(url: str, board: str) -> str:
    """The first example of docs/mqtt.md, with another broker, and the board's name."""
    document = (Path(__file__).resolve().parents[2] / "docs/mqtt.md").read_text()
    example = re.search(r"^    # /etc/ancsd/conf\.d/mqtt\.toml\n((?:    .+\n)+)", document, re.MULTILINE)
    check(example is not None and "mqtt://ha.lan" in example[1], "docs/mqtt.md does not begin with an example")
    assert example is not None
    lines = textwrap.dedent(example[1]).replace("mqtt://ha.lan", url)
    return f'{lines}board = "{board}"\n'


@case("bridge", seconds=240)
async def bridge(bed: Testbed) -> None:
    """ancsd-mqtt waits for wrong, gets the password from systemd, publishes, reloads, and a purge removes its files."""
    bed.cleanups.append(lambda: PASSWORD.unlink(missing_ok=True))
    await bed.install()
    await bed.install_bridge()
    check(await bed.property("ActiveState", "ancsd-mqtt") == "inactive", "it was started without a broker")
    enabled = await bed.inside("systemctl", "is-enabled", "ancsd-mqtt", status=None)
    check(enabled.out.strip() == "disabled", f"it is {enabled.out.strip()}")
    phone = await bed.paired()

    broker = await ScriptedBroker().start()
    bed.cleanups.append(broker.close)
    FILE.write_text(settings(url=broker.url, board="kitchen"))
    PASSWORD.write_text("secret\n")
    PASSWORD.chmod(0o600)
    await bed.inside("ancsd", "config", "check")
    await bed.inside("systemctl", "enable", "--now", "ancsd-mqtt")
    connect = await broker.connected(within=20)
    check((connect.user, connect.password) == ("kitchen", b"secret"), f"it came as {connect}")
    await bed.until_state("active/running", "ancsd-mqtt")
    before = int(await bed.property("MainPID", "ancsd-mqtt"))
    held = procfs.privileges(before)
    check(held["CapPrm"] == held["CapEff"] == held["CapBnd"] == 0 and held["NoNewPrivs"] == 1, f"it holds {held}")
    phone.ancs.post(Notification(1, title="Mum"))
    told = await broker.seen("ancsd/kitchen/phone/iphone/event/notification", within=20)
    check(b"Mum" not in told.payload, f"it tells texts without being asked to: {told.payload!r}")

    FILE.write_text(settings(url=broker.url, board="attic"))
    await bed.inside("systemctl", "reload", "ancsd-mqtt")
    await broker.seen("ancsd/attic/state", within=20)
    check(int(await bed.property("MainPID", "ancsd-mqtt")) == before, "a reload has started another process")

    await bed.install_bridge(2)
    await bed.until_state("active/running", "ancsd-mqtt")
    check(int(await bed.property("MainPID", "ancsd-mqtt")) != before, "after an upgrade the former version runs on")
    # Wrong settings, and a secret that everybody may read.
    for wrong, expected in [("[mqtt]\nurl = 5\n", "78"),
                            (settings(url=broker.url, board="attic") + 'dedupe-key-file = "/etc/hostname"\n', "77")]:
        FILE.write_text(wrong)
        await bed.inside("systemctl", "restart", "ancsd-mqtt", status=None)
        await bed.until_state("failed/failed", "ancsd-mqtt")
        status = await bed.property("ExecMainStatus", "ancsd-mqtt")
        check(status == expected, f"with {wrong} it ended with {status}")
        await asyncio.sleep(6)
        check(await bed.property("NRestarts", "ancsd-mqtt") == "0", f"after {expected} it was restarted")

    await bed.inside("dpkg", "--purge", "ancsd-mqtt")
    left = [path for path in (DEBIAN / "var/lib/ancsd-mqtt", DEBIAN / "run/ancsd-mqtt", FILE) if path.exists()]
    check(not left, f"there is still {left}")
    await bed.until_state("active/running")
