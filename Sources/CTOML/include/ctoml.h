/* SPDX-License-Identifier: GPL-3.0-or-later */
/* toml++ for Swift: a TOML 1.0 document as a tree, whose nodes have their positions in the text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctoml_document ctoml_document;
/* Valid as long as its document. */
typedef struct ctoml_node ctoml_node;

typedef enum {
  CTOML_TABLE,
  CTOML_ARRAY,
  CTOML_STRING,
  CTOML_INTEGER,
  CTOML_FLOAT,
  CTOML_BOOLEAN,
  CTOML_TIME, /* a date, a time, or both */
} ctoml_kind;

/* Both count from 1; columns count characters. */
typedef struct {
  uint32_t line;
  uint32_t column;
} ctoml_position;

/* UTF-8, not terminated; valid as long as the document. */
typedef struct {
  const char *bytes;
  size_t length;
} ctoml_text;

/* Parses a text. Never null; free it with ctoml_free. */
ctoml_document *ctoml_read(const char *bytes, size_t length);
void ctoml_free(ctoml_document *document);

/* The document's root table; null if it is not TOML. */
const ctoml_node *ctoml_root(const ctoml_document *document);
/* Why it is not TOML, and where. */
ctoml_text ctoml_error(const ctoml_document *document, ctoml_position *position);

ctoml_kind ctoml_kind_of(const ctoml_node *node);
ctoml_position ctoml_position_of(const ctoml_node *node);
/* The value of a string, integer, float or boolean. */
ctoml_text ctoml_string(const ctoml_node *node);
int64_t ctoml_integer(const ctoml_node *node);
double ctoml_float(const ctoml_node *node);
bool ctoml_boolean(const ctoml_node *node);

/* Calls `visit` with each element of an array, in order, and with each entry of a table, in any order. An
   element has no key. */
typedef void (*ctoml_visit)(
    void *context, ctoml_text key, ctoml_position key_position, const ctoml_node *value);
void ctoml_children(const ctoml_node *node, void *context, ctoml_visit visit);

#ifdef __cplusplus
}
#endif
