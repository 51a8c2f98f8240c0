/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page.h"

/* clang has #embed in older standards than C23, too, but warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "../Picture/Page/page.html"
};

static const unsigned char style[] = {
#embed "../Picture/Page/page.css"
};

/* In the order of scripts/page, which computes the hash of them all. */
static const unsigned char script[] = {
#embed "../Picture/Page/model.js"
    ,
#embed "../Picture/Page/reading.js"
    ,
#embed "../Picture/Page/story.js"
    ,
#embed "../Picture/Page/search.js"
    ,
#embed "../Picture/Page/draw.js"
    ,
#embed "../Picture/Page/overview.js"
    ,
#embed "../Picture/Page/lanes.js"
    ,
#embed "../Picture/Page/procedures.js"
    ,
#embed "../Picture/Page/ladder.js"
    ,
#embed "../Picture/Page/detail.js"
    ,
#embed "../Picture/Page/figures.js"
    ,
#embed "../Picture/Page/app.js"
};

struct ancsd_part ancsd_page_document(void) { return (struct ancsd_part){document, sizeof document}; }
struct ancsd_part ancsd_page_style(void) { return (struct ancsd_part){style, sizeof style}; }
struct ancsd_part ancsd_page_script(void) { return (struct ancsd_part){script, sizeof script}; }
