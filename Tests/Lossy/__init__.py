# SPDX-License-Identifier: GPL-3.0-or-later
"""ancsd on a real kernel, in an air that loses: two processes of RootCanal with a proxy between them, whose weather a seed
decides. Each seed is a case.
"""

import os

MODULES = ["cases_seeds"]
FIRST, LAST = map(int, os.environ.get("SEEDS", "1 20").split())
#: The cases, and what each shows.
MADE = {
    f"seed-{seed}": "a link of a minute with loss and blackouts: all news comes out once, and nothing is stuck"
    for seed in range(FIRST, LAST + 1)
}
