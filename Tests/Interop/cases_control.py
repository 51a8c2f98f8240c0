# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients of the control socket: the commands, and a flood of requests."""

import asyncio
import sys

from Harness import procfs
from Harness.ancs import Notification, call
from Harness.case import case, check, check_plain, patient
from Harness.control import ControlClient
from Harness.process import PIPE

from .testbed import Testbed


@case("commands")
async def commands(bed: Testbed) -> None:
    """list, count, show, apps and act: what they print, and what the phone sees; exit status 1 where nothing matches, and where
    an action is refused."""
    daemon, phone, since = await bed.served()
    await daemon.passes_on(phone, Notification(1), Notification(2, title="Boss", app_id="com.slack", category=7), call(3))
    for words, number in {(): 3, ("--app", "com.apple.*"): 2, ("--app", "org.*"): 0}.items():
        listed = (await bed.client(daemon, "list", "--format", "json", *words)).expect(int(not number))
        check(len(listed.objects) == number, f"list {' '.join(words)} printed {listed.out!r}")
        counted = (await bed.client(daemon, "count", *words)).expect(int(not number))
        check(counted.out.strip() == str(number), f"count {' '.join(words)}: {counted.out!r}")
    before = (await bed.run("--socket", str(daemon.socket), "list", "--json", "--app", "com.slack")).expect(0)
    check(len(before.objects) == 1, f"options before the command: {before.out!r}")
    text = (await bed.client(daemon, "list", "--format", "text")).expect(0).out
    check(all(name in text for name in ("Mum", "Boss")), f"list printed {text!r}")
    check_plain(text, "list")
    shown = [(await bed.client(daemon, "show", "2", *form)).expect(0).out for form in ([], ["--format", "text"])]
    check("Boss" in shown[0] and "Saturday" in shown[0] and shown[0] == shown[1], f"show printed {shown}")
    apps = (await bed.client(daemon, "apps", "--format", "json")).expect(0).objects
    found = {a["app_id"]: (a["name"], a["count"]) for a in apps}
    check(found["com.apple.MobileSMS"] == ("Messages", 1), f"apps printed {apps}")

    (await bed.client(daemon, "act", "3", "decline")).expect(0)
    check(phone.ancs.actions == [(3, "negative")], f"the phone saw {phone.ancs.actions}")
    await daemon.event("notification", since=since, uid=3, change="removed")
    phone.ancs.actions_fail = True
    refused = (await bed.client(daemon, "act", "2", "negative")).expect(1)
    check("action failed" in refused.err.lower(), f"act printed {refused.err!r}")


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
    daemon, phone, _ = await bed.served()
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
        await daemon.passes_on(phone, Notification(uid))
        latest = max(latest, loop.time() - asked)
        await asyncio.sleep(0.1)
    answers = [int((await flood.communicate())[0]) for flood in floods]
    peak = procfs.status(daemon.pid)["VmHWM"]
    bed.remark(f"{sum(answers) // 8} answers a second, {peak >> 10} MB, status in {slowest:.2f} s")
    check(min(answers) > 0 and uid > 5, f"{answers} answers, {uid} notifications")
    check(peak < 48 << 10, f"it needed {peak} KiB")
    check(slowest < patient(0.3), f"status took {slowest:.2f} s")
    check(latest < patient(1), f"a notification took {latest:.2f} s")
