/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start of a static program at a random address on 32-bit ARM, for which glibc has none (no rcrt1.o): before the C library
   starts, relocates the program and gives it program headers with absolute addresses, so that the C library takes it for one
   at a fixed address. scripts/build makes start_anywhere its entry. */
#ifdef __arm__
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The program's address and its dynamic section, both defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static ElfW(Phdr) headers[16];

/* The packed list of addresses (DT_RELR): each word is one, or a bitmap of the 31 words after the last. */
__attribute__((no_stack_protector, always_inline)) static inline void relocate(uintptr_t base, const uintptr_t *list, size_t count) {
  uintptr_t *word = NULL;
  for (const uintptr_t *entry = list; entry < list + count; entry++) {
    if ((*entry & 1) == 0) {
      word = (uintptr_t *)(base + *entry);
      *word++ += base;
      continue;
    }
    for (size_t i = 0; i < 31; i++)
      if (*entry >> (i + 1) & 1) word[i] += base;
    word += 31;
  }
}

/* `stack` has the arguments, the environment and the auxiliary vector. A stack protector is not set up yet. */
__attribute__((used, no_stack_protector, visibility("hidden"))) void start_relocated(uintptr_t *stack) {
  const uintptr_t base = (uintptr_t)__ehdr_start;
  uintptr_t *auxiliary = stack + stack[0] + 2;
  while (*auxiliary++ != 0) {}
  uintptr_t capabilities = 0;
  for (uintptr_t *item = auxiliary; item[0] != AT_NULL; item += 2)
    if (item[0] == AT_HWCAP) capabilities = item[1];

  const uintptr_t *list = NULL;
  const ElfW(Rel) *rel = NULL;
  size_t count = 0, others = 0;
  for (const ElfW(Dyn) *item = _DYNAMIC; item->d_tag != DT_NULL; item++) {
    if (item->d_tag == DT_RELR) list = (const uintptr_t *)(base + item->d_un.d_ptr);
    if (item->d_tag == DT_RELRSZ) count = item->d_un.d_val / sizeof *list;
    if (item->d_tag == DT_REL) rel = (const ElfW(Rel) *)(base + item->d_un.d_ptr);
    if (item->d_tag == DT_RELSZ) others = item->d_un.d_val / sizeof *rel;
  }
  relocate(base, list, count);
  /* Functions that choose their variant by the processor come last, since they may use what is relocated. */
  for (size_t i = 0; i < others; i++)
    if (ELF32_R_TYPE(rel[i].r_info) == R_ARM_RELATIVE) *(uintptr_t *)(base + rel[i].r_offset) += base;
  for (size_t i = 0; i < others; i++) {
    uintptr_t *place = (uintptr_t *)(base + rel[i].r_offset);
    if (ELF32_R_TYPE(rel[i].r_info) == R_ARM_IRELATIVE) *place = ((uintptr_t(*)(uintptr_t))(base + *place))(capabilities);
  }

  size_t number = 0;
  const ElfW(Phdr) *found = NULL;
  for (uintptr_t *item = auxiliary; item[0] != AT_NULL; item += 2) {
    if (item[0] == AT_PHNUM) number = item[1];
    if (item[0] != AT_PHDR) continue;
    found = (const ElfW(Phdr) *)item[1];
    item[1] = (uintptr_t)headers;
  }
  for (size_t i = 0; i < number && i < sizeof headers / sizeof *headers; i++) {
    headers[i] = found[i];
    headers[i].p_vaddr += base;
  }
}

__asm__(".arm\n.text\n.global start_anywhere\n.type start_anywhere, %function\nstart_anywhere:\n"
        "mov r4, r0\nmov r0, sp\nbl start_relocated\nmov r0, r4\nb _start\n.size start_anywhere, .-start_anywhere\n");
#endif
