/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces parts of the start of the Swift and C libraries. The linker puts these in place of the functions that they are
   named after (--wrap, scripts/build).

   Without /proc, a Swift program aborts (134) or loses its arguments. */
#pragma once

/* The path of the Swift library's program that prints crashes, which ancsd does not use: null. */
const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);

/* Relocates the 28,000 addresses in a program that was loaded at a random one. The C library tests every bit of the list;
   this finds the set bits, and handles rows of them at once, with less than half the instructions. */
void __wrap__dl_relocate_static_pie(void);
