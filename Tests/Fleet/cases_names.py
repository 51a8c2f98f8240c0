# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's name, by each of the ways in which a system resolves names; and while nobody resolves it."""

import asyncio
import signal
import time
from datetime import datetime

from Harness.case import case, check, eventually
from Harness.process import Daemon

from .certificates import Authority
from .mosquitto import Mosquitto, free_port
from .names import Avahi, NameServer, Names, mdns
from .testbed import Testbed
from .watcher import Watcher

#: As in Debian's and Raspberry Pi OS's nsswitch.conf, once libnss-mdns is installed.
SERVICES = "files mdns4_minimal [NOTFOUND=return] dns"


async def name_server(bed: Testbed) -> NameServer:
    server = NameServer()
    bed.cleanups.append(server.close)
    return await server.start()


async def house(bed: Testbed) -> tuple[Daemon, Mosquitto, Watcher]:
    broker = await bed.mosquitto()
    daemon, _, _ = await bed.served()
    return daemon, broker, await bed.watcher(broker)


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


@case("name-dns")
async def dns(bed: Testbed) -> None:
    """A name of the DNS, one that does not exist, and one that comes into being."""
    daemon, broker, watcher = await house(bed)
    server = await name_server(bed)
    server.known["ha.example"] = ["::1", "127.0.0.1"]
    names = Names(bed.work, "files dns", server)
    await bed.bridge(daemon, f"mqtt://ha.example:{broker.port}", names=names)
    await watcher.message("ancsd/kitchen/state", state="online")
    unknown = await bed.bridge(daemon, f"mqtt://nobody.example:{broker.port}", names=names, board="hall")
    await asyncio.sleep(6)
    said = [line for line in unknown.log.splitlines() if "“nobody.example” can't be resolved" in line]
    check(len(said) == 1, f"the log is {unknown.log}")
    # 1, 2 and 4 s lie between the attempts; each asks for both kinds of address.
    check(server.asked.count("nobody.example") <= 8, f"asked {server.asked.count('nobody.example')} times")
    server.known["nobody.example"] = ["127.0.0.1"]
    await watcher.message("ancsd/hall/state", state="online", within=20)


@case("name-mdns")
async def by_mdns(bed: Testbed) -> None:
    """A name in .local by libnss-mdns and Avahi; without an Avahi, the log has a hint."""
    daemon, broker, watcher = await house(bed)
    avahi = await Avahi(bed.work).start()
    bed.cleanups.append(avahi.close)
    avahi.known["homeassistant.local"] = "127.0.0.1"
    url = f"mqtt://homeassistant.local:{broker.port}"
    none = await bed.bridge(daemon, url, names=Names(bed.work, SERVICES), environment=mdns(), board="hall")
    await bed.says(none, "“homeassistant.local” can't be resolved", "libnss-mdns")
    await bed.bridge(daemon, url, names=Names(bed.work, SERVICES, None, avahi), environment=mdns())
    await watcher.message("ancsd/kitchen/state", state="online")
    check(none.running, f"without Avahi the bridge ended: {none.ending}")


@case("name-silent", seconds=90)
async def silent(bed: Testbed) -> None:
    """While name servers do not answer, the bridge obeys SIGTERM and SIGHUP at once, and says what it waits for."""
    daemon, broker, watcher = await house(bed)
    server = await name_server(bed)
    server.silent = True
    names = Names(bed.work, "files dns", server)
    stuck = await bed.bridge(daemon, "mqtt://ha.example", names=names)
    await eventually(lambda: server.asked, "no server was asked", 20)
    began = time.monotonic()
    await stuck.stop(signal.SIGTERM, within=4)
    bed.remark(f"SIGTERM took {(time.monotonic() - began) * 1000:.0f} ms")
    await stuck.start()
    count = len(server.asked)
    await eventually(lambda: len(server.asked) > count, "no server was asked again", 20)
    report = (await daemon.call("status"))["bridges"][0]
    since = datetime.fromisoformat(report["since"]).timestamp()
    check(report["state"] == "connecting" and 0 <= time.time() - since < 60, f"the daemon's status says {report}")
    bed.reload(stuck, bed.file.read_text().replace("mqtt://ha.example", broker.url))
    await watcher.message("ancsd/kitchen/state", state="online", within=4)
    other = await bed.bridge(daemon, f"mqtt://ha.example:{free_port()}", names=names, board="hall")
    await bed.says(other, "“ha.example” can't be resolved", within=25)
