# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of PDUs and values that no phone should send. Requests among them get an error, the rest is
dropped, and the session works afterwards as before."""

import random
import re
import struct
from collections.abc import Callable, Sequence

from Harness import att
from Harness.ancs import source_value
from Harness.att import ERROR, INDICATE, NOTIFY, REQUESTS, RESPONSES
from Harness.case import Failure, case, check, settled
from Harness.process import Daemon
from Harness.testbed import check_served

from .link import Link
from .peers import Phone
from .testbed import Testbed

SEED = 0xA9C5
#: A wrong response that is taken for a right one may cost a notification its 10 s, even more than once.
RECOVERY = 40


async def name_handle(link: Link) -> int:
    """The handle of the daemon's Device Name. Reading it shows that everything before was processed."""
    response = await link.request(att.by_type(att.READ_BY_TYPE, 0x2A00))
    check(response[0] == att.READ_BY_TYPE_RESPONSE, f"no Device Name: {response.hex(' ')}")
    return int.from_bytes(response[2:4], "little")


async def responses_to(link: Link, burst: Sequence[bytes], name: int) -> list[bytes]:
    """Sends PDUs, then reads the name; returns the responses that came before that of the read."""
    since = len(link.received)
    for pdu in burst:
        link.send(pdu)
    link.send(att.read_blob(name, 0))
    ends = (bytes([att.READ_BLOB_RESPONSE]), att.error(att.READ_BLOB, name, 0)[:4])
    last = burst[-1].hex(" ") if burst else ""
    try:
        end = await link.until(lambda pdu: pdu.startswith(ends), since, 10)
    except TimeoutError:
        raise Failure(f"no response to anything after {last}") from None
    check(not link.closed, f"the daemon closed the link after {last}")
    return [pdu for pdu in link.received[since:end] if pdu[0] in RESPONSES]


def request_of(response: bytes) -> int:
    """The opcode of the request that a response is to."""
    return response[1] if response[0] == ERROR and len(response) > 1 else response[0] - 1


async def be_strict(link: Link) -> None:
    """Holds the daemon to the rules again, once it has the responses to all that it has asked: it may have taken a forged one
    for that to a request, and then the real one for that to the next."""
    await settled(lambda: (len(link.received), len(link.sent)), quiet=0.3)
    link.strict = True


async def still_works(daemon: Daemon, phone: Phone) -> None:
    await check_served(daemon, phone, 0x01020304, within=RECOVERY)
    check(await daemon.call("notifications.act", uid=0x01020304, action="negative"), "no action")
    daemon.none("disconnected")
    check(len(phone.links) == 1, "the daemon reconnected")


async def send_burst(link: Link, name: int, burst: list[bytes]) -> None:
    """Sends many PDUs at once; every known request among them gets its response, in order."""
    responses = await responses_to(link, burst, name)
    answered = [opcode for opcode in map(request_of, responses) if opcode in REQUESTS]
    wanted = [pdu[0] for pdu in burst if pdu[0] in REQUESTS]
    check(answered == wanted, f"{len(wanted)} requests {wanted} got {len(answered)} responses {answered}")


def unsendable(pdu: bytes) -> bool:
    """Whether a PDU is empty, marks the end of the responses, or would change the MTU."""
    return not pdu or pdu[0] in (att.READ_BLOB, att.MTU_REQUEST)


@case("mutated-pdus", seconds=77)
async def mutated(bed: Testbed) -> None:
    """4,000 PDUs of a real session with bits flipped, cut or lengthened, at any time."""
    daemon, phone, _ = await bed.served()
    await check_served(daemon, phone, 1)
    phone.ams.play(1)
    phone.services.set_battery(33)
    link = phone.link
    name = await name_handle(link)
    await link.request(att.by_type(att.READ_BY_GROUP, att.PRIMARY))
    await daemon.event("battery", level=33)
    valid = list(dict.fromkeys(link.sent))
    link.strict = False
    dice = random.Random(SEED + 2)
    sent = 0
    while sent < 4000:
        mutations = [mutate(dice, dice.choice(valid)) for _ in range(40)]
        burst = [pdu for pdu in mutations if not unsendable(pdu)]
        sent += len(burst)
        await send_burst(link, name, burst)
    await be_strict(link)
    await still_works(daemon, phone)


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
async def values(bed: Testbed) -> None:
    """Values of the wrong size for each characteristic are dropped; the log has the first with their bytes."""
    daemon, phone, since = await bed.served("-v", "-v")
    source, services = phone.ancs.source.handle, phone.services
    handles = [source, phone.ancs.data.handle, phone.ams.update.handle, phone.ams.remote.handle]
    handles += [services.battery.handle, services.time.handle, 0x7FFF, 0]
    dice = random.Random(SEED + 3)
    phone.link.notify(source, bytes.fromhex("deadbeefcafe42"))
    for handle in handles:
        for length in range(0, 40):
            if handle != source or length != 8:
                phone.link.notify(handle, dice.randbytes(length))
    # Well formed, but events that do not exist.
    for event in range(3, 256):
        phone.link.notify(source, source_value(event, 0, 4, 1, 70 + event))
    await check_served(daemon, phone, 2)
    for told in daemon.since(0, "notification"):
        check(told["uid"] in (1, 2), f"a malformed value became {told}")
    logged = re.sub(r"[^0-9a-f]", "", daemon.log.lower())
    check("deadbeefcafe42" in logged, "the log does not have the bytes of a malformed value")
    fetched = [c for c in phone.ancs.commands if c[0] == 0 and c[1] > 70]
    check(not fetched, "an event that does not exist was taken for an addition")
    daemon.none("disconnected", since=since)


@case("oversized")
async def oversized(bed: Testbed) -> None:
    """PDUs longer than the MTU, up to 60,000 bytes."""
    daemon, phone, _ = await bed.served(mtu=64)
    link = phone.link
    name = await name_handle(link)
    link.strict = False
    for length in (65, 66, 517, 518, 1024, 4096, 60000):
        for opcode in (NOTIFY, INDICATE, att.WRITE, att.READ_RESPONSE, 0x77):
            pdu = struct.pack("<BH", opcode, phone.ancs.data.handle) + bytes(length - 3)
            await send_burst(link, name, [pdu])
    await be_strict(link)
    await still_works(daemon, phone)


#: How a valid response is changed.
WRONG: dict[str, Callable[[bytes], bytes]] = {
    "opcode-only": lambda right: right[:1],
    "one-byte-less": lambda right: right[:-1],
    "one-byte-more": lambda right: right + b"\0",
    "other-response": lambda right: bytes([att.READ_RESPONSE]) + right[1:],
    "error-too-short": lambda right: bytes([ERROR, 0, 0]),
    "error-to-another": lambda right: att.error(att.EXECUTE_WRITE, 1, att.NOT_FOUND),
    "zeros": lambda right: right[:2] + bytes(len(right) - 2),
    "ones": lambda right: right[:2] + b"\xff" * (len(right) - 2),
    "all-handles-one": lambda right: right[:2] + b"\1\0" * ((len(right) - 2) // 2),
    "refusal": lambda right: att.error(request_of(right), 1, att.UNLIKELY),
}


@case("malformed-answers", seconds=100)
async def answers(bed: Testbed) -> None:
    """Each response of the set-up, malformed in nine ways or a refusal, after which the phone leaves: no crash, no endless
    loop, and a phone that recovers is served."""

    async def one(part: Testbed, what: tuple[str, int]) -> None:
        wrong, step = what
        phone = part.phone()

        def send(link: Link, pdu: bytes) -> None:
            is_response = pdu[0] in RESPONSES
            spoil = is_response and link is phone.links[0] and len(link.requests()) == step
            link.send(WRONG[wrong](pdu) if spoil else pdu)

        phone.server.send = send
        daemon = await part.daemon(phone)
        link = await phone.connected()
        await phone.quiet(0.25)
        check(len(link.requests()) < 200, "it makes requests without end")
        check(daemon.running, f"the daemon ended: {daemon.ending}")
        link.close()
        await phone.connected(2)
        await phone.subscribed(within=10)
        await check_served(daemon, phone, 1)
        # After a wrong response the daemon need not keep to the rules: the phone broke them first.
        phone.links[0].violations.clear()

    every = [(wrong, step) for step in range(1, 17) for wrong in WRONG]
    await bed.every(every, one, at_once=9, name=lambda what: f"{what[0]}-at-request-{what[1]}")
