# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds `ancsd decode` against tshark, and what ancsd writes against tshark and btmon."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

import captures
import dissectors

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
VECTORS = os.path.join(ROOT, "Tests", "Vectors", "att-gatt.json")


class Check:
    def __init__(self, binary):
        self.binary = binary
        self.failed = 0

    def say(self, passed, what, result):
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {what}: {result}", flush=True)

    def tshark(self, what, path, names=True, expected=None):
        """Every ATT PDU agrees: opcode, handles, values, and with `names` the UUIDs."""
        ours, said = dissectors.of_ancsd(self.binary, path)
        theirs = dissectors.of_tshark(path)
        wrong = [(a, b) for a, b in zip(ours, theirs) if not dissectors.agree(a, b, names)]
        passed = len(ours) == len(theirs) and not wrong and not said and bool(ours)
        passed = passed and expected in (None, len(ours))
        self.say(passed, f"{what}, tshark", f"{len(ours) - len(wrong)} of {len(theirs)} PDUs agree")
        for one, other in wrong[:5]:
            print(f"       ancsd  {one}\n       tshark {other}")
        if said:
            print(f"       {said.strip()}")

    def btmon(self, what, path):
        """btmon reads the file to its end, and shows as many ATT PDUs of each kind."""
        counts = {}
        for pdu in dissectors.of_ancsd(self.binary, path)[0]:
            counts[pdu.opcode] = counts.get(pdu.opcode, 0) + 1
        try:
            theirs = dissectors.of_btmon(path)
        except RuntimeError as error:
            self.say(False, f"{what}, btmon", str(error))
            return
        result = f"{sum(theirs.values())} of {sum(counts.values())} PDUs"
        self.say(theirs == counts, f"{what}, btmon", result)

    def captured(self, folder):
        """The daemon's own capture of some seconds with the built-in phone."""
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


def main():
    parser = argparse.ArgumentParser(prog="scripts/check-capture")
    parser.add_argument("--binary", required=True)
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="captures to check besides: of adapters, of the lab")
    arguments = parser.parse_args()
    check = Check(arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        for name, suffix, content, count in captures.all_files(VECTORS):
            path = os.path.join(folder, f"{name}.{suffix}")
            with open(path, "wb") as file:
                file.write(content)
            # Without adapters in the file, tshark takes the transcripts' databases for one.
            check.tshark(f"transcripts, {name}.{suffix}", path, name.startswith("monitor"), count)
        path = os.path.join(folder, "one.btsnoop")
        with open(path, "wb") as file:
            file.write(captures.btsnoop(captures.of_transcripts(VECTORS, adapters=1), 2001))
        check.btmon("transcripts", path)
        path = check.captured(folder)
        check.tshark("run --btsnoop", path)
        check.btmon("run --btsnoop", path)
    for path in arguments.files:
        check.tshark(path, path)
    sys.exit(1 if check.failed else 0)


with contextlib.suppress(BrokenPipeError):
    main()
