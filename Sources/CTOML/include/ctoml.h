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

/* In the order of toml::node_type. */
typedef enum {
  CTOML_TABLE = 1,
  CTOML_ARRAY,
  CTOML_STRING,
  CTOML_INTEGER,
  CTOML_FLOAT,
  CTOML_BOOLEAN,
  CTOML_DATE,
  CTOML_TIME,
  CTOML_DATE_TIME,
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

/* A node, with the value of its kind if that is a string, an integer, a float or a boolean. */
typedef struct {
  ctoml_kind kind;
  ctoml_position position;
  ctoml_text string;
  int64_t integer;
  double real;
  bool boolean;
} ctoml_value;
ctoml_value ctoml_value_of(const ctoml_node *node);

/* Calls `visit` with each element of an array, in order, and with each entry of a table, in any order. An
   element has no key. */
typedef void (*ctoml_visit)(
    void *context, ctoml_text key, ctoml_position key_position, const ctoml_node *value);
void ctoml_children(const ctoml_node *node, void *context, ctoml_visit visit);

#ifdef __cplusplus
}
#endif
