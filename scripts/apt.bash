# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Provides Debian packages to the scripts that source this: installed, or from another release or processor and only unpacked.
# The scripts define `say`, which prints a line. `cache` is the folder for unpacked packages, unless they have set another.
: "${cache:=${XDG_CACHE_HOME:-$HOME/.cache}/ancsd-lab}"

# shellcheck source=/dev/null
codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || codename=

fail() { say "$@"; exit 1; }
# Asks for a password only where somebody can type it.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif [ -t 0 ]; then sudo "$@"
    else sudo -n "$@"; fi
}

# patiently COMMAND...: runs apt-get, and again while another one holds its locks, for ten minutes. apt itself waits only for
# dpkg's lock, not for that of its lists.
patiently() {
    local said status end=$((SECONDS + 600))
    said=$(mktemp)
    while :; do
        status=0
        LC_ALL=C "$@" 2>"$said" || status=$?
        if [ $status = 0 ] || [ $SECONDS -ge $end ] || ! grep -q 'Could not get lock\|Unable to lock' "$said"; then break; fi
        sleep 1
    done
    cat "$said" >&2
    rm "$said"
    return $status
}

# Fetches apt's lists at most once per run, and only if needed.
updated=
update() {
    [ -z "$updated" ] || return 0
    updated=1
    patiently as_root apt-get update -qq >&2 || fail "apt-get update failed; the first run needs the package mirror"
}

install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ "${#missing[@]}" = 0 ] && return 0
    update
    say "installing ${missing[*]}"
    patiently as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
        fail "could not install ${missing[*]}; as root: apt-get install ${missing[*]}"
}

# Other releases of Debian and other processors have their own apt lists, so the machine's remain unchanged. They use the
# machine's mirror.
apt=()
mirror() {
    apt-get indextargets --format "\$(CODENAME) \$(SITE)" "Created-By: Packages" |
        awk -v c="$1" '$1 == c {print $2; exit}'
}
# use_sources NAME: makes apt take source packages from this release and its security updates, which sid has none of.
use_sources() { kind=deb-src use_release "$1"; }
# use_release NAME [PROCESSOR]: makes apt take packages from this release.
use_release() {
    local site lists=$cache/apt/$1${2:+-$2}${kind:+-sources}
    site=$(mirror "$codename")
    [ -n "$site" ] || { update; site=$(mirror "$codename"); }
    [ -n "$site" ] || fail "apt has no mirror for $codename from which to take $1"
    mkdir -p "$lists/lists/partial"
    local held="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" security
    echo "${kind:-deb} $held $site $1 main" >"$lists/sources.list"
    security=$(mirror "$codename-security")
    [ -z "${kind:-}" ] || [ "$1" = sid ] || [ -z "$security" ] || echo "$kind $held $security $1-security main" >>"$lists/sources.list"
    apt=(-o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$lists/lists"
        -o "Dir::Cache::pkgcache=$lists/pkgcache.bin" -o "Dir::Cache::srcpkgcache=$lists/srcpkgcache.bin"
        -o "APT::Sandbox::User=$(id -un)" -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none)
    [ -z "${2:-}" ] || apt+=(-o "APT::Architecture=$2" -o "APT::Architectures::=$2")
    patiently apt-get "${apt[@]}" update -qq >&2 || fail "could not read the package list of $1"
}

# download DIR PACKAGE...: unpacks the packages' files into DIR, without installing them. If `owners` is set, that file lists
# the package of each file.
download() {
    local into=$1 debs deb; debs=$(mktemp -d "$cache/debs.XXXXXX")
    shift
    (cd "$debs" && patiently apt-get "${apt[@]}" download -qq "$@" >/dev/null 2>&1) || fail "could not download $*"
    rm -rf "$into.new"
    for deb in "$debs"/*.deb; do
        dpkg -x "$deb" "$into.new"
        [ -z "${owners:-}" ] || dpkg-deb --fsys-tarfile "$deb" | tar t |
            awk -v name="$(dpkg-deb --field "$deb" Package)" '!/\/$/ { sub(/^\.\//, ""); print $0, name }' >>"$owners"
    done
    rm -rf "$debs" "$into"
    mv "$into.new" "$into"
}
