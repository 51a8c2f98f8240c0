# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS, passwords, ACLs and settings, as users encounter them."""

import asyncio
import shutil
import signal
import subprocess
from collections.abc import Callable

from Harness.ancs import Notification
from Harness.case import answered, case, check, eventually, expect
from Harness.process import Daemon, Process
from Interop.peers import Phone

from .certificates import Authority
from .testbed import Testbed
from .watcher import PHONE, Watcher

#: From docs/security.md: each board has its own user and may use only its own topics.
ACL = """
pattern readwrite ancsd/%u/#
pattern write homeassistant/device/%u/+/config
pattern read homeassistant/status

user watcher
topic readwrite #
"""


@case("mqtt-tls")
async def tls(bed: Testbed) -> None:
    """TLS with an authority of one's own, in a file or in a directory that `openssl rehash` has prepared."""
    authority = Authority(bed.work / "tls")
    authority.certify("broker", "localhost", "127.0.0.1")
    broker = await bed.mosquitto(tls=authority.folder)
    daemon, phone, _ = await bed.served()
    url = f"mqtts://localhost:{broker.tls_port}"
    await bed.bridge(daemon, url, ca_file=f"{authority.folder}/ca.pem", content="full")
    watcher = await bed.online(broker)
    expect((await watcher.gets(phone, Notification(1, message="over TLS"))).json, message="over TLS")
    folder = bed.work / "authorities"
    folder.mkdir()
    empty = await bed.bridge(daemon, url, ca_file=str(folder), board="attic")
    await bed.says(empty, "its certificate is not trusted")
    await empty.kill()
    subject = subprocess.run(["openssl", "x509", "-noout", "-hash", "-in", authority.folder / "ca.pem"], capture_output=True, check=True)
    shutil.copy(authority.folder / "ca.pem", folder / f"{subject.stdout.decode().strip()}.0")
    await bed.bridge(daemon, url, ca_file=str(folder), board="attic")
    await watcher.message("ancsd/attic/state", state="online")


@case("mqtt-tls-refused", seconds=90)
async def tls_refused(bed: Testbed) -> None:
    """An unknown authority, a wrong host name, an expired certificate, a port without TLS and one without a broker are
    each reported by name."""
    authority = Authority(bed.work / "good")
    other = Authority(bed.work / "other", "another authority")
    authority.certify("broker", "localhost", "127.0.0.1")
    daemon, _, _ = await bed.served()
    right = authority.folder / "ca.pem"

    async def part(inner: Testbed, kind: str) -> None:
        folder = authority.folder
        ca = right
        if kind == "unknown":
            ca = other.folder / "ca.pem"
        elif kind in ("name", "expired"):
            mine = Authority(inner.work / "tls")
            folder, ca = mine.folder, mine.folder / "ca.pem"
            mine.certify("broker", *(["other.example"] if kind == "name" else ["localhost", "127.0.0.1"]),
                         days=1 if kind == "name" else -1)
        broker = await inner.mosquitto(tls=folder)
        port = {"plain": broker.port, "nothing": 1}.get(kind, broker.tls_port)
        bridge = await inner.bridge(daemon, f"mqtts://localhost:{port}", ca_file=str(ca))
        word = {"unknown": "certificate", "name": "name", "expired": "expired", "plain": "tls",
                "nothing": "connection refused"}[kind]
        await bed.says(bridge, word)
        check(bridge.running, f"the bridge has ended: {bridge.ending}")
        watcher = await inner.watcher(broker, "ancsd/#")
        check(not watcher.messages, "something was published anyway")

    await bed.every(["unknown", "name", "expired", "plain", "nothing"], part)


@case("mqtt-tls-client")
async def tls_client(bed: Testbed) -> None:
    """A broker that requires the board's certificate gets it."""
    authority = Authority(bed.work / "tls")
    authority.certify("broker", "localhost", "127.0.0.1")
    certificate = authority.certify("client", "kitchen")
    # The requirement applies to the last listener only, the one with TLS.
    broker = await bed.mosquitto(tls=authority.folder)
    (bed.work / "mosquitto.conf").write_text((bed.work / "mosquitto.conf").read_text() + "require_certificate true\n")
    await broker.kill()
    await broker.up()
    daemon, _, _ = await bed.served()
    watcher = await bed.watcher(broker)
    common = {"ca_file": f"{authority.folder}/ca.pem"}
    url = f"mqtts://localhost:{broker.tls_port}"
    await bed.bridge(daemon, url, board="none", **common)
    await bed.bridge(daemon, url, cert_file=str(certificate), key_file=str(certificate.with_suffix(".key")), **common)
    await watcher.message("ancsd/kitchen/state", state="online")
    check(not watcher.of("ancsd/none/#"), "a client without a certificate was let in")
    certificate.with_suffix(".key").chmod(0o644)
    shared = await bed.bridge(daemon, url, cert_file=str(certificate), key_file=str(certificate.with_suffix(".key")), **common)
    check(await shared.ended() == 77 and "chmod 600" in shared.log, f"with a key that others can read: {shared.log}")


@case("mqtt-password")
async def password(bed: Testbed) -> None:
    """The password comes from a file; a wrong one is reported, and a file that others can read is refused."""
    broker = await bed.mosquitto(users={"kitchen": "right", "watcher": "w"})
    daemon, _, _ = await bed.served()
    watcher = await bed.watcher(broker, user="watcher", password="w")
    file = bed.secret("password", "hunter-7\n")
    bridge = await bed.bridge(daemon, broker.url, user="kitchen", password_file=str(file))
    await bed.says(bridge, "password")
    check("hunter" not in bridge.log, "the password is in the log")
    await bridge.stop()
    bed.secret("password", "right\nthe kitchen's password at the broker in the hall\n")
    await bridge.start()
    await watcher.message("ancsd/kitchen/state", state="online")
    await bridge.stop()
    bed.secret("password", "right\n", 0o644)
    await bridge.start()
    await eventually(lambda: not bridge.running, "it uses a password that everybody can read", 20)
    check(bridge.process is not None and bridge.process.returncode in (77, 78, 66), f"it ended with {bridge.ending}")
    check("password" in bridge.log.splitlines()[-1], f"the log is {bridge.log}")


async def confined(bed: Testbed, acl: str) -> tuple[Daemon, Phone, Process, Watcher]:
    """A board that connects as `kitchen` to a broker with this ACL, and a client that may read everything."""
    broker = await bed.mosquitto(users={"kitchen": "k", "watcher": "w"}, acl=acl)
    daemon, phone, bridge = await bed.board_as("kitchen", "k", broker)
    return daemon, phone, bridge, await bed.online(broker, user="watcher", password="w")


@case("mqtt-acl")
async def acl(bed: Testbed) -> None:
    """With one user per board, confined to its own topics by two patterns, everything works."""
    _, phone, bridge, watcher = await confined(bed, ACL)
    await watcher.message("homeassistant/device/kitchen/board/config")
    await watcher.message("homeassistant/device/kitchen/phone/config")
    await watcher.gets(phone, Notification(1))
    # The board may respond on its own topics only.
    watcher.publish("ancsd/kitchen/request/status", b'{"transaction":1}')
    await watcher.message("ancsd/kitchen/response/status", transaction=1, status="ok")
    check(not [line for line in bridge.log.splitlines() if "let" in line and "homeassistant" in line], bridge.log)


@case("mqtt-acl-refused")
async def acl_refused(bed: Testbed) -> None:
    """What the broker's ACL does not let a board publish is named once, by its topic, with the line that the ACL needs (PUBACK
    135), and the rest continues. So is what another board's name has left, which this user may not remove."""
    only = "pattern readwrite ancsd/%u/#\n\nuser watcher\ntopic readwrite #\n"
    _, phone, bridge, watcher = await confined(bed, only)
    topic = "homeassistant/device/kitchen/board/config"
    await bed.says(bridge, topic)
    await watcher.gets(phone, Notification(1))
    await asyncio.sleep(1)
    said = [line for line in bridge.log.splitlines() if topic in line]
    check(len(said) == 1 and "Not authorized (0x87)" in said[0] and f"topic write {topic}" in said[0], f"the log is {bridge.log}")
    await bridge.stop()
    bed.file.write_text(bed.file.read_text().replace('board = "kitchen"', 'board = "attic"'))
    await bridge.start()
    await bed.says(bridge, "“kitchen” publish ancsd/attic/state", "mosquitto_pub -r -n -t homeassistant/device/kitchen/board/config")
    await eventually(lambda: not watcher.last("ancsd/kitchen/state").payload, "what this user may remove stays")
    check(bridge.running, "the bridge has ended")


@case("mqtt-acl-responses")
async def acl_responses(bed: Testbed) -> None:
    """Response Topics that the broker refuses fill neither the log nor the daemon's status."""
    only = "pattern readwrite ancsd/%u/#\npattern write homeassistant/device/%u/+/config\n\nuser watcher\ntopic readwrite #\n"
    daemon, _, bridge, watcher = await confined(bed, only)
    for number in range(60):
        watcher.publish("ancsd/kitchen/request/status", b"", ResponseTopic=f"me/{number}")
        await asyncio.sleep(0.02)
    await bed.says(bridge, "me/0")
    watcher.publish("ancsd/kitchen/request/status", b'{"transaction":1}')
    await watcher.message("ancsd/kitchen/response/status", transaction=1)
    check(len(bridge.log.splitlines()) <= 20, f"the log is {bridge.log}")
    check(len((await daemon.call("status"))["bridges"][0]["refused"]) <= 16, "the status has all of them")


@case("mqtt-settings-files")
async def settings_files(bed: Testbed) -> None:
    """`ancsd config check` names files that are missing, and secrets that others can read, and says where an error is."""
    key = bed.secret("key", "k", 0o644)
    file = bed.settings("mqtts://x", user="u", password_file="/nowhere/password", ca_file=str(bed.work),
                        cert_file=str(key), key_file=str(key))
    checked = (await bed.run("config", "check", file)).expect(0)
    said = checked.err.splitlines()
    check(len(said) == 2, f"it says {said}")
    check("password-file: open /nowhere/password: No such file" in said[0] and f"key-file: others can read {key}" in said[1], f"it says {said}")
    file.write_text('[mqtt]\nurl = "mqtt://127.0.0.1"\ncontnet = "app"\n')
    wrong = (await bed.run("config", "check", file)).expect(78)
    check("3:1" in wrong.err and "contnet" in wrong.err, f"it says {wrong}")


@case("mqtt-reload")
async def reload(bed: Testbed) -> None:
    """SIGHUP applies new settings; wrong ones are reported, and the old ones stay."""
    _, daemon, phone, bridge, watcher = await bed.watched()
    right = bed.file.read_text()
    since = watcher.now
    bed.reload(bridge, right.replace("[mqtt]", '[mqtt]\ncontent = "full"'))
    await watcher.message(f"{PHONE}/state", since=since, state="offline")
    await watcher.message(f"{PHONE}/state", since=since, state="online")
    expect((await watcher.gets(phone, Notification(1, message="after"))).json, message="after")
    bed.reload(bridge, right.replace("[mqtt]", '[mqtt]\ncontent = "everything"'))
    await bed.says(bridge, "content", "old settings")
    expect((await watcher.gets(phone, Notification(2, message="still"))).json, message="still")
    check(bridge.running and daemon.running, "something has ended")


@case("mqtt-reload-late")
async def reload_late(bed: Testbed) -> None:
    """SIGHUP while the bridge is leaving does not keep it."""
    broker = await bed.scripted()
    _, _, bridge = await bed.board(broker)
    await broker.seen("ancsd/kitchen/state")
    # It waits for the acknowledgement of its last publications.
    broker.pause = 1.5
    bridge.send_signal(signal.SIGTERM)
    await asyncio.sleep(0.5)
    bridge.send_signal(signal.SIGHUP)
    found = await bridge.ended(8)
    check(found == 143, f"it ended with {found}")


@case("mqtt-moves", seconds=90)
async def moves(bed: Testbed) -> None:
    """SIGHUP with another board or broker: no stale message stays retained, even if the broker accepts one publication at a
    time, each after a while."""
    small = await bed.scripted(ReceiveMaximum=1)
    _, _, bridge = await bed.board(small)
    for topic in ("counts", "battery", "call"):
        await small.seen(f"{PHONE}/{topic}")
    right = bed.file.read_text()
    small.pause = 0.4
    bed.reload(bridge, right.replace('"kitchen"', '"attic"'))
    told = {published.topic for published in small.published if published.retain}
    await small.connected(2)
    emptied = {published.topic for published in small.published if published.retain and not published.payload}
    check(len(told) >= 9 and emptied == told, f"retained is {sorted(told - emptied)}")
    # A new subscriber sees what is retained now.
    broker = await bed.mosquitto()
    bed.reload(bridge, right.replace(small.url, broker.url))
    watcher = await bed.online(broker)
    await watcher.message(f"{PHONE}/counts", total=0)
    check({topic.split("/")[0] for topic in await watcher.retained("#")} == {"ancsd", "homeassistant"}, "discovery is not there")
    other = await bed.scripted()
    bed.reload(bridge, right.replace(small.url, other.url))
    await other.seen(f"{PHONE}/counts")
    left = sorted(await watcher.retained("#"))
    check(not left, f"with the old broker there is {left}")


async def keeps(watcher: Watcher, holds: Callable[[list[str]], bool]) -> None:
    """Waits until what is retained is as it should be. The states of a removed device follow a while after it."""
    async def kept() -> list[str]:
        return sorted(await watcher.retained("#"))

    await answered(kept, holds, "other topics are retained", 10, pause=0.5)


@case("mqtt-moves-restart", seconds=120)
async def moves_restart(bed: Testbed) -> None:
    """A start with another board, prefix or discovery: nothing from the previous run stays retained, even if that was killed. If
    the broker is another one, the log says that the former still has retained messages."""
    broker, daemon, _, bridge, watcher = await bed.watched()
    await watcher.message(f"{PHONE}/counts", total=0)

    async def restarted(root: str, discovered: int, *lines: str) -> None:
        bed.file.write_text("\n".join(["[mqtt]", f'url = "{broker.url}"', *lines]))
        since = watcher.now
        await bridge.start()
        await watcher.message(f"{root}/phone/iphone/counts", since=since, total=0)
        await keeps(watcher, lambda kept: len(kept) == 7 + discovered and sum(topic.startswith(root + "/") for topic in kept) == 7)

    await bridge.stop()
    await restarted("ancsd/attic", 2, 'board = "attic"')
    await bridge.kill()
    await restarted("house/attic", 2, 'board = "attic"', 'prefix = "house"')
    await bridge.stop()
    # What belongs to another board is removed even without a daemon.
    await daemon.stop()
    bed.file.write_text(f'[mqtt]\nurl = "{broker.url}"\nboard = "hall"\ndiscovery = false')
    await bridge.start()
    await watcher.message("ancsd/hall/state", state="offline")
    await eventually(lambda: not watcher.last("homeassistant/device/attic/phone/config").payload, "the device stays")
    await keeps(watcher, lambda kept: kept == ["ancsd/hall/state"])
    await bridge.stop()
    other = await bed.scripted()
    bed.file.write_text(f'[mqtt]\nurl = "{other.url}"\nboard = "hall"')
    await bridge.start()
    await other.seen("ancsd/hall/state")
    check(f"{broker.url} keeps" in bridge.log and "--remove-retained" in bridge.log, f"the log is {bridge.log}")


@case("mqtt-moves-killed", seconds=150)
async def moves_killed(bed: Testbed) -> None:
    """The will of a board that was killed and restarted with another name does not stay retained."""
    _, _, _, bridge, watcher = await bed.watched()
    await bridge.kill()
    bed.file.write_text(bed.file.read_text().replace('"kitchen"', '"attic"'))
    since = watcher.now
    await bridge.start()
    await watcher.message("ancsd/attic/state", state="online")
    will = await watcher.message("ancsd/kitchen/state", since=since, within=20, state="offline")
    check(will.retained, "the will is not retained")
    await eventually(lambda: not watcher.last("ancsd/kitchen/state").payload, "the will stays", 80)
    check(not [topic for topic in await watcher.retained("#") if "kitchen" in topic], "something of the old board stays")
