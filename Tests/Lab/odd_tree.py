# SPDX-License-Identifier: GPL-3.0-or-later
"""What the device of oddity.py has, for whoever compares. Imports no Bumble."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from harness import check

VENDOR = "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"
LONG = "6E400002-B5A3-F393-E0A9-E50E24DCCA9E"
HIDDEN = "6E400003-B5A3-F393-E0A9-E50E24DCCA9E"
LAST = "6E4000FF-B5A3-F393-E0A9-E50E24DCCA9E"
BATTERY, BATTERY_LEVEL, TEMPERATURE, ALERT = "180F", "2A19", "2A6E", "2A06"

#: What `ancsd gatt tree` has to find: handles (of services with their ends), types, properties.
SERVICES: dict[int, tuple[int, str, bool]] = {
    0x0001: (0x0005, "1800", True),
    0x0010: (0x005F, VENDOR, True),
    0x0090: (0x0095, BATTERY, True),
    0x0100: (0x010F, HIDDEN, False),
    0x0200: (0x0FFF, BATTERY, True),
    0xFFF0: (0xFFFF, LAST, True),
}
#: By the handle of the value: declaration, type, and the descriptors by their handles.
CHARACTERISTICS: dict[int, tuple[int, str, dict[int, str]]] = {
    0x0003: (0x0002, "2A00", {}),
    0x0005: (0x0004, "2A01", {}),
    0x0023: (0x0020, LONG, {}),
    0x0031: (0x0030, TEMPERATURE, {0x0035: "2902", 0x0038: "2901"}),
    0x0041: (0x0040, ALERT, {}),
    0x0092: (0x0091, BATTERY_LEVEL, {0x0093: "2902"}),
    0x0105: (0x0103, ALERT, {0x0106: HIDDEN}),
    0x0211: (0x0210, BATTERY_LEVEL, {}),
    0x0221: (0x0220, BATTERY_LEVEL, {0x0222: "2902"}),
    0xFFFE: (0xFFF1, LAST, {0xFFFF: "2902"}),
}
#: The included services by the handles of their declarations.
INCLUDES = {0x0011: 0x0100, 0x0012: 0x0090}


def check_tree(found: list[dict[str, Any]], missing: Collection[int] = ()) -> None:
    """That a tree is what the device has, but for the characteristics whose values are at `missing`."""
    services = [event for event in found if event["event"] == "service"]
    told = {s["start"]: (s["end"], s["uuid"].upper(), s["primary"]) for s in services}
    wanted = {start: (end, uuid.upper(), primary) for start, (end, uuid, primary) in SERVICES.items()}
    check(told == wanted, f"the services are {told}")
    includes = {i["handle"]: (i["start"], i["uuid"]) for s in services for i in s["includes"]}
    expected = {at: (start, wanted[start][1]) for at, start in INCLUDES.items()}
    check(includes == expected, f"the included services are {includes}")
    characteristics = {
        c["handle"]: (
            c["declaration"],
            c["uuid"].upper(),
            {d["handle"]: d["uuid"].upper() for d in c["descriptors"]},
        )
        for s in services
        for c in s["characteristics"]
    }
    known = {
        value: (declaration, uuid.upper(), {h: u.upper() for h, u in descriptors.items()})
        for value, (declaration, uuid, descriptors) in CHARACTERISTICS.items()
        if value not in missing
    }
    for value, entry in known.items():
        check(
            characteristics.get(value) == entry,
            f"at 0x{value:04X}: {characteristics.get(value)}, not {entry}",
        )
    check(set(characteristics) == set(known), f"besides: {set(characteristics) - set(known)}")
