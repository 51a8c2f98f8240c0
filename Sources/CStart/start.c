/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "start.h"

#include <stddef.h>

/* From the Swift library, which otherwise looks for the arguments in /proc/self/maps. */
void _swift_stdlib_overrideUnsafeArgvArgc(char **argv, int argc);

/* The C library passes main's arguments to every constructor. */
__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
  _swift_stdlib_overrideUnsafeArgvArgc(argv, argc);
}

const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
  (void)name;
  return NULL;
}
