/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's start, where the Swift and the C library would do worse. Nothing calls this by name; where the linker is
   told so (--wrap, scripts/build), it takes the place of what it is named after.

   Without /proc a Swift program ends for want of it (134), or loses its arguments. */
#pragma once

/* Where the Swift library asks for the program that prints crashes, which ancsd has switched off. */
const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);

/* The C library's first step in a program at a random address: the 28,000 addresses in it are corrected. The C library looks
   at each bit of the list; this looks at those that are set, and takes rows of them at once: less than half the instructions. */
void __wrap__dl_relocate_static_pie(void);
