/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces parts of the start of the Swift and C libraries. The linker puts these in place of the functions that they are
   named after (--wrap, scripts/build).

   Without /proc, a Swift program aborts (134) or loses its arguments. */
#pragma once

/* The path of the Swift library's program that prints crashes, which ancsd does not use: null. */
const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);
