# SPDX-License-Identifier: GPL-3.0-or-later
"""The control socket: JSON-RPC by the letter, subscriptions, and clients that behave badly."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

from cases_setup import serves
from harness import check, eventually
from room import Room, case

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


WRONG_LINES: list[tuple[bytes, int]] = [
    (b"this is no JSON", PARSE_ERROR),
    (b'{"jsonrpc":"2.0","method":', PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"status"\xff}', PARSE_ERROR),
    (b"[" * 5000, PARSE_ERROR),
    *((line, INVALID_REQUEST) for line in (b"[]", b"1", b'"status"', b"null", b"{}", b"true")),
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


def check_error(line: bytes, answer: Any, codes: set[int], number: Any) -> None:
    """That an answer is an error of JSON-RPC's, to the right call."""
    shown = line[:90].decode(errors="replace")
    check(isinstance(answer, dict), f"{shown} was answered with {answer}")
    found = answer.get("error", {}).get("code")
    check(found in codes, f"{shown} was answered with {answer}, not with {codes}")
    check(answer.get("id") == number, f"the answer to {shown} has the id {answer.get('id')}")
    check(answer.get("jsonrpc") == "2.0", f"the answer to {shown} is {answer}")


@case("rpc-malformed")
async def malformed(room: Room) -> None:
    """Malformed calls get JSON-RPC's own codes, batches and notifications as it says."""
    from rpc import Control

    daemon, phone, _ = await room.served()
    control = await Control.open(daemon.socket)
    for line, code in WRONG_LINES:
        control.send(line + b"\n")
        check_error(line, await control.answer(), {code}, None)
    for number, (call, code) in enumerate(WRONG_CALLS, 1):
        line = json.dumps({"jsonrpc": "2.0", "id": number, **call}).encode()
        control.send(line + b"\n")
        # `params` of the wrong kind: the specification lets a server call it either.
        either = {INVALID_PARAMS} if call.get("params") == 7 else set()
        check_error(line, await control.answer(), {code} | either, number)
    control.send(b'{"jsonrpc":"2.0","id":"five","method":""}\n')
    check_error(b"a call whose id is a text", await control.answer(), {NO_METHOD}, "five")
    check("error" not in await control.call("status"), "status is an error")
    # Calls without an id are not answered: the next answer is that of the next call.
    control.send(b'{"jsonrpc":"2.0","method":"status"}\n{"jsonrpc":"2.0","method":"no.such"}\n\n')
    await control.call("status")
    # In pieces, and several in one piece.
    for piece in (b'{"jsonrpc":"2.0",', b'"id":21,"method"', b':"status"}', b"\n"):
        control.send(piece)
        await asyncio.sleep(0.02)
    check((await control.answer()).get("id") == 21, "a call in pieces has no answer")
    control.send(
        b'{"jsonrpc":"2.0","id":22,"method":"status"}\r\n{"jsonrpc":"2.0","id":23,"method":"status"}\n'
    )
    check([(await control.answer()).get("id") for _ in range(2)] == [22, 23], "two calls at once")
    control.send(
        b'[{"jsonrpc":"2.0","id":24,"method":"media.get"},{"jsonrpc":"2.0","method":"status"}]\n'
    )
    batch = await control.answer()
    check(
        (isinstance(batch, list) and [a.get("id") for a in batch] == [24])
        or (isinstance(batch, dict) and batch.get("error", {}).get("code") == INVALID_REQUEST),
        f"a batch was answered with {batch}",
    )
    control.close()
    await serves(room, daemon, phone, 1)


@case("rpc-methods")
async def methods(room: Room) -> None:
    """Each method of interface.md answers in its shape."""
    from daemon import Refused

    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1, positive="Reply"))
    await phone.notifications.post(room.note(2, app_id="com.apple.mobilephone", category=1))
    await daemon.event("notification", since=since, uid=2)
    status = await daemon.call("status")
    check(isinstance(status, dict), f"status is {status}")
    for key in ("adapters", "phones", "links", "services", "battery"):
        check(key in str(status), f"status has no {key}: {status}")
    listed = await daemon.call("notifications.list")
    check([n["uid"] for n in listed] == [1, 2], f"notifications.list is {listed}")
    listed = await daemon.call("notifications.list", category="incoming-call")
    check([n["uid"] for n in listed] == [2], f"by category: {listed}")
    listed = await daemon.call("notifications.list", app="com.apple.MobileSMS")
    check([n["uid"] for n in listed] == [1], f"by app: {listed}")
    got = await daemon.call("notifications.get", uid=1)
    check(got["title"] == "Mum" and got["app"] == "Messages", f"notifications.get is {got}")
    got = await daemon.call("notifications.get", uid=1, attributes=["title", "positive"])
    check((got["title"], got["positive"]) == ("Mum", "Reply"), f"notifications.get is {got}")
    app = await daemon.call("apps.get", app_id="com.apple.MobileSMS")
    wanted = {"app_id": "com.apple.MobileSMS", "name": "Messages"}
    check(app == wanted, f"apps.get is {app}")
    phone.notifications.apps["com.example.other"] = "Other"
    check(
        (await daemon.call("apps.get", app_id="com.example.other"))["name"] == "Other", "apps.get"
    )
    apps = await daemon.call("apps.list")
    counts = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(counts.get("com.apple.MobileSMS") == ("Messages", 1), f"apps.list is {apps}")
    check(isinstance(await daemon.call("phones.list"), list), "phones.list is no array")
    try:
        answer = await daemon.call("notifications.get", uid=77)
        check(False, f"notifications.get of nothing answered {answer}")
    except Refused as refused:
        wanted = {"code": 1, "message": "Invalid Parameter", "data": {"att": 162}}
        check(refused.error == wanted, f"the error is {refused.error}, not {wanted}")
    mode = stat.S_IMODE(os.stat(daemon.socket).st_mode)
    check(mode == 0o660, f"the control socket's mode is {mode:o}")


@case("rpc-subscribe")
async def subscribe(room: Room) -> None:
    """Events by name, `replay`, `since` and several clients at once."""
    from rpc import Control

    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1))
    first = await daemon.event("notification", since=since, uid=1)
    everything, some, replay, back = [await Control.open(daemon.socket) for _ in range(4)]
    check(await everything.call("subscribe") is True, "subscribe is not true")
    check(await some.call("subscribe", events=["notification", "incoming"]) is True, "not true")
    check(await replay.call("subscribe", replay=True, events=["notification"]) is True, "not true")
    check(await back.call("subscribe", since=0) is True, "not true")
    event = (replay.events or [await replay.event("notification")])[0]
    check(event["uid"] == 1 and event["title"] == "Mum", f"what is active now: {event}")
    await phone.notifications.post(room.note(2, title="second"))
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
    late = await Control.open(daemon.socket)
    await late.call("subscribe", since=printed["seq"])
    await phone.services.set_battery(12)
    event = await late.event("battery", level=12)
    check(all(e["seq"] > printed["seq"] for e in late.events), f"older ones: {late.events[0]}")
    for control in (everything, some, replay, back, late):
        control.close()
    await serves(room, daemon, phone, 3)


@case("rpc-deaf-client")
async def deaf(room: Room) -> None:
    """A client that does not read is dropped, and stalls neither the phone nor another client."""
    from rpc import Control

    daemon, phone, since = await room.served()
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deaf.connect(str(daemon.socket))
    deaf.sendall(
        b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["notification"]}}\n'
    )
    good = await Control.open(daemon.socket)
    await good.call("subscribe", events=["notification"])
    text = "x" * 1000
    uid, dropped = 0, False
    while not dropped and uid < 12_000:
        batch = range(uid + 1, uid + 251)
        await phone.notifications.post_all(room.note(n, message=text) for n in batch)
        uid = batch[-1]
        await good.event("notification", within=15, uid=uid)
        for n in batch:
            phone.notifications.notes.pop(n)
        dropped = is_hung_up(deaf)
    check(dropped, f"a client that did not read {uid} notifications of a kilobyte is still there")
    room.remark(f"dropped by {uid} kB")
    check(len(good.events) >= uid, f"another client had {len(good.events)} of {uid}")
    deaf.close()
    good.close()
    await serves(room, daemon, phone, 0x7000)
    daemon.none("disconnected", since=since)


def is_hung_up(client: socket.socket) -> bool:
    """Whether the other end closed a connection that nobody reads from."""
    import select

    poll = select.poll()
    poll.register(client, select.POLLHUP | select.POLLRDHUP)
    return bool(poll.poll(0))


def resident(pid: int) -> int:
    """How much memory a process has, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@case("rpc-rude-clients")
async def rude(room: Room) -> None:
    """Clients that leave in the middle, send no end of line, or come in hundreds."""
    daemon, phone, _ = await room.served()
    path = str(daemon.socket)

    def connect(first: bytes = b"") -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.connect(path)
        client.setblocking(False)
        if first:
            client.send(first)
        return client

    for first in (b"", b'{"jsonrpc"', b'{"jsonrpc":"2.0","id":1,"method":"subscribe"}\n'):
        connect(first).close()
    half = connect(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
    half.shutdown(socket.SHUT_WR)
    answer = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(half, 1 << 16), 5)
    check(b'"result"' in answer, f"a client that will send no more got {answer!r}")
    endless = connect()
    before = resident(daemon.pid)
    sent = 0
    with_end = False
    while sent < 64 << 20:
        try:
            sent += endless.send(b"x" * 65536)
        except BlockingIOError:
            await asyncio.sleep(0.01)
            if is_hung_up(endless):
                with_end = True
                break
        except OSError:
            with_end = True
            break
    grown = resident(daemon.pid) - before
    check(with_end or grown < 2048, f"a line of {sent >> 20} MB made the daemon {grown} KiB larger")
    endless.close()
    crowd = []
    for _ in range(200):
        try:
            crowd.append(connect())
        except OSError:  # as many as it takes; the rest may be turned away
            break
    for client in crowd:
        client.close()
    await serves(room, daemon, phone, 1)
    check(isinstance(await daemon.call("status"), dict), "status after a crowd")


@case("rpc-gone-with-the-phone")
async def gone(room: Room) -> None:
    """Without a phone the methods that need one answer with an error at once; the rest works."""
    from daemon import Refused

    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    phone.deafen()
    phone.hang_up()
    await daemon.event("disconnected")
    for method, params in (
        ("notifications.act", {"uid": 1, "action": "negative"}),
        ("notifications.get", {"uid": 1}),
        ("media.command", {"command": "play"}),
    ):
        try:
            answer = await daemon.call(method, within=3, **params)
        except Refused as refused:
            check(isinstance(refused.error.get("message"), str), f"the error is {refused.error}")
        else:
            check(False, f"{method} without a phone answered {json.dumps(answer)}")
    check(isinstance(await daemon.call("status"), dict), "status")
    check(await daemon.call("notifications.list") == [], "the list outlived the session")
    phone.listen()
    await eventually(lambda: len(phone.links) == 2, "the daemon does not return", 15)


@case("rpc-call-under-way")
async def under_way(room: Room) -> None:
    """The link is lost while a call waits for the phone: it ends in an error, not in silence."""
    from daemon import Refused

    daemon, phone, since = await room.served()
    await phone.notifications.post(room.note(1))
    await daemon.event("notification", since=since, uid=1)
    phone.intercept = lambda _link, pdu: [] if pdu[:1] == b"\x12" else None
    call = room.spawn(daemon.call("notifications.act", uid=1, action="negative"))
    link = phone.link
    await eventually(lambda: link.unanswered, "the action was not sent")
    link.close()
    try:
        await asyncio.wait_for(call, 5)
    except Refused:
        return
    check(False, "an action that was never answered was said to be done")
