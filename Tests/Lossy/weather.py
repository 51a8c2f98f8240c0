# SPDX-License-Identifier: GPL-3.0-or-later
"""The way between two airs, which delays, loses and goes dark.

What a controller repeats until it is acknowledged (the PDUs of a connection) is late when it is lost; what it sends once
(advertisements, scans, the beginning of a connection) is gone. RootCanal's processes exchange frames of a 32-bit length and
a packet, whose first byte is its type (google/rootcanal, packets/link_layer_packets.pdl).
"""

import asyncio
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: LE_LEGACY_ADVERTISING_PDU, LE_CONNECT, LE_CONNECT_COMPLETE, LE_SCAN, LE_SCAN_RESPONSE, LE_EXTENDED_ADVERTISING_PDU.
SENT_ONCE = {0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x37}
CONNECT_COMPLETE = 0x0D
DISCONNECT = 0x05
CONNECTION_TIMEOUT = 0x08
#: Links end here when it has been dark for so many seconds: RootCanal ends one that has been silent for 3 s, at a time of its own,
#: and what was said on a link must be lost with it.
SUPERVISION = 2.4


@dataclass(frozen=True)
class Spell:
    """The weather for a while."""

    seconds: float
    #: How likely it is that a PDU is lost; 1: nothing gets through.
    loss: float
    #: Seconds between the connection's events.
    interval: float = 0.03
    #: Whether the next LE_CONNECT_COMPLETE is lost: the accessory has a link that the phone knows nothing of.
    is_half_open: bool = False

    def __str__(self) -> str:
        half = ", a connection half open" if self.is_half_open else ""
        what = "dark" if self.loss == 1 else f"loss {self.loss:.0%} at {self.interval * 1000:.0f} ms{half}"
        return f"{self.seconds:.1f} s {what}"


def story(seed: int) -> Iterator[Spell]:
    """The weather of a seed, for a minute: spells of loss with blackouts between them, some as long as a walk."""
    seconds = 60.0
    chance = random.Random(seed)
    worst = chance.uniform(0, 0.3)
    while seconds > 0:
        fair = Spell(chance.uniform(2, 12), chance.uniform(0, worst), chance.choice([0.015, 0.03, 0.06]), chance.random() < 0.15)
        dark = Spell(chance.uniform(8, 20) if chance.random() < 0.15 else chance.uniform(0.5, 8), 1)
        yield fair
        yield dark
        seconds -= fair.seconds + dark.seconds


@dataclass
class Way:
    """One direction: what is on its way, in order."""

    writer: asyncio.StreamWriter
    last: float = 0
    queue: deque[bytes] = field(default_factory=deque)
    #: How many of those should have arrived during the blackout.
    late: int = 0
    #: The addresses of the connection, from the sender's to the receiver's.
    link: bytes = b""


class Weather:
    """A proxy between the link ports of two airs. `spell` is the weather of now."""

    def __init__(self, seed: int, log: Path) -> None:
        self.chance = random.Random(f"weather {seed}")
        self.log = log.open("a", buffering=1)
        self.spell = Spell(0, 0)
        self.is_half_open = False
        self.began = 0.0
        self.supervision: asyncio.TimerHandle | None = None
        #: Whether it has been dark for so long that there is no connection.
        self.is_lost = False
        self.ways: list[Way] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self, far_port: int) -> int:
        """Waits at a port, which is returned, for the near air, and joins it to the far one."""

        async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", far_port)
            self.ways = [Way(far_writer), Way(writer)]
            loop = asyncio.get_running_loop()
            self.tasks = [loop.create_task(self.carry(*pair)) for pair in zip((reader, far_reader), self.ways, strict=True)]
            self.joined.set_result(None)

        self.server = await asyncio.start_server(join, "127.0.0.1", 0)
        return int(self.server.sockets[0].getsockname()[1])

    def close(self) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        for way in self.ways:
            way.writer.close()

    @property
    def is_dark(self) -> bool:
        return self.spell.loss == 1

    def become(self, spell: Spell) -> None:
        """The weather changes."""
        loop = asyncio.get_running_loop()
        self.spell, self.began = spell, loop.time()
        self.log.write(f"{self.began:.3f} {spell}\n")
        self.is_half_open |= spell.is_half_open
        self.is_lost = False
        if self.supervision:
            self.supervision.cancel()
        if self.is_dark:
            self.supervision = loop.call_later(SUPERVISION, self.lose)
            return
        for way in self.ways:
            late, way.late = way.late, 0
            for _ in range(late):
                self.pass_on(way)

    def lose(self) -> None:
        """The connection is lost on both sides, with what was said on it."""
        self.is_lost = True
        for way in self.ways:
            way.queue.clear()
            way.late = 0
            if way.link:
                end = bytes([DISCONNECT]) + way.link + bytes([CONNECTION_TIMEOUT])
                way.writer.write(len(end).to_bytes(4, "little") + end)

    async def carry(self, reader: asyncio.StreamReader, way: Way) -> None:
        while True:
            try:
                head = await reader.readexactly(4)
                frame = head + await reader.readexactly(int.from_bytes(head, "little"))
            except (asyncio.IncompleteReadError, OSError):
                return
            kind = frame[4]
            if kind not in SENT_ONCE:
                if not self.is_lost:
                    self.send(frame, way)
            elif kind == CONNECT_COMPLETE and self.is_half_open:
                self.is_half_open = False
                self.log.write(f"{asyncio.get_running_loop().time():.3f} half open\n")
            elif self.chance.random() >= self.spell.loss:
                way.writer.write(frame)

    def send(self, frame: bytes, way: Way) -> None:
        """Sends a PDU of a connection, behind those before it."""
        way.queue.append(frame)
        way.link = frame[5:17]
        self.pass_on(way)

    def pass_on(self, way: Way) -> None:
        """Has another PDU arrive at one of the connection's next events."""
        loop = asyncio.get_running_loop()
        events = 1
        while not self.is_dark and self.chance.random() < self.spell.loss:
            events += 1
        way.last = max(way.last + 1e-5, loop.time() + events * self.spell.interval)
        loop.call_at(way.last, self.arrive, way)

    def arrive(self, way: Way) -> None:
        if self.is_dark:
            way.late += 1
        elif way.queue:
            way.writer.write(way.queue.popleft())
