/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wipe.h"

#include <malloc.h>
#include <string.h>

/* The C library's function; null in a build without --wrap. */
void __real_free(void *block) __attribute__((weak));

enum { STRIDE = 64 };

/* Most blocks are small; for them, explicit_bzero takes three times as many instructions. */
static inline void wipe(char *at, size_t size) {
  char *end = at + size;
  for (; end - at >= STRIDE; at += STRIDE) {
    memset(at, 0, STRIDE);
    /* Keeps the compiler from removing the memset. */
    __asm__ volatile("" : : "r"(at) : "memory");
  }
  for (; at < end; at += sizeof(long)) {
    memset(at, 0, sizeof(long));
    __asm__ volatile("" : : "r"(at) : "memory");
  }
}

void __wrap_free(void *block) {
  if (block == NULL) return;
  /* The usable size is a multiple of a long. */
  wipe(block, malloc_usable_size(block));
  __real_free(block);
}
