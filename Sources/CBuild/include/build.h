/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which build of its version the program is. A value that a build hands down gets into C alone, so this is a line of C. */
#pragma once

/* What stands behind the version's number, as in " (9e7d567abc, 2026-11-24)": scripts/version --build makes it, and
   scripts/build hands it down (Package.swift). Empty in a build of another kind. */
const char *ancsd_build(void);
