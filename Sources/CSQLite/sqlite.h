/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SQLite (sqlite.org/c3ref), with functions for macros that Swift cannot use because they are casts. */
#pragma once
#include <sqlite3.h>

/* Binds a text, which SQLite copies. */
static inline int sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, int length) {
  return sqlite3_bind_text(statement, place, text, length, SQLITE_TRANSIENT);
}
