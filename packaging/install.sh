#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs ancsd from this folder on any Linux, or takes it away again. It says first what it will do with each file. It
# starts and stops no service but ancsd's own, and never touches bonds or settings that are there.
#
#   ./install.sh                 the program, its manual, and a service for systemd, OpenRC or runit, whichever is here
#   ./install.sh --start         the same; then the service is enabled, and started or restarted
#   ./install.sh --uninstall     takes away what was installed; bonds, settings and the user ancsd stay
#
#   --dry-run        only says what would be done
#   --init NAME      systemd, openrc, runit or none, in place of what is found
#   --prefix DIR     where the program goes (default: /usr/local)
#   --root DIR       a root file system that is being made, as for an image: files go below it, and no user is made
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local root="" init="" dry="" start="" uninstall=""

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
        *) misused "no option $1" ;;
    esac
    shift
done
case $init in "" | systemd | openrc | runit | none) ;; *) misused "no init $init" ;; esac
case $prefix in *[!A-Za-z0-9/_.-]*) misused "--prefix can't be $prefix: letters, digits and /_.- only" ;; esac
[ -z "$root" ] || [ -d "$root" ] || fail "$root is no folder"
[ -z "$root" ] || [ -z "$start" ] || misused "--start starts nothing in --root"
[ -n "$dry" ] || [ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "be root, or look with --dry-run"

list=$prefix/share/ancsd/files # what was installed, one path a line
if [ -z "$root" ] && [ -e /var/lib/dpkg/info/ancsd.list ] && [ -e /usr/bin/ancsd ]; then
    fail "the Debian package ancsd is installed here: apt upgrades it; or apt remove ancsd, and run this again"
fi

# Which program starts services here: the one that runs, or else the one that is installed.
found_init() {
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then echo systemd
    elif [ -x "$root/sbin/openrc-run" ] || [ -x "$root/usr/sbin/openrc-run" ]; then echo openrc
    elif [ -d "$root/etc/runit" ]; then echo runit
    elif [ -x "$root/lib/systemd/systemd" ] || [ -x "$root/usr/lib/systemd/systemd" ]; then echo systemd
    else echo none; fi
}
[ -n "$init" ] || init=$(found_init)

# files: what is installed: its mode, where it is in this folder, and its path.
files() {
    echo "755 ancsd $prefix/bin/ancsd"
    echo "755 install.sh $prefix/share/ancsd/install.sh"
    case $init in
        systemd) echo "644 service/ancsd.service $prefix/lib/systemd/system/ancsd.service" ;;
        openrc) echo "755 service/ancsd.openrc /etc/init.d/ancsd" ;;
        runit)
            echo "755 service/runit/run /etc/sv/ancsd/run"
            echo "755 service/runit/finish /etc/sv/ancsd/finish"
            echo "755 service/runit/log/run /etc/sv/ancsd/log/run"
            ;;
    esac
    (cd "$here" && find share -type f) | sort | while read -r file; do echo "644 $file $prefix/$file"; done
}

# Bluetoothd takes every phone's connection, so that it is one or the other.
bluetoothd_runs() { grep -qsx bluetoothd /proc/[0-9]*/comm; }

service() {
    case $init in
        systemd)
            case $1 in
                start) systemctl daemon-reload && systemctl enable --quiet ancsd && systemctl restart ancsd ;;
                stop) ! systemctl --quiet is-enabled ancsd 2>/dev/null || systemctl disable --quiet --now ancsd || true ;;
            esac
            ;;
        openrc)
            case $1 in
                start) rc-update --quiet add ancsd default && rc-service ancsd restart ;;
                stop)
                    rc-service --quiet ancsd stop || true
                    rc-update --quiet --all delete ancsd 2>/dev/null || true
                    ;;
            esac
            ;;
        runit)
            case $1 in
                start) if [ -e "$services/ancsd" ]; then sv restart ancsd; else ln -s /etc/sv/ancsd "$services/ancsd"; fi ;;
                stop)
                    [ ! -L "$services/ancsd" ] || { sv force-shutdown ancsd >/dev/null || true; rm "$services/ancsd"; }
                    # runit's own notes on the service.
                    rm -rf /etc/sv/ancsd/supervise /etc/sv/ancsd/log/supervise
                    ;;
            esac
            ;;
    esac
}
# Where runit looks for services: Void's folder, and that of others.
for services in /var/service /etc/service /service; do [ ! -d $services ] || break; done

how_to_start() {
    case $init in
        systemd) echo "systemctl daemon-reload && systemctl enable ancsd && systemctl restart ancsd" ;;
        openrc) echo "rc-update add ancsd default && rc-service ancsd restart" ;;
        runit) echo "ln -s /etc/sv/ancsd $services/, or sv restart ancsd" ;;
        none) echo "$prefix/bin/ancsd run --state-dir=/var/lib/ancsd --socket=/run/ancsd/control.sock --format=json >/dev/null" ;;
    esac
}

if [ -n "$uninstall" ]; then
    [ -e "$root$list" ] || fail "$root$list is not there: nothing was installed by this script${root:+ in $root}; see --prefix"
    echo "install.sh: this will be taken away:"
    if [ "$init" != none ] && [ -z "$root" ]; then say "stop    the service ancsd of $init, if it runs"; fi
    while read -r file; do say "remove  $root$file"; done <"$root$list"
    say "keep    /var/lib/ancsd (the bonds), /etc/ancsd (settings), the user ancsd; in case they are not wanted:"
    say "        rm -r /var/lib/ancsd /etc/ancsd; userdel ancsd, or deluser ancsd"
    [ -z "$dry" ] || exit 0
    [ -n "$root" ] || service stop
    while read -r file; do rm -f "$root$file"; done <"$root$list"
    # Folders of its own, once nothing is in them; the deepest first.
    folders=$(sed 's|/[^/]*$||' "$root$list" | grep '/ancsd\(/\|$\)' | sort -ru)
    rm "$root$list"
    for folder in $folders; do rmdir "$root$folder" 2>/dev/null || true; done
    [ "$init" != systemd ] || [ -n "$root" ] || systemctl daemon-reload 2>/dev/null || true
    echo "install.sh: done"
    exit 0
fi

# What can go wrong is looked at before anything is done.
"$here/ancsd" --version >/dev/null 2>&1 || [ -n "$root" ] ||
    fail "$here/ancsd does not run here ($(uname -m)): this is the archive for another processor"
has_user() { grep -q '^ancsd:' "$root/etc/passwd" 2>/dev/null; }
has_group() { grep -q '^ancsd:' "$root/etc/group" 2>/dev/null; }
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then
    has useradd || has adduser || fail "there is neither useradd nor adduser: make the user ancsd and its group, and run this again"
fi
case $init in
    openrc | runit)
        [ -n "$root" ] || setpriv --help 2>&1 | grep -q -- --reuid ||
            fail "the service needs setpriv of util-linux (Alpine: apk add setpriv; Debian and Void: util-linux), by which it gives up root"
        ;;
esac

echo "install.sh: this will be done, for $init:"
files | while read -r mode source path; do
    if [ -e "$root$path" ]; then say "replace $root$path"; else say "write   $root$path"; fi
done
# What an earlier version had and this one has not.
left=""
if [ -e "$root$list" ]; then
    left=$(while read -r file; do files | grep -q " $file\$" || echo "$file"; done <"$root$list")
    for file in $left; do say "remove  $root$file (of an earlier version)"; done
fi
if [ -e "$root/etc/ancsd/ancsd.toml" ]; then say "keep    $root/etc/ancsd/ancsd.toml"; else say "write   $root/etc/ancsd/ancsd.toml"; fi
[ ! -d "$root/var/lib/ancsd" ] || say "keep    $root/var/lib/ancsd (the bonds)"
if has_user; then :
elif [ -n "$root" ]; then say "make    no user: the image has to have the user and the group ancsd"
elif [ "$init" != none ]; then say "make    the user and the group ancsd"; fi
if [ -n "$start" ] && [ "$init" != none ]; then say "start   the service ancsd of $init"; fi
[ -z "$dry" ] || exit 0

# put MODE SOURCE PATH: a file that is in use is replaced as a whole; the services name the program where it is.
put() {
    mkdir -p "$root$(dirname "$3")" || return
    case $2 in
        service/*) sed "s|/usr/bin/ancsd|$prefix/bin/ancsd|g" "$here/$2" >"$root$3.new" ;;
        *) cp "$here/$2" "$root$3.new" ;;
    esac && chmod "$1" "$root$3.new" && mv "$root$3.new" "$root$3"
}
make_user() {
    if has useradd; then
        nobody=/usr/sbin/nologin
        [ -e $nobody ] || nobody=/bin/false
        if has_group; then groups="--gid ancsd"; else groups=--user-group; fi
        # shellcheck disable=SC2086 # two words
        useradd --system $groups --home-dir /var/lib/ancsd --no-create-home --shell $nobody ancsd
    else
        has_group || addgroup -S ancsd
        adduser -S -D -H -h /var/lib/ancsd -s /bin/false -G ancsd ancsd
    fi
}
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then make_user || fail "the user ancsd could not be made"; fi
files | while read -r mode source path; do put "$mode" "$source" "$path" || exit 1; done || fail "not everything could be written; what is missing stands above"
[ -e "$root/etc/ancsd/ancsd.toml" ] || put 644 ancsd.toml /etc/ancsd/ancsd.toml
for file in $left; do rm -f "$root$file"; done
files | cut -d ' ' -f 3 >"$root$list.new" && mv "$root$list.new" "$root$list"

if [ -n "$start" ] && [ "$init" != none ]; then
    if bluetoothd_runs; then
        echo "install.sh: bluetoothd runs here, and both would take the phone's connections: it stays, and ancsd is not started."
        echo "install.sh: to have ancsd instead, end and disable bluetoothd, and: $(how_to_start)"
        exit 0
    fi
    service start || fail "the service could not be started; its log says why (docs: $prefix/share/doc/ancsd/service.md)"
    echo "install.sh: done; ancsd status says what it waits for"
else
    echo "install.sh: done; nothing was started. To start it: $(how_to_start)"
    ! bluetoothd_runs || echo "install.sh: bluetoothd runs here, and takes every phone's connection: it has to be ended and disabled before"
fi
