/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "start.h"

#include <stddef.h>

/* Of the Swift library, which otherwise guesses from /proc/self/maps where the arguments are. */
void _swift_stdlib_overrideUnsafeArgvArgc(char **argv, int argc);

/* The C library hands every constructor what main gets. */
__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
  _swift_stdlib_overrideUnsafeArgvArgc(argv, argc);
}

const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
  (void)name;
  return NULL;
}
