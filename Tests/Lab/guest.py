#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""guest.py: lends the guest's kernel to the host, where radios, phones and cases run ten times as fast as in it.

The first line of a connection says what it is for. `adapter` makes an adapter, whose packets the connection carries. Any
other line is a command for bash, whose output the connection takes. It is stopped with the connection, and does not end: some kernels would crash
(docs/kernel.md, “Kernel bug: silent links”).
"""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)
sys.dont_write_bytecode = True

from Harness.case import Failure  # noqa: E402
from Lab.kernel import KernelLog  # noqa: E402
from Lab.port import VENDOR, read_packet  # noqa: E402
from Lab.vhci import Adapter  # noqa: E402


PORT = 7000


class Relay(Adapter):
    """An adapter whose controller is the host's."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        super().__init__("")
        self.on_packet_from_kernel = writer.write  # type: ignore[method-assign]

    def leave(self) -> None:
        pass


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    adapter = Relay(writer)
    log = KernelLog()

    async def plug() -> None:
        await adapter.plug()
        writer.write(bytes([VENDOR, 2]) + adapter.index.to_bytes(2, "little"))

    plugging = asyncio.create_task(plug())
    try:
        while True:
            adapter.on_packet(await read_packet(reader))
    finally:
        plugging.cancel()
        adapter.unplug()
        try:
            log.check(Path("/dev/null"))
        except Failure as failure:
            complain(failure)


async def run(command: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    output = writer.get_extra_info("socket").fileno()
    process = await asyncio.create_subprocess_exec("bash", "-c", command, stdin=asyncio.subprocess.DEVNULL, stdout=output)
    gone = asyncio.create_task(reader.read())
    ended = asyncio.create_task(process.wait())
    await asyncio.wait([gone, ended], return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        process.send_signal(signal.SIGSTOP)
    elif (status := ended.result()) < 0:
        complain(f"`{command}` ended with {signal.Signals(-status).name}")


def complain(trouble: object) -> None:
    print(f"FAILED lab: {trouble}", flush=True)


async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, OSError), contextlib.closing(writer):
        command = (await reader.readline()).decode().strip()
        await (relay(reader, writer) if command == "adapter" else run(command, reader, writer))


async def main() -> None:
    server = await asyncio.start_server(on_connection, "0.0.0.0", PORT)
    await server.serve_forever()


asyncio.run(main())
