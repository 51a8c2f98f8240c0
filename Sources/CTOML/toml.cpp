// SPDX-License-Identifier: GPL-3.0-or-later
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
/* Clang has it by way of libstdc++ 11 and later; streams would bring in all of its locales. */
#define TOML_FLOAT_CHARCONV 1
/* The library asserts before it looks whether a key begins like one: `[=` ended the program instead of being an error
   with its place. Without its assertions it comes to its own errors; scripts/fuzz looks for what it does not. */
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <new>
#include <string>

#include "ctoml.h"

struct ctoml_document {
  toml::parse_result result;
};

namespace {
const toml::node &node(const ctoml_node *pointer) {
  return *reinterpret_cast<const toml::node *>(pointer);
}
const ctoml_node *pointer(const toml::node &node) {
  return reinterpret_cast<const ctoml_node *>(&node);
}
ctoml_position position(const toml::source_region &region) {
  return {static_cast<uint32_t>(region.begin.line), static_cast<uint32_t>(region.begin.column)};
}
ctoml_text text(std::string_view view) { return {view.data(), view.size()}; }
}  // namespace

extern "C" {

ctoml_document *ctoml_read(const char *bytes, size_t length) {
  return new ctoml_document{toml::parse(std::string_view(bytes, length))};
}

void ctoml_free(ctoml_document *document) { delete document; }

const ctoml_node *ctoml_root(const ctoml_document *document) {
  return document->result ? pointer(document->result.table()) : nullptr;
}

ctoml_text ctoml_error(const ctoml_document *document, ctoml_position *where) {
  if (document->result) return {nullptr, 0};
  const auto &error = document->result.error();
  *where = position(error.source());
  return text(error.description());
}

ctoml_kind ctoml_kind_of(const ctoml_node *pointer) {
  switch (node(pointer).type()) {
    case toml::node_type::table: return CTOML_TABLE;
    case toml::node_type::array: return CTOML_ARRAY;
    case toml::node_type::string: return CTOML_STRING;
    case toml::node_type::integer: return CTOML_INTEGER;
    case toml::node_type::floating_point: return CTOML_FLOAT;
    case toml::node_type::boolean: return CTOML_BOOLEAN;
    default: return CTOML_TIME;
  }
}

ctoml_position ctoml_position_of(const ctoml_node *pointer) { return position(node(pointer).source()); }

ctoml_text ctoml_string(const ctoml_node *pointer) {
  const auto *value = node(pointer).as_string();
  return value ? text(value->get()) : ctoml_text{nullptr, 0};
}

int64_t ctoml_integer(const ctoml_node *pointer) {
  const auto *value = node(pointer).as_integer();
  return value ? value->get() : 0;
}

double ctoml_float(const ctoml_node *pointer) {
  const auto *value = node(pointer).as_floating_point();
  return value ? value->get() : 0;
}

bool ctoml_boolean(const ctoml_node *pointer) {
  const auto *value = node(pointer).as_boolean();
  return value && value->get();
}

void ctoml_children(const ctoml_node *parent, void *context, ctoml_visit visit) {
  if (const auto *table = node(parent).as_table()) {
    for (const auto &[key, value] : *table)
      visit(context, text(key.str()), position(key.source()), pointer(value));
  } else if (const auto *array = node(parent).as_array()) {
    for (const auto &value : *array)
      visit(context, {nullptr, 0}, position(value.source()), pointer(value));
  }
}

}  // extern "C"
