#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the program of this folder, ancsd or ancsd-mqtt, on any Linux, or takes it away again. It says first what it will
# do with each file. It starts and stops no service but the program's own, and never touches bonds or settings that are there.
#
#   ./install.sh                 the program, its manual, and a service for systemd, OpenRC or runit, whichever is here
#   ./install.sh --start         the same; then the service is enabled, and started or restarted
#   ./install.sh --uninstall     takes away what was installed; bonds, settings and the service's user stay
#
#   --dry-run        only says what would be done
#   --init NAME      systemd, openrc, runit or none, in place of what is found
#   --prefix DIR     where the program goes (default: /usr/local)
#   --root DIR       a root file system that is being made, as for an image: files go below it, and no user is made
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local root="" init="" dry="" start="" uninstall=""
program=ancsd # or ancsd-mqtt: scripts/tarball writes here which of them is in the folder

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

# What differs between the two.
case $program in
    ancsd) settings=ancsd.toml kept="the bonds" also="" ;;
    # Its service uses the daemon's control socket as a member of the group.
    ancsd-mqtt) settings=conf.d/mqtt.toml kept="the names of phones" also=", and the group ancsd" ;;
esac
list=$prefix/share/$program/files # what was installed, one path a line
if [ -z "$root" ] && [ -e /var/lib/dpkg/info/$program.list ] && [ -e /usr/bin/$program ]; then
    fail "the Debian package $program is installed here: apt upgrades it; or apt remove $program, and run this again"
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
    echo "755 $program $prefix/bin/$program"
    echo "755 install.sh $prefix/share/$program/install.sh"
    case $init in
        systemd) echo "644 service/$program.service $prefix/lib/systemd/system/$program.service" ;;
        openrc)
            echo "755 service/$program.openrc /etc/init.d/$program"
            echo "644 service/$program.logrotate /etc/logrotate.d/$program"
            ;;
        runit)
            echo "755 service/runit/run /etc/sv/$program/run"
            echo "755 service/runit/finish /etc/sv/$program/finish"
            echo "755 service/runit/log/run /etc/sv/$program/log/run"
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
                start) systemctl daemon-reload && systemctl enable --quiet $program && systemctl restart $program ;;
                stop) ! systemctl --quiet is-enabled $program 2>/dev/null || systemctl disable --quiet --now $program || true ;;
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
        runit)
            case $1 in
                start) if [ -e "$services/$program" ]; then sv restart $program; else ln -s /etc/sv/$program "$services/$program"; fi ;;
                stop)
                    [ ! -L "$services/$program" ] || { sv force-shutdown $program >/dev/null || true; rm "$services/$program"; }
                    # runit's own notes on the service.
                    rm -rf /etc/sv/$program/supervise /etc/sv/$program/log/supervise
                    ;;
            esac
            ;;
    esac
}
# Where runit looks for services: Void's folder, and that of others.
for services in /var/service /etc/service /service; do [ ! -d $services ] || break; done

how_to_start() {
    case $init in
        systemd) echo "systemctl daemon-reload && systemctl enable $program && systemctl restart $program" ;;
        openrc) echo "rc-update add $program default && rc-service $program restart" ;;
        runit) echo "ln -s /etc/sv/$program $services/, or sv restart $program" ;;
        none)
            case $program in
                ancsd) echo "$prefix/bin/ancsd run --state-dir=/var/lib/ancsd --socket=/run/ancsd/control.sock --format=json >/dev/null" ;;
                ancsd-mqtt) echo "$prefix/bin/ancsd-mqtt --state-dir=/var/lib/ancsd-mqtt --socket=/run/ancsd/control.sock" ;;
            esac
            ;;
    esac
}

if [ -n "$uninstall" ]; then
    [ -e "$root$list" ] || fail "$root$list is not there: nothing was installed by this script${root:+ in $root}; see --prefix"
    echo "install.sh: this will be taken away:"
    if [ "$init" != none ] && [ -z "$root" ]; then say "stop    the service $program of $init, if it runs"; fi
    while read -r file; do say "remove  $root$file"; done <"$root$list"
    say "keep    /var/lib/$program ($kept), /etc/ancsd (settings), the user $program; in case they are not wanted:"
    case $program in ancsd) mine=/etc/ancsd ;; *) mine=/etc/ancsd/$settings ;; esac
    say "        rm -r /var/lib/$program $mine; userdel $program, or deluser $program"
    [ -z "$dry" ] || exit 0
    [ -n "$root" ] || service stop
    while read -r file; do rm -f "$root$file"; done <"$root$list"
    # Folders of its own, once nothing is in them; the deepest first.
    folders=$(sed 's|/[^/]*$||' "$root$list" | grep "/$program\(/\|\$\)" | sort -ru)
    rm "$root$list"
    for folder in $folders; do rmdir "$root$folder" 2>/dev/null || true; done
    [ "$init" != systemd ] || [ -n "$root" ] || systemctl daemon-reload 2>/dev/null || true
    echo "install.sh: done"
    exit 0
fi

# What can go wrong is looked at before anything is done.
"$here/$program" --version >/dev/null 2>&1 || [ -n "$root" ] ||
    fail "$here/$program does not run here ($(uname -m)): this is the archive for another processor"
has_user() { grep -q "^$program:" "$root/etc/passwd" 2>/dev/null; }
has_group() { grep -q "^$1:" "$root/etc/group" 2>/dev/null; }
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then
    has useradd || has adduser || fail "there is neither useradd nor adduser: make the user $program and its group, and run this again"
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
if [ -e "$root/etc/ancsd/$settings" ]; then say "keep    $root/etc/ancsd/$settings"; else say "write   $root/etc/ancsd/$settings"; fi
[ ! -d "$root/var/lib/$program" ] || say "keep    $root/var/lib/$program ($kept)"
if has_user; then :
elif [ -n "$root" ]; then say "make    no user: the image has to have the user and the group $program$also"
elif [ "$init" != none ]; then say "make    the user and the group $program$also"; fi
if [ -n "$start" ] && [ "$init" != none ]; then say "start   the service $program of $init"; fi
[ -z "$dry" ] || exit 0

# put MODE SOURCE PATH: a file that is in use is replaced as a whole; the services name the program where it is.
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
if ! has_user && [ -z "$root" ] && [ "$init" != none ]; then make_user || fail "the user $program could not be made"; fi
files | while read -r mode source path; do put "$mode" "$source" "$path" || exit 1; done || fail "not everything could be written; what is missing stands above"
[ -e "$root/etc/ancsd/$settings" ] || put 644 "${settings#conf.d/}" "/etc/ancsd/$settings"
for file in $left; do rm -f "$root$file"; done
files | cut -d ' ' -f 3 >"$root$list.new" && mv "$root$list.new" "$root$list"

# hindrance: what keeps the service from being started: one of two daemons that take the phone, or settings that are missing.
hindrance() {
    case $program in
        ancsd)
            ! bluetoothd_runs ||
                echo "bluetoothd runs here, and takes every phone's connection: it has to be ended and disabled before"
            ;;
        ancsd-mqtt)
            grep -qs '^[[:space:]]*\[mqtt\]' "$root/etc/ancsd/ancsd.toml" "$root"/etc/ancsd/conf.d/*.toml ||
                echo "the bridge needs the name of a broker before: $root/etc/ancsd/$settings says how it is given"
            ;;
    esac
}
hindrance=$(hindrance)
if [ -n "$start" ] && [ "$init" != none ] && [ -z "$hindrance" ]; then
    service start || fail "the service could not be started; its log says why (docs: $prefix/share/doc/$program)"
    echo "install.sh: done; ancsd status says what it waits for"
else
    echo "install.sh: done; nothing was started. To start it: $(how_to_start)"
    [ -z "$hindrance" ] || echo "install.sh: $hindrance"
fi
