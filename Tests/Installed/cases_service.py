# SPDX-License-Identifier: GPL-3.0-or-later
"""The service as systemd runs it: its user, its sandbox, its states, and bluetoothd on the same machine."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

from Harness import procfs
from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Lab.vhci import blocked

from .testbed import DEBIAN, SOCKET, STATE_FILES, Testbed

CAP_NET_RAW = 1 << 13
#: A service with bluetoothd's name, which does nothing.
STAND_IN = """[Unit]
Description=Stands in for bluetoothd
[Service]
ExecStart=/usr/local/sbin/bluetoothd infinity
[Install]
WantedBy=bluetooth.target
"""


def stand_in(bed: Testbed, enabled: bool = False) -> None:
    """Installs a bluetooth.service until the case ends."""
    unit = DEBIAN / "etc/systemd/system/bluetooth.service"
    link = DEBIAN / "etc/systemd/system/bluetooth.target.wants/bluetooth.service"
    program = DEBIAN / "usr/local/sbin/bluetoothd"
    bed.cleanups += [lambda path=path: path.unlink(missing_ok=True) for path in (link, unit, program)]
    shutil.copy(DEBIAN / "usr/bin/sleep", program)
    unit.write_text(STAND_IN)
    if enabled:
        link.parent.mkdir(exist_ok=True)
        link.symlink_to("../bluetooth.service")


@case("installed")
async def installed(bed: Testbed) -> None:
    """Once installed, it runs as its own user with one capability, pairs with a phone, and serves clients of its group."""
    await bed.install()
    await bed.until_state("active/running")
    held = procfs.privileges(await bed.pid())
    check(held["CapPrm"] == held["CapEff"] == CAP_NET_RAW, f"it holds {held}")
    check(held["CapBnd"] & ~(CAP_NET_RAW | 1 << 12) == 0, f"it could gain {held['CapBnd']:x}")
    check(held["NoNewPrivs"] == 1, f"it holds {held}")
    owner = STATE_FILES.stat()
    check(owner.st_uid != 0 and owner.st_mode & 0o777 == 0o700, f"the state directory: {owner}")
    socket = SOCKET.stat()
    check(socket.st_gid == owner.st_gid and socket.st_mode & 0o777 == 0o660, f"the socket: {socket}")
    phone = await bed.paired()
    phone.ancs.post(Notification(1, title="from the phone"))
    await bed.until(lambda: bed.inside("ancsd", "list", status=None), lambda listed: "from the phone" in listed.out, "it lists no notification")
    as_user = ["setpriv", "--reuid=65534", "--regid=65534"]
    await bed.inside(*as_user, "--clear-groups", "ancsd", "status", status=77)
    await bed.inside(*as_user, f"--groups={owner.st_gid}", "ancsd", "status")


@case("history")
async def history(bed: Testbed) -> None:
    """The history is for root and for users of the group, while the daemon runs; others, and without a daemon, get a sentence."""
    await bed.install()
    (DEBIAN / "etc/ancsd/ancsd.toml").write_text("[log]\n")
    await bed.inside("systemctl", "restart", "ancsd")
    await bed.until_state("active/running")
    phone = await bed.paired()
    phone.ancs.post(Notification(1))
    group = SOCKET.stat().st_gid
    user = ["setpriv", "--reuid=65534", "--regid=65534"]
    member, stranger = [*user, f"--groups={group}"], [*user, "--clear-groups"]
    asked = ["env", "HOME=/home/pi", "ancsd", "log", "--json", "--app", "com.apple.*"]
    await bed.until(lambda: bed.inside(*member, *asked, status=None), lambda found: found.status == 0, "a member can't read the history", within=30)
    for reader in ([], member):
        found = await bed.inside(*reader, *asked)
        check('"uid":1' in found.out, f"{reader} reads {found.out!r}")
    refused = await bed.inside(*stranger, *asked, status=77)
    check("join the group" in refused.err, f"a user outside the group learns {refused.err!r}")
    await bed.inside("systemctl", "stop", "ancsd")
    check('"uid":1' in (await bed.inside(*asked)).out, "root does not read the file of a stopped daemon")
    absent = await bed.inside(*member, *asked, status=69)
    check("/home/pi" not in absent.err and "systemctl enable --now ancsd" in absent.err, f"without a daemon, a user learns {absent.err!r}")


@case("sandbox")
async def sandbox(bed: Testbed) -> None:
    """The sandbox lets it read rfkill and ask for connection parameters, and refuses nothing that it does."""
    await bed.install()
    phone = await bed.paired()
    files = [os.readlink(path) for path in Path(f"/proc/{await bed.pid()}/fd").iterdir()]
    check("/dev/rfkill" in files, f"it has not opened rfkill: {files}")
    await eventually(lambda: bed.adapter.controller.updates, "no parameters were asked for", within=20)
    await phone.disconnect()
    async with blocked():
        await bed.until_status("blocked")
    await bed.until_status("on the air")
    refused = [entry["MESSAGE"] for entry in await bed.entries()
               if any(word in str(entry.get("MESSAGE")) for word in ("EPERM", "EACCES", "EROFS", "SIGSYS"))]
    check(not refused, f"something was refused to it: {refused}")


@case("journal")
async def journal(bed: Testbed) -> None:
    """The journal has the priority of each line, and the adapter and the phone that it is about."""
    bed.override("[Service]\nExecStart=\nExecStart=/usr/bin/ancsd run --why --state-dir=/var/lib/ancsd --socket=/run/ancsd/control.sock\n")
    await bed.install()
    phone = await bed.paired()
    entries = [entry for entry in await bed.entries() if entry.get("SYSLOG_IDENTIFIER") == "ancsd"]
    about = [entry for entry in entries if entry.get("PHONE") == phone.address]
    check(about, f"no entry is about the phone: {[entry.get('MESSAGE') for entry in entries]}")
    check(all(entry.get("ADAPTER") == bed.adapter.name for entry in about), f"the adapter: {about[0]}")
    check(all(entry["PRIORITY"] in "34567" and entry["_TRANSPORT"] == "journal" for entry in about), f"{about[0]}")
    check(not any(entry["MESSAGE"].startswith(("<", "ancsd:")) for entry in about), f"{about[0]}")


@case("watchdog")
async def watchdog(bed: Testbed) -> None:
    """A daemon that hangs is killed by the watchdog, started again, and the phone comes back to its bond."""
    bed.override("[Service]\nWatchdogSec=6s\nRestartSec=1s\n")
    await bed.install()
    phone = await bed.paired()
    await asyncio.sleep(14)
    check(await bed.property("NRestarts") == "0", f"it was restarted without cause; {await bed.journal()}")
    # The phone's link is quiet, so that this kernel survives the end of the process.
    os.kill(await bed.pid(), signal.SIGSTOP)
    await bed.until(lambda: bed.property("NRestarts"), lambda count: count == "1", "it was not restarted once", within=30)
    await bed.until_state("active/running", within=20)
    await eventually(lambda: not phone.connected, "the link is still up")
    await bed.comes_back(phone)


@case("stopped", seconds=240)
async def stopped(bed: Testbed) -> None:
    """A stop is clean, and no fault to `doctor`; a start brings the phone back, a wrong command line is not retried, and a kernel
    without Bluetooth not for ever."""
    await bed.install()
    phone = await bed.paired()
    await bed.inside("systemctl", "stop", "ancsd")
    await bed.until_state("inactive/dead")
    check(await bed.property("Result") == "success", f"its end was a {await bed.property('Result')}")
    check(not SOCKET.exists(), "the control socket is left behind")
    # The state directory is the service's, as which root judges it.
    found = await bed.inside("ancsd", "doctor", status=None)
    check("the service is stopped" in found.out and "chown" not in found.out, f"doctor says of a stopped service: {found.out}")
    await bed.inside("systemctl", "start", "ancsd")
    await bed.comes_back(phone)
    bed.override("[Service]\nExecStart=\nExecStart=/usr/bin/ancsd run --no-such-option\n")
    await bed.inside("systemctl", "daemon-reload")
    await bed.inside("systemctl", "restart", "ancsd", status=1)
    await bed.until_state("failed/failed")
    check(await bed.property("NRestarts") == "0", "a wrong command line was retried")
    # To the daemon, this is a kernel without Bluetooth: EAFNOSUPPORT.
    bed.override("[Service]\nRestartSec=100ms\nRestrictAddressFamilies=\nRestrictAddressFamilies=AF_UNIX\n")
    await bed.inside("systemctl", "daemon-reload")
    await bed.inside("systemctl", "reset-failed", "ancsd")
    await bed.inside("systemctl", "start", "ancsd", status=None)
    await bed.until_state("failed/failed", within=120)
    check(await bed.property("ExecMainStatus") == "69", f"it ended with {await bed.property('ExecMainStatus')}, not 69")
    check(await bed.property("NRestarts") == "20", f"it was started again {await bed.property('NRestarts')} times, not 20")


IN_ITS_PLACE = "systemctl disable --now bluetooth && systemctl enable --now ancsd"


async def is_left_alone(bed: Testbed, said: str) -> None:
    """Checks that bluetoothd still runs, that the service was not started, and that two lines say how to choose."""
    lines = [line for line in said.splitlines() if line.startswith("ancsd: ")]
    check(len(lines) == 2 and IN_ITS_PLACE in lines[1], f"two lines do not say how to choose: {said}")
    check(await bed.property("ActiveState") == "inactive", "it was started beside bluetoothd")


@case("bluetoothd-conflict", seconds=240)
async def conflict(bed: Testbed) -> None:
    """If bluetoothd runs or is enabled, an installation or upgrade starts nothing; starting the service stops bluetoothd."""
    stand_in(bed)
    await bed.inside("systemctl", "daemon-reload")
    await bed.inside("systemctl", "start", "bluetooth")
    keyboard = await bed.property("MainPID", "bluetooth")
    await is_left_alone(bed, await bed.install())
    enabled = await bed.inside("systemctl", "is-enabled", "ancsd", status=None)
    check(enabled.out.strip() == "disabled", f"it is {enabled.out.strip()}")
    found = await bed.inside("ancsd", "doctor", status=None)
    check(IN_ITS_PLACE in found.out, f"doctor does not repeat how to choose: {found.out}")
    # If both are enabled and bluetoothd runs, it still runs after an upgrade.
    await bed.inside("systemctl", "enable", "ancsd")
    await is_left_alone(bed, await bed.install(2))
    check(await bed.property("MainPID", "bluetooth") == keyboard, "bluetoothd was ended by the package")
    # Starting the service by hand is the user's choice.
    await bed.inside("systemctl", "start", "ancsd")
    await bed.until_state("active/running")
    await bed.until_state("inactive/dead", "bluetooth")
    said = await bed.install(3)
    check("bluetoothd" not in said, f"bluetoothd is not in use, and yet: {said}")
    await bed.until_state("active/running")
    await bed.inside("systemctl", "start", "bluetooth")
    await bed.until_state("inactive/dead")
    check(await bed.property("Result") == "success", "its end for bluetoothd was a failure")
    await bed.inside("systemctl", "stop", "bluetooth")
    await bed.inside("dpkg", "--purge", "ancsd")
    stand_in(bed, enabled=True)
    await is_left_alone(bed, await bed.install())


HOOK = """#!/bin/sh
echo "$ANCSD_TITLE as $(id -un)" >>/var/lib/ancsd/hook
"""
SETTINGS = """name = "{name}"
[[hook]]
event = "notification"
run = "/usr/local/bin/hook"
"""


def install_hook(bed: Testbed, text: str) -> None:
    """Installs the program of a hook until the case ends."""
    program = DEBIAN / "usr/local/bin/hook"
    program.write_text(text)
    program.chmod(0o755)
    bed.cleanups.append(lambda: program.unlink(missing_ok=True))


@case("settings")
async def settings(bed: Testbed) -> None:
    """A hook of /etc/ancsd/ancsd.toml runs in the sandbox; a reload applies a good file and refuses a wrong one."""
    await bed.install()
    install_hook(bed, HOOK)
    file = DEBIAN / "etc/ancsd/ancsd.toml"
    phone = await bed.paired()
    before = await bed.pid()
    file.write_text(SETTINGS.format(name="kitchen"))
    await bed.inside("systemctl", "reload", "ancsd")
    await until_said(bed, "the settings were read again")
    phone.ancs.post(Notification(1, title="Mum"))
    ran = STATE_FILES / "hook"
    await eventually(ran.exists, "the hook did not run", within=15)
    await eventually(lambda: ran.read_text() == "Mum as ancsd\n", lambda: f"the hook wrote {ran.read_text()!r}")
    file.write_text("name = 5\n")
    await bed.inside("systemctl", "reload", "ancsd", status=1)
    await until_said(bed, "ancsd.toml:1:8: name must be a string")
    await bed.until_state("active/running")
    check(await bed.pid() == before and phone.connected, "the reload has cost the link")
    await bed.inside("systemctl", "restart", "ancsd", status=1)
    await bed.until_state("failed/failed")
    check(await bed.property("ExecMainStatus") == "78", f"it ended with {await bed.property('ExecMainStatus')}")


#: Commands common in scripts, which the sandbox's system call filter used to kill.
COMMANDS_OF_HOOKS = """#!/bin/sh
cd /var/lib/ancsd
try() { "$@" >/dev/null && echo "$1 works" >>done; }
echo old >text
try sed -i s/old/new/ text
try chown "$(id -u)" text
try nice -n 5 true
try ionice -c 3 true
try taskset 1 true
mount -t tmpfs none /tmp
echo "mount ended with $?" >>done
"""


@case("hook-commands")
async def hook_commands(bed: Testbed) -> None:
    """A hook can call sed -i, chown, nice, ionice and taskset; the log has the message of what is refused."""
    await bed.install()
    install_hook(bed, COMMANDS_OF_HOOKS)
    (DEBIAN / "etc/ancsd/ancsd.toml").write_text(SETTINGS.format(name="kitchen"))
    await bed.inside("systemctl", "reload", "ancsd")
    phone = await bed.paired()
    phone.ancs.post(Notification(1, title="Mum"))
    done = STATE_FILES / "done"
    await eventually(lambda: done.exists() and "mount ended" in done.read_text(), "the hook did not come to its end", within=15)
    worked = "".join(f"{name} works\n" for name in ("sed", "chown", "nice", "ionice", "taskset"))
    check(done.read_text() == f"{worked}mount ended with 32\n", f"the hook could: {done.read_text()!r}; {await bed.journal()}")
    await until_said(bed, "hook: mount: /tmp: ")


async def until_said(bed: Testbed, words: str) -> None:
    """Waits until the service has logged a line with these words."""
    async def said() -> list[str]:
        return [str(entry.get("MESSAGE")) for entry in await bed.entries()]

    await bed.until(said, lambda lines: any(words in line for line in lines), f"the journal does not say {words!r}")


#: The exit status of each command with each set of capabilities. 143: it kept running and was ended by SIGTERM.
REFUSED, RAN = 77, 143
COMMANDS = {
    "run": ["run", "--why", "--state-dir=/tmp/state", "--socket=/tmp/control"],
    "virtual phone": ["run", "--virtual-phone", "--state-dir=/tmp/state", "--socket=/tmp/control"],
    "gatt": ["gatt", "scan", "--timeout", "4"],
    "trace": ["trace"],
    "doctor": ["doctor"],
}
WITH_CAPABILITIES = {
    "": (RAN, RAN, REFUSED, REFUSED, REFUSED),
    "net_admin": (RAN, RAN, 0, REFUSED, REFUSED),
    "net_raw": (RAN, RAN, REFUSED, RAN, REFUSED),
    "net_admin,net_raw": (RAN, RAN, 0, RAN, 0),
}


@case("capabilities", seconds=240)
async def capabilities(bed: Testbed) -> None:
    """With each capability, the daemon and the tools can do what docs/service.md says."""
    await bed.install()
    await bed.inside("systemctl", "stop", "ancsd")
    wrong = []
    for held, statuses in WITH_CAPABILITIES.items():
        sets = "-all" + "".join(f",+{name}" for name in held.split(",") if name)
        user = ["setpriv", "--reuid=ancsd", "--regid=ancsd", "--clear-groups", f"--inh-caps={sets}", f"--ambient-caps={sets}"]
        for (name, command), status in zip(COMMANDS.items(), statuses, strict=True):
            await bed.inside("rm", "-rf", "/tmp/state", "/tmp/control")
            outcome = await bed.inside(
                "timeout", "--preserve-status", "20" if name == "run" else "8", *user, "ancsd", *command, status=None, within=30)
            said = outcome.err.strip().splitlines()[-1:]
            if outcome.status != status:
                wrong.append(f"{name} with {held or 'none'}: {outcome.status}, not {status}: {said}")
            # Without CAP_NET_ADMIN the daemon says so, and goes on trying.
            if name == "run" and ("advertising" in outcome.out) != ("net_admin" in held):
                wrong.append(f"run with {held or 'none'}: {outcome.out[-200:]} {said}")
    check(not wrong, "; ".join(wrong))
