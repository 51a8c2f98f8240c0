/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page.h"

/* clang has #embed in older standards than C23, too, but warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char head[] = {
#embed "../Picture/Page/head.html"
    , '<', 's', 't', 'y', 'l', 'e', '>',
#embed "../Picture/Page/page.css"
    , '<', '/', 's', 't', 'y', 'l', 'e', '>', '\n',
#embed "../Picture/Page/body.html"
};

/* The scripts are in the order of scripts/page, which computes the hash of them all. */
static const unsigned char tail[] = {
    '<', 's', 'c', 'r', 'i', 'p', 't', '>',
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
    , '<', '/', 's', 'c', 'r', 'i', 'p', 't', '>', '\n',
#embed "../Picture/Page/end.html"
};

struct ancsd_part ancsd_page_head(void) { return (struct ancsd_part){head, sizeof head}; }
struct ancsd_part ancsd_page_tail(void) { return (struct ancsd_part){tail, sizeof tail}; }
