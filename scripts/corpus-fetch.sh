# shellcheck shell=bash
# Fetches the sources of the programs in $TABLES to $CORPUS/src, as upstream
# tarballs of Debian source packages. An entry pypi:PACKAGE in a table is one of
# Python's source packages instead, crate:PACKAGE one of Rust's. To be sourced, after lib.sh.

CORPUS=${CORPUS:-$ROOT/corpus}
TABLES=("$ROOT/scripts/corpus-programs.txt")
# Where each package's version was last seen: the archive does not keep all of them.
SUITES="bookworm trixie sid"

# field NAME COLUMN: of the line of a program (2 package, 3 version, 4 checksum, 5 the one folder that is wanted, if not all are).
field() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "${TABLES[@]}"; }

# alone: one at a time in a corpus, since what one builds another would remove. Held until the last child has ended.
alone() {
    mkdir -p "$CORPUS"
    exec 9>"$CORPUS/lock"
    flock --nonblock 9 && return
    say "another script is at work in $CORPUS: waiting for it"
    flock 9
}

# A private apt: Debian's archive as the machine's own lines name it, with lists
# and caches of its own, so that no file of the system is changed.
apt_private() {
    local command=$1
    shift
    "$command" -qq \
        -o Dir::Etc::sourcelist="$CORPUS/apt/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$CORPUS/apt/lists" -o Dir::Cache="$CORPUS/apt/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

apt_setup() {
    local archive suite
    [ -s "$CORPUS/apt/sources.list" ] && return
    mkdir -p "$CORPUS/apt/lists/partial" "$CORPUS/apt/cache/archives/partial"
    # The archive is known only once the lists are there, and a fresh machine has none.
    [ -n "$(archives)" ] || as_root apt-get update -qq
    archive=$(archives | head -n 1)
    [ -n "$archive" ] || die "apt knows no archive of Debian's"
    for suite in $SUITES; do say "deb-src $archive $suite main"; done >"$CORPUS/apt/sources.list.new"
    mv "$CORPUS/apt/sources.list.new" "$CORPUS/apt/sources.list"
    # A suite that is gone leaves the others.
    apt_private apt-get update || warn "not all of these suites could be read: $SUITES"
}

archives() {
    # shellcheck disable=SC2016  # apt expands this
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u
}

versions() { apt_private apt-cache showsrc "$1" | sed -n 's/^Version: //p' | sort -ruV; }

# A private Python, whose pip fetches what is packaged there.
get_pip() {
    [ -x "$CORPUS/tools/bin/pip" ] && return
    if is_debian; then need python3-venv; else command -v python3 >/dev/null || die "this needs python3 with venv"; fi
    rm -rf "$CORPUS/tools"
    mkdir -p "$CORPUS"
    python3 -m venv "$CORPUS/tools"
}

# download PROGRAM: the upstream tarball in the current folder, and its version in a file.
# What Debian changed is not taken: the programs are built as their authors wrote them.
download() {
    local package pinned choice
    package=$(field "$1" 2) pinned=$(field "$1" 3)
    case $package in
    pypi:*)
        get_pip >>log
        "$CORPUS/tools/bin/pip" download -q --no-deps --no-binary :all: "${package#pypi:}==$pinned" >>log 2>&1 || return 1
        say "$pinned" >version
        return
        ;;
    crate:*)
        get_crate "${package#crate:}" "$pinned" >>log 2>&1 || return 1
        say "$pinned" >version
        return
        ;;
    esac
    for choice in "$pinned" $(versions "$package"); do
        apt_private apt-get source --download-only --tar-only "$package=$choice" >>log 2>&1 || continue
        say "$choice" >version
        [ "$choice" = "$pinned" ] || warn "note: $1: version $pinned is not there, this is $choice"
        return
    done
    return 1
}

# get_crate NAME VERSION: as cargo has it, in a tarball in the current folder.
get_crate() {
    mkdir -p src
    touch src/lib.rs
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$1" "$2" >Cargo.toml
    cargo vendor -q vendor
    tar -czf "$1.tar.gz" -C vendor --exclude .cargo-checksum.json "$1"
}

# tarball: the one in the current folder that has the sources.
tarball() { find . \( -name '*.orig.tar.*' -o -name '*.tar.gz' \) ! -name '*.asc' ! -name '*.orig-*' | head -n 1; }

# fetch PROGRAM: 1 if there is no source.
fetch() {
    local program=$1 folder=$CORPUS/download/$1 new=$CORPUS/unpack-$1 part
    [ -d "$CORPUS/src/$program" ] && return
    is_debian || die "$program: sources are fetched as Debian source packages; unpack them to $CORPUS/src/$program by hand"
    apt_setup
    say "fetching $program"
    rm -rf "$folder" "$new"
    mkdir -p "$folder" "$new" "$CORPUS/src"
    (cd "$folder" && download "$program") || {
        say "SKIP all    $program: no version of $(field "$program" 2) could be fetched: ${folder#"$ROOT"/}/log"
        return 1
    }
    check_sum "$program" "$folder"
    part=$(field "$program" 5)
    tar -C "$new" -xf "$folder/$(cd "$folder" && tarball)" ${part:+--wildcards "*/$part"} || die "$program: the tarball does not unpack"
    # Some tarballs have a folder at the top, some have none.
    if [ "$(find "$new" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]; then
        mv "$new"/* "$CORPUS/src/$program"
        rmdir "$new"
    else
        mv "$new" "$CORPUS/src/$program"
    fi
}

# check_sum PROGRAM FOLDER: the pinned version is what it was; another has been checked by apt alone.
check_sum() {
    local sum
    [ "$(cat "$2/version")" = "$(field "$1" 3)" ] && [ "$(field "$1" 4)" != - ] || return 0
    sum=$(sha256sum "$2/$(cd "$2" && tarball)" | cut -d ' ' -f 1)
    [ "$sum" = "$(field "$1" 4)" ] || die "$1: the tarball has changed: its sha256 is $sum"
}
