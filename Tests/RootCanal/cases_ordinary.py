# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of Tests/Lab, played for each preset."""

import importlib

from Harness.case import Case, case, cases

from .presets import ORDINARY, USUAL
from .testbed import Testbed


def register(preset: str, ordinary: Case) -> None:
    @case(f"{preset}-{ordinary.name}", max(ordinary.seconds or 0, Testbed.SECONDS))
    async def play(bed: Testbed) -> None:
        await bed.use(preset)
        await ordinary.run(bed)


for module in set(ORDINARY.values()):
    importlib.import_module(f"Lab.{module}")
for preset in USUAL:
    for name in ORDINARY:
        register(preset, cases[name])
