/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "start.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Where the program is, and what its linker has left to do; both are the linker's. They are not weak, since a weak address
   would itself be one that is not corrected yet. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
/* The C library's own; none where the linker was not told. */
void __real__dl_relocate_static_pie(void) __attribute__((weak));

/* A bitmap has a bit for each of the words that follow, and one that says that it is a bitmap (ELF, SHT_RELR). */
enum { WORDS = 8 * sizeof(uintptr_t) - 1 };
/* The size of most tables of functions in a Swift program, of which a third of all addresses are. */
enum { ROW = 8, ROW_BITS = (1 << ROW) - 1 };

/* Corrects those of the words whose bits are set. */
__attribute__((no_stack_protector, always_inline)) static inline void correct(uintptr_t *words, uintptr_t bits, uintptr_t base) {
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

/* Nothing is set up yet that a guarded stack takes, and nothing may be called whose address is not corrected. */
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
      correct(word, *entry >> 1, base);
      word += WORDS;
    }
    /* So that the C library does not do it once more. */
    size->d_un.d_val = 0;
  }
  __real__dl_relocate_static_pie();
}
