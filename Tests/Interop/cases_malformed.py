# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of PDUs and values that no phone should send. Requests among them are answered with an
error, the rest is dropped, and afterwards the session works as if nothing had been."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pdus
from cases_setup import serves
from harness import Failure, check, eventually
from pdus import COMMAND_FLAG, CONFIRM, ERROR, INDICATE, NOTIFY, REQUESTS, RESPONSES
from room import Room, case

if TYPE_CHECKING:
    from daemon import Ancsd
    from handset import Handset
    from link import Link

SEED = 0xA9C5
#: A wrong answer taken for a right one may cost a notification its 10 s, perhaps more than once.
RECOVERY = 40


def well_formed(pdu: bytes) -> bool:
    """Whether a request has a length that its opcode allows (Vol 3 Part F, 3.4)."""
    length = len(pdu)
    exact = {0x02: {3}, 0x04: {5}, 0x08: {7, 21}, 0x0A: {3}, 0x0C: {5}, 0x10: {7, 21}, 0x18: {2}}
    if pdu[0] in exact:
        return length in exact[pdu[0]]
    if pdu[0] in (0x0E, 0x20):
        return length >= 5 and length % 2 == 1
    return length >= {0x06: 7, 0x12: 3, 0x16: 5}[pdu[0]]


async def name_handle(link: Link) -> int:
    """The handle of the daemon's Device Name: reading it shows that all before was dealt with."""
    answer = await link.ask(pdus.by_type(pdus.READ_BY_TYPE, 0x2A00))
    check(answer[0] == pdus.READ_BY_TYPE_RESPONSE, f"no Device Name: {answer.hex(' ')}")
    return int.from_bytes(answer[2:4], "little")


async def answers_to(link: Link, burst: Sequence[bytes], ping: int) -> list[bytes]:
    """Sends PDUs, then reads the name; all that the daemon answered before that."""
    since = len(link.received)
    for pdu in burst:
        link.send(pdu)
    link.send(pdus.read_blob(ping, 0))
    last = burst[-1].hex(" ") if burst else ""
    try:
        end = await link.until(
            lambda p: p[0] == pdus.READ_BLOB_RESPONSE or p[:4] == pdus.error(pdus.READ_BLOB, ping, 0)[:4],
            since, 10,
        )  # fmt: skip
    except TimeoutError:
        raise Failure(f"nothing was answered any more after {last}") from None
    check(not link.closed, f"the daemon closed the link after {last}")
    return [pdu for pdu in link.received[since:end] if pdu[0] in RESPONSES]


def request_of(answer: bytes) -> int:
    """The opcode of the request that a response answers."""
    return answer[1] if answer[0] == ERROR and len(answer) > 1 else answer[0] - 1


@case("malformed-requests", seconds=75)
async def requests(room: Room) -> None:
    """All opcodes at all lengths to 30: requests are answered once, malformed ones with an error."""
    daemon, phone, _ = await room.served()
    link = phone.link
    ping = await name_handle(link)
    link.strict = False
    dice = random.Random(SEED)
    sent = 0
    for opcode in range(256):
        for length in [*range(1, 31), 64, 185]:
            pdu = bytes([opcode]) + dice.randbytes(length - 1)
            if opcode == pdus.READ_BLOB or (opcode == pdus.MTU_REQUEST and length == 3):
                continue  # what tells the end of the answers; what would change the MTU
            sent += 1
            answers = await answers_to(link, [pdu], ping)
            said = " ".join(a.hex() for a in answers) or "nothing"
            if opcode in REQUESTS:
                check(
                    len(answers) == 1 and request_of(answers[0]) == opcode,
                    f"the request {pdu.hex(' ')} was answered with {said}",
                )
                if not well_formed(pdu):
                    code = pdus.error_code(answers[0])
                    check(
                        code in (pdus.INVALID_PDU, pdus.REQUEST_NOT_SUPPORTED),
                        f"the malformed request {pdu.hex(' ')} was answered with {said}",
                    )
            elif opcode & COMMAND_FLAG or opcode in RESPONSES | {NOTIFY, INDICATE, CONFIRM, 0x23}:
                check(not answers, f"{pdu.hex(' ')}, no request, was answered with {said}")
            elif opcode % 2 == 0:
                wanted = [pdus.error(opcode, 0, pdus.REQUEST_NOT_SUPPORTED)]
                check(answers == wanted, f"the unknown {pdu.hex(' ')} was answered with {said}")
    for length in (1, 2, 3, 4, 6, 7, 30):
        answer = await link.ask(bytes([pdus.READ_BLOB]) + bytes(length - 1))
        check(pdus.error_code(answer) == pdus.INVALID_PDU, f"a read blob request of {length} bytes")
    link.strict = True
    room.remark(f"{sent} PDUs")
    await still_works(room, daemon, phone)


async def still_works(room: Room, daemon: Ancsd, phone: Handset) -> None:
    await serves(room, daemon, phone, 0x01020304, within=RECOVERY)
    check(await daemon.call("notifications.act", uid=0x01020304, action="negative"), "no action")
    daemon.none("disconnected")
    check(len(phone.links) == 1, "the daemon connected anew")


async def burst_of(link: Link, ping: int, burst: list[bytes]) -> None:
    """Sends many PDUs at once; every known request among them is answered, in order."""
    answers = await answers_to(link, burst, ping)
    answered = [request_of(answer) for answer in answers]
    wanted = [pdu[0] for pdu in burst if pdu[0] in REQUESTS]
    answered = [opcode for opcode in answered if opcode in REQUESTS]
    check(
        answered == wanted,
        f"{len(wanted)} requests were answered by {len(answered)}: {wanted} by {answered}",
    )


def avoid(pdu: bytes) -> bool:
    """What a case can't send: the request that tells the end, and what changes the MTU."""
    return not pdu or pdu[0] in (pdus.READ_BLOB, pdus.MTU_REQUEST)


@case("random-pdus", seconds=76)
async def random_pdus(room: Room) -> None:
    """4,000 PDUs of random bytes, in bursts; every request among them is answered."""
    daemon, phone, _ = await room.served()
    link = phone.link
    ping = await name_handle(link)
    link.strict = False
    dice = random.Random(SEED + 1)
    known = sorted(REQUESTS | RESPONSES | {NOTIFY, INDICATE, CONFIRM, 0x52, 0xD2, 0x23})
    for _ in range(100):
        burst: list[bytes] = []
        while len(burst) < 40:
            first = dice.choice(known) if dice.random() < 0.7 else dice.randrange(256)
            pdu = bytes([first]) + dice.randbytes(dice.choice([0, 1, 2, 3, 4, 6, 8, 20, 182]))
            if not avoid(pdu):
                burst.append(pdu)
        await burst_of(link, ping, burst)
    link.strict = True
    await still_works(room, daemon, phone)


@case("mutated-pdus", seconds=77)
async def mutated(room: Room) -> None:
    """4,000 PDUs of a real session with bits flipped, cut, lengthened, at any time."""
    daemon, phone, _ = await room.served()
    await serves(room, daemon, phone, 1)
    await phone.media.play(1)
    await phone.services.set_battery(33)
    link = phone.link
    ping = await name_handle(link)
    await link.ask(pdus.by_type(pdus.READ_BY_GROUP, pdus.PRIMARY))
    await daemon.event("battery", level=33)
    valid = list(dict.fromkeys(link.sent))
    link.strict = False
    dice = random.Random(SEED + 2)
    sent = 0
    while sent < 4000:
        burst = [p for p in (mutate(dice, dice.choice(valid)) for _ in range(40)) if not avoid(p)]
        sent += len(burst)
        await burst_of(link, ping, burst)
    link.strict = True
    await still_works(room, daemon, phone)


def mutate(dice: random.Random, pdu: bytes) -> bytes:
    changed = bytearray(pdu)
    for _ in range(dice.randint(1, 3)):
        kind = dice.randrange(5)
        if kind == 0 and changed:
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        elif kind == 1 and changed:
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif kind == 2:
            del changed[dice.randrange(len(changed) + 1) :]
        elif kind == 3:
            changed += dice.randbytes(dice.randrange(1, 30))
        elif changed:
            changed.insert(dice.randrange(len(changed)), dice.randrange(256))
    return bytes(changed)


@case("malformed-values")
async def values(room: Room) -> None:
    """Values of the wrong size for each characteristic; logged with their bytes and dropped."""
    daemon, phone, since = await room.served()
    services = phone.services
    handles = {
        "Notification Source": phone.notifications.source.handle,
        "Data Source": phone.notifications.data.handle,
        "Entity Update": phone.media.update.handle,
        "Remote Command": phone.media.remote.handle,
        "battery": services.battery.handle,
        "time": services.time.handle,
        "none": 0x7FFF,
        "handle zero": 0,
    }
    dice = random.Random(SEED + 3)
    for handle in handles.values():
        for length in range(0, 40):
            if handle == handles["Notification Source"] and length == 8:
                continue
            phone.link.notify(handle, dice.randbytes(length))
    # Well formed, and of an event that does not exist.
    for event in range(3, 256):
        phone.link.notify(
            handles["Notification Source"], pdus.raw_event(event, 0, 4, 1, 70 + event)
        )
    phone.link.notify(handles["Notification Source"], bytes.fromhex("deadbeefcafe42"))
    await serves(room, daemon, phone, 2)
    told = [e for e in daemon.events if e.name == "notification"]
    check(all(e["uid"] in (1, 2) for e in told), f"a malformed value became {told[0]}")
    logged = re.sub(r"[^0-9a-f]", "", daemon.log.lower())
    check("deadbeefcafe42" in logged, "the log does not have the bytes of a malformed value")
    fetched = [c for c in phone.notifications.seen.commands if c[0] == 0 and c[1] > 70]
    check(not fetched, "an event that does not exist was taken for an addition")
    daemon.none("disconnected", since=since)


@case("oversized")
async def oversized(room: Room) -> None:
    """PDUs above the MTU, up to 60,000 bytes, and below their shortest."""
    daemon, phone, _ = await room.served(mtu=64)
    link = phone.link
    ping = await name_handle(link)
    link.strict = False
    for length in (65, 66, 517, 518, 1024, 4096, 60000):
        for opcode in (NOTIFY, INDICATE, pdus.WRITE, pdus.READ_RESPONSE, 0x77):
            pdu = struct.pack("<BH", opcode, phone.notifications.data.handle) + bytes(length - 3)
            await burst_of(link, ping, [pdu])
    link.strict = True
    await still_works(room, daemon, phone)


WRONG: dict[str, object] = {
    "opcode-only": lambda right: right[:1],
    "one-byte-less": lambda right: right[:-1],
    "one-byte-more": lambda right: right + b"\0",
    "other-response": lambda right: bytes([pdus.READ_RESPONSE]) + right[1:],
    "error-too-short": lambda right: bytes([ERROR, 0, 0]),
    "error-to-another": lambda right: pdus.error(pdus.EXECUTE_WRITE, 1, 0x0A),
    "zeros": lambda right: right[:2] + bytes(len(right) - 2),
    "ones": lambda right: right[:2] + b"\xff" * (len(right) - 2),
    "all-handles-one": lambda right: right[:2] + b"\1\0" * ((len(right) - 2) // 2),
}


@case("malformed-answers", seconds=100)
async def answers(room: Room) -> None:
    """Each answer of the set-up malformed in nine ways: no crash, no endless loop, and once the
    phone is sane again it is served."""

    async def one(part: Room, wrong: str) -> None:
        for step in range(1, 17):
            await answered_wrongly(part, step, WRONG[wrong], f"{wrong} at request {step}")

    await room.every(WRONG, one, at_once=9)


async def answered_wrongly(part: Room, step: int, spoil: object, what: str) -> None:
    """A phone that answers one request of the set-up wrongly, and is right after a reconnection."""
    assert callable(spoil)
    phone = part.phone()

    def send(link: Link, pdu: bytes) -> None:
        is_answer = pdu[0] in RESPONSES
        wrong = is_answer and link is phone.links[0] and len(link.requests()) == step
        link.send(spoil(pdu) if wrong else pdu)

    phone.server.send = send
    daemon = await part.ancsd(phone)
    try:
        link = await phone.connected()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(phone.quiet(0.25), 10)
        check(len(link.requests()) < 200, f"{what}: it asks without end")
        check(daemon.running, f"{what}: the daemon ended: {daemon.ending}")
        link.close()
        await phone.connected(2)
        await eventually(
            lambda: phone.server.subscribed(phone.link, phone.notifications.source),
            f"{what}: after a reconnection it is not subscribed", 10,
        )  # fmt: skip
        await serves(part, daemon, phone, 1)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None
    # What a phone gets after a wrong answer is not held to the rules: it broke them first.
    phone.links[0].complaints.clear()
    part.check()
    await daemon.end_anyway()
    part.daemons.remove(daemon)
    part.phones.remove(phone)
    phone.close()
