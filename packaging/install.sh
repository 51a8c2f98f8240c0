#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the program in this folder, ancsd, ancsd-mqtt or ancsd-forward, on any Linux, or uninstalls it. It lists every
# change before it makes any. It starts and stops only the program's own service, and never touches existing bonds or settings.
#
#   ./install.sh                 installs the program, its manual pages, and a service for systemd or OpenRC
#   ./install.sh --start         installs, enables the service, and starts or restarts it
#   ./install.sh --uninstall     removes what was installed; bonds, settings and the service's user stay
#
#   --dry-run        only lists the changes
#   --init NAME      systemd, openrc or none, instead of the one detected
#   --prefix DIR     where to install the program (default: /usr/local)
#   --root DIR       installs into a root file system, such as an image under construction; creates no user
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local root="" init="" dry="" start="" uninstall=""
program=ancsd # scripts/tarball changes this in the other archives

fail() { echo "install.sh: $*" >&2; exit 1; }
misused() { echo "install.sh: $*; see the beginning of the script" >&2; exit 64; }
say() { echo "  $*"; }
has() { command -v "$1" >/dev/null 2>&1; }

while [ $# -gt 0 ]; do
    case $1 in
        --start) start=yes ;;
        --uninstall) uninstall=yes ;;
        --dry-run) dry=yes ;;
        --init | --prefix | --root)
            [ $# -ge 2 ] || misused "$1 needs a value"
            case $1 in --init) init=$2 ;; --prefix) prefix=${2%/} ;; --root) root=${2%/} ;; esac
            shift
            ;;
        *) misused "unknown option $1" ;;
    esac
    shift
done
case $init in "" | systemd | openrc | none) ;; *) misused "unknown init $init" ;; esac
case $prefix in *[!A-Za-z0-9/_.-]*) misused "--prefix may only contain letters, digits and /_.-, not $prefix" ;; esac
[ -z "$root" ] || [ -d "$root" ] || fail "$root is not a folder"
[ -z "$root" ] || [ -z "$start" ] || misused "--start and --root can't be combined"
[ -n "$dry" ] || [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run this as root, or preview it with --dry-run"

# What differs between the programs.
payload=$program destination=$prefix/bin/$program
elsewhere="on this processor ($(uname -m)), which has its own archive"
needs="can't run $elsewhere"
case $program in
    ancsd) settings=ancsd.toml kept="the bonds" also="" ;;
    # Its service joins the group ancsd to use the daemon's control socket.
    ancsd-mqtt)
        settings=conf.d/mqtt.toml kept="the names of phones" also=", and the group ancsd"
        needs="can't run here without glibc 2.36 or later (not musl), libmosquitto.so.1 and OpenSSL 3 (for armhf also libjansson.so.4 and libstdc++.so.6), or not $elsewhere"
        ;;
    ancsd-forward)
        settings=conf.d/forward.toml kept="what was sent last" also=", and the group ancsd"
        # Where “ancsd forward” looks for it.
        payload=deliver destination=/usr/lib/ancsd-forward/deliver
        needs="needs $prefix/bin/ancsd of the same version, and python3 with Apprise (the package apprise of Debian and Alpine)"
        ;;
esac
list=$prefix/share/$program/files # the installed files, one path per line
if [ -z "$root" ] && [ -e /var/lib/dpkg/info/$program.list ] && [ -e /usr/share/doc/$program/copyright ]; then
    fail "the Debian package $program is installed; upgrade it with apt, or run apt remove $program and then this again"
fi

# The init system: the one that is running, else the one that is installed.
found_init() {
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then echo systemd
    elif [ -x "$root/sbin/openrc-run" ] || [ -x "$root/usr/sbin/openrc-run" ]; then echo openrc
    elif [ -x "$root/lib/systemd/systemd" ] || [ -x "$root/usr/lib/systemd/systemd" ]; then echo systemd
    else echo none; fi
}
[ -n "$init" ] || init=$(found_init)

# files: prints each file to install: mode, source in this folder, destination.
files() {
    echo "755 $payload $destination"
    echo "755 install.sh $prefix/share/$program/install.sh"
    case $init in
        systemd) echo "644 service/$program.service $prefix/lib/systemd/system/$program.service" ;;
        openrc)
            echo "755 service/$program.openrc /etc/init.d/$program"
            echo "644 service/$program.logrotate /etc/logrotate.d/$program"
            ;;
    esac
    (cd "$here" && find share -type f) | sort | while read -r file; do echo "644 $file $prefix/$file"; done
}

# bluetoothd takes every phone's connection, so only one of the two daemons can run.
bluetoothd_runs() { grep -qsx bluetoothd /proc/[0-9]*/comm; }

service() {
    case $init in
        systemd)
            case $1 in
                start) systemctl daemon-reload && systemctl enable --quiet $program && systemctl restart $program ;;
                # Separately, since a service that is not enabled may run.
                stop)
                    systemctl disable --quiet $program || true
                    ! systemctl --quiet is-active $program || systemctl stop $program
                    ;;
            esac
            ;;
        openrc)
            case $1 in
                start) rc-update --quiet add $program default && rc-service $program restart ;;
                stop)
                    rc-service --quiet $program stop || true
                    rc-update --quiet --all delete $program 2>/dev/null || true
                    ;;
            esac
            ;;
    esac
}

how_to_start() {
    case $init in
        systemd) echo "systemctl daemon-reload && systemctl enable $program && systemctl restart $program" ;;
        openrc) echo "rc-update add $program default && rc-service $program restart" ;;
        none)
            case $program in
                ancsd) echo "$prefix/bin/ancsd run --state-dir=/var/lib/ancsd --socket=/run/ancsd/control.sock --format=json >/dev/null" ;;
                ancsd-mqtt) echo "$prefix/bin/ancsd-mqtt --state-dir=/var/lib/ancsd-mqtt --socket=/run/ancsd/control.sock" ;;
                ancsd-forward) echo "$prefix/bin/ancsd forward --state-dir=/var/lib/ancsd-forward --socket=/run/ancsd/control.sock" ;;
            esac
            ;;
    esac
}

if [ -n "$uninstall" ]; then
    [ -e "$root$list" ] || fail "$root$list does not exist: this script has installed nothing there; check --prefix${root:+ and --root}"
    echo "install.sh: changes:"
    if [ "$init" != none ] && [ -z "$root" ]; then say "stop    the $init service $program, if it is running"; fi
    while read -r file; do say "remove  $root$file"; done <"$root$list"
    say "keep    /var/lib/$program ($kept), /etc/ancsd (settings), the user $program; to remove these too:"
    case $program in ancsd) mine=/etc/ancsd ;; *) mine=/etc/ancsd/$settings ;; esac
    say "        rm -r /var/lib/$program $mine; userdel $program, or deluser $program"
    [ -z "$dry" ] || exit 0
    [ -n "$root" ] || service stop
    while read -r file; do rm -f "$root$file"; done <"$root$list"
    # Removes the program's own folders if they are empty, the deepest first.
    folders=$(sed 's|/[^/]*$||' "$root$list" | grep "/$program\(/\|\$\)" | sort -ru)
    rm "$root$list"
    for folder in $folders; do rmdir "$root$folder" 2>/dev/null || true; done
    [ "$init" != systemd ] || [ -n "$root" ] || systemctl daemon-reload 2>/dev/null || true
    echo "install.sh: done"
    exit 0
fi

# Checks everything that can fail before changing anything.
runs() {
    case $program in
        ancsd-forward) "$prefix/bin/ancsd" forward --help && /usr/bin/python3 -I -c "import apprise" ;;
        *) "$here/$program" --version ;;
    esac >/dev/null 2>&1
}
[ -n "$root" ] || runs || fail "$here/$payload $needs"
has_user() { grep -q "^$program:" "$root/etc/passwd" 2>/dev/null; }
has_group() { grep -q "^$1:" "$root/etc/group" 2>/dev/null; }
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then
    has useradd || has adduser || fail "neither useradd nor adduser is installed; create the user $program and its group, and run this again"
fi
case $init in
    openrc)
        [ -n "$root" ] || setpriv --help 2>&1 | grep -q -- --reuid ||
            fail "the service needs setpriv to drop root; install it (Alpine: apk add setpriv; Debian: util-linux)"
        ;;
esac

echo "install.sh: changes, for $init:"
files | while read -r mode source path; do
    if [ -e "$root$path" ]; then say "replace $root$path"; else say "write   $root$path"; fi
done
# Files of an earlier version that this one no longer has.
left=""
if [ -e "$root$list" ]; then
    left=$(while read -r file; do files | grep -q " $file\$" || echo "$file"; done <"$root$list")
    for file in $left; do say "remove  $root$file (from an earlier version)"; done
fi
if [ -e "$root/etc/ancsd/$settings" ]; then say "keep    $root/etc/ancsd/$settings"; else say "write   $root/etc/ancsd/$settings"; fi
[ ! -d "$root/var/lib/$program" ] || say "keep    $root/var/lib/$program ($kept)"
if has_user; then :
elif [ -n "$root" ]; then say "        create the user and the group $program$also in the image yourself"
elif [ "$init" != none ]; then say "create  the user and the group $program$also"; fi
if [ -n "$start" ] && [ "$init" != none ]; then say "start   the $init service $program"; fi
[ -z "$dry" ] || exit 0

# put MODE SOURCE PATH: installs a file atomically; in services it adjusts the path of the program.
put() {
    mkdir -p "$root$(dirname "$3")" || return
    case $2 in
        service/*) sed "s|/usr/bin/ancsd|$prefix/bin/ancsd|g" "$here/$2" >"$root$3.new" ;;
        *) cp "$here/$2" "$root$3.new" ;;
    esac && chmod "$1" "$root$3.new" && mv "$root$3.new" "$root$3"
}
make_group() {
    has_group "$1" || if has groupadd; then groupadd --system "$1"; else addgroup -S "$1"; fi
}
make_user() {
    make_group ancsd && make_group "$program" || return
    if has useradd; then
        nobody=/usr/sbin/nologin
        [ -e $nobody ] || nobody=/bin/false
        useradd --system --gid "$program" --home-dir "/var/lib/$program" --no-create-home --shell $nobody "$program"
    else
        adduser -S -D -H -h "/var/lib/$program" -s /bin/false -G "$program" "$program"
    fi
}
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then make_user || fail "could not create the user $program"; fi
files | while read -r mode source path; do put "$mode" "$source" "$path" || exit 1; done || fail "could not write every file; see the errors above"
[ -e "$root/etc/ancsd/$settings" ] || put 644 "${settings#conf.d/}" "/etc/ancsd/$settings"
for file in $left; do rm -f "$root$file"; done
files | cut -d ' ' -f 3 >"$root$list.new" && mv "$root$list.new" "$root$list"

has_table() { grep -qs "^[[:space:]]*\[\[*$1\]" "$root/etc/ancsd/ancsd.toml" "$root"/etc/ancsd/conf.d/*.toml; }
# hindrance: prints why the service can't be started: bluetoothd is running, or settings are missing.
hindrance() {
    case $program in
        ancsd)
            ! bluetoothd_runs ||
                echo "stop and disable bluetoothd first: it takes every phone's connection"
            ;;
        ancsd-mqtt)
            has_table mqtt || echo "the bridge needs a broker; set its URL in $root/etc/ancsd/$settings first"
            ;;
        ancsd-forward)
            has_table forward || echo "ancsd-forward needs a service; set its URL in $root/etc/ancsd/$settings first"
            ;;
    esac
}
hindrance=$(hindrance)
if [ -n "$start" ] && [ "$init" != none ] && [ -z "$hindrance" ]; then
    service start || fail "the service did not start; see its log (and docs in $prefix/share/doc/$program)"
    echo "install.sh: done; run ancsd status to see what it is waiting for"
else
    echo "install.sh: done; $program was not started. To start it: $(how_to_start)"
    [ -z "$hindrance" ] || echo "install.sh: $hindrance"
fi
