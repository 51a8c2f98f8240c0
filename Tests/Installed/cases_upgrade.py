# SPDX-License-Identifier: GPL-3.0-or-later
"""Upgrades and removal keep the bonds, whatever happens; only a purge deletes them."""

import asyncio
import os
import signal
import tarfile
from pathlib import Path

from Harness.case import case, check, eventually

from .testbed import DEBIAN, STATE, STATE_FILES, Testbed


async def version(bed: Testbed) -> str:
    found = await bed.inside("dpkg-query", "--show", "--showformat", "${Version} ${db:Status-Status}", "ancsd")
    return found.out


@case("upgrade")
async def upgrade(bed: Testbed) -> None:
    """An upgrade starts the new version, which keeps the bond; the phone comes back without pairing."""
    await bed.install()
    phone = await bed.paired()
    bonds, before = bed.bonds(), await bed.pid()
    await bed.install(2)
    check("+1 installed" in await version(bed), f"the version is {await version(bed)}")
    await bed.until_state("active/running")
    check(await bed.pid() != before, "the former version runs on")
    check(bed.bonds() == bonds, f"the bonds were {bonds} and are {bed.bonds()}")
    await bed.comes_back(phone)
    await bed.inside("systemctl", "disable", "--now", "ancsd")
    await bed.install(3)
    check(await bed.property("ActiveState") == "inactive", "what the user has disabled was started")


async def kill_upgrade(bed: Testbed, number: int, after: float) -> bool:
    """Begins an upgrade and kills dpkg and its children; returns whether that happened before it had ended."""
    (DEBIAN / "tmp/ancsd.deb").write_bytes(bed.package(number).read_bytes())
    command = "exec setsid dpkg --install /tmp/ancsd.deb >/tmp/dpkg.log 2>&1"
    process = await asyncio.create_subprocess_exec(
        "chroot", DEBIAN, "sh", "-c", command)
    try:
        await asyncio.wait_for(process.wait(), after)
        return False
    except TimeoutError:
        pass
    sessions = [path for path in Path("/proc").iterdir() if path.name.isdigit() and session(path) == process.pid]
    for path in sessions:
        os.kill(int(path.name), signal.SIGKILL)
    await process.wait()
    return True


def session(process: Path) -> int:
    """The session ID of a process; 0 if it has ended."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0


@case("upgrade-interrupted", seconds=300)
async def interrupted(bed: Testbed) -> None:
    """An upgrade killed at any moment keeps the bonds, and succeeds when it is started again."""
    await bed.install()
    phone = await bed.paired()
    await phone.disconnect()
    bonds = bed.bonds()
    number, moments = 1, []
    for after in (0.5, 1.5, 3, 6):
        number = 3 - number  # 2, 1, 2, ...
        if not await kill_upgrade(bed, number, after):
            continue
        moments.append((await version(bed)).split()[-1])
        check(bed.bonds() == bonds, f"after {after} s the bonds are {bed.bonds()}")
        await bed.inside("dpkg", "--configure", "--all", status=None, within=60)
        check(bed.bonds() == bonds, f"after dpkg --configure -a the bonds are {bed.bonds()}")
        await bed.install(number)
        await bed.until_state("active/running")
        check(bed.bonds() == bonds, f"after the upgrade the bonds are {bed.bonds()}")
    check(moments, "no upgrade was interrupted")
    bed.remark(f"dpkg's state when it was killed: {', '.join(moments)}")
    await bed.comes_back(phone)


@case("removed")
async def removed(bed: Testbed) -> None:
    """A removal stops the service and keeps the bonds, which a new installation uses; a purge deletes them."""
    await bed.install()
    phone = await bed.paired()
    pid, bonds = await bed.pid(), bed.bonds()
    await bed.inside("dpkg", "--remove", "ancsd")
    check(not Path(f"/proc/{pid}").exists(), "the daemon runs on")
    check(bed.bonds() == bonds, f"the bonds are {bed.bonds()}")
    await bed.install()
    await bed.until_state("active/running")
    await bed.comes_back(phone)
    await bed.inside("dpkg", "--purge", "ancsd")
    left = [str(path) for path in (STATE_FILES, DEBIAN / "run/ancsd", DEBIAN / "usr/bin/ancsd") if path.exists()]
    check(not left, f"there is still {left}")
    loaded = await bed.inside("systemctl", "is-failed", "ancsd", status=None)
    check(loaded.out.strip() in ("inactive", "unknown"), f"the unit is {loaded.out.strip()}")


@case("bonds-of-root")
async def bonds_of_root(bed: Testbed) -> None:
    """The service takes over the bonds of a daemon that was run by hand, as root."""
    await bed.install()
    phone = await bed.paired()
    await bed.inside("systemctl", "stop", "ancsd")
    await bed.inside("chown", "-R", "root:root", STATE)
    await bed.inside("systemctl", "start", "ancsd")
    await bed.comes_back(phone)


@case("archive", seconds=240)
async def archive(bed: Testbed) -> None:
    """install.sh --start starts the service, a second installation keeps the phone, and --uninstall keeps the bonds."""
    packed = next(bed.binary.parent.glob("*.tar.xz"))
    with tarfile.open(packed) as files:
        files.extractall(DEBIAN / "tmp")
    script = Path("/tmp", packed.name.removesuffix(".tar.xz"), "install.sh")
    said = (await bed.inside(script, "--start", within=60)).out
    check("write   /usr/local/bin/ancsd" in said, f"it does not say what it writes: {said}")
    phone = await bed.paired()
    bonds, before = bed.bonds(), await bed.pid()
    check(Path(f"/proc/{before}/exe").readlink().name == "ancsd", "another program runs")
    await bed.inside(script, "--start", within=60)
    await bed.until_state("active/running")
    pid = await bed.pid()
    check(pid != before, "the former program runs on")
    await bed.comes_back(phone)
    # It also stops a service that would not start at boot.
    await bed.inside("systemctl", "disable", "ancsd")
    await bed.inside("/usr/local/share/ancsd/install.sh", "--uninstall", within=60)
    await eventually(lambda: not Path(f"/proc/{pid}").exists(), "the program runs on")
    check(await bed.property("ActiveState") == "inactive", "the service runs on")
    check(bed.bonds() == bonds, f"the bonds were {bonds} and are {bed.bonds()}")
    left = [path for path in (DEBIAN / "usr/local").rglob("*ancsd*")]
    check(not left, f"there is still {left}")
