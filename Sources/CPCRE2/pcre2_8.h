/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCRE2 for texts in UTF-8 (pcre2api(3)). */
#pragma once
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
