/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jansson, with functions for the parts of its errors that Swift cannot read. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* Whether the error is a number that is too large. */
static inline bool json_is_overflow(const json_error_t *error) {
  return json_error_code(error) == json_error_numeric_overflow;
}

/* The error without the text near it, because the file may hold a key and the message is logged. */
static inline const char *json_reason(json_error_t *error) {
  char *context = strstr(error->text, " near '");
  if (context != NULL) *context = '\0';
  return error->text;
}
