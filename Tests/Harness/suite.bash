# SPDX-License-Identifier: GPL-3.0-or-later
# What scripts/suite and scripts/lab share. They set `suite` to a package beside this folder, define `usage`, and source this
# file. If they define `chosen`, it may choose another suite by their options.
# shellcheck shell=bash disable=SC2034,SC2154
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=${suite,,} runner=$root/Tests/Harness/run.py
binary="" list="" cases=()

fail() { echo "$name: $*" >&2; exit 1; }
misused() { echo "$name: $*" >&2; usage >&2; exit 64; }

# parse "VALUES" "FLAGS" ARGUMENT...: sets the variable of each option's name, `cases` to the runner's
# arguments, `python` to an interpreter that knows Bumble, and `out` to the folder for results. Besides the options named there are --binary, --case, --list and --help.
parse() {
    local values=" binary $1 " flags=" list $2 " option known
    shift 2
    while [ $# -gt 0 ]; do
        option=${1#--}
        case $1 in
            -h | --help) usage; exit 0 ;;
            --case)
                shift
                while [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; do cases+=("$1"); shift; done
                [ "${#cases[@]}" -gt 0 ] || misused "--case needs a name; --list prints them" ;;
            --*)
                if [[ $flags == *" $option "* ]]; then
                    printf -v "$option" %s yes; shift
                elif [[ $values == *" $option "* ]]; then
                    [ $# -ge 2 ] || misused "$1 needs a value"
                    printf -v "$option" %s "$2"; shift 2
                else
                    misused "unknown option $1"
                fi ;;
            *) misused "unknown option $1" ;;
        esac
    done
    ! declare -F chosen >/dev/null || chosen
    out=$root/.build/${suite,,}
    [ -n "$runner" ] || return 0
    # The names need no ancsd and no virtual machine.
    python=$("$root/scripts/tools" venv) || exit 1
    [ "${#cases[@]}" = 0 ] || cases=(--case "${cases[@]}")
    known=$("$python" "$runner" "$suite" --list "${cases[@]}") || misused "$known"
    if [ -n "$list" ]; then echo "$known"; exit 0; fi
}

# find_binary [PROCESSOR]: sets `binary` to the ancsd to run, built if it was not named.
find_binary() {
    if [ -z "$binary" ]; then
        binary=$root/.build/${1:+$1/}release/ancsd
        if [ ! -x "$binary" ]; then
            echo "$name: building ancsd" >&2
            "$root/scripts/build" ${1:+--arch "$1"} >&2 || fail "ancsd does not build"
        fi
    fi
    [ -x "$binary" ] || fail "$binary does not exist, or is not executable"
    binary=$(realpath "$binary")
}
