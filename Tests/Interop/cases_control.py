# SPDX-License-Identifier: GPL-3.0-or-later
"""The control socket: JSON-RPC, subscriptions, and clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import stat
import sys
from pathlib import Path
from typing import Any

from Harness import att, procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually, expect, patient
from Harness.control import ControlClient
from Harness.process import PIPE
from Harness.testbed import check_served

from .testbed import Testbed

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602

WRONG_LINES: list[tuple[bytes, int]] = [
    (b"this is no JSON", PARSE_ERROR),
    (b'{"jsonrpc":"2.0","method":', PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"status"\xff}', PARSE_ERROR),
    (b"[1,", PARSE_ERROR),
    *((line, INVALID_REQUEST) for line in (b"[" * 5000, b"[]", b"1", b'"status"', b"null", b"{}", b"true")),
]
WRONG_CALLS: list[tuple[dict[str, Any], int]] = [
    ({}, INVALID_REQUEST),
    ({"method": 7}, INVALID_REQUEST),
    ({"method": "no.such"}, NO_METHOD),
    ({"method": "status", "params": 7}, INVALID_REQUEST),
    ({"method": "notifications.get"}, INVALID_PARAMS),
    ({"method": "notifications.get", "params": {"uid": "x"}}, INVALID_PARAMS),
    ({"method": "notifications.get", "params": {"uid": -1}}, INVALID_PARAMS),
    ({"method": "notifications.get", "params": {"uid": 1 << 32}}, INVALID_PARAMS),
    ({"method": "notifications.get", "params": {"uid": 1.5}}, INVALID_PARAMS),
    ({"method": "notifications.act", "params": {"uid": 1}}, INVALID_PARAMS),
    ({"method": "notifications.act", "params": {"uid": 1, "action": "maybe"}}, INVALID_PARAMS),
    ({"method": "subscribe", "params": {"events": 3}}, INVALID_PARAMS),
    ({"method": "subscribe", "params": {"events": ["nonsense"]}}, INVALID_PARAMS),
    ({"method": "apps.get", "params": {"app_id": 1}}, INVALID_PARAMS),
    ({"method": "media.command", "params": {}}, INVALID_PARAMS),
]


def check_error(line: bytes, response: Any, code: int, number: Any) -> None:
    """Checks that the response to a line is a JSON-RPC error with this code."""
    shown = f"{line[:90].decode(errors='replace')} got {response}"
    check(isinstance(response, dict), shown)
    found = response.get("error", {}).get("code")
    check(found == code, f"{shown}, not the code {code}")
    check(response.get("id") == number, f"{shown}, not the id {number}")
    check(response.get("jsonrpc") == "2.0", shown)


@case("rpc-malformed")
async def malformed(bed: Testbed) -> None:
    """Malformed calls get JSON-RPC's own codes; batches and notifications work as specified."""
    daemon, phone, _ = await bed.served()
    control = await ControlClient.connect(daemon.socket)
    for line, code in WRONG_LINES:
        control.send(line + b"\n")
        check_error(line, await control.response(), code, None)
    for number, (call, code) in enumerate(WRONG_CALLS, 1):
        line = json.dumps({"jsonrpc": "2.0", "id": number, **call}).encode()
        control.send(line + b"\n")
        check_error(line, await control.response(), code, number)
    control.send(b'{"jsonrpc":"2.0","id":"five","method":""}\n')
    check_error(b"a call with a text as id", await control.response(), NO_METHOD, "five")
    check("error" not in await control.call("status"), "status is an error")
    # Calls without an id get no response: the next response is that to the next call.
    control.send(b'{"jsonrpc":"2.0","method":"status"}\n{"jsonrpc":"2.0","method":"no.such"}\n\n')
    await control.call("status")
    # In pieces, and several in one piece.
    for piece in (b'{"jsonrpc":"2.0",', b'"id":21,"method"', b':"status"}', b"\n"):
        control.send(piece)
        await asyncio.sleep(0.02)
    check((await control.response()).get("id") == 21, "a call in pieces has no response")
    control.send(
        b'{"jsonrpc":"2.0","id":22,"method":"status"}\r\n{"jsonrpc":"2.0","id":23,"method":"status"}\n'
    )
    check([(await control.response()).get("id") for _ in range(2)] == [22, 23], "two calls at once")
    control.send(
        b'[{"jsonrpc":"2.0","id":24,"method":"media.get"},{"jsonrpc":"2.0","method":"status"}]\n'
    )
    batch = await control.response()
    check([response.get("id") for response in batch] == [24], f"a batch got {batch}")
    # Of calls without an id there is no response, not even an empty array; what is no request is an error.
    control.send(b'[{"jsonrpc":"2.0","method":"status"},{"jsonrpc":"2.0","method":"media.get"}]\n')
    control.send(b'[1,{"jsonrpc":"2.0","id":25,"method":"subscribe"},{"jsonrpc":"2.0","id":26,"method":"no"}]\n')
    batch = await control.response()
    check(
        [(one["id"], one.get("error", {}).get("code")) for one in batch]
        == [(None, INVALID_REQUEST), (25, None), (26, NO_METHOD)],
        f"a batch got {batch}",
    )
    phone.ancs.post(Notification(50))
    await control.event("notification", uid=50)
    control.close()
    await check_served(daemon, phone, 1)


@case("rpc-methods")
async def methods(bed: Testbed) -> None:
    """Each method of docs/interface.md returns what it should."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(1, positive="Reply"))
    phone.ancs.post(Notification(2, app_id="com.apple.mobilephone", category=1))
    await daemon.event("notification", since=since, uid=2)
    status = await daemon.call("status")
    check(isinstance(status, dict), f"status is {status}")
    for key in ("adapters", "phones", "links", "services", "battery"):
        check(key in str(status), f"status has no {key}: {status}")
    lists: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 2]), ({"category": "incoming-call"}, [2]), ({"app": "com.apple.MobileSMS"}, [1]),
    ]
    for filters, uids in lists:
        listed = await daemon.listed("notifications", **filters)
        check([n["uid"] for n in listed] == uids, f"notifications.list with {filters} is {listed}")
    expect(await daemon.call("notifications.get", uid=1), title="Mum", app="Messages")
    got = await daemon.call("notifications.get", uid=1, attributes=["title", "positive"])
    expect(got, title="Mum", positive="Reply")
    app = await daemon.call("apps.get", app_id="com.apple.MobileSMS")
    check(app == {"app_id": "com.apple.MobileSMS", "name": "Messages"}, f"apps.get is {app}")
    phone.ancs.apps["com.example.other"] = "Other"
    expect(await daemon.call("apps.get", app_id="com.example.other"), name="Other")
    apps = await daemon.listed("apps")
    counts = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(counts.get("com.apple.MobileSMS") == ("Messages", 1), f"apps.list is {apps}")
    check(await daemon.listed("phones") == [], "a phone is bonded over a socket")
    error = await daemon.refused("notifications.get", uid=77)
    wanted = {"code": 1, "message": "Invalid Parameter", "data": {"att": 162}}
    check(error == wanted, f"the error is {error}, not {wanted}")
    mode = stat.S_IMODE(os.stat(daemon.socket).st_mode)
    check(mode == 0o660, f"the control socket's mode is {mode:o}")


@case("rpc-subscribe")
async def subscribe(bed: Testbed) -> None:
    """Events by name, `replay`, `since` and several clients at once."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(1))
    first = await daemon.event("notification", since=since, uid=1)
    everything, some, replay, back = [await ControlClient.connect(daemon.socket) for _ in range(4)]
    check(await everything.call("subscribe") is True, "subscribe is not true")
    check(await some.call("subscribe", events=["notification", "incoming"]) is True, "not true")
    check(await replay.call("subscribe", replay=True, events=["notification"]) is True, "not true")
    check(await back.call("subscribe", since=0) is True, "not true")
    event = (replay.events or [await replay.event("notification")])[0]
    check(event["uid"] == 1 and event["title"] == "Mum", f"what is active now: {event}")
    phone.ancs.post(Notification(2, title="second"))
    printed = await daemon.event("notification", since=first, uid=2)
    for control in (everything, some, replay):
        event = await control.event("notification", uid=2)
        check(event == dict(printed), f"the socket says {event}, standard output {printed}")
    check("incoming" in [e["event"] for e in some.events], "incoming was asked for by name")
    check("incoming" not in [e["event"] for e in everything.events], "incoming was not asked for")
    await back.event("notification", uid=2)
    names = [e["event"] for e in back.events]
    for name in ("ready", "connected", "subscribed", "notification"):
        check(name in names, f"since 0 there is no {name}: {names}")
    numbers = [e["seq"] for e in back.events]
    check(numbers == sorted(set(numbers)), f"the numbers are {numbers}")
    late = await ControlClient.connect(daemon.socket)
    await late.call("subscribe", since=printed["seq"])
    phone.services.set_battery(12)
    await late.event("battery", level=12)
    check(all(e["seq"] > printed["seq"] for e in late.events), f"an older one: {late.events[0]}")
    for control in (everything, some, replay, back, late):
        control.close()
    await check_served(daemon, phone, 3)


@case("rpc-deaf-client")
async def deaf(bed: Testbed) -> None:
    """A client that does not read is dropped, and stalls neither the phone nor another client."""
    daemon, phone, since = await bed.served()
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deaf.connect(str(daemon.socket))
    deaf.sendall(
        b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["notification"]}}\n'
    )
    good = await ControlClient.connect(daemon.socket)
    await good.call("subscribe", events=["notification"])
    uid, dropped = 0, False
    while not dropped and uid < 12_000:
        batch = range(uid + 1, uid + 251)
        phone.ancs.post(*(Notification(n, message="x" * 1000) for n in batch))
        uid = batch[-1]
        await good.event("notification", within=15, uid=uid)
        phone.ancs.notifications.clear()
        dropped = is_hung_up(deaf)
    check(dropped, f"a client that did not read {uid} notifications of a kilobyte is still there")
    bed.remark(f"dropped by {uid} kB")
    check(len(good.events) >= uid, f"another client had {len(good.events)} of {uid}")
    deaf.close()
    good.close()
    await check_served(daemon, phone, 0x7000)
    daemon.none("disconnected", since=since)


def is_hung_up(client: socket.socket) -> bool:
    """Whether the other end has closed a connection, even if there is still something to read."""
    poll = select.poll()
    poll.register(client, select.POLLHUP | select.POLLRDHUP)
    return bool(poll.poll(0))


def connect(path: Path, first: bytes = b"") -> socket.socket:
    """A raw connection to the control socket, which sends this first."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))
    client.setblocking(False)
    if first:
        client.send(first)
    return client


@case("rpc-rude-clients")
async def rude(bed: Testbed) -> None:
    """Clients that disconnect midway, never end their line, or arrive by the hundred."""
    daemon, phone, _ = await bed.served()
    for first in (b"", b'{"jsonrpc"', b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n'):
        connect(daemon.socket, first).close()
    half = connect(daemon.socket, b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
    half.shutdown(socket.SHUT_WR)
    answer = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(half, 1 << 16), 5)
    check(b'"result"' in answer, f"a client that closed its sending side got {answer!r}")
    endless = connect(daemon.socket)
    before = procfs.status(daemon.pid)["VmRSS"]
    sent, dropped = 0, False
    while sent < 64 << 20 and not dropped:
        try:
            sent += endless.send(b"x" * 65536)
        except BlockingIOError:
            await asyncio.sleep(0.01)
            dropped = is_hung_up(endless)
        except OSError:
            dropped = True
    grown = procfs.status(daemon.pid)["VmRSS"] - before
    check(dropped or grown < 2048, f"a line of {sent >> 20} MB made the daemon {grown} KiB larger")
    endless.close()
    crowd = []
    for _ in range(200):
        try:
            crowd.append(connect(daemon.socket))
        except OSError:  # the daemon may refuse some
            break
    for client in crowd:
        client.close()
    await check_served(daemon, phone, 1)
    check(isinstance(await daemon.call("status"), dict), "status after a crowd")


#: A process whose clients ask without waiting for the answers, which they read.
FLOOD = """
import select, socket, sys, time
path, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
lines = b'{"jsonrpc":"2.0","id":1234567890,"method":"phones.list","params":{}}   \\n' * 4096
clients, poll = {}, select.poll()
for _ in range(count):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    client.setblocking(False)
    clients[client.fileno()] = [client, 0]
    poll.register(client, select.POLLIN | select.POLLOUT)
end, answers = time.monotonic() + seconds, 0
while time.monotonic() < end:
    for number, ready in poll.poll(100):
        client, sent = clients[number]
        if ready & select.POLLIN:
            answers += client.recv(1 << 20).count(b"\\n")
        if ready & select.POLLOUT:
            clients[number][1] = (sent + client.send(lines[sent:])) % len(lines)
print(answers)
"""


@case("rpc-flood", alone=True, native="qemu-user's own memory counts")
async def flooded(bed: Testbed) -> None:
    """16 clients that ask without waiting delay neither another client nor the phone, and take no memory."""
    daemon, phone, since = await bed.served()
    floods = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", FLOOD, daemon.socket, "8", "8", stdout=PIPE)
        for _ in range(2)
    ]
    loop = asyncio.get_running_loop()
    slowest, latest, uid = 0.0, 0.0, 0
    client = await ControlClient.connect(daemon.socket)
    while any(flood.returncode is None for flood in floods):
        begun = loop.time()
        await client.call("status")
        asked = loop.time()
        slowest = max(slowest, asked - begun)
        uid += 1
        phone.ancs.post(Notification(uid))
        await daemon.event("notification", since=since, uid=uid)
        latest = max(latest, loop.time() - asked)
        await asyncio.sleep(0.1)
    answers = [int((await flood.communicate())[0]) for flood in floods]
    peak = procfs.status(daemon.pid)["VmHWM"]
    bed.remark(f"{sum(answers) // 8} answers a second, {peak >> 10} MB, status in {slowest:.2f} s")
    check(min(answers) > 0 and uid > 5, f"{answers} answers, {uid} notifications")
    check(peak < 48 << 10, f"it needed {peak} KiB")
    check(slowest < patient(0.3), f"status took {slowest:.2f} s")
    check(latest < patient(1), f"a notification took {latest:.2f} s")


@case("rpc-gone-with-the-phone")
async def gone(bed: Testbed) -> None:
    """Without a phone, methods that need one return an error at once; the others work."""
    daemon, phone, _ = await bed.served()
    await check_served(daemon, phone, 1)
    phone.stop_listening()
    phone.disconnect()
    await daemon.event("disconnected")
    calls: dict[str, dict[str, Any]] = {
        "notifications.act": {"uid": 1, "action": "negative"}, "notifications.get": {"uid": 2},
        "media.command": {"command": "play"},
    }
    for method, params in calls.items():
        error = await daemon.refused(method, within=3, **params)
        check(isinstance(error.get("message"), str), f"the error is {error}")
    check(isinstance(await daemon.call("status"), dict), "status")
    listed = await daemon.listed("notifications")
    check([entry.get("stale") for entry in listed] == [True], f"what is listed is not stale: {listed}")
    known = await daemon.call("notifications.get", uid=1)
    check(known.get("stale") is True and known.get("title") == listed[0].get("title"), f"what is shown is not what is listed: {known}")
    phone.listen()
    await phone.connected(2, within=15)


@case("rpc-call-under-way")
async def under_way(bed: Testbed) -> None:
    """The link is lost while a call waits for the phone: the call ends in an error."""
    daemon, phone, since = await bed.served()
    phone.ancs.post(Notification(1))
    await daemon.event("notification", since=since, uid=1)
    phone.intercept = lambda _link, pdu: [] if pdu[0] == att.WRITE else None
    call = bed.spawn(daemon.refused("notifications.act", uid=1, action="negative"))
    link = phone.link
    await eventually(lambda: link.unanswered, "the action was not sent")
    link.close()
    await asyncio.wait_for(call, 5)
