/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "build.h"

const char *ancsd_build(void) { return ANCSD_BUILD; }
