# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# For the scripts beside it that make or use a clean Debian, of this machine's processor or another one.
say() { echo "$(basename "$0"): $*" >&2; }
# shellcheck source=../../scripts/apt.bash
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/apt.bash"
mkdir -p "$cache"

# needs_root WHAT: skips the script where it does not run as root.
needs_root() {
    [ "$(id -u)" != 0 ] || return 0
    echo "skipped $1: this is not root" >&2
    exit 0
}

# other_debian PROCESSOR: the name of the Debian for another processor (debian); nothing for this machine's.
other_debian() { [ "$1" = "$(dpkg --print-architecture)" ] || echo "$1"; }

# own_mounts [OPTION...] -- ARGUMENT...: starts the script again with these arguments, and with mounts (and what the options of
# unshare name) that end with it, so that the clean Debian below them stays as it is. /mnt is empty there.
own_mounts() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    [ -n "${OWN_MOUNTS:-}" ] || exec unshare --mount "${options[@]}" env OWN_MOUNTS=yes "$0" "$@"
    mount -t tmpfs -o mode=755 tmpfs /mnt
}

# enter_debian CLEAN ROOT: a Debian at ROOT, whose changes are in ROOT.upper; `inside` runs commands in it.
enter_debian() {
    root=$2
    mkdir -p "$root" "$root.upper" "$root.work"
    mount -t overlay -o "lowerdir=$1,upperdir=$root.upper,workdir=$root.work" overlay "$root"
    mount -t proc proc "$root/proc"
}
inside() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive TERM=dumb LC_ALL=C.UTF-8 \
        http_proxy="${http_proxy:-}" "${board[@]}" "$(command -v chroot)" "$root" "$@"
}
# reaches_network: lets what runs inside find the package mirror.
reaches_network() { cp /etc/resolv.conf "$root/etc"; }

# What the environment of the other processor's programs has: the board that qemu-user plays.
board=()
# run_foreign PROCESSOR: lets the kernel run programs for it with qemu-user, as Debian's qemu-user-static does if systemd or
# binfmt-support runs, until the script ends. Does nothing for this machine's processor.
run_foreign() {
    local registered=/proc/sys/fs/binfmt_misc emulator name
    [ -n "$(other_debian "$1")" ] || return 0
    command -v qemu-arm-static >/dev/null && command -v arch-test >/dev/null || install_packages qemu-user-static arch-test
    read -ra emulator < <("$(dirname "${BASH_SOURCE[0]}")/../../scripts/emulator" "$1")
    name=${emulator[0]%-static} board=("QEMU_CPU=${emulator[2]}")
    ! arch-test -n "$1" >/dev/null 2>&1 || return 0
    [ -e $registered/register ] || mount -t binfmt_misc binfmt_misc $registered ||
        fail "this kernel lacks binfmt_misc, which it needs to run programs for $1"
    # The magic number of ELF files, the class and the machine, and the mask.
    local class='\x01' machine='\x28'
    [ "$1" != arm64 ] || class='\x02' machine='\xb7'
    printf '%s' ":$name:M::\\x7fELF$class"'\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00'"$machine"'\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/'"$name-static:F" \
        >$registered/register || fail "could not register qemu-user for programs for $1"
    # shellcheck disable=SC2064 # the name as it is now
    trap "echo -1 >$registered/$name" EXIT
}
