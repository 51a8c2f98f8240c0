# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemon's own GATT server, as the phone sees it: found whole by an independent client, and right
about what is not there."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pdus
from cases_setup import serves
from harness import check
from room import Room, case

if TYPE_CHECKING:
    from link import Link

GAP, GATT, DEVICE_INFORMATION = "1800", "1801", "180A"
DEVICE_NAME, APPEARANCE, PARAMETERS, RESOLUTION = "2A00", "2A01", "2A04", "2AA6"
SERVICE_CHANGED, CLIENT_FEATURES, DATABASE_HASH = "2A05", "2B29", "2B2A"


def short(uuid: Any) -> str:
    """A 16-bit UUID as four digits, others whole."""
    data = bytes(uuid.to_pdu_bytes())
    return data[::-1].hex().upper()


async def discover(link: Link) -> tuple[Any, dict[str, Any]]:
    """All that Bumble's client finds: the client, and the characteristics by UUID."""
    from asking import AskingClient

    client = AskingClient(link)
    found: dict[str, Any] = {}
    for service in await client.discover_services():
        await client.discover_included_services(service)
        for characteristic in await client.discover_characteristics((), service):
            await client.discover_descriptors(characteristic)
            found[short(characteristic.uuid)] = characteristic
    return client, found


@case("server-discovered")
async def discovered(room: Room) -> None:
    """GAP, GATT and Device Information whole, by an independent client, at several MTUs."""

    async def one(part: Room, mtu: int) -> None:
        daemon, phone, _ = await part.served(mtu=mtu)
        client, found = await discover(phone.link)
        services = {short(s.uuid) for s in client.services}
        check({GAP, GATT, DEVICE_INFORMATION} <= services, f"the services are {sorted(services)}")
        wanted = {DEVICE_NAME, APPEARANCE, PARAMETERS, RESOLUTION}
        wanted |= {SERVICE_CHANGED, CLIENT_FEATURES, DATABASE_HASH}
        check(wanted <= set(found), f"not there: {sorted(wanted - set(found))}")
        check(await client.read_value(found[DEVICE_NAME]) == b"board", "the name is another")
        check(
            len(await client.read_value(found[APPEARANCE])) == 2, "the appearance has another size"
        )
        check(len(await client.read_value(found[PARAMETERS])) == 8, "the parameters' size")
        check(len(await client.read_value(found[RESOLUTION])) == 1, "the resolution's size")
        digest = await client.read_value(found[DATABASE_HASH])
        check(len(digest) == 16 and any(digest), f"the Database Hash is {digest.hex()}")
        ends = sorted((s.handle, s.end_group_handle) for s in client.services)
        check(
            all(a[1] < b[0] for a, b in zip(ends, ends[1:], strict=False)),
            f"services overlap: {ends}",
        )
        await serves(part, daemon, phone, 1)

    await room.every([23, 64, 185, 517], one, name=lambda mtu: f"mtu-{mtu}")


@case("server-hash")
async def database_hash(room: Room) -> None:
    """The Database Hash is what the specification says of what the phone sees (Part G, 7.3.1)."""
    from bumble.crypto import aes_cmac  # type: ignore[attr-defined]

    daemon, phone, _ = await room.served(mtu=517)
    link = phone.link
    attributes: list[tuple[int, int, bytes]] = []
    handle = 1
    while True:
        answer = await link.ask(pdus.find_information(handle))
        if answer[0] == pdus.ERROR:
            break
        step = 4 if answer[1] == 1 else 18
        for at in range(2, len(answer), step):
            entry = answer[at : at + step]
            attributes.append((int.from_bytes(entry[:2], "little"), step, entry[2:]))
        handle = attributes[-1][0] + 1
    data = b""
    for number, _, uuid in attributes:
        kind = int.from_bytes(uuid, "little") if len(uuid) == 2 else 0
        if kind in (pdus.PRIMARY, pdus.SECONDARY, pdus.INCLUDE, pdus.CHARACTERISTIC, 0x2900):
            value = await link.ask(pdus.read(number))
            check(value[0] == pdus.READ_RESPONSE, f"0x{number:04X} can't be read: {value.hex(' ')}")
            data += struct.pack("<H", number) + uuid + value[1:]
        elif kind in range(0x2901, 0x2906):
            data += struct.pack("<H", number) + uuid
    answer = await link.ask(pdus.by_type(pdus.READ_BY_TYPE, 0x2B2A))
    wanted = aes_cmac(m=data, k=bytes(16))[::-1]
    check(answer[4:] == wanted, f"the hash is {answer[4:].hex()}, not {wanted.hex()}")
    await serves(room, daemon, phone, 1)


@case("server-protected")
async def protected(room: Room) -> None:
    """On an encrypted bearer everything that can be read is, the protected characteristic too."""
    daemon, phone, _ = await room.served()
    client, found = await discover(phone.link)
    from bumble.gatt import Characteristic

    readable = [c for c in found.values() if c.properties & Characteristic.Properties.READ]
    check(len(readable) >= 6, f"only {len(readable)} characteristics can be read")
    for characteristic in readable:
        answer = await phone.link.ask(pdus.read(characteristic.handle))
        check(
            answer[0] == pdus.READ_RESPONSE,
            f"{short(characteristic.uuid)} says it can be read: {answer.hex(' ')}",
        )
    changed = found[SERVICE_CHANGED]
    cccd = next((d for d in changed.descriptors if short(d.type) == "2902"), None)
    check(cccd is not None, "Service Changed has no CCCD")
    assert cccd is not None
    check(await phone.link.ask(pdus.read(cccd.handle)) == bytes([pdus.READ_RESPONSE, 0, 0]), "CCCD")
    answer = await phone.link.ask(pdus.write(cccd.handle, b"\2\0"))
    check(answer == bytes([pdus.WRITE_RESPONSE]), f"subscribing: {answer.hex(' ')}")
    check(await phone.link.ask(pdus.read(cccd.handle)) == bytes([pdus.READ_RESPONSE, 2, 0]), "CCCD")
    features = found[CLIENT_FEATURES].handle
    answer = await phone.link.ask(pdus.write(features, b"\1"))
    check(answer == bytes([pdus.WRITE_RESPONSE]), f"Client Supported Features: {answer.hex(' ')}")
    # A phone may subscribe at once: nothing is indicated for that (it upset iOS).
    await serves(room, daemon, phone, 1)
    indicated = [p for p in phone.link.received if p[0] == pdus.INDICATE]
    check(not indicated, f"the daemon indicated {indicated}")


@case("server-errors")
async def errors(room: Room) -> None:
    """What is not there, not allowed or not supported is answered with the right error."""
    daemon, phone, _ = await room.served()
    link = phone.link
    _, found = await discover(link)
    name = found[DEVICE_NAME].handle
    group, kind = pdus.READ_BY_GROUP, pdus.READ_BY_TYPE
    wanted: list[tuple[str, bytes, int, int | None]] = [
        ("read handle 0", pdus.read(0), pdus.INVALID_HANDLE, 0),
        ("read handle 0xFFFF", pdus.read(0xFFFF), pdus.INVALID_HANDLE, 0xFFFF),
        ("write handle 0xFFFF", pdus.write(0xFFFF, b"x"), pdus.INVALID_HANDLE, 0xFFFF),
        ("write a declaration", pdus.write(1, b"x"), pdus.WRITE_NOT_PERMITTED, 1),
        ("blob behind the end", pdus.read_blob(name, 500), pdus.INVALID_OFFSET, name),
        ("blob of handle 0", pdus.read_blob(0, 0), pdus.INVALID_HANDLE, 0),
        ("groups from 0", pdus.by_type(group, 0x2800, 0), pdus.INVALID_HANDLE, 0),
        ("groups backwards", pdus.by_type(group, 0x2800, 9, 3), pdus.INVALID_HANDLE, 9),
        ("groups behind the end", pdus.by_type(group, 0x2800, 0xFFF0), pdus.NOT_FOUND, 0xFFF0),
        ("groups of no group", pdus.by_type(group, 0x2803), pdus.UNSUPPORTED_GROUP, 1),
        ("types from 0", pdus.by_type(kind, 0x2803, 0), pdus.INVALID_HANDLE, 0),
        ("types backwards", pdus.by_type(kind, 0x2803, 9, 3), pdus.INVALID_HANDLE, 9),
        ("a type that is not there", pdus.by_type(kind, 0x2ABC), pdus.NOT_FOUND, 1),
        ("information from 0", pdus.find_information(0, 9), pdus.INVALID_HANDLE, 0),
        ("information backwards", pdus.find_information(9, 3), pdus.INVALID_HANDLE, 9),
        ("information behind the end", pdus.find_information(0xFFF0), pdus.NOT_FOUND, 0xFFF0),
        ("an unknown request", bytes([0x3E, 1, 2]), pdus.REQUEST_NOT_SUPPORTED, 0),
    ]  # fmt: skip
    for what, request, code, handle in wanted:
        answer = await link.ask(request)
        expected = pdus.error(request[0], handle or 0, code)
        check(answer == expected, f"{what}: {answer.hex(' ')}, not {expected.hex(' ')}")
    # Services of the phone's are not the board's.
    answer = await link.ask(
        struct.pack("<BHHH", pdus.FIND_BY_TYPE_VALUE, 1, 0xFFFF, 0x2800) + struct.pack("<H", 0x180F)
    )
    check(pdus.error_code(answer) == pdus.NOT_FOUND, f"a battery service: {answer.hex(' ')}")
    await serves(room, daemon, phone, 1)


@case("server-unsupported")
async def unsupported(room: Room) -> None:
    """Commands that can't be done are dropped in silence; prepared writes end in an error or not at all."""
    daemon, phone, _ = await room.served()
    link = phone.link
    before = len(link.received)
    for command in (
        b"\x52\1\0x",
        b"\x52",
        b"\xd2\1\0x" + bytes(12),
        b"\xd2",
        b"\x7e\1\2\3",
        b"\xc0",
    ):
        link.send(command)
    answer = await link.ask(pdus.by_type(pdus.READ_BY_TYPE, 0x2A00))
    check(answer[0] == pdus.READ_BY_TYPE_RESPONSE, f"the answer is {answer.hex(' ')}")
    strays = [p for p in link.received[before:] if p[0] == pdus.ERROR]
    check(not strays, f"a command was answered: {strays}")
    prepared = await link.ask(struct.pack("<BHH", pdus.PREPARE_WRITE, 1, 0) + b"x")
    check(pdus.error_code(prepared) is not None, f"a declaration was prepared: {prepared.hex(' ')}")
    await link.ask(bytes([pdus.EXECUTE_WRITE, 0]))
    await serves(room, daemon, phone, 1)


@case("server-while-asking")
async def while_asking(room: Room) -> None:
    """The phone asks while its own answer is outstanding: both directions go on, neither waits."""
    from bumble import att

    phone = room.phone()
    asked: list[bytes] = []

    async def ask_then_answer(link: Link, pdu: bytes) -> None:
        asked.append(await link.ask(pdus.by_type(pdus.READ_BY_TYPE, 0x2A00)))
        phone.server.on_gatt_pdu(link, att.ATT_PDU.from_bytes(pdu))  # type: ignore[arg-type]

    def asks_first(link: Link, pdu: bytes) -> list[bytes] | None:
        if pdu[0] not in pdus.REQUESTS:
            return None
        room.spawn(ask_then_answer(link, pdu))
        return []

    phone.intercept = asks_first
    daemon = await room.ancsd(phone)
    await daemon.event("subscribed", within=20)
    wrong = [a for a in asked if a[:1] != bytes([pdus.READ_BY_TYPE_RESPONSE])]
    check(asked and not wrong, f"during its own requests: {wrong[:1]}")
    await serves(room, daemon, phone, 1)
