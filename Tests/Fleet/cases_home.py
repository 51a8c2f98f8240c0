# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Home Assistant core: the entities, what its user does with them, and the YAML of docs/home-assistant.md."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from Harness.ams import TRACKS
from Harness.ancs import Notification, call
from Harness.case import Skipped, answered, case, check, eventually, expect
from Harness.process import DEVNULL, PIPE, EventProcess

from .mosquitto import Mosquitto
from .testbed import Testbed

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/home-assistant.md"
#: A core takes 10 s of a processor to start, and all of these cases begin at once: two start at a time.
SECONDS, STARTS = 400, asyncio.Semaphore(2)


class Home(EventProcess):
    """The core, with its commands."""

    async def start(self, stdin: int = PIPE, **how: Any) -> Self:
        await super().start(stdin, **how)
        return self

    def parse(self, line: bytes) -> None:
        super().parse(line)
        if self.events:
            last = self.events[-1]
            last.name = last.get("news") or last.get("answer") or ""

    async def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        since = self.now
        await self.write({"do": do, **fields})
        return await self.event(do, since=since, within=60)

    async def states(self) -> dict[str, Any]:
        return dict((await self.ask("states"))["states"])

    async def press(self, button: str) -> None:
        await self.ask("call", domain="button", service="press", data={"entity_id": button})

    async def until(self, entity: str, state: str, within: float = 40) -> dict[str, Any]:
        """Waits until an entity has a state; returns its attributes."""
        async def found() -> dict[str, Any]:
            return dict((await self.states()).get(entity, {}))

        last = await answered(found, lambda found: found.get("state") == state, f"{entity} is not {state}", within, pause=0.2)
        return dict(last["attributes"])

    async def until_states(self, holds: Callable[[dict[str, Any]], bool], otherwise: str) -> None:
        """Waits until something holds for all states."""
        await answered(self.states, holds, otherwise, 60, pause=0.2)

    @property
    def warnings(self) -> list[str]:
        return [event["text"] for event in self.since(0, "warning")]

    def complaints(self, *forgotten: str) -> list[str]:
        """Its warnings, without those about its own messages when it forgets these boards' devices.

        Once a device has no enabled entity, it removes the disabled ones, too, and for each publishes an empty message on the
        device's topic (mqtt/entity.py, async_clear_discovery_topic_if_entity_removed). It then gets these messages itself, and
        finds nothing left to remove (mqtt/discovery.py, _parse_device_payload).
        """
        own = tuple(f"node_id '{board}'" for board in forgotten)
        return [text for text in self.warnings
                if not ("No device components to cleanup for phone" in text and text.endswith(own))]


async def home(bed: Testbed, broker: Mosquitto, configuration: str = "") -> Home:
    """Starts Home Assistant on a broker."""
    script = await asyncio.create_subprocess_exec(
        ROOT / "scripts/tools", "home-assistant", stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    out, err = await script.communicate()
    if script.returncode == 69:
        raise Skipped(err.decode().strip().removeprefix("home-assistant: "))
    check(script.returncode == 0, f"scripts/tools home-assistant ended with {script.returncode}: {err.decode()}")
    folder = bed.work / "home"
    folder.mkdir()
    arguments = [folder, broker.port]
    if configuration:
        (bed.work / "given.yaml").write_text(configuration)
        arguments.append(bed.work / "given.yaml")
    async with STARTS:
        core = await bed.start(Home([out.decode().strip(), Path(__file__).with_name("home.py"), *arguments], bed.out / "home"))
        await core.event("started", within=120)
    return core


@case("home-entities", seconds=SECONDS)
async def entities(bed: Testbed) -> None:
    """Every entity of the board and the phone loads without a warning, and has a state."""
    broker = await bed.mosquitto()
    core = await home(bed, broker)
    daemon, phone, _ = await bed.board(
        broker, content="title", allow=["media", "act", "read", "pairing", "forget"], triggers=["email"], link="http://kitchen.lan")
    watcher = await bed.watcher(broker, "homeassistant/#")
    configurations = [
        (await watcher.message(f"homeassistant/device/kitchen/{name}/config")).json for name in ("board", "phone")]
    await daemon.passes_on(phone, Notification(1), call(2))
    await core.until("binary_sensor.iphone_at_kitchen_incoming_call", "on")
    found = await core.ask("entities")
    wanted = {component["uniq_id"]: component for configuration in configurations
              for component in configuration["cmps"].values() if "uniq_id" in component}
    check(len(wanted) >= 25, f"there are only {len(wanted)} entities")
    missing = wanted.keys() - found["entities"].keys()
    check(not missing, f"Home Assistant has not loaded {sorted(missing)}; its warnings are {core.warnings}")
    for identifier, component in wanted.items():
        entity = found["entities"][identifier]
        check(entity["platform"] == component["p"], f"{identifier} is a {entity['platform']}")
        check(entity["disabled"] is (component.get("en") is False), f"{identifier} is disabled: {entity['disabled']}")
        check(entity["icon"], f"{identifier} has neither an icon nor a class")
    devices = {device["name"]: device for device in found["devices"]}
    check(devices["iPhone at Kitchen"]["via"] == "Kitchen", f"the devices are {devices}")
    check(devices["Kitchen"]["page"] == "http://kitchen.lan", f"the devices are {devices}")
    triggers = (await core.ask("triggers", device="iPhone at Kitchen"))["triggers"]
    check(sorted(triggers) == [["call", "incoming"], ["missed-call", "added"], ["notification", "email"]], f"the triggers are {triggers}")
    states = await core.states()
    odd = {entity: state["state"] for entity, state in states.items()
           if state["state"] in ("unavailable", "unknown") and not entity.startswith(("button.", "event."))}
    check(not odd, f"without a state are {odd}")
    expect(states["sensor.iphone_at_kitchen_battery"], state="80")
    expect(states["sensor.iphone_at_kitchen_notifications"], state="2")
    check("T" in states["sensor.iphone_at_kitchen_last_seen"]["state"], f"it was seen {states['sensor.iphone_at_kitchen_last_seen']}")
    check(not core.warnings, f"it warns: {core.warnings}")
    bed.remark(f"{len(wanted)} entities")


@case("home-acts", seconds=SECONDS)
async def acts(bed: Testbed) -> None:
    """Buttons reach the phone; a call rings and is declined; events fire once; an absent phone is unavailable."""
    broker = await bed.mosquitto()
    _, phone, bridge = await bed.board(broker)
    core = await home(bed, broker)
    await phone.subscribed("ams")
    await core.until("sensor.iphone_at_kitchen_battery", "80")
    before = len(phone.ams.remote_commands)
    for button in ("play_or_pause", "next_track", "previous_track", "volume_up", "volume_down"):
        await core.press(f"button.iphone_at_kitchen_{button}")
    await eventually(lambda: len(phone.ams.remote_commands) >= before + 5, lambda: f"the player got {phone.ams.remote_commands[before:]}", 40)
    await asyncio.sleep(1)
    check(len(phone.ams.remote_commands) == before + 5, f"the player got {len(phone.ams.remote_commands) - before} times")
    since = core.now
    phone.ancs.post(call(1))
    attributes = await core.until("binary_sensor.iphone_at_kitchen_incoming_call", "on")
    check("caller" not in attributes, f"the caller is there: {attributes}")
    await core.event("state", since=since, entity="event.iphone_at_kitchen_call", within=40)
    await core.press("button.iphone_at_kitchen_decline_call")
    await core.until("binary_sensor.iphone_at_kitchen_incoming_call", "off")
    check(phone.ancs.actions == [(1, "negative")], f"the phone saw {phone.ancs.actions}")
    phone.ancs.post(Notification(2), Notification(3, app_id="com.apple.mobilemail", category=6))
    await core.until("sensor.iphone_at_kitchen_notifications", "2")
    fired = [event for event in core.since(since, "state") if event["entity"] == "event.iphone_at_kitchen_notification"]
    kinds = [event["attributes"].get("event_type") for event in fired]
    check(kinds.count("added") == 3, f"the events were {kinds}")
    await core.press("button.iphone_at_kitchen_clear_notifications")
    await core.until("sensor.iphone_at_kitchen_notifications", "0")
    phone.stop_listening()
    phone.disconnect()
    await core.until("binary_sensor.iphone_at_kitchen_connected", "off")
    expect((await core.states())["button.iphone_at_kitchen_next_track"], state="unavailable")
    expect((await core.states())["sensor.iphone_at_kitchen_notifications"], state="0")
    phone.listen()
    await core.until("binary_sensor.iphone_at_kitchen_connected", "on")
    await bridge.stop()
    await core.until("binary_sensor.iphone_at_kitchen_connected", "unavailable")
    check(not core.warnings, f"it warns: {core.warnings}")


@case("home-shrinks", seconds=SECONDS)
async def shrinks(bed: Testbed) -> None:
    """What the settings no longer allow leaves Home Assistant, at a reload and at a restart, without a warning; at last its devices."""
    broker = await bed.mosquitto()
    _, phone, bridge = await bed.board(broker, content="title", allow=["media", "act", "read", "pairing"])
    core = await home(bed, broker)
    await phone.subscribed("ams")
    phone.ams.play(0)
    await core.until("sensor.iphone_at_kitchen_player", "playing")
    right = bed.file.read_text()
    assert "sensor.iphone_at_kitchen_track" in await core.states()

    async def gone(*entities: str) -> None:
        await core.until_states(lambda states: not [entity for entity in entities if entity in states], f"{entities} stay")

    bed.reload(bridge, right.replace('"title"', '"app"'))
    await gone("sensor.iphone_at_kitchen_track", "sensor.iphone_at_kitchen_artist", "sensor.iphone_at_kitchen_album")
    check("media_title" not in str((await core.until("sensor.iphone_at_kitchen_player", "playing")).get("media_title") or ""), "the title stays")
    await bridge.stop()
    bed.file.write_text(right.replace('"title"', '"app"').replace('["media", "act", "read", "pairing"]', '["read"]'))
    await bridge.start()
    await gone("button.iphone_at_kitchen_next_track", "button.iphone_at_kitchen_answer_call", "button.kitchen_open_pairing")
    await core.until("sensor.iphone_at_kitchen_battery", "80")
    await bridge.stop()
    bed.file.write_text(right)
    await bridge.start()
    await core.until_states(lambda states: "button.iphone_at_kitchen_next_track" in states, "the button is not back")
    check(not core.warnings, f"it warns: {core.warnings}")
    # The devices are left to nobody.
    bed.reload(bridge, right.replace("[mqtt]", '[mqtt]\nprefix = "other"\ndiscovery = "elsewhere"'))
    await core.until_states(lambda states: not [entity for entity in states if "kitchen" in entity], "something stays")
    await core.ask("states")
    check(not core.complaints("kitchen"), f"it warns: {core.complaints('kitchen')}")


@case("home-renamed", seconds=SECONDS)
async def renamed(bed: Testbed) -> None:
    """A board with another name keeps its devices and entities, with what the user has changed about them, without a warning."""
    broker = await bed.mosquitto()
    _, _, bridge = await bed.board(broker)
    core = await home(bed, broker)
    await core.until("sensor.iphone_at_kitchen_battery", "80")
    await core.ask("rename", entity="sensor.iphone_at_kitchen_battery", name="sensor.annas_battery")
    await core.until("sensor.annas_battery", "80")
    before = await core.ask("entities")
    right = bed.file.read_text()
    watcher = await bed.watcher(broker)
    for name, restarts in (("attic", False), ("hall", True)):
        other = right.replace('"kitchen"', f'"{name}"')
        if restarts:
            await bridge.stop()
            bed.file.write_text(other)
            await bridge.start()
        else:
            bed.reload(bridge, other)
        await watcher.message(f"ancsd/{name}/phone/iphone/battery", level=80, within=40)
        names = {name.capitalize(), f"iPhone at {name.capitalize()}"}

        async def found() -> tuple[set[str], list[str]]:
            found = await core.ask("entities")
            devices = {device["name"] for device in found["devices"] if "ncsd" in str(device["identifiers"])}
            return devices, sorted(found["entities"])

        wanted = (names, sorted(before["entities"]))
        await answered(found, lambda found, wanted=wanted: found == wanted, f"devices and entities are not {wanted}", 60, pause=0.5)
        await core.until("sensor.annas_battery", "80")
    complaints = core.complaints("kitchen", "attic")
    check(not complaints, f"it warns: {complaints}")


def blocks() -> list[str]:
    """The document's YAML that the case tries."""
    found = re.findall(r"(?<!<!-- not tried -->\n)^```yaml\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    # There is no recorder here.
    return [block for block in found if not block.startswith("recorder:")]


#: What the reader's home has: a lamp, a doorbell and a display.
HOUSE = """
input_boolean:
  hall:
    name: Hall
  doorbell:
    name: Doorbell
input_text:
  display:
    name: Display
"""
IN_PLACE = [
    ("light.", "input_boolean."), ("binary_sensor.doorbell", "input_boolean.doorbell"),
    ("action: notify.display\n        data:\n          message:",
     "action: input_text.set_value\n        target:\n          entity_id: input_text.display\n        data:\n          value:"),
]


@case("home-document", seconds=SECONDS)
async def document(bed: Testbed) -> None:
    """The automations and the media player of docs/home-assistant.md work as described."""
    text = "\n---\n".join([HOUSE, *blocks()])
    for before, after in IN_PLACE:
        check(before in text, f"the document has no {before!r} any more")
        text = text.replace(before, after)
    broker = await bed.mosquitto()
    key = bed.secret("key", bytes(32))
    daemon, phone, _ = await bed.board(broker, content="title", dedupe_key_file=str(key))
    await bed.bridge(daemon, broker.url, board="attic", dedupe_key_file=str(key))
    await phone.subscribed("ams")
    core = await home(bed, broker, text)
    await core.until("sensor.iphone_at_kitchen_missed_calls", "0")
    phone.ancs.post(Notification(1, "com.apple.mobilephone", "+49 30 5550 0199", category=2))
    await core.until("input_boolean.hall", "on")
    phone.ancs.remove(1)
    await core.until("input_boolean.hall", "off")
    phone.ancs.post(call(2))
    await core.until("input_text.display", "+1 (212) 555-0142")
    phone.ams.play(0)
    await core.until("sensor.iphone_at_kitchen_player", "playing")
    attributes = await core.until("media_player.iphone", "playing")
    artist, _, title, _ = TRACKS[0]
    check((attributes.get("media_title"), attributes.get("media_artist")) == (title, artist), f"the player shows {attributes}")
    check({"media_position", "media_position_updated_at", "media_duration", "volume_level"} <= attributes.keys(), f"the player shows {attributes}")
    commands = len(phone.ams.remote_commands)
    await core.ask("call", domain="input_boolean", service="turn_on", data={"entity_id": "input_boolean.doorbell"})
    await eventually(lambda: len(phone.ams.remote_commands) > commands, "the doorbell pauses nothing", 40)
    commands = len(phone.ams.remote_commands)
    for service in ("media_play_pause", "media_next_track", "media_previous_track", "volume_up", "volume_down", "media_pause"):
        await core.ask("call", domain="media_player", service=service, data={"entity_id": "media_player.iphone"})
    await eventually(lambda: len(phone.ams.remote_commands) >= commands + 6, lambda: f"the player got {phone.ams.remote_commands[commands:]}", 40)
    # Bursts from two boards: each notification counts once.
    def fired() -> int:
        return len(list(core.since(before, "fired")))

    before = core.now
    for burst in range(3):
        phone.ancs.post(*(Notification(10 + 5 * burst + number, title=f"n{burst}{number}") for number in range(5)))
        await asyncio.sleep(0.5)
    await eventually(lambda: fired() >= 15, "notifications are missing", 40)
    await asyncio.sleep(2)
    check(fired() == 15, f"15 notifications from two boards fired {fired()} times")
    check(not [text for text in core.warnings if "pause" not in text.lower()], f"it warns: {core.warnings}")
