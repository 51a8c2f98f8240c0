# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's name in /etc/hosts, and while nobody resolves it."""

import signal
import time
from datetime import datetime

from Harness.case import case, check, eventually

from .certificates import Authority
from .mosquitto import free_port
from .names import Names, SilentServer
from .testbed import Testbed


@case("name-hosts")
async def hosts(bed: Testbed) -> None:
    """A name in /etc/hosts, whose first addresses reach no broker; one that is added there later; the same with TLS."""
    authority = Authority(bed.work / "tls")
    authority.certify("broker", "ha.lan")
    broker = await bed.mosquitto(tls=authority.folder)
    daemon, _, _ = await bed.served()
    watcher = await bed.watcher(broker)
    names = Names(bed.work, "files")
    # 192.0.2.1 is for documentation: nobody answers.
    names.hosts.write_text("127.0.0.9 ha.lan\n192.0.2.1 ha.lan\n127.0.0.1 ha.lan\n")
    await bed.bridge(daemon, f"mqtt://ha.lan:{broker.port}", names=names)
    await bed.bridge(daemon, f"mqtts://ha.lan:{broker.tls_port}", names=names, board="attic", ca_file=f"{authority.folder}/ca.pem")
    for board in ("kitchen", "attic"):
        await watcher.message(f"ancsd/{board}/state", state="online", within=15)
    late = await bed.bridge(daemon, f"mqtt://late.lan:{broker.port}", names=names, board="hall")
    await bed.says(late, "“late.lan” can't be resolved")
    names.hosts.write_text("127.0.0.1 late.lan\n")
    await watcher.message("ancsd/hall/state", state="online", within=15)


@case("name-silent", seconds=90)
async def silent(bed: Testbed) -> None:
    """While name servers do not answer, the bridge obeys SIGTERM and SIGHUP at once, and says what it waits for; of a name in
    .local, what resolves it."""
    broker = await bed.mosquitto()
    daemon, _, _ = await bed.served()
    watcher = await bed.watcher(broker)
    server = await SilentServer().start()
    bed.cleanups.append(server.transport.close)
    names = Names(bed.work, "files dns", server)
    stuck = await bed.bridge(daemon, "mqtt://ha.example", names=names)
    await eventually(lambda: server.asked, "no server was asked", 20)
    began = time.monotonic()
    await stuck.stop(signal.SIGTERM, within=4)
    bed.remark(f"SIGTERM took {(time.monotonic() - began) * 1000:.0f} ms")
    await stuck.start()
    count = server.asked
    await eventually(lambda: server.asked > count, "no server was asked again", 20)
    report = (await daemon.call("status"))["bridges"][0]
    since = datetime.fromisoformat(report["since"]).timestamp()
    check(report["state"] == "connecting" and 0 <= time.time() - since < 60, f"the daemon's status says {report}")
    bed.reload(stuck, bed.file.read_text().replace("mqtt://ha.example", broker.url))
    await watcher.message("ancsd/kitchen/state", state="online", within=4)
    other = await bed.bridge(daemon, f"mqtt://homeassistant.local:{free_port()}", names=names, board="hall")
    await bed.says(other, "“homeassistant.local” can't be resolved", "libnss-mdns", within=25)
