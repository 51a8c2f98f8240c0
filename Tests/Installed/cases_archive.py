# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive for systems without Debian's packages (scripts/tarball), where systemd runs."""

from __future__ import annotations

import tarfile
from pathlib import Path

from Harness.case import case, check, eventually

from .testbed import DEBIAN, Testbed


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
