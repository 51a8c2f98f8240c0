# SPDX-License-Identifier: GPL-3.0-or-later
"""`ancsd status --metrics`, as Prometheus reads it."""

import asyncio
import re
import shutil
import subprocess

from Harness.ancs import Notification, call
from Harness.case import Skipped, case, check

from .testbed import Testbed


def values(text: str) -> dict[str, float]:
    """The series and their values."""
    return {series: float(value) for series, value in re.findall(r"^([a-z]\S*) (\S+)$", text, re.MULTILINE)}


@case("metrics")
async def metrics(bed: Testbed) -> None:
    """The figures are right; promtool accepts them in node_exporter's format, and Prometheus as OpenMetrics."""
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Skipped("promtool is not installed: scripts/setup --tests")
    broker = await bed.mosquitto()
    daemon, phone, _ = await bed.board(broker)
    await bed.online(broker)
    await daemon.passes_on(phone, Notification(1), Notification(2), call(3))
    phone.ancs.remove(2)
    await daemon.event("notification", uid=2, change="removed")
    await daemon.event("battery")
    phone.disconnect()
    await daemon.event("disconnected")
    again = await daemon.event("subscribed", since=daemon.find("disconnected"), within=20)
    await daemon.event("battery", since=again, within=20)
    text = (await bed.client(daemon, "status", "--metrics")).expect(0).out
    # In a thread: the other cases' phones run in this one.
    linted = await asyncio.to_thread(subprocess.run, [promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    check(linted.returncode == 0 and not linted.stderr, f"promtool says {linted.stderr or linted.stdout}")
    # Prometheus's own OpenMetrics parser, which requires timestamps.
    stamped = bed.work / "metrics"
    stamped.write_text(re.sub(r"^([a-z]\S* \S+)$", r"\1 1700000000", text, flags=re.MULTILINE))
    made = await asyncio.to_thread(
        subprocess.run, [promtool, "tsdb", "create-blocks-from", "openmetrics", stamped, bed.work / "tsdb"],
        capture_output=True, text=True)
    check(made.returncode == 0, f"as OpenMetrics: {made.stderr}")
    found = values(text)
    wanted = {
        'ancsd_notifications_total{category="social",change="added"}': 2, "ancsd_links_total": 2, "ancsd_sessions_total": 2,
        'ancsd_notifications_total{category="social",change="removed"}': 1, "ancsd_reconnections_total": 1,
        'ancsd_notifications_total{category="incoming-call",change="added"}': 1, "ancsd_timeouts_total": 0,
        "ancsd_links_connected": 1, "ancsd_battery_ratio": 0.8,
        f'ancsd_bridge_connected{{broker="{broker.url}",client="ancsd-kitchen"}}': 1,
    }
    for series, value in wanted.items():
        check(found.get(series, -1) >= value, f"{series} is {found.get(series)}, not {value}; there are {sorted(found)}")
