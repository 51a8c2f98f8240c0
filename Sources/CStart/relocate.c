/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "start.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The program's address and its dynamic section, both defined by the linker. They are not weak, because a weak address
   would itself have to be relocated first. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
/* The C library's function; null in a build without --wrap. */
void __real__dl_relocate_static_pie(void) __attribute__((weak));

/* A bitmap has a bit for each of the next words, and one that marks it as a bitmap (ELF, SHT_RELR). */
enum { WORDS = 8 * sizeof(uintptr_t) - 1 };
/* The size of most function tables in a Swift program; a third of all addresses are in them. */
enum { ROW = 8, ROW_BITS = (1 << ROW) - 1 };

/* Relocates the words whose bits are set. */
__attribute__((no_stack_protector, always_inline)) static inline void relocate(uintptr_t *words, uintptr_t bits, uintptr_t base) {
  if (bits == UINTPTR_MAX >> 1) {
    for (int i = 0; i < WORDS; i++) words[i] += base;
    return;
  }
  while (bits != 0) {
    const int first = __builtin_ctzl(bits);
    if ((bits >> first & ROW_BITS) == ROW_BITS) {
      for (int i = 0; i < ROW; i++) words[first + i] += base;
      bits &= ~((uintptr_t)ROW_BITS << first);
    } else {
      words[first] += base;
      bits &= bits - 1;
    }
  }
}

/* A stack protector is not set up yet, and nothing may be called whose address is not relocated yet. */
__attribute__((no_stack_protector)) void __wrap__dl_relocate_static_pie(void) {
  const uintptr_t base = (uintptr_t)__ehdr_start;
  const uintptr_t *entry = NULL;
  ElfW(Dyn) *size = NULL;
  for (ElfW(Dyn) *item = _DYNAMIC; item->d_tag != DT_NULL; item++) {
    if (item->d_tag == DT_RELR) entry = (const uintptr_t *)(base + item->d_un.d_ptr);
    if (item->d_tag == DT_RELRSZ) size = item;
  }
  if (entry != NULL && size != NULL) {
    const uintptr_t *end = entry + size->d_un.d_val / sizeof *entry;
    for (uintptr_t *word = NULL; entry < end; entry++) {
      if ((*entry & 1) == 0) {
        word = (uintptr_t *)(base + *entry);
        *word++ += base;
        continue;
      }
      relocate(word, *entry >> 1, base);
      word += WORDS;
    }
    /* Otherwise the C library would relocate again. */
    size->d_un.d_val = 0;
  }
  __real__dl_relocate_static_pie();
}
