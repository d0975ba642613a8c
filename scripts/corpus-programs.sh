# shellcheck shell=bash
# How each program of the corpus is built, what it is linked with, and for what it
# cannot be built. To be sourced. The sources are listed in corpus-programs.txt;
# those of the numeric programs are testdata/numeric.
#
# A configuration is one of these, at -O2 but for O0 and O3:
#
#   x86-64, i386       the programs of corpus-programs.txt
#   O0, O3             the small ones of these, for x86-64
#   v3                 all programs, for x86-64-v3 (AVX2, FMA, BMI2)
#   v4                 the numeric ones, for x86-64-v4 (AVX-512)
#   profile            as x86-64, and
#   v3-profile         as v3, with a profile of their workloads

. "$ROOT/scripts/corpus-fetch.sh"
CLANG=${CLANG:-clang-22}
CONFIGS=${CONFIGS:-x86-64 i386 O0 O3 v3 v4 profile v3-profile}
NUMERIC=$ROOT/testdata/numeric

NUMERIC_PROGRAMS=$(basename -a "$NUMERIC"/*.c* | sed 's/\..*//' | tr '\n' ' ')
is_numeric() { [[ " $NUMERIC_PROGRAMS" = *" $1 "* ]]; }

# All of the table but what is only linked into another one or included, and the numeric ones.
PROGRAMS=${PROGRAMS:-$(awk '/^[^#]/ && $1 != "gmp" && $1 != "eigen" { print $1 }' "${TABLES[0]}" | tr '\n' ' ')$NUMERIC_PROGRAMS}

# pairs: each program of $PROGRAMS with each of $CONFIGS that it is built for, a line each.
pairs() {
    local program config
    for config in $CONFIGS; do
        case $config in
        x86-64 | i386 | O[0-3] | v3 | v4 | profile | v3-profile) ;;
        *) die "no configuration of the corpus: $config" ;;
        esac
        for program in $PROGRAMS; do
            is_numeric "$program" || [ -n "$(field "$program" 2)" ] || die "no program of the corpus: $program"
            if built_for "$program" "$config"; then say "$program $config"; fi
        done
    done
}

suite() { if is_numeric "$1"; then say numeric; else say corpus; fi; }

# built_for PROGRAM CONFIG
built_for() {
    case $(suite "$1")-$2-$1 in
    numeric-v?*) ;;
    numeric-*) return 1 ;;
    corpus-O?-sqlite | corpus-O?-lua | corpus-O?-zlib | corpus-O?-bzip2 | corpus-O?-gzip) ;;
    corpus-O?-* | corpus-v4-*) return 1 ;;
    esac
}

# bitcode PROGRAM CONFIG: where the whole program is.
bitcode() {
    case $2 in
    x86-64) say "$CORPUS/$1.bc" ;;
    i386) say "$CORPUS/$1.i386.bc" ;;
    *) say "$CORPUS/$2/$1.bc" ;;
    esac
}

# reference PROGRAM CONFIG: what clang's back end makes of the same bitcode.
reference() { say "$CORPUS/ref/$2/$1"; }

width_flag() { case $1 in i386) say -m32 ;; *) say -m64 ;; esac; }
level_flag() { case $1 in O?) say "-$1" ;; *) say -O2 ;; esac; }
machine_flag() { case $1 in v?*) say "-march=x86-64-${1%-profile}" ;; esac; }
is_profiled() { case $1 in *profile) ;; *) false ;; esac; }

# runs_here CONFIG: whether this processor has the instructions.
runs_here() {
    case $1 in
    v?*) /lib64/ld-linux-x86-64.so.2 --help | grep -q "x86-64-${1%-profile} (supported" ;;
    esac
}

# The functions below run in a fresh copy of the sources, whose executable they
# make with $CC and $FLAGS; the last line says where it is.

# What is older than its source by the clock of an unpacked tarball is not made anew.
make_kept() { make "$@" ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=: MAKEINFO=:; }

# configured FLAG...: for packages with autoconf's script. Its checks need no bitcode.
configured() {
    WLLVM_CONFIGURE_ONLY=1 ./configure CC="$CC" CFLAGS="$FLAGS" --disable-dependency-tracking "$@"
}

# Libraries that a program needs and that are programs or packages of their own: sources beside it.
beside() { cp -a "$CORPUS/src/$1" "$1"; }

build_gzip() {
    # longest_match in C, not in assembly.
    gzip_cv_assembler=no configured
    make_kept -C lib
    make_kept version.c version.h gzip
    executable=gzip
}

build_bzip2() {
    make bzip2 CC="$CC" CFLAGS="$FLAGS -D_FILE_OFFSET_BITS=64"
    executable=bzip2
}

build_link_grammar() {
    # There is no configure script in the tarball: what it would find out is said here.
    local version=5.13.0 features=link-grammar/link-features.h file
    sed -e "s/@LINK_MAJOR_VERSION@/5/; s/@LINK_MINOR_VERSION@/13/; s/@LINK_MICRO_VERSION@/0/" \
        -e 's/@[A-Z_]*@//g' "$features.in" >"$features"
    flex -o link-grammar/post-process/pp_lexer.c link-grammar/post-process/pp_lexer.l
    # shellcheck disable=SC2086
    for file in $(find link-grammar link-parser -name '*.c' | grep -vE 'malloc-dbg|aspell-memleak|pc-display|link-generator|generator-util|dict-atomese' | LC_ALL=C sort); do
        $CC $FLAGS -I. -Ilink-grammar -Ilink-grammar/post-process -D_GNU_SOURCE -DHAVE_STRNDUP -DHAVE_STRTOK_R \
            -DHAVE_SIGACTION -DHAVE_ASPRINTF -DHAVE_ALIGNED_ALLOC -DHAVE_POSIX_MEMALIGN -DHAVE_REGEX_H -DHAVE_REGEXEC \
            -DHAVE_LOCALE_T_IN_LOCALE_H -DHAVE_STDATOMIC_H -DHAVE_THREADS_H -D__STDC_FORMAT_MACROS \
            -DVERSION="\"$version\"" -DDICTIONARY_DIR='"/usr/share/link-grammar"' -DCC='"clang"' \
            -c "$file" -o "$(tr / - <<<"${file%.c}").o"
    done
    # shellcheck disable=SC2086
    $CC $FLAGS link-*.o -lm -o parser
    executable=parser
}

build_gap() {
    local abi=64
    [ "$1" != i386 ] || abi=32
    beside gmp
    # The manual is not in Debian's tarball, its makefile is asked for.
    mkdir -p gmp/doc && : >gmp/doc/Makefile.in
    (cd gmp && ABI=$abi configured --disable-shared --disable-assembly && make_kept SUBDIRS="mpn mpz mpq mpf printf scanf rand .")
    beside zlib
    (cd zlib && WLLVM_CONFIGURE_ONLY=1 CC="$CC" CFLAGS="$FLAGS" ./configure --static && make libz.a)
    # GAP looks for installed libraries.
    mkdir -p installed/include installed/lib
    cp gmp/gmp.h zlib/zlib.h zlib/zconf.h installed/include
    cp gmp/.libs/libgmp.a zlib/libz.a installed/lib
    configured CXX="${CC/wllvm/wllvm++}" CXXFLAGS="$FLAGS" --with-gmp="$PWD/installed" --with-zlib="$PWD/installed" \
        --without-readline ABI=""
    make gap
    executable=gap
}

build_perl() {
    # Libraries that there are for both targets; nothing of what this machine is called and runs.
    WLLVM_CONFIGURE_ONLY=1 ./Configure -des -Dcc="$CC" -Doptimize="$FLAGS" -Dprefix=/usr -Uusedl -Dlibs=-lm -Ud_crypt \
        -Dlocincpth= -Dloclibpth= -Dmyhostname=localhost -Dmydomain=.localdomain -Dcf_email=root -Dperladmin=root -Dosvers=0 -Dmyuname=linux
    make miniperl
    executable=miniperl
}

build_tcc() {
    local cpu=x86_64
    [ "$1" != i386 ] || cpu=i386
    ./configure --cc="$CC" --extra-cflags="$FLAGS" --cpu="$cpu"
    make tcc
    executable=tcc
}

build_phalanx() {
    make phalanx CC="$CC" CFLAGS="$FLAGS --std=gnu89 -D_GNU_SOURCE"
    executable=phalanx
}

# The amalgamation: one module of the whole library, as most of its users compile it.
build_sqlite() {
    WLLVM_CONFIGURE_ONLY=1 ./configure CC="$CC" --disable-tcl --disable-readline
    make sqlite3.c shell.c
    # shellcheck disable=SC2086
    $CC $FLAGS -I. -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE \
        -DSQLITE_ENABLE_MATH_FUNCTIONS -DHAVE_READLINE=0 sqlite3.c shell.c -lm -o sqlite
    executable=sqlite
}

build_lua() {
    make -C src lua CC="$CC" CFLAGS="$FLAGS -DLUA_USE_POSIX -DLUA_COMPAT_5_3" LIBS=-lm
    executable=src/lua
}

build_zlib() {
    WLLVM_CONFIGURE_ONLY=1 CC="$CC" CFLAGS="$FLAGS" ./configure --static
    make minigzip
    executable=minigzip
}

build_zstd() {
    make -C programs zstd CC="$CC" CFLAGS="$FLAGS" ZSTD_NO_ASM=1 ZSTD_LEGACY_SUPPORT=0 BACKTRACE=0 \
        HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 HAVE_THREAD=0
    executable=programs/zstd
}

build_lz4() {
    make -C programs lz4 CC="$CC" CFLAGS="$FLAGS"
    executable=programs/lz4
}

# two_ways ENCODER DECODER FLAG...: both programs as one; testdata/support/two_ways.c says why.
two_ways() {
    local encoder=$1 decoder=$2
    shift 2
    cp "$ROOT/testdata/support/two_ways.c" .
    # shellcheck disable=SC2086
    $CC $FLAGS "$@" -Dmain=encode_main -Dusage=encode_usage -Dstrict=encode_strict -Dreport=encode_report -c "$encoder" -o encoder.o
    # shellcheck disable=SC2086
    $CC $FLAGS "$@" -Dmain=decode_main -c "$decoder" -o decoder.o
    # shellcheck disable=SC2086
    $CC $FLAGS -c two_ways.c
}

build_libpng() {
    local file
    beside zlib
    cp scripts/pnglibconf.h.prebuilt pnglibconf.h
    # shellcheck disable=SC2086
    for file in png*.c zlib/*.c; do
        [ "$file" = pngtest.c ] || $CC $FLAGS -Izlib -DHAVE_UNISTD_H -c "$file"
    done
    two_ways contrib/pngminus/pnm2png.c contrib/pngminus/png2pnm.c -I. -Izlib
    rm -f libpng.a
    ar rcs libpng.a png*.o
    ar rcs libz.a adler32.o compress.o crc32.o deflate.o gz*.o inf*.o trees.o uncompr.o zutil.o
    $CC two_ways.o encoder.o decoder.o libpng.a libz.a -lm -o png
    executable=png
}

build_libjpeg_turbo() {
    WLLVM_CONFIGURE_ONLY=1 cmake -S . -B made -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_C_FLAGS="${CC#* } $FLAGS" \
        -DCMAKE_BUILD_TYPE=None -DWITH_SIMD=0 -DENABLE_SHARED=0 -DWITH_TURBOJPEG=0
    make -C made jpeg-static
    two_ways cjpeg.c djpeg.c -Imade -I. -DPPM_SUPPORTED -DBMP_SUPPORTED -DGIF_SUPPORTED -DTARGA_SUPPORTED
    # shellcheck disable=SC2086
    $CC $FLAGS -Imade -I. -DPPM_SUPPORTED -DBMP_SUPPORTED -DGIF_SUPPORTED -DTARGA_SUPPORTED -c cdjpeg.c rdswitch.c \
        rdppm.c rdbmp.c rdgif.c rdtarga.c rdcolmap.c wrppm.c wrbmp.c wrgif.c wrtarga.c
    $CC two_ways.o encoder.o decoder.o cdjpeg.o rd*.o wr*.o made/libjpeg.a -o jpeg
    executable=jpeg
}

build_m4() {
    configured
    make_kept -C lib
    make_kept -C src m4
    executable=src/m4
}

build_mawk() {
    configured
    make mawk
    executable=mawk
}

build_gawk() {
    configured --disable-mpfr --disable-extensions --disable-nls --without-readline --disable-pma
    make_kept -C support
    make_kept gawk
    executable=gawk
}

build_picosat() {
    CC="$CC" CFLAGS="$FLAGS -DNDEBUG" ./configure.sh
    make picosat
    executable=picosat
}

build_libgsm() {
    make bin/toast CC="$CC" LD="$CC" CCFLAGS="-c $FLAGS -DNeedFunctionPrototypes=1"
    executable=bin/toast
}

build_numeric() {
    local source
    source=$(echo "$program".c*)
    case $source in *.cpp) CC=${CC/wllvm/wllvm++} ;; esac
    # shellcheck disable=SC2086
    $CC $FLAGS -I"$CORPUS/src/eigen" -c "$source" -o "$program.o"
    $CC "$program.o" -lm -o "$program"
    executable=$program
}

# tools PROGRAM: Debian packages that building it takes, beyond compilers and make.
tools() {
    case $1 in
    sqlite) say tcl ;;
    link-grammar) say flex ;;
    gap) say m4 ;; # gmp's configure script asks for it
    libjpeg-turbo) say cmake ;;
    esac
}

# not_for PROGRAM CONFIG: says why it cannot be built, where that is known.
not_for() { :; }

# link_program PROGRAM CONFIG EXECUTABLE OBJECT...
link_program() {
    local program=$1 config=$2 executable=$3 libraries=()
    shift 3
    case $program in
    sqlite | lua | gap | perl | link-grammar | mawk | gawk | libpng) libraries=(-lm) ;;
    tcc) libraries=(-lm -ldl -lpthread) ;;
    eigen) libraries=(-lstdc++) ;;
    esac
    # So that spilled x87 values round as unspilled ones do; the file says why.
    [ "$config" != i386 ] || libraries+=("$ROOT/testdata/support/x87_double.c")
    ! is_numeric "$program" || libraries+=(-lm)
    "$CLANG" "$(width_flag "$config")" -w "$@" "${libraries[@]}" -o "$executable"
}
