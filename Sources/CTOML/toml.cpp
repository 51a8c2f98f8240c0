// SPDX-License-Identifier: GPL-3.0-or-later
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
/* libstdc++ 11 and later have it; streams would link all locales. */
#define TOML_FLOAT_CHARCONV 1
/* The settings have three levels; the parser has 1 MiB of stack. */
#define TOML_MAX_NESTED_VALUES 32

#include <cstdint>

namespace {
struct beginning {
  uint32_t line = 1;
  uint32_t column = 1;
};

/* The parser's position. In the parser's own methods, the name refers to their member instead. */
constexpr beginning current_position(uint32_t) noexcept { return {}; }

[[noreturn]] void give_up(const char *expected, uint32_t line, uint32_t column);

template <typename Position>
[[noreturn]] void give_up(const char *expected, const Position &where) {
  give_up(expected, where.line, where.column);
}
}  // namespace

/* The library asserts things about the file before it checks them: 3.3 asserts that `[=` is not there. So a failed assertion
   is an error in the file. With NDEBUG, the compiler would assume that it cannot fail. */
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : give_up(#condition, current_position(1)))
#include <toml++/toml.h>

#include <sys/mman.h>
#ifndef __arm__
#include <ucontext.h>
#endif

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

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

void begin();

#ifdef __arm__
/* Debian 12's ucontext for this processor cannot be linked into a program at a random address. */
struct context {
  void *top = nullptr;
};
extern "C" {
void ctoml_enter(void *stack, void **caller);
[[noreturn]] void ctoml_leave(void *caller);
__attribute__((used, visibility("hidden"))) void ctoml_begin() { begin(); }
}
__asm__(".arm\n.fpu vfpv2\n.text\n.type ctoml_enter, %function\n.global ctoml_enter, ctoml_leave\n.hidden ctoml_enter\n.hidden ctoml_leave\n"
        "ctoml_enter:\npush {r4-r11, lr}\nvpush {d8-d15}\nstr sp, [r1]\nmov r4, r1\nmov sp, r0\nbl ctoml_begin\nldr r0, [r4]\n"
        ".type ctoml_leave, %function\nctoml_leave:\nmov sp, r0\nvpop {d8-d15}\npop {r4-r11, pc}\n");

void enter(char *stack, size_t size, context &caller) { ctoml_enter(stack + size, &caller.top); }
[[noreturn]] void leave(context &caller) { ctoml_leave(caller.top); }
#else
using context = ucontext_t;

void enter(char *stack, size_t size, context &caller) {
  context reader{};
  getcontext(&reader);
  reader.uc_stack.ss_sp = stack;
  reader.uc_stack.ss_size = size;
  reader.uc_link = &caller;
  makecontext(&reader, begin, 0);
  swapcontext(&caller, &reader);
}
[[noreturn]] void leave(context &caller) {
  setcontext(&caller);
  abort();
}
#endif

/* Parses a text on a stack of its own. A failed assertion abandons that stack: the program is built without exceptions (and
   some of the asserting functions are noexcept), and longjmp must not skip destructors. */
struct reading {
  std::string_view text;
  context caller{};
  std::optional<toml::parse_result> result;
};

thread_local reading *current;

void begin() { current->result.emplace(toml::parse(current->text)); }

void give_up(const char *expected, uint32_t line, uint32_t column) {
  if (!current) abort();
  current->result.emplace(toml::parse_error(
      std::string("unexpected here (toml++ expects ") + expected + ")", toml::source_position{line, column}));
  leave(current->caller);
}

toml::parse_result read(std::string_view text) {
  constexpr size_t size = 1 << 20;
  void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) abort();
  reading reading{text};
  current = &reading;
  enter(static_cast<char *>(stack), size, reading.caller);
  current = nullptr;
  munmap(stack, size);
  return std::move(*reading.result);
}
}  // namespace

extern "C" {

ctoml_document *ctoml_read(const char *bytes, size_t length) {
  return new ctoml_document{read(std::string_view(bytes, length))};
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

ctoml_value ctoml_value_of(const ctoml_node *pointer) {
  const auto &found = node(pointer);
  ctoml_value value{};
  value.kind = static_cast<ctoml_kind>(found.type());
  value.position = position(found.source());
  if (const auto *string = found.as_string()) value.string = text(string->get());
  if (const auto *integer = found.as_integer()) value.integer = integer->get();
  if (const auto *real = found.as_floating_point()) value.real = real->get();
  if (const auto *boolean = found.as_boolean()) value.boolean = boolean->get();
  return value;
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
