/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overwrites freed memory, so that no copy of a forgotten phone's key remains, nor of what was derived from it for the disk
   and the kernel. The linker replaces free by it (--wrap=free, scripts/build). */
#pragma once

void __wrap_free(void *block);
