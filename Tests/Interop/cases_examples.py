# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documents, run as they are printed."""

import asyncio
import os
import re
import shutil
import signal
import sys
from pathlib import Path

from Harness.ancs import Notification
from Harness.case import case, check, eventually
from Harness.process import run

from .testbed import Testbed

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / document).read_text(), re.DOTALL | re.MULTILINE)


@case("example-control-socket")
async def control_socket(bed: Testbed) -> None:
    """docs/control-socket.md: each example prints what it says."""
    for tool in ("socat", "jq"):
        check(shutil.which(tool), f"{tool} is not installed: scripts/setup --tests")
    daemon, phone, _ = await bed.served()
    await daemon.passes_on(phone, Notification(1), Notification(2, title="Dad"))
    await daemon.event("media")
    place = ("env", f"SOCKET={daemon.socket}")
    shells = examples("control-socket.md", "sh")
    check(len(shells) == 5, f"there are {len(shells)} examples")
    wanted = ["Messages: Mum\nMessages: Dad\n", "Mum\nDad\n", "Sinnerman\n", "done\n", "added Dad\n"]
    for shell, text in zip(shells, wanted, strict=True):
        printed = (await run(*place, "sh", "-c", shell, within=20)).expect(0).out
        check(printed == text, f"an example printed {printed!r} instead of {text!r}:\n{shell}")
    await daemon.passes_on(phone, Notification(3))
    (python,) = examples("control-socket.md", "python")
    printed = (await run(*place, sys.executable, "-c", python, within=20)).expect(0).out
    check(printed == "added Dad\nadded Mum\npaused\n", f"the example in Python printed {printed!r}")


@case("example-settings")
async def settings(bed: Testbed) -> None:
    """docs/settings.md: its example is a good file, and `rules test` says what its rules make of events."""
    (example,) = examples("settings.md", "toml")
    file = bed.work / "ancsd.toml"
    file.write_text(example)
    (await bed.run("config", "check", str(file))).expect(0)
    daemon, phone, _ = await bed.served()
    await daemon.passes_on(phone, Notification(1, app_id="com.example.game.two"), Notification(2))
    found = await bed.run(
        "rules", "test", "--config", str(file), "--format", "text", stdin=daemon.text.encode()
    )
    found.expect(0)
    check('rule “2”: hide' in found.out and "#2 social com.apple.MobileSMS “Mum”: no rule" in found.out, found.out)
    listed = (await bed.client(daemon, "list", "--json")).expect(0).out
    again = await bed.run("rules", "test", "--config", str(file), "--text", stdin=listed.encode())
    check('rule “2”: hide' in again.expect(0).out, again.out)
    wrong = await bed.run("rules", "test", "--config", str(file), stdin=b'{"uid":1}\n')
    check("category" in wrong.expect(1).err, f"what is missing is not named: {wrong.err}")
    # An expression that reaches its limit before it has matched the title.
    await daemon.passes_on(phone, Notification(3, title="a" * 40 + "!"))
    file.write_text("[[rule]]\nname = 'costly'\ntitle = '(a+)+$'\n[[rule]]\nurgent = true\n")
    for form, words in {
        "text": "!”: rule “2”: show as urgent; “costly” takes too long to search",
        "json": '"rule":"2","does":["show as urgent"],"beyond_limit":["costly"]',
    }.items():
        found = await bed.run(
            "rules", "test", "--config", str(file), "--format", form, stdin=daemon.text.encode()
        )
        check(words in found.expect(0).out, found.out)


class Recipes:
    """The programs and settings of docs/recipes.md, by their headings, set up in a directory."""

    def __init__(self, place: Path, binary: Path) -> None:
        self.place = place
        self.lamp, self.buzzer, self.display, self.paper, self.rung, self.followed = (
            place / name for name in ("lamp", "buzzer", "display", "paper", "rung", "followed")
        )
        stand_ins = {
            "/sys/class/leds/ACT/brightness": self.lamp, "/sys/class/leds/buzzer/brightness": self.buzzer,
            "/dev/tty1": self.display, "aplay -q": f"tee {self.rung}", "/dev/usb/lp0": self.paper,
            "sleep 25": "sleep 0.5", "ancsd watch": f"{binary} watch", 'logger -t phone -- "$event"': f'printf "%s\\n" "$event" >>{self.followed}', "9>/tmp/": f"9>{place}/", "ancsd count": f"{binary} count",
            "ancsd list": f"{binary} list",
        }  # fmt: skip
        text = (DOCS / "recipes.md").read_text()
        self.settings: dict[str, str] = {}
        for section in text.split("\n## ")[1:]:
            for program in re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
                (name,) = re.findall(r"^# /usr/local/bin/(\S+)$", program, re.MULTILINE)
                for thing, stand_in in stand_ins.items():
                    program = program.replace(thing, str(stand_in))
                (place / name).write_text(program)
                (place / name).chmod(0o755)
            for settings in re.findall(r"^```toml\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
                self.settings[section.splitlines()[0]] = settings.replace("/usr/local/bin", str(place))

    def write(self, *headings: str) -> Path:
        """A file of the settings of these recipes."""
        file = self.place / "ancsd.toml"
        file.write_text("\n".join(self.settings[heading] for heading in headings))
        return file


@case("example-recipes")
async def recipes(bed: Testbed) -> None:
    """docs/recipes.md: each does what it promises, with files instead of lamps and displays."""
    book = Recipes(bed.work, bed.binary)
    file = book.write(*book.settings)
    checked = (await bed.run("config", "check", str(file))).expect(0)
    check("can't be run" not in checked.err, checked.err)
    # By day, whenever the tests run.
    file.write_text(file.read_text().replace("22:00-07:00", "00:00-00:01"))
    daemon, phone, _ = await bed.served("--config", str(file))
    follower = await asyncio.create_subprocess_exec(
        book.place / "follow", env={**os.environ, "ANCSD_SOCKET": str(daemon.socket)}, start_new_session=True
    )
    bed.cleanups.append(lambda: os.killpg(follower.pid, signal.SIGKILL))

    def holds(path: Path, text: str) -> bool:
        return path.exists() and path.read_text() == text

    await eventually(lambda: book.display.exists() and "Sinnerman\nNina Simone" in book.display.read_text(), "nothing plays")
    phone.ancs.post(Notification(1, category=2, title="Aunt"))
    await eventually(lambda: holds(book.lamp, "1\n"), "the lamp is not on")
    await eventually(lambda: book.paper.exists() and "Aunt" in book.paper.read_text(), "the page has no call")
    phone.ancs.remove(1)
    await eventually(lambda: holds(book.lamp, "0\n"), "the lamp is not off")
    phone.ancs.post(Notification(2, title="Mum"), Notification(3, app_id="com.example.doorbell", title="Door"))
    await eventually(book.buzzer.exists, "the buzzer is silent")
    await eventually(book.rung.exists, "the bell does not ring")
    phone.ancs.post(Notification(4, app_id="com.example.casino.two", title="Win"))
    await eventually(lambda: (4, "negative") in phone.ancs.actions, "the spam is not cleared")
    await eventually(lambda: book.followed.exists() and '"title":"Door"' in book.followed.read_text(), "nothing is followed")
    daemon.none("notification", title="Win")
