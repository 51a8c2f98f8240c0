/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a Swift program otherwise looks for in /proc when it starts, and where there is none ends for want of it (134), or
   loses its arguments. Nothing calls it by name. */
#pragma once

/* Where the Swift library asks for the program that prints crashes, which ancsd has switched off. It is in force where
   the linker is told so (--wrap, scripts/build). */
const char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);
