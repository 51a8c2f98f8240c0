/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Glibc's module map lacks: event descriptors, and libbluetooth's headers. */
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>

/* System calls without a wrapper in Glibc, and one with a variadic wrapper. */
static inline int linux_capget(cap_user_header_t header, cap_user_data_t data) {
  return (int)syscall(SYS_capget, header, data);
}
static inline int linux_capset(cap_user_header_t header, const cap_user_data_t data) {
  return (int)syscall(SYS_capset, header, data);
}
/* O_PATH from <asm-generic/fcntl.h>; <fcntl.h> only has it with _GNU_SOURCE. */
static const int linux_o_path = 010000000;
/* On 32 bits this macro is an expression, which Swift does not import. */
static const int linux_so_timestamp = SO_TIMESTAMP;

static inline int linux_prctl(int option, unsigned long value) {
  return prctl(option, value, 0L, 0L, 0L);
}
/* Descriptors that are closed on exec. (SYS_pidfd_open has this number on every processor but Alpha.) */
static inline int linux_pidfd_open(int process) { return (int)syscall(434, process, 0); }
static inline int linux_memfd_create(const char *name) {
  return (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */);
}
static inline int linux_pipe2(int ends[2], int flags) { return (int)syscall(SYS_pipe2, ends, flags); }

/* MB_CUR_MAX is a macro for a call. */
static inline void linux_use_utf8(void) {
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

/* <spawn.h>, <string.h> and <sys/socket.h> only declare these with _GNU_SOURCE, which cannot be set for Glibc's module. */
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
extern int posix_spawn_file_actions_addchdir_np(
    posix_spawn_file_actions_t *__restrict actions, const char *__restrict path);
extern const char *strerrorname_np(int number);
extern int ppoll(
    struct pollfd *entries, nfds_t count, const struct timespec *timeout, const sigset_t *signals);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
#ifndef __USE_GNU
struct mmsghdr {
  struct msghdr msg_hdr;
  unsigned int msg_len;
};
#endif
/* On 32 bits, glibc's recvmmsg takes ENOSYS, with which the kernel also ends a link (docs/kernel.md, “Read errors”), for that of a
   kernel without the call for 64-bit times, and receives again: the error is lost. No time is passed here. */
static inline int linux_recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags) {
  return (int)syscall(SYS_recvmmsg, fd, messages, count, flags, NULL);
}
