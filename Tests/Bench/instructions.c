/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plugin for qemu-user, which counts the instructions that a program executes, and those of its longest turn, between two
   waits: -plugin PATH,out=FILE,wait=NUMBER, the number of the system call that waits. The few functions of qemu-plugin.h that it
   takes are declared here, since Debian 12 has no package with that file. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { NO_REGISTERS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb *block, void (*executed)(unsigned int, void *), int flags, void *data);
void qemu_plugin_register_vcpu_syscall_cb(
    plugin_id id, void (*called)(plugin_id, unsigned int, int64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);

/* The plugins' interface that this is written for. */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* What was executed, until the last wait, and the most between two. */
static uint64_t count, until, longest;
static int64_t wait = -1;
static char file[4096];

static void executed(unsigned int processor, void *instructions) {
  (void)processor;
  count += (uintptr_t)instructions;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, executed, NO_REGISTERS, (void *)qemu_plugin_tb_n_insns(block));
}

static void called(
    plugin_id id, unsigned int processor, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)processor, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number != wait) return;
  /* The first ends the start. */
  if (until != 0 && count - until > longest) longest = count - until;
  until = count;
}

static void ended(plugin_id id, void *data) {
  (void)id, (void)data;
  FILE *out = fopen(file, "w");
  if (out == NULL) return;
  fprintf(out, "instructions: %" PRIu64 "\nlongest: %" PRIu64 "\n", count, longest);
  fclose(out);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    plugin_id id, const void *about, int argc, char **argv) {
  (void)about;
  for (int i = 0; i < argc; i++)
    if (strncmp(argv[i], "out=", 4) == 0) snprintf(file, sizeof file, "%s", argv[i] + 4);
    else if (strncmp(argv[i], "wait=", 5) == 0) wait = atoi(argv[i] + 5);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return file[0] ? 0 : -1;
}
