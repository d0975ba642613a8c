# shellcheck shell=bash
# Functions that the scripts share. To be sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
    warn "error: $*"
    exit 1
}

# Seconds since the epoch, with a fraction where bash has one.
now() { printf '%s' "${EPOCHREALTIME:-$(date +%s.%N)}"; }

# elapsed START: seconds since START, to two places.
elapsed() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

# as_root COMMAND...: runs it with the rights that apt-get needs.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root and there is no sudo: $*"
    fi
}

# installed PACKAGE: whether Debian's package is installed.
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need PACKAGE...: installs whichever Debian packages are missing. Touches
# neither the network nor root's rights where none is.
need() {
    local package missing=()
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "Installing: ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

is_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }
