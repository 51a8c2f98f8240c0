/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

/* Stubs for functions that libraries refer to but ancsd never calls. scripts/build links them instead (--wrap), so the
   linker drops the originals and what only they use: 1.4 MB. */

/* A call ends the program. */
#define NEVER(name) _Noreturn void __wrap_##name(void) { abort(); }
/* Registers nothing in its library. */
#define NOTHING(name) int __wrap_##name(void) { return 0; }

/* SQLite: full-text search, R-trees, JSON, dates. Statements that use them fail. */
NOTHING(sqlite3Fts3Init)
NOTHING(sqlite3Fts5Init)
NOTHING(sqlite3RtreeInit)
NOTHING(sqlite3JsonTableFunctions)
NOTHING(sqlite3RegisterJsonFunctions)
NOTHING(sqlite3RegisterDateTimeFunctions)
NOTHING(sqlite3DbstatRegister)
NOTHING(sqlite3DbpageRegister)
NOTHING(sqlite3StmtVtabInit)
/* SQLite: mathematical functions, of which the C library has four versions each. */
NEVER(acos)
NEVER(acosh)
NEVER(asin)
NEVER(asinh)
NEVER(atan)
NEVER(atan2)
NEVER(atanh)
NEVER(cosh)
NEVER(sinh)
NEVER(tan)
NEVER(tanh)
NEVER(pow)

/* PCRE2: the just-in-time compiler, which only pcre2_jit_compile would use. */
NEVER(_pcre2_jit_free_8)
NEVER(_pcre2_jit_get_target_8)
NEVER(_pcre2_jit_check_exec_8)
NEVER(_pcre2_jit_get_size_8)
NEVER(pcre2_jit_match_8)

/* The Swift library: the tables with each character's name, age and script (Unicode.Scalar.Properties). */
NEVER(_swift_stdlib_getScalarName)
NEVER(_swift_stdlib_getNameAlias)
NEVER(_swift_stdlib_getAge)
NEVER(_swift_stdlib_getScript)
NEVER(_swift_stdlib_getScriptExtensions)
