/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of --html, byte for byte as in Sources/Picture/Page. Only C can embed files, so this is C. */
#pragma once

struct ancsd_part {
  const unsigned char *bytes;
  unsigned long length;
};

/* The document, which marks where the others go; its style sheet; its script. */
struct ancsd_part ancsd_page_document(void);
struct ancsd_part ancsd_page_style(void);
struct ancsd_part ancsd_page_script(void);
