/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The build of the program. Only C code can get a value from the build command, so this is C. */
#pragma once

/* What follows the version's number, such as " (9e7d567abc, 2026-11-24)", from scripts/version --build; empty in a build
   that is not made by scripts/build. */
const char *ancsd_build(void);
