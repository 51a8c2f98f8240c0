#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares `ancsd decode` with tshark.

For every ATT PDU, both agree on opcode, handle, UUID and value: in random and malformed PDUs of every opcode on many links at
once, in a file of each format, in a capture of `ancsd run --btsnoop`, and in each FILE. Exit status: 0 all agree, 1 not all.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import captures
import dissectors

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
UNNAMED = "this link was up before the capture began"
SEEDS = (1, 2, 3)


class Check:
    def __init__(self, binary):
        self.binary = binary
        self.failed = 0

    def say(self, passed, what, result):
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {what}: {result}", flush=True)

    def tshark(self, what, path, depth="names", expected=None):
        """Checks that every ATT PDU agrees: what is in the packets (`air`), also the request that each
        response is to (`pairs`), also what was learned about the attributes (`names`)."""
        ours, said = dissectors.of_ancsd(self.binary, path)
        # Attributes of a link that was up before the capture have no names, which is said and no fault.
        said = "".join(line for line in said.splitlines(True) if UNNAMED not in line)
        theirs = dissectors.of_tshark(path)
        if depth == "air":
            ours, theirs = map(dissectors.on_air, ours), map(dissectors.on_air, theirs)
        ours = {pdu.frame: pdu for pdu in ours}
        theirs = {pdu.frame: pdu for pdu in theirs}
        wrong = [(ours.get(n), theirs.get(n)) for n in sorted(ours.keys() | theirs.keys())
                 if n not in ours or n not in theirs
                 or not dissectors.agree(ours[n], theirs[n], depth == "names")]
        passed = not wrong and not said and bool(ours) and expected in (None, len(ours))
        agreed = len(ours.keys() | theirs.keys()) - len(wrong)
        self.say(passed, f"{what}, tshark", f"{agreed} of {len(theirs)} PDUs agree")
        for one, other in wrong[:5]:
            print(f"       ancsd  {one}\n       tshark {other}")
        if said:
            print(f"       {said.strip()}")

    def captured(self, folder):
        """Makes the daemon capture some seconds with the built-in phone."""
        path = os.path.join(folder, "run.btsnoop")
        daemon = subprocess.Popen(
            [self.binary, "run", "--virtual-phone", "--btsnoop", path, "--state-dir", folder,
             "--socket", os.path.join(folder, "control.sock"), "-q"], stdout=subprocess.DEVNULL)
        time.sleep(3)
        daemon.send_signal(signal.SIGTERM)
        status = daemon.wait(10)
        if status != 143:
            self.say(False, "run --btsnoop", f"the daemon ended with {status}")
        return path

    def random(self, folder):
        """Checks random captures."""
        for seed in SEEDS:
            sniffer = captures.of_sniffer(seed)
            for link_type, depth in ((256, "pairs"), (251, "air")):
                path = write(folder, f"air-{link_type}.pcap", sniffer.pcap(link_type))
                self.tshark(f"heard on the air ({link_type}), seed {seed}", path, depth, sniffer.pdus)
        for seed, (kind, broken, loses, other) in enumerate((
                ("ordinary", False, False, "unencapsulated.btsnoop"),
                ("malformed", True, False, "h4-direction.pcapng"),
                ("fragments lost", False, True, "monitor.pcap"),
                ("malformed, fragments lost", True, True, "little.pklg")), 1):
            # Files without adapters can hold one only.
            for name, adapters in (("monitor.btsnoop", 2), (other, 1)):
                traffic = captures.of_noise(seed, broken, loses, adapters)
                path = write(folder, f"random-{name}", captures.FILES[name](traffic))
                self.tshark(f"all opcodes, {kind}, {name}", path, "air", traffic.pdus)

    def file(self, path):
        """Checks any capture; in the monitor format, the servers of both ends are separated first."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                content = captures.btsnoop(captures.by_server(path))
            except ValueError:
                self.tshark(path, path, "pairs")
            else:
                self.tshark(path, write(folder, "servers.btsnoop", content))


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(ROOT, ".build/release/ancsd"),
                        help="the ancsd to check (default: .build/release/ancsd)")
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="more captures to check: of adapters, of the lab")
    arguments = parser.parse_args()
    if not shutil.which("tshark"):
        parser.error("tshark is missing: scripts/setup --tests installs it")
    check = Check(arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        check.random(folder)
        path = check.captured(folder)
        check.tshark("run --btsnoop", path)
    for path in arguments.files:
        check.file(path)
    sys.exit(1 if check.failed else 0)


with contextlib.suppress(BrokenPipeError):
    main()
