/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

/* What is left out of the program, since nobody here calls it, though a library refers to it: 1.4 MB. scripts/build has
   the linker take these for the functions of the same names (--wrap), for all that this file lists; it then drops what only
   those used. */

/* Whoever calls it ends the program. */
#define NEVER(name) _Noreturn void __wrap_##name(void) { abort(); }
/* What adds something to a library adds nothing. */
#define NOTHING(name) int __wrap_##name(void) { return 0; }

/* SQLite: searching texts, maps, JSON, dates. A statement that has one of these fails. */
NOTHING(sqlite3Fts3Init)
NOTHING(sqlite3Fts5Init)
NOTHING(sqlite3RtreeInit)
NOTHING(sqlite3JsonTableFunctions)
NOTHING(sqlite3RegisterJsonFunctions)
NOTHING(sqlite3RegisterDateTimeFunctions)
NOTHING(sqlite3DbstatRegister)
NOTHING(sqlite3DbpageRegister)
NOTHING(sqlite3StmtVtabInit)
/* SQLite: mathematics, each in four versions in the C library. */
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

/* PCRE2: machine code for expressions, which is made only where pcre2_jit_compile was called. */
NEVER(_pcre2_jit_free_8)
NEVER(_pcre2_jit_get_target_8)
NEVER(_pcre2_jit_check_exec_8)
NEVER(_pcre2_jit_get_size_8)
NEVER(pcre2_jit_match_8)

/* The Swift library: the names, ages and scripts of all characters (Unicode.Scalar.Properties). */
NEVER(_swift_stdlib_getScalarName)
NEVER(_swift_stdlib_getNameAlias)
NEVER(_swift_stdlib_getAge)
NEVER(_swift_stdlib_getScript)
NEVER(_swift_stdlib_getScriptExtensions)
