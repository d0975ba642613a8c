# shellcheck shell=bash
# How each package of scripts/packages-test is built (package_NAME), how its own
# tests are run (tests_NAME), and how to tell the result of each test. To be
# sourced, after lib.sh.
#
# The functions run in a fresh copy of the sources, with the compilers $CC, $CXX
# and $FC and with $BUILD_RUST in cargo's place, each of which may be several words,
# and $FLAGS. tests_NAME writes a
# line for each test: PASS, FAIL or SKIP, and a name.

. "$ROOT/scripts/corpus-programs.sh"
TABLES+=("$ROOT/scripts/packages.txt")

# shellcheck disable=SC2034  # read by those who source this
ALL_PACKAGES="zlib bzip2 lua gzip libpng m4 gawk zstd sqlite perl python fmt catch2 leveldb re2 lapack postgresql regex serde_json zlib-sanitized lua-sanitized sanitizers zstd-lto leveldb-thinlto"

# Flags of the packages that are built once more with sanitizers: zlib-sanitized.
# shellcheck disable=SC2034
SANITIZED="-O1 -g -w -fsanitize=address,undefined"

# sources PACKAGE: its folder in $CORPUS/src.
sources() {
    case $1 in
    lua) say lupa/third-party/lua54 ;;
    *) say "$1" ;;
    esac
}

# needs PACKAGE: Debian packages that building and testing it takes.
needs() {
    case $1 in
    sqlite) say tcl tcl-dev ;;
    fmt) say cmake googletest ;;
    leveldb) say cmake googletest libbenchmark-dev ;;
    catch2) say cmake ;;
    libpng | python) say zlib1g-dev ;;
    re2) say unicode-data ;;
    zstd) say file zlib1g-dev ;;
    lua) say libreadline-dev ;;
    lapack) say flang-22 ;;
    postgresql) say bison flex ;;
    *-sanitized | sanitizers) say libclang-rt-22-dev ;;
    *-lto | *-thinlto | regex | serde_json) say lld-22 ;;
    esac
}

# -- What tests said -------------------------------------------------------

# automake_results: of what `make check` has left in and below the current folder.
automake_results() {
    # shellcheck disable=SC2016  # awk's
    find . -name '*.trs' -print0 | xargs -r -0 awk '
        sub(/^:test-result: /, "") {
            name = FILENAME; sub(/^\.\//, "", name); sub(/\.trs$/, "", name)
            print ($1 == "PASS" || $1 == "XFAIL" ? "PASS" : $1 == "SKIP" ? "SKIP" : "FAIL"), name
        }'
}

# gtest_results: of the output of programs that use GoogleTest, by themselves or below `ctest -V`.
gtest_results() {
    sed -E -n 's/^([0-9]+: )?//; s/^\[       OK \] ([^ ]+).*\(.*ms\)$/PASS \1/p
        s/^\[  FAILED  \] ([^ ]+),?.*\(.*ms\)$/FAIL \1/p; s/^\[  SKIPPED \] ([^ ]+).*\(.*ms\)$/SKIP \1/p'
}

# ctest_results: of the output of ctest, whose lines have numbers, names, dots and results.
ctest_results() {
    sed -E -n 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.*( *)(.*[^ ]) +[0-9.]+ sec.*$/\3 \1/p' |
        sed -E 's/^Passed /PASS /; t; s/^\*\*\*Skipped /SKIP /; t; s/^.* ([^ ]+)$/FAIL \1/'
}

# stages STATUS: of tests that stop where they fail. Standard input has a line for each that was begun.
stages() {
    awk -v status="$1" 'NR > 1 { print "PASS", name } { name = $0 } END { if (NR) print (status ? "FAIL" : "PASS"), name }'
}

# tell NAME COMMAND...: a test that is one command.
tell() {
    local name=$1
    shift
    if "$@" >&2; then say "PASS $name"; else say "FAIL $name"; fi
}

# as_nobody COMMAND...: without root's rights, in the current folder.
as_nobody() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
        return
    fi
    chown -R nobody:nogroup .
    setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$PWD" "$@"
}

# -- The packages ----------------------------------------------------------

package_zlib() {
    CC="$CC" CFLAGS="$FLAGS" ./configure
    make all infcover
}

# infcover is upstream's test of inflate by cases that no compressor makes.
tests_zlib() {
    tell static make teststatic
    tell shared make testshared
    tell 64 make test64
    tell infcover ./infcover
}

package_bzip2() { make bzip2 bzip2recover CC="$CC" CFLAGS="$FLAGS -D_FILE_OFFSET_BITS=64"; }

# The makefile stops at the first difference; we look at all.
tests_bzip2() {
    local sample
    make -i test CC="$CC" CFLAGS="$FLAGS -D_FILE_OFFSET_BITS=64" >&2
    for sample in sample1 sample2 sample3; do
        tell "compress $sample" cmp $sample.bz2 $sample.rb2
        tell "decompress $sample" cmp $sample.tst $sample.ref
    done
}

# Twice: as users build it, and with the assertions and the counting allocator
# of its authors, with which the tests look into the machine.
package_lua() {
    # One test reads a process's number behind what that process prints: unless it begins later, either may be first.
    sed -i "s|'%s -e \"%s\" & echo \$!'|'(sleep 1; exec %s -e \"%s\") \& echo \$!'|" testes/main.lua
    cp -a . ../internal
    mv ../internal .
    lua_build .
    lua_build internal "-DLUA_USER_H='\"ltests.h\"'"
}

# lua_build FOLDER FLAG...
lua_build() {
    local folder=$1
    shift
    make -C "$folder" CC="$CC" CFLAGS="$FLAGS -std=c99 -DLUA_USE_LINUX -DLUA_USE_READLINE $*" MYLDFLAGS="$FLAGS -Wl,-E" \
        MYLIBS="-ldl -lreadline"
    make -C "$folder/testes/libs" CC="$CC" CFLAGS="$FLAGS -std=gnu99 -I../../ -fPIC -shared $*"
}

tests_lua() {
    lua_suite .
    lua_suite internal
}

# lua_suite FOLDER: one program runs all files, until one fails.
lua_suite() {
    local output=lua-${1/./plain}.out status=0
    # Standard input has to be something that cannot be positioned.
    (cd "$1/testes" && ulimit -S -s 1100 && true | ../lua -W all.lua) >"$output" 2>&1 || status=$?
    cat "$output" >&2
    grep -q '^final OK' "$output" || status=1
    sed -n "s/^\*\*\*\*\* FILE '\(.*\)'.*/\1/p" "$output" | sed "s|^|${1/./plain} |" | stages "$status"
}

package_gzip() {
    configured
    make_kept
}

tests_gzip() {
    make_kept check >&2 || true
    automake_results
}

package_libpng() {
    configured
    make_kept
}

tests_libpng() {
    make_kept check >&2 || true
    automake_results
}

package_m4() {
    configured
    make_kept
}

# Its own checks are the examples of the manual; the others are gnulib's.
tests_m4() {
    make_kept -k check >m4.out 2>&1 || true
    cat m4.out >&2
    awk '/^Checking / { checked[++n] = $2 }
        /^Skipped checks were:/ { kind = "SKIP" } /^Failed checks were:/ { kind = "FAIL" }
        kind && /^  / { for (i = 1; i <= NF; i++) result["./" $i] = kind }
        END { for (i = 1; i <= n; i++) print (checked[i] in result ? result[checked[i]] : "PASS"), checked[i] }' m4.out
    automake_results
}

package_gawk() {
    configured --disable-mpfr --disable-nls --without-readline
    # Debian leaves the manual out of the tarball.
    make_kept -C support
    make_kept gawk
    make_kept -C extension
}

# A test that passes removes what it wrote.
tests_gawk() {
    local name
    make_kept -k -C test check >gawk.out 2>&1 || true
    cat gawk.out >&2
    sed -n 's/^\([a-z][A-Za-z0-9_-]*\)\( .*\)\{0,1\}$/\1/p' gawk.out | sort -u | while read -r name; do
        grep -q "^$name:" test/Makefile || continue
        if [ -e "test/_$name" ]; then say "FAIL $name"; else say "PASS $name"; fi
    done
}

package_zstd() {
    make -C tests zstd datagen fuzzer zstreamtest poolTests invalidDictionaries decodecorpus CC="$CC" MOREFLAGS="$FLAGS" \
        DEBUGFLAGS="" HAVE_LZMA=0 HAVE_LZ4=0
}

# What its own `make test` does, but for its benchmark and the hours of fuzzing.
tests_zstd() {
    local status=0
    cd tests || return
    EXE_PREFIX="" ZSTD_BIN=../programs/zstd DATAGEN_BIN=./datagen ./playTests.sh >play.out 2>&1 || status=$?
    cat play.out >&2
    sed -n 's/^===> */cli: /p' play.out | stages "$status"
    ./cli-tests/run.py --zstd=../programs/zstd --datagen=./datagen >cli.out 2>&1 || true
    cat cli.out >&2
    # It says some twice.
    sed -n -E 's/^(PASS|FAIL|SKIP): (.*)/\1 \2/p' cli.out | sort -u
    tell fuzzer ./fuzzer -v -s1 -i500
    tell zstreamtest ./zstreamtest -v -s1 -i100
    tell "zstreamtest, new interface" ./zstreamtest --newapi -t1 -s1 -i100
    tell poolTests ./poolTests
    tell invalidDictionaries ./invalidDictionaries
    tell decodecorpus ./decodecorpus -t -n500 -s1
}

package_sqlite() {
    ./configure CC="$CC" CFLAGS="$FLAGS" --disable-readline --with-tcl="$(tcl_folder)"
    make testfixture
}

tcl_folder() { dirname "$(find /usr/lib -name tclConfig.sh | head -n 1)"; }

# Its quick set, a quarter of a million tests.
tests_sqlite() {
    # It refuses to run as root.
    as_nobody ./testfixture test/extraquick.test --verbose=file --output=tests.out >&2 || true
    tail -n 20 tests.out >&2
    # Some of pager1's tests have a file name's length in theirs, and the builds' folders have names of different lengths.
    sed -n -e 's/^\(.*\)\.\.\. Ok$/PASS \1/p' -e 's/^! \(.*\) expected: .*/FAIL \1/p' tests.out | sed 's/\(pager1-16\.1\)\.[0-9]*$/\1/'
}

package_perl() {
    ./Configure -des -Dcc="$CC" -Doptimize="$FLAGS" -Dprefix=/usr -Dusedl
    make perl
    make test_prep
}

# The language itself; libraries, mostly in Perl, are left out.
tests_perl() {
    cd t || return
    ./perl TEST base/*.t cmd/*.t comp/*.t opbasic/*.t op/*.t re/*.t io/*.t uni/*.t mro/*.t >perl.out 2>&1 || true
    cat perl.out >&2
    sed -n -E 's/^(t\/)?([a-z]+\/[^ ]*[^ .]) ?\.+ ?ok.*/PASS \2/p; s/^(t\/)?([a-z]+\/[^ ]*[^ .]) ?\.+ ?skipped.*/SKIP \2/p
        s/^(t\/)?([a-z]+\/[^ ]*[^ .]) ?\.+.*FAILED.*/FAIL \2/p' perl.out
}

package_python() {
    ./configure CC="$CC" OPT="-DNDEBUG -fwrapv $FLAGS" --without-ensurepip
    make
}

# Without what needs minutes, a network, a display or a compiler, and what depends on how busy the machine is.
tests_python() {
    ./python -m test -j1 --timeout 600 -x test_asyncio test_bigmem test_concurrent_futures test_cppext test_distutils \
        test_ensurepip test_faulthandler test_gdb test_idle test_io test_largefile test_lib2to3 test_multiprocessing_fork \
        test_multiprocessing_forkserver test_multiprocessing_spawn test_peg_generator test_regrtest test_signal test_socket \
        test_ssl test_subprocess test_threading test_tk test_tools test_urllib2net test_venv test_zipfile64 \
        >python.out 2>&1 || true
    cat python.out >&2
    sed -n -E 's/^[0-9:]+ load avg: .* (test_[A-Za-z0-9_]+) ([a-z]+).*/\2 \1/p' python.out |
        sed -E 's/^passed/PASS/; t; s/^skipped/SKIP/; t; s/^(.*) (test_)/FAIL \2/' | sort -u
}

# made FLAG...: by CMake, which takes compilers of several words from the environment only.
made() {
    # An archiver of another LLVM cannot read bitcode.
    CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS" cmake -S . -B made -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_AR="$(command -v "${AR:-ar}")" -DCMAKE_RANLIB="$(command -v "${RANLIB:-ranlib}")" "$@"
    make -C made
}

tests_made() {
    (cd made && ctest -V) >made.out 2>&1 || true
    cat made.out >&2
    ctest_results <made.out
    gtest_results <made.out
}

# What fmt would have brought along, and LevelDB too.
GOOGLETEST=/usr/src/googletest

package_fmt() {
    # Debian leaves GoogleTest out of the tarball.
    mkdir -p test/gtest
    cat >test/gtest/CMakeLists.txt <<EOF
find_package(Threads REQUIRED)
add_library(gtest STATIC $GOOGLETEST/googletest/src/gtest-all.cc $GOOGLETEST/googlemock/src/gmock-all.cc)
target_include_directories(gtest SYSTEM PUBLIC $GOOGLETEST/googletest/include $GOOGLETEST/googlemock/include
    PRIVATE $GOOGLETEST/googletest $GOOGLETEST/googlemock)
target_compile_features(gtest PUBLIC cxx_std_14)
target_link_libraries(gtest Threads::Threads)
EOF
    made -DFMT_DOC=OFF
}
tests_fmt() { tests_made; }

package_catch2() { made -DCATCH_BUILD_EXAMPLES=OFF -DCATCH_ENABLE_WERROR=OFF; }
tests_catch2() { tests_made; }

package_leveldb() {
    rm -rf third_party/googletest third_party/benchmark
    ln -s "$GOOGLETEST" third_party/googletest
    # A test has a benchmark in it.
    mkdir third_party/benchmark
    printf '%s\n' 'add_library(benchmark INTERFACE)' 'target_link_libraries(benchmark INTERFACE -l:libbenchmark.so)' \
        >third_party/benchmark/CMakeLists.txt
    made -DLEVELDB_BUILD_BENCHMARKS=OFF -DHAVE_SNAPPY=0 -DHAVE_TCMALLOC=0 -DCMAKE_CXX_STANDARD=14
}

# Without a test that looks at tables which may have been compacted in the background by then: 6% of the time it fails on a
# busy machine, whoever has compiled it.
tests_leveldb() { GTEST_FILTER=-DBTest.HiddenValuesAreRemoved tests_made; }

package_re2() {
    # Debian leaves out what is made of Unicode's tables, and has these.
    sed -i 's|"https://[^"][^"]*"|"/usr/share/unicode"|' re2/unicode.py
    # shellcheck disable=SC2046  # names are words
    make $(re2_programs) REBUILD_TABLES=1 CXX="$CXX" CXXFLAGS="$FLAGS -std=c++14"
}

# What its `make test` runs; of the big ones, the one that takes seconds.
re2_programs() {
    local name
    for name in charclass compile filtered_re2 mimics_pcre parse possible_match re2 re2_arg regexp required_prefix search \
        set simplify string_generator dfa; do
        say "obj/test/${name}_test"
    done
}

# A program for each.
tests_re2() {
    local program
    for program in $(re2_programs); do tell "$(basename "$program")" "$program"; done
}

# What is not built by default needs other packages.
package_postgresql() {
    ./configure CC="$CC" CFLAGS="$FLAGS" --without-readline --without-zlib --without-icu
    make
}

# Against a server of its own, which refuses to run as root.
tests_postgresql() {
    as_nobody make check >postgresql.out 2>&1 || true
    cat postgresql.out >&2
    sed -n -E 's/^(test)? +([a-z0-9._-]+) +\.\.\. ok .*/PASS \2/p; s/^(test)? +([a-z0-9._-]+) +\.\.\. (FAILED|failed).*/FAIL \2/p' postgresql.out
}

# -- Rust ------------------------------------------------------------------

# Without the tests in documentation, which rustdoc compiles as it likes.
package_crate() { $BUILD_RUST test --release --lib --tests --no-run; }

# A line for each test.
tests_crate() {
    $BUILD_RUST test --release --lib --tests --no-fail-fast >tests.out 2>&1 || true
    cat tests.out >&2
    sed -n -E 's/^test (.*) \.\.\. ok$/PASS \1/p; s/^test (.*) \.\.\. FAILED$/FAIL \1/p; s/^test (.*) \.\.\. ignored.*/SKIP \1/p' tests.out |
        sort -u
}

# Its fuzz tests are not published.
package_regex() {
    sed -i '/^mod fuzz;/d' tests/lib.rs
    package_crate
}
tests_regex() { tests_crate; }

package_serde_json() { package_crate; }
tests_serde_json() { tests_crate; }

# -- Sanitizers ------------------------------------------------------------

# Small programs with one fault each, all of which are to be reported.
package_sanitizers() {
    local source
    for source in *.c; do
        # shellcheck disable=SC2046,SC2086  # flags are words
        $CC $FLAGS $(sed -n 's|^// flags: ||p' "$source") "$source" -o "${source%.c}"
    done
}

# What is reported is part of the name: both compilers have to find the same at the same line.
tests_sanitizers() {
    local source report expected
    for source in *.c; do
        report=$("./${source%.c}" 2>&1 | tee /dev/stderr | sed -n 's/^SUMMARY: //p' | sed "s|$PWD/||; s|(.*+0x[^)]*) *||" | head -n 1) || true
        expected=$(sed -n 's|^// report: ||p' "$source")
        case $report in
        *"$expected"*"$source:"*) say "PASS ${source%.c}: $report" ;;
        *) say "FAIL ${source%.c}: ${report:-no report}" ;;
        esac
    done
}

# Half of it, real and complex numbers of double precision; the rest is the same with single precision.
package_lapack() {
    local part
    # Flang's procedures may all be recursive.
    sed -e "s|^FC = .*|FC = $FC|" -e "s|^FFLAGS = .*|FFLAGS = $FLAGS|" -e "s|^CC = .*|CC = $CC|" -e "s|-frecursive||" \
        make.inc.example >make.inc
    for part in BLAS/SRC SRC TESTING/MATGEN BLAS/TESTING TESTING/LIN TESTING/EIG; do
        make -C $part double complex16
    done
}

# A line of theirs is about up to some thousand tests.
tests_lapack() {
    local type level
    for type in d z; do
        (cd BLAS/TESTING && "./xblat1$type" >"${type}blat1.out") || true
        for level in 2 3; do (cd BLAS/TESTING && "./xblat$level$type" <"${type}blat$level.in") >&2 || true; done
    done
    make -k -C TESTING double complex16 >&2 || true
    awk '/^ Test of subprogram/ { tested = $NF }
        /- PASS -/ { $0 = tested " passed the test" }
        { $1 = $1; said = tolower($0) }
        said ~ / passed the / { print "PASS", FILENAME ": " $0 }
        said ~ /fail/ { print "FAIL", FILENAME ": " $0 }' BLAS/TESTING/*.out TESTING/*.out
}
