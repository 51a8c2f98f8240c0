/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of --html, whose parts are in Sources/Picture/Page. Only C can embed files, so this is C. */
#pragma once

struct ancsd_part {
  const unsigned char *bytes;
  unsigned long length;
};

/* The page before the data, with its style sheet, and behind them, with its script. */
struct ancsd_part ancsd_page_head(void);
struct ancsd_part ancsd_page_tail(void);
