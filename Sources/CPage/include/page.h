/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of --html (Sources/Picture/Page), as it is in the repository. What a compiler embeds gets into C alone, so this
   is C; the compiler knows that the object depends on the files. */
#pragma once

struct ancsd_part {
  const unsigned char *bytes;
  unsigned long length;
};

/* The document, in which the places of the others are marked; its style sheet; its script. */
struct ancsd_part ancsd_page_document(void);
struct ancsd_part ancsd_page_style(void);
struct ancsd_part ancsd_page_script(void);
