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


def recipes_in(place: Path, binary: Path) -> str:
    """Writes the programs of docs/recipes.md into a folder, with files there instead of lamps and displays; returns the settings."""
    stand_ins = {
        "/sys/class/leds/ACT/brightness": f"{place}/lamp", "/sys/class/leds/buzzer/brightness": f"{place}/buzzer",
        "/dev/tty1": f"{place}/display", "aplay -q": f"tee {place}/rung", "/dev/usb/lp0": f"{place}/paper", "sleep 25": "sleep 0.5",
        'logger -t phone -- "$event"': f'printf "%s\\n" "$event" >>{place}/followed', "9>/tmp/": f"9>{place}/",
        **{f"ancsd {command}": f"{binary} {command}" for command in ("watch", "count", "list")},
    }
    for program in examples("recipes.md", "sh"):
        (name,) = re.findall(r"^# /usr/local/bin/(\S+)$", program, re.MULTILINE)
        for thing, stand_in in stand_ins.items():
            program = program.replace(thing, stand_in)
        (place / name).write_text(program)
        (place / name).chmod(0o755)
    return "\n".join(examples("recipes.md", "toml")).replace("/usr/local/bin", str(place))


@case("example-recipes")
async def recipes(bed: Testbed) -> None:
    """docs/recipes.md: each does what it promises, with files instead of lamps and displays."""
    file = bed.work / "ancsd.toml"
    file.write_text(recipes_in(bed.work, bed.binary))
    checked = (await bed.run("config", "check", str(file))).expect(0)
    check("can't be run" not in checked.err, checked.err)
    # By day, whenever the tests run.
    file.write_text(file.read_text().replace("22:00-07:00", "00:00-00:01"))
    daemon, phone, _ = await bed.served("--config", str(file))
    follower = await asyncio.create_subprocess_exec(
        bed.work / "follow", env={**os.environ, "ANCSD_SOCKET": str(daemon.socket)}, start_new_session=True
    )
    bed.cleanups.append(lambda: os.killpg(follower.pid, signal.SIGKILL))

    def held(name: str) -> str:
        """What the file has that stands for something."""
        path = bed.work / name
        return path.read_text() if path.exists() else ""

    await eventually(lambda: "Sinnerman\nNina Simone" in held("display"), "nothing plays")
    phone.ancs.post(Notification(1, category=2, title="Aunt"))
    await eventually(lambda: held("lamp") == "1\n", "the lamp is not on")
    await eventually(lambda: "Aunt" in held("paper"), "the page has no call")
    phone.ancs.remove(1)
    await eventually(lambda: held("lamp") == "0\n", "the lamp is not off")
    phone.ancs.post(Notification(2, title="Mum"), Notification(3, app_id="com.example.doorbell", title="Door"))
    await eventually(lambda: held("buzzer"), "the buzzer is silent")
    await eventually((bed.work / "rung").exists, "the bell does not ring")
    phone.ancs.post(Notification(4, app_id="com.example.casino.two", title="Win"))
    await eventually(lambda: (4, "negative") in phone.ancs.actions, "the spam is not cleared")
    await eventually(lambda: '"title":"Door"' in held("followed"), "nothing is followed")
    daemon.none("notification", title="Win")
