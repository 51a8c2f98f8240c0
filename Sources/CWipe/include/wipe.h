/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overwrites what is freed, so that the key of a forgotten phone, and what was made of it on the way to the disk
   and to the kernel, is not left in memory that nothing refers to. It is in force where the linker is told so
   (--wrap=free, scripts/build); nothing calls it by name. */
#pragma once

void __wrap_free(void *block);
