# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a notification takes to a subscriber, part by part: the phone, one client of the daemon and one subscriber of the
broker are one thread here, so that all times are of one clock and nobody waits for another.

    phone ──ATT──▶ daemon ──control socket──▶ bridge ──▶ broker ──▶ subscriber
      │                                  │                          │
      └──────── until the event ─────────┴──── to the subscriber ───┘
"""

import select
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from Bench.phone import Phone
from Fleet.mosquitto import program
from Fleet.scripted import CONNECT, SUBSCRIBE, first_packet, packet, text
from Harness.case import check

PATIENCE = 20
#: The pause between two notifications, so that everything is idle again.
PAUSE = 0.03


#: The percentiles that are printed.
PERCENTILES = (10, 50, 90, 99)


def percentile(number: int, seconds: list[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, len(seconds) * number // 100)]


def milliseconds(seconds: list[float]) -> str:
    return ", ".join(f"{number} %: {percentile(number, seconds) * 1e3:.2f}" for number in PERCENTILES) + " ms"


class Subscriber:
    """A minimal client of the broker: MQTT 5, QoS 0."""

    def __init__(self, port: int, *filters: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.socket.sendall(packet(CONNECT, text("MQTT") + b"\5\2\0\0\0" + text("bench-latency")))
        self.socket.sendall(packet(SUBSCRIBE, b"\0\1\0" + b"".join(text(name) + b"\0" for name in filters), 2))
        while b"\x90" not in self.data:  # SUBACK
            self.data += self.socket.recv(65536)
        self.data = b""

    def read(self) -> list[tuple[str, int]]:
        """The topics and sizes of what has arrived."""
        self.data += self.socket.recv(65536)
        arrived = []
        while found := first_packet(self.data):
            _, body, size = found
            self.data = self.data[size:]
            (length,) = struct.unpack_from(">H", body)
            arrived.append((body[2 : 2 + length].decode(), len(body)))
        return arrived


class Way:
    """The way from a phone in this process to a subscriber."""

    def __init__(self, phone: Phone, control: Path, port: int, topic: str) -> None:
        self.phone = phone
        self.topic = topic
        self.subscriber = Subscriber(port, topic, "bare/x")
        self.client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.client.connect(str(control))
        self.client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["notification"]}}\n')
        self.publisher = subprocess.Popen(
            [program("mosquitto_pub"), "-V", "5", "-q", "1", "-p", str(port), "-t", "bare/x", "-l"], stdin=subprocess.PIPE)
        self.publish(16)

    def turn(self, limit: float) -> tuple[bool, int]:
        """Waits, and answers as the phone. Returns whether the daemon has sent an event, and the size of the message."""
        ready, _, _ = select.select([self.phone.socket, self.client, self.subscriber.socket], [], [], max(0, limit - time.monotonic()))
        check(bool(ready), "a notification did not arrive")
        event, size = False, 0
        if self.phone.socket in ready:
            began = time.thread_time()
            self.phone.handle(self.phone.socket.recv(1024))
            self.own += time.thread_time() - began
        if self.client in ready:
            event = b'"notification"' in self.client.recv(65536)
        if self.subscriber.socket in ready:
            size = next((size for topic, size in self.subscriber.read() if topic in (self.topic, "bare/x")), 0)
        return event, size

    def wait(self, send: Callable[[], None], wants_event: bool) -> tuple[float, float, int]:
        """When the event arrived and when the message, and its size. `own` is the CPU time that this process took to send and to
        answer: by the clock it would include what the processes that it wakes do first on the same processor."""
        event = arrived = 0.0
        size = 0
        began, began_here = time.monotonic(), time.thread_time()
        send()
        self.own = time.thread_time() - began_here
        while not arrived or (wants_event and not event):
            told, came = self.turn(began + PATIENCE)
            now = time.monotonic() - began
            if told and not event:
                event = now
            if came and not arrived:
                arrived, size = now, came
        return event, arrived, size

    def notify(self) -> tuple[float, float, int]:
        self.phone.posted += 1
        value = struct.pack("<BBBBI", 0, 0x18, 4, 1, self.phone.posted)
        return self.wait(lambda: self.phone.notify(self.phone.source, value), True)

    def publish(self, size: int) -> float:
        """Publishes the same number of bytes with mosquitto_pub."""
        assert self.publisher.stdin is not None
        stdin = self.publisher.stdin
        line = b"x" * (size - 2 - len("bare/x") - 1) + b"\n"

        def send() -> None:
            stdin.write(line)
            stdin.flush()

        return self.wait(send, False)[1]

    def measure(self, count: int) -> None:
        """Prints the parts of the way, next to what a bare publication takes in the same run."""
        until_event, from_event, whole, phone, bare = [], [], [], [], []
        self.notify()  # the app's name is asked for once
        for _ in range(count):
            time.sleep(PAUSE)
            event, arrived, size = self.notify()
            until_event.append(event)
            from_event.append(arrived - event)
            whole.append(arrived)
            phone.append(self.own)
            time.sleep(PAUSE)
            bare.append(self.publish(size))
        print(f"{count} notifications, one after the other:")
        print(f"    from the phone to the daemon's event: {milliseconds(until_event)}; {statistics.median(phone) * 1e3:.2f} ms of it "
              "are the phone's own CPU time")
        print(f"    from the event to a subscriber: {milliseconds(from_event)}")
        print(f"    from the phone to a subscriber: {milliseconds(whole)}")
        print(f"    mosquitto_pub to a subscriber, {size} bytes: {milliseconds(bare)}")
        # A phone's own time is the air's.
        own = [all - here for all, here in zip(whole, phone, strict=True)]
        half, most = (percentile(number, own) / percentile(number, bare) for number in (50, 99))
        print(f"    without the phone's own CPU time, {half:.2f} times mosquitto_pub at the median (goal: 2.0), {most:.2f} times at the "
              "99th percentile (goal: 1.5)")

    def close(self) -> None:
        self.publisher.terminate()
        self.publisher.wait()
        self.client.close()
        self.subscriber.socket.close()


def serve(phone: Phone) -> None:
    """Accepts a daemon, and answers until it has subscribed."""
    phone.accept(PATIENCE)
    while not phone.subscribed:
        check(phone.turn(PATIENCE), "the daemon has not subscribed")
    serve_until_quiet(phone)


def serve_until_quiet(phone: Phone) -> None:
    """Answers until there are no more requests."""
    while phone.turn(1):
        pass
