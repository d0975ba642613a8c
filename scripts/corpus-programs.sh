# shellcheck shell=bash
# What is known about each program of the corpus: where its source comes from,
# how its headers are made, which files it is made of, how it links. Sourced.

CORPUS=$ROOT/corpus
CLANG=${CLANG:-clang-22}
PROGRAMS=${PROGRAMS:-sqlite lua zlib bzip2 gzip}
CONFIGS=${CONFIGS:-O0 O2 O3 m32}

source_package() {
    case $1 in
    sqlite) say sqlite3 ;;
    lua) say lua5.4 ;;
    *) say "$1" ;;
    esac
}

config_flags() {
    case $1 in
    O0 | O1 | O2 | O3 | Os) say "-$1" ;;
    m32) say "-m32 -O2" ;;
    *) die "unknown configuration: $1" ;;
    esac
}

width() { case $1 in m32) say 32 ;; *) say 64 ;; esac; }
width_flag() { case $1 in m32) say -m32 ;; *) say "" ;; esac; }

# The amalgamation: one module of the whole library, as most of its users compile it.
configure_sqlite() {
    command -v tclsh >/dev/null || need tcl
    ./configure CC="$CLANG $1" --disable-tcl --disable-readline
    make sqlite3.c shell.c
}
# Debian's rules write this header; the folder that it names is never looked into.
configure_lua() { say '#define DEB_HOST_MULTIARCH "none"' >src/lua5.4-deb-multiarch.h; }
configure_zlib() { CC="$CLANG $1" ./configure --static; }
configure_bzip2() { :; }
configure_gzip() {
    # longest_match in C, not in assembly. Generated files are older than what
    # Debian's patches touch: take them as they are.
    gzip_cv_assembler=no ./configure CC="$CLANG $1" --disable-dependency-tracking
    make -C lib CFLAGS=-O1 ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:
    make version.c version.h ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:
}

# sources PROGRAM: its C files, relative to the build folder, which is the current one.
sources() {
    case $1 in
    sqlite) say sqlite3.c shell.c ;;
    lua) find src -name '*.c' ! -name luac.c | sort ;;
    zlib) find . -maxdepth 1 -name '*.c' | sort; say test/minigzip.c ;;
    bzip2) say blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c bzip2.c ;;
    gzip) find . -maxdepth 1 -name '*.c' ! -name dfltcc.c | sort ;; # that one is for s390 alone
    esac
}

compile_flags() {
    case $1 in
    sqlite) say -I. -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_FTS5 \
        -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS -DHAVE_READLINE=0 ;;
    lua) say -Isrc -DLUA_USE_POSIX -DLUA_COMPAT_5_3 ;;
    zlib) say -I. -D_LARGEFILE64_SOURCE=1 -DHAVE_HIDDEN -DHAVE_UNISTD_H ;;
    bzip2) say -I. -D_FILE_OFFSET_BITS=64 ;;
    gzip) say -I. -Ilib -DHAVE_CONFIG_H ;;
    esac
}

# link PROGRAM CONFIG EXECUTABLE OBJECT...
link() {
    local program=$1 config=$2 executable=$3 libraries=()
    shift 3
    case $program in
    sqlite | lua) libraries=(-lm) ;;
    gzip) libraries=("$CORPUS/build/$(width "$config")/gzip/lib/libgzip.a") ;;
    esac
    # So that spilled x87 values round as unspilled ones do; the file says why.
    [ "$(width "$config")" = 64 ] || libraries+=("$ROOT/testdata/support/x87_double.c")
    # shellcheck disable=SC2046
    "$CLANG" $(config_flags "$config") "$@" "${libraries[@]}" -o "$executable"
}
