# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of Tests/Lab, played for each preset."""

from Harness.case import Case, case, cases
from Lab import cases_bonds, cases_link, cases_pairing  # noqa: F401

from .presets import PRESETS
from .testbed import Testbed

#: The controllers that an adapter with the usual options serves.
USUAL = ("modern", "plain", "old")
ORDINARY = ("pair-numbers", "notification", "private-address")


def register(preset: str, ordinary: Case) -> None:
    about = f"{ordinary.name} with a controller that is {PRESETS[preset].about}"

    @case(f"{preset}-{ordinary.name}", max(ordinary.seconds or 0, Testbed.SECONDS), about=about)
    async def play(bed: Testbed) -> None:
        await bed.use(preset)
        await ordinary.run(bed)


for preset in USUAL:
    for name in ORDINARY:
        register(preset, cases[name])
