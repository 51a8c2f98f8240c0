#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Home Assistant's own core with its MQTT integration, headless, in one process: home.py FOLDER PORT [CONFIGURATION]

CONFIGURATION is a file of YAML documents.

It runs in the environment of `scripts/tools home-assistant`. Commands are JSON Lines on standard input, answers and news on
standard output:

    {"do": "states"}                        {"answer": "states", "states": {ENTITY: {"state": …, "attributes": {…}}}}
    {"do": "entities"}                      {"answer": "entities", "entities": {UNIQUE ID: {…}}, "devices": […]}
    {"do": "rename", "entity": …, "name": …}                    {"answer": "rename"}
    {"do": "triggers", "device": NAME}      {"answer": "triggers", "triggers": [[TYPE, SUBTYPE], …]}
    {"do": "call", "domain": …, "service": …, "data": {…}}      {"answer": "call"}
    {"news": "warning", "text": …}          what it has logged as a warning or worse
    {"news": "state", "entity": …, "state": …}      what has changed
    {"news": "fired", "data": {…}}          an event phone_notification
"""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from homeassistant import bootstrap, config_entries, core, loader
from homeassistant.components.device_automation import DeviceAutomationType, async_get_device_automations
from homeassistant.components.homeassistant import DOMAIN as CORE
from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core_config import async_process_ha_core_config
from homeassistant.helpers import device_registry, entity_registry
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import parse_yaml


def say(**fields: Any) -> None:
    print(json.dumps(fields, default=str), flush=True)


class Complaints(logging.Handler):
    """Home Assistant's log from warnings on, without those caused by the missing web server, or by itself."""

    CAUSED_HERE = ("async_forward_entry_setups", "custom integration")
    OWN = ("was used from universal",)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not any(cause in text for cause in self.CAUSED_HERE + self.OWN):
            say(news="warning", text=f"{record.name}: {text}")


def merged(text: str) -> dict[str, Any]:
    """One configuration made of several YAML documents, as a user would paste them into one file."""
    whole: dict[str, Any] = {}
    for document in filter(str.strip, text.split("\n---\n")):
        for name, section in parse_yaml(document).items():
            if isinstance(section, list):
                whole.setdefault(name, []).extend(section)
            else:
                whole.setdefault(name, {}).update(section)
    return whole


async def set_up(folder: str, port: int, configuration: Path | None) -> core.HomeAssistant:
    Path(folder, "configuration.yaml").touch()
    hass = core.HomeAssistant(folder)
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await bootstrap.async_load_base_functionality(hass)
    await async_setup_component(hass, CORE, {})
    await async_process_ha_core_config(hass, {})
    # MQTT depends on the web server and its pages; nothing listens here.
    hass.http = MagicMock()
    for name in ("http", "file_upload", "frontend", "repairs"):
        hass.config.components.add(name)
    flow = hass.config_entries.flow
    begun = await flow.async_init("mqtt", context={"source": "user"})
    done = await flow.async_configure(begun["flow_id"], {"broker": "127.0.0.1", "port": port})
    if done["type"] != "create_entry":
        raise RuntimeError(f"the MQTT integration is not set up: {done}")
    await hass.async_block_till_done()
    for name, section in merged(configuration.read_text() if configuration else "").items():
        if not await async_setup_component(hass, name, {name: section}):
            raise RuntimeError(f"{name} does not load")
    await hass.async_start()
    return hass


def states(hass: core.HomeAssistant) -> dict[str, Any]:
    return {state.entity_id: {"state": state.state, "attributes": dict(state.attributes)} for state in hass.states.async_all()}


def entities(hass: core.HomeAssistant) -> dict[str, Any]:
    registry = entity_registry.async_get(hass)
    return {
        entry.unique_id: {"entity": entry.entity_id, "platform": entry.domain, "disabled": entry.disabled_by is not None,
                          "category": entry.entity_category, "icon": entry.original_icon or entry.original_device_class}
        for entry in registry.entities.values()
    }


def devices(hass: core.HomeAssistant) -> list[dict[str, Any]]:
    registry = device_registry.async_get(hass)
    names = {device.id: device.name for device in registry.devices.values()}
    return [{"name": device.name, "identifiers": [identifier for _, identifier in device.identifiers], "model": device.model,
             "page": device.configuration_url, "via": names.get(device.via_device_id)} for device in registry.devices.values()]


async def serve(hass: core.HomeAssistant) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        match command["do"]:
            case "states":
                await hass.async_block_till_done()
                say(answer="states", states=states(hass))
            case "entities":
                say(answer="entities", entities=entities(hass), devices=devices(hass))
            case "rename":
                entity_registry.async_get(hass).async_update_entity(command["entity"], new_entity_id=command["name"])
                say(answer="rename")
            case "triggers":
                registry = device_registry.async_get(hass)
                ids = [device.id for device in registry.devices.values() if device.name == command["device"]]
                found = await async_get_device_automations(hass, DeviceAutomationType.TRIGGER, ids)
                say(answer="triggers", triggers=[
                    [trigger["type"], trigger["subtype"]] for one in found.values() for trigger in one if trigger["domain"] == "mqtt"])
            case "call":
                await hass.services.async_call(command["domain"], command["service"], command["data"], blocking=True)
                say(answer="call")


async def main(folder: str, port: str, configuration: str = "") -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    logging.getLogger().addHandler(Complaints(logging.WARNING))
    hass = await set_up(folder, int(port), Path(configuration) if configuration else None)

    @core.callback
    def changed(event: core.Event) -> None:
        if (new := event.data["new_state"]) is not None:
            say(news="state", entity=new.entity_id, state=new.state, attributes=dict(new.attributes))

    hass.bus.async_listen(EVENT_STATE_CHANGED, changed)
    hass.bus.async_listen("phone_notification", core.callback(lambda event: say(news="fired", data=event.data)))
    say(news="started")
    await serve(hass)
    await hass.async_stop(force=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
