# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Debian's packages for the scripts that source this: installed, or of another release or processor and only unpacked.
# They define `say`, which prints a line, and set `cache`, a folder in which what is unpacked is kept.

# shellcheck source=/dev/null
codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || codename=

fail() { say "$@"; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# apt's lists are fetched at most once a run, and only if they are needed.
updated=
update() {
    [ -z "$updated" ] || return 0
    updated=1
    as_root apt-get update -qq >&2 || fail "apt-get update failed; the first run needs the package mirror"
}

install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ "${#missing[@]}" = 0 ] && return 0
    update
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
        fail "could not install ${missing[*]}; as root: apt-get install ${missing[*]}"
}

# Other releases of Debian, and other processors, have their own apt lists, so that the machine's remain unchanged. The
# mirror is the machine's.
apt=()
mirror() {
    apt-get indextargets --format "\$(CODENAME) \$(SITE)" "Created-By: Packages" |
        awk -v c="$1" '$1 == c {print $2; exit}'
}
# use_sources NAME: apt takes source packages from there, and from its security updates, from now on.
use_sources() { kind=deb-src use_release "$1"; }
# use_release NAME [PROCESSOR]: apt takes packages from there from now on.
use_release() {
    local site lists=$cache/apt/$1${2:+-$2}${kind:+-sources}
    site=$(mirror "$codename")
    [ -n "$site" ] || { update; site=$(mirror "$codename"); }
    [ -n "$site" ] || fail "apt knows no mirror for $codename, where $1 would be"
    mkdir -p "$lists/lists/partial"
    local held="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" security
    echo "${kind:-deb} $held $site $1 main" >"$lists/sources.list"
    security=$(mirror "$codename-security")
    [ -z "${kind:-}" ] || [ -z "$security" ] || echo "$kind $held $security $1-security main" >>"$lists/sources.list"
    apt=(-o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$lists/lists"
        -o "Dir::Cache::pkgcache=$lists/pkgcache.bin" -o "Dir::Cache::srcpkgcache=$lists/srcpkgcache.bin"
        -o "APT::Sandbox::User=$(id -un)" -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none)
    [ -z "${2:-}" ] || apt+=(-o "APT::Architecture=$2" -o "APT::Architectures::=$2")
    apt-get "${apt[@]}" update -qq >&2 || fail "could not read the package list of $1"
}

# download DIR PACKAGE...: unpacks the packages' files into DIR, without installing them. Whose each file is goes to the file
# `owners`, where that is set.
download() {
    local into=$1 debs deb; debs=$(mktemp -d "$cache/debs.XXXXXX")
    shift
    (cd "$debs" && apt-get "${apt[@]}" download -qq "$@" >/dev/null 2>&1) || fail "could not download $*"
    rm -rf "$into.new"
    for deb in "$debs"/*.deb; do
        dpkg -x "$deb" "$into.new"
        [ -z "${owners:-}" ] || dpkg-deb --fsys-tarfile "$deb" | tar t |
            awk -v name="$(dpkg-deb --field "$deb" Package)" '!/\/$/ { sub(/^\.\//, ""); print $0, name }' >>"$owners"
    done
    rm -rf "$debs" "$into"
    mv "$into.new" "$into"
}
