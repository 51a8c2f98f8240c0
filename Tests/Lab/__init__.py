# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd on a real kernel, and a phone on Bumble's host stack behind a virtual controller."""

from .stories import STORIES

MODULES = "cases_pairing cases_bonds cases_machine cases_trace cases_link cases_gatt".split()
MODULES += ["cases_air", "cases_stories"]
#: Cases generated from data, and what they show.
MADE = {story.case: story.about for story in STORIES}
