//! Tests of `chordal cc`, `chordal c++` and `chordal fc`, and of `chordal stats` on the statistics of a build.

use super::folder::{Folder, PROGRAM_PRINTS, assert_fails, chordal};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt};
use std::process::Command as Process;

const MAIN: &str = "#include \"square.h\"\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", square(N)); return 0; }\n";
const SQUARE: &str = "#include \"square.h\"\nint unused(int x) { return x + 1; }\nint square(int x) { return x * x; }\n";
const HEADER: &str = "#define N 12\nint square(int);\n";

fn sources() -> Folder {
    let folder = Folder::new();
    folder.write("main.c", MAIN);
    folder.write("square.c", SQUARE);
    folder.write("square.h", HEADER);
    folder
}

fn cc(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.chordal(&["cc"]);
    command.args(arguments);
    for variable in ["ALLOCATOR", "REGISTERS", "OPTIONS", "STATS", "CLANG"] {
        command.env_remove(format!("CHORDAL_{variable}"));
    }
    command
}

fn runs(folder: &Folder, program: &str, prints: &str) {
    assert_eq!(folder.run(&mut Process::new(folder.path(program))), prints);
}

#[test]
fn sources_become_a_program() {
    let folder = sources();
    cc(&folder, &["-O2", "main.c", "square.c", "-o", "p"]).assert().success().stdout("").stderr("");
    runs(&folder, "p", "144\n");
    assert_eq!(folder.files(), ["main.c", "p", "square.c", "square.h"]);
}

#[test]
fn objects_come_with_their_dependencies_and_are_linked() {
    let folder = sources();
    cc(&folder, &["-O2", "-g", "-c", "main.c", "square.c", "-MMD"]).assert().success().stderr("");
    assert_eq!(folder.files(), ["main.c", "main.d", "main.o", "square.c", "square.d", "square.h", "square.o"]);
    assert_eq!(folder.read("main.d"), b"main.o: main.c square.h\n");
    cc(&folder, &["main.o", "square.o", "-o", "p"]).assert().success().stderr("");
    runs(&folder, "p", "144\n");
}

/// The code is not clang's: with this few registers, clang's would look different.
#[test]
fn the_code_is_chordals() {
    let folder = sources();
    let assembly = |variables: &[(&str, &str)]| {
        let assert = cc(&folder, &["-S", "-O2", "square.c", "-o", "-"]).envs(variables.iter().copied()).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).expect("text")
    };
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "square.c", "-o", "square.bc"]));
    for (allocator, registers) in [("tuned", "all"), ("spill-free", "4")] {
        let compile = folder
            .chordal(&["compile", "square.bc", "--addrsig", "--allocator", allocator, "--registers", registers, "-o", "-"])
            .output();
        let expected = String::from_utf8(compile.expect("chordal starts").stdout).expect("text");
        assert_eq!(assembly(&[("CHORDAL_ALLOCATOR", allocator), ("CHORDAL_REGISTERS", registers)]), expected);
        let options = format!("--allocator '{allocator}' --registers \"{registers}\"");
        assert_eq!(assembly(&[("CHORDAL_OPTIONS", &options)]), expected);
    }
}

#[test]
fn what_clang_is_asked_for_besides_is_done() {
    let folder = sources();
    cc(&folder, &["-E", "square.c"]).assert().success().stdout(contains("int square(int x)"));
    cc(&folder, &["-M", "square.c"]).assert().success().stdout("square.o: square.c square.h\n");
    cc(&folder, &["--version"]).assert().success().stdout(contains("clang version 22"));
    cc(&folder, &["-fsyntax-only", "square.c"]).assert().success();
    assert_eq!(folder.files(), ["main.c", "square.c", "square.h"]);
    cc(&folder, &["-x", "c", "-O1", "-c", "-o", "stdin.o", "-"]).write_stdin("int f(void) { return 3; }").assert().success();
    folder.write("all.rsp", "-O1 -c square.c -o 'by file.o'");
    cc(&folder, &["@all.rsp"]).assert().success().stderr("");
    folder.write("data.s", ".globl number\nnumber: .long 3\n.section .note.GNU-stack,\"\",@progbits\n");
    folder.write("user.c", "extern int number; int main(void) { return number - 3; }");
    cc(&folder, &["-pipe", "user.c", "data.s", "-o", "p"]).assert().success().stderr("");
    runs(&folder, "p", "");
    cc(&folder, &["-save-temps", "-c", "square.c"]).assert().success();
    cc(&folder, &["-fno-integrated-as", "-m32", "-c", "square.c", "-o", "old.o"]).assert().success();
    for file in ["by file.o", "stdin.o", "square.i", "square.s", "square.o", "old.o"] {
        assert!(folder.path(file).exists(), "{file}");
    }
}

#[test]
fn c_plus_plus_with_exceptions_and_constructors() {
    let folder = Folder::new();
    folder.write(
        "p.cpp",
        "#include <cstdio>\n#include <stdexcept>\n#include <string>\n\
         struct Said { Said(const char *what) { std::puts(what); } };\n\
         Said first(\"first\"), second(\"second\");\n\
         static int parse(const std::string &text) { if (text.empty()) throw std::invalid_argument(\"empty\"); return text.size(); }\n\
         int main() { try { std::printf(\"%d\\n\", parse(\"four\")); parse(\"\"); }\n\
         catch (const std::exception &error) { std::puts(error.what()); } }\n",
    );
    folder.chordal(&["c++", "-O2", "p.cpp", "-o", "p"]).assert().success().stderr("");
    runs(&folder, "p", "first\nsecond\n4\nempty\n");
}

/// A stand-in for flang's driver: for a source in Fortran, it compiles the source in C of the same name.
const FLANG: &str = "#!/bin/sh
case $* in
*-###*) echo 'flang version 22.1.8' >&2; echo ' \"./flang\" \"-fc1\" \"-emit-obj\" \"-O2\" \"-o\" \"square.o\" \"square.f90\"' >&2 ;;
'-fc1 -emit-llvm-bc -O2 -o '*) exec clang-22 -O2 -emit-llvm -c square.c -o \"$5\" ;;
*) exit 3 ;;
esac
";

#[test]
fn fortran_goes_through_flang() {
    let folder = sources();
    folder.write("flang", FLANG);
    std::fs::set_permissions(folder.path("flang"), PermissionsExt::from_mode(0o755)).expect("the file is ours");
    let fc = || {
        let mut command = folder.chordal(&["fc", "-O2", "-c", "square.f90"]);
        command.envs([("CHORDAL_FLANG", "./flang"), ("CHORDAL_ALLOCATOR", "spill-free"), ("CHORDAL_STATS", "stats")]);
        command.assert()
    };
    fc().success().stdout("").stderr("");
    assert_eq!(folder.json("stats/square.o.json")["allocator"], "spill-free");
    cc(&folder, &["-O2", "main.c", "square.o", "-o", "p"]).assert().success().stderr("");
    runs(&folder, "p", "144\n");
    std::fs::remove_file(folder.path("square.c")).expect("it was there");
    fc().code(1).stderr(contains("no such file or directory: 'square.c'"));
    std::fs::remove_file(folder.path("flang")).expect("it was there");
    assert_fails(fc(), "chordal: error: ./flang: ", "No such file");
}

#[test]
fn sections_are_what_was_asked_for() {
    let folder = sources();
    let sections = |flags: &[&str]| {
        cc(&folder, &[&["-O2", "-c", "square.c"], flags].concat()).assert().success();
        folder.run(Process::new("readelf").args(["-SW", "square.o"])).contains(".text.unused")
    };
    assert!(!sections(&[]));
    assert!(sections(&["-ffunction-sections"]));
}

#[test]
fn failures_are_clangs_or_named() {
    let folder = sources();
    folder.write("bad.c", "int f( {");
    cc(&folder, &["-c", "bad.c"]).assert().code(1).stderr(contains("expected parameter declarator"));
    cc(&folder, &["-c", "nothere.c"]).assert().code(1).stderr(contains("no such file or directory: 'nothere.c'"));
    cc(&folder, &["-c", "square.c", "--no-such-flag"]).assert().code(1).stderr(contains("--no-such-flag"));
    cc(&folder, &["main.c", "-o", "p"]).assert().code(1).stderr(contains("undefined reference to `square'"));
    assert_fails(
        cc(&folder, &["-flto", "-c", "square.c"]).assert(),
        "chordal: error: -flto leaves code generation",
        "build without",
    );
    assert_fails(
        cc(&folder, &["-g", "-gsplit-dwarf", "-c", "square.c"]).assert(),
        "chordal: error: -gsplit-dwarf",
        "build without",
    );
    cc(&folder, &["-c", "square.c"]).env("CHORDAL_ALLOCATOR", "tunde").assert().code(2).stderr(contains("`tuned`"));
    let unclosed = "chordal: error: CHORDAL_OPTIONS: --no-check ': a quotation mark is not closed";
    assert_fails(cc(&folder, &["-c", "square.c"]).env("CHORDAL_OPTIONS", "--no-check '").assert(), unclosed, "");
    assert_eq!(folder.files(), ["bad.c", "main.c", "square.c", "square.h"]);
    cc(&folder, &["-c", "square.c", "-lm"]).assert().success().stderr(contains("warning: -lm: 'linker' input unused"));
}

/// A flag that chordal's code generation does not know is refused by name, and nothing is written.
#[test]
fn flags_that_would_be_ignored_are_refused() {
    let folder = sources();
    for (flags, name) in [
        ("-S -masm=intel", "-masm=intel"),
        ("-falign-loops=32", "-falign-loops"),
        ("-fPIC -mtls-dialect=gnu2", "-mtls-dialect=gnu2"),
        ("-femulated-tls", "-femulated-tls"),
        ("-fbasic-block-sections=all", "-fbasic-block-sections"),
        ("-fbasic-block-address-map", "-fbasic-block-address-map"),
        ("-fstack-size-section", "-fstack-size-section"),
        ("-fstack-usage", "-fstack-usage"),
        ("-gz", "-gz"),
        ("-gz=zlib", "-gz"),
        ("-Wa,--compress-debug-sections", "-gz"),
        ("-Wa,--allow-experimental-crel,--crel", "-Wa,--crel"),
        ("-Wa,--allow-experimental-sframe,--gsframe", "-Wa,--gsframe"),
        ("-Wa,-L", "-Wa,-L"),
        ("-Wa,-mrelax-relocations=no", "-Wa,-mrelax-relocations=no"),
        ("-mrelax-all", "-mrelax-all"),
        ("-fno-unique-section-names", "-fno-unique-section-names"),
        ("-fseparate-named-sections", "-fseparate-named-sections"),
        ("-fpartition-static-data-sections", "-fpartition-static-data-sections"),
        ("-fno-zero-initialized-in-bss", "-fno-zero-initialized-in-bss"),
        ("-fno-use-init-array", "-fno-use-init-array"),
        ("-fforce-dwarf-frame", "-fforce-dwarf-frame"),
        ("-fsjlj-exceptions", "an exception model other than DWARF's"),
        ("-fseh-exceptions", "an exception model other than DWARF's"),
        ("-fsplit-machine-functions", "-fsplit-machine-functions"),
        ("-fglobal-isel", "-fglobal-isel"),
        ("-fms-hotpatch", "-fms-hotpatch"),
        ("-fbinutils-version=2.20", "-fbinutils-version"),
        ("-fswift-async-fp=never", "-fswift-async-fp"),
        ("-fxray-instrument -fno-xray-function-index", "-fno-xray-function-index"),
        ("-fexperimental-call-graph-section", "-fexperimental-call-graph-section"),
        ("-mbranches-within-32B-boundaries", "-mbranches-within-32B-boundaries"),
        ("-malign-branch=jcc", "-malign-branch"),
        ("-malign-branch-boundary=32", "-malign-branch-boundary"),
        ("-mpad-max-prefix-size=3", "-mpad-max-prefix-size"),
        ("-g -glldb", "debug information for another debugger than gdb"),
        ("-g -gstrict-dwarf", "-gstrict-dwarf"),
        ("-g -gsplit-dwarf", "-gsplit-dwarf"),
        ("-g -fdebug-types-section", "-fdebug-types-section"),
        ("-Xclang -fjmc", "-fjmc"),
        ("-Xclang -mlimit-float-precision -Xclang 6", "-mlimit-float-precision"),
        ("-Xclang -mdebug-pass -Xclang Structure", "-mdebug-pass"),
        ("-S -fno-preserve-as-comments", "-fno-preserve-as-comments"),
        ("-fcodegen-data-generate", "-fcodegen-data-generate"),
        ("-MJ fragment.json", "-MJ"),
        ("-fproc-stat-report", "-fproc-stat-report"),
        ("-time", "-time"),
        ("-Rpass=regalloc", "-Rpass=regalloc: code generation's remarks"),
        ("-Rpass-missed=.*", "-Rpass-missed=.*: code generation's remarks"),
        ("-fsave-optimization-record", "-fsave-optimization-record: code generation's remarks"),
    ] {
        let flags: Vec<&str> = ["-c", "square.c", "-o", "square.o"].into_iter().chain(flags.split(' ')).collect();
        assert_fails(cc(&folder, &flags).assert(), &format!("chordal: error: {name}"), "build without it");
    }
    folder.write("all.rsp", "-c square.c -MJ fragment.json");
    assert_fails(cc(&folder, &["@all.rsp"]).assert(), "chordal: error: -MJ is not supported", "");
    assert_eq!(folder.files(), ["all.rsp", "main.c", "square.c", "square.h"]);
}

/// A flag is accepted if it states what holds anyway, or has its effect before code is generated.
#[test]
fn flags_that_change_nothing_are_not_refused() {
    let folder = sources();
    let flags = "-gz=none -masm=intel -ggdb -fbasic-block-sections=none -fno-stack-size-section -falign-loops=0 -fuse-init-array \
                 -fbinutils-version=none -fno-force-dwarf-frame -funique-section-names -mtls-dialect=gnu -Rpass=inline -fexceptions \
                 -fno-split-machine-functions -Wa,--noexecstack -foptimization-record-passes=inline -fswift-async-fp=always";
    let flags: Vec<&str> = ["-O2", "-c", "square.c"].into_iter().chain(flags.split_whitespace()).collect();
    cc(&folder, &flags).assert().success().stderr("");
    let threshold = ["-O2", "-mllvm", "-inline-threshold=3", "-c", "square.c"];
    cc(&folder, &threshold).assert().success().stderr(contains("warning: -mllvm -inline-threshold=3: reaches clang's part"));
}

/// The tables that clang's own objects have besides code.
#[test]
fn objects_have_the_tables_that_clangs_have() {
    let folder = sources();
    folder.write("caller.c", "int square(int);\nint f(int x) { return square(x + 1) + square(7); }\n");
    let sections = |flags: &[&str]| {
        cc(&folder, &[&["-O2", "-c", "caller.c"], flags].concat()).assert().success().stderr("");
        folder.run(Process::new("readelf").args(["-SW", "caller.o"]))
    };
    assert!(sections(&[]).contains(".llvm_addrsig"));
    assert!(!sections(&["-fno-addrsig"]).contains(".llvm_addrsig"));
    let parameters =
        || folder.run(Process::new("llvm-dwarfdump-22").arg("caller.o")).matches("DW_TAG_call_site_parameter").count();
    for (flags, some) in [
        (&["-g"][..], true),
        (&["-g", "-Os", "-m32", "-mregparm=3"], true),
        (&["-g", "-O0"], false),
        (&["-gline-tables-only"], false),
        (&["-g", "-gno-call-site-info"], false),
    ] {
        sections(flags);
        folder.run(Process::new("llvm-dwarfdump-22").args(["--verify", "caller.o"]));
        let ours = parameters();
        folder.run(Process::new("clang-22").args(["-O2", "-c", "caller.c"]).args(flags));
        assert_eq!((ours, ours > 0), (parameters(), some), "{flags:?}");
    }
}

/// A large variable is placed as the medium model has it from the requested size on.
#[test]
fn the_threshold_of_the_medium_model_counts() {
    let folder = Folder::new();
    folder.write("v.c", "char small[100] = {1}, large[100000] = {1};\n");
    let sections = |flags: &[&str]| {
        cc(&folder, &[&["-O2", "-fPIC", "-mcmodel=medium", "-fdata-sections", "-c", "v.c"], flags].concat()).assert().success();
        folder.run(Process::new("readelf").args(["-SW", "v.o"]))
    };
    let usual = sections(&[]);
    assert!(usual.contains(" .ldata.large") && usual.contains(" .data.small"), "{usual}");
    assert!(sections(&["-mlarge-data-threshold=10"]).contains(" .ldata.small"));
}

/// Warnings of code generation follow clang's flags.
#[test]
fn warnings_of_code_generation_are_as_clang_has_them() {
    let folder = Folder::new();
    folder.write("f.c", "int g(char *);\nint f(void) { char b[500]; return g(b); }\n");
    folder.write("c.c", "__attribute__((warning(\"do not\"))) int e(void);\nint f(void) { return e(); }\n");
    let ignored = "#pragma clang diagnostic ignored \"-Wframe-larger-than\"\n";
    folder.write("p.c", format!("int g(char *);\n{ignored}int f(void) {{ char b[500]; return g(b); }}\n"));
    let compile = |file: &str, flags: &str| {
        let always = ["-O2", "-c", file, "-o", "o.o", "-Wframe-larger-than=100"];
        let _ = std::fs::remove_file(folder.path("o.o"));
        cc(&folder, &always.into_iter().chain(flags.split_whitespace()).collect::<Vec<_>>()).assert()
    };
    for flags in ["", "-Werror -Wno-error", "-Werror -Wno-error=frame-larger-than", "-Werror=inline-asm"] {
        compile("f.c", flags).success().stderr(contains("warning: f.c: ").and(contains("(504) exceeds limit (100)")));
        assert!(folder.path("o.o").exists(), "{flags}");
    }
    for flags in ["-w", "-Wno-frame-larger-than", "-w -Werror=frame-larger-than", "-Werror -Wno-everything"] {
        compile("f.c", flags).success().stderr("");
    }
    for (file, flags, why) in [
        ("f.c", "-Werror", "[-Werror,-Wframe-larger-than]"),
        ("f.c", "-Werror=frame-larger-than", "[-Werror,-Wframe-larger-than]"),
        ("f.c", "-Wno-error -Werror", "[-Werror,-Wframe-larger-than]"),
        ("c.c", "-Werror", "[-Werror,-Wattribute-warning]"),
    ] {
        assert_fails(compile(file, flags), &format!("chordal: error: {file}: "), why);
        assert!(!folder.path("o.o").exists(), "{flags}");
    }
    compile("p.c", "-Werror").success().stderr("");
    let bitcode = ["-O2", "-emit-llvm", "-Wframe-larger-than=100", "-c", "f.c", "-o", "f.bc"];
    folder.run(Process::new("clang-22").args(bitcode));
    let refused = folder.chordal(&["compile", "f.bc", "-W", "error=frame-larger"]).assert();
    refused.code(2).stderr(contains("`frame-larger` is none of frame-larger-than, attribute-warning, inline-asm"));
}

/// `-###` prints what would be done; `-fdriver-only` does not even do that.
#[test]
fn what_is_only_to_be_shown_is_not_done() {
    let folder = sources();
    let shown = cc(&folder, &["-###", "-O2", "main.c", "square.c", "-o", "p"]).assert().success().stdout("");
    let shown = String::from_utf8(shown.get_output().stderr.clone()).expect("text");
    assert!(shown.contains("clang version 22."), "{shown}");
    for (words, times) in
        [(" \"-cc1\" ", 2), (" \"-emit-llvm-bc\" ", 2), (" \"chordal\" \"compile\" ", 2), (" \"--hash-style=gnu\" ", 1)]
    {
        assert_eq!(shown.lines().filter(|line| line.contains(words)).count(), times, "{words}: {shown}");
    }
    folder.write("all.rsp", "-### -c square.c");
    cc(&folder, &["@all.rsp"]).assert().success().stdout("").stderr(contains(" \"chordal\" \"compile\" "));
    cc(&folder, &["-fdriver-only", "-c", "square.c"]).assert().success();
    assert_eq!(folder.files(), ["all.rsp", "main.c", "square.c", "square.h"]);
}

/// A script in the folder that first does this, then becomes clang.
fn wrapper(folder: &Folder, does: &str) {
    folder.write("wrapped", format!("#!/bin/sh\n{does}\nexec clang-22 \"$@\"\n"));
    std::fs::set_permissions(folder.path("wrapped"), PermissionsExt::from_mode(0o755)).expect("the file is ours");
}

#[test]
fn a_compiler_that_is_no_clang_22_is_refused() {
    let folder = sources();
    for arguments in [&["-c", "square.c"][..], &["-dumpversion"], &["--version"], &["-E", "square.c"]] {
        let refused = cc(&folder, arguments).env("CHORDAL_CLANG", "gcc").assert();
        assert_fails(refused, "chordal: error: CHORDAL_CLANG: gcc is no clang 22: gcc", "");
    }
    wrapper(&folder, "");
    let version = cc(&folder, &["-dumpversion"]).env("CHORDAL_CLANG", "./wrapped").assert().success();
    version.stdout(predicate::str::starts_with("22."));
    cc(&folder, &["-c", "square.c"]).env("CHORDAL_CLANG", "").assert().success().stderr("");
}

/// clang is started once as a driver and then once as the compiler proper, which the driver names; there is no third start.
#[test]
fn the_driver_is_started_once() {
    let folder = sources();
    wrapper(&folder, "echo \"$@\" >>log");
    for (count, arguments) in [(1, &["-O2", "-c", "square.c"][..]), (2, &["-O2", "main.c", "square.c", "-o", "p"])] {
        cc(&folder, arguments).env("CHORDAL_CLANG", "./wrapped").assert().success().stderr("");
        assert_eq!(String::from_utf8(folder.read("log")).expect("text").lines().count(), count);
    }
    runs(&folder, "p", "144\n");
}

/// With the key, ccache tells allocators apart, and leaves compilations that must be counted to chordal.
#[test]
fn ccache_knows_of_the_environment_by_the_key() {
    let folder = sources();
    folder.write("p.c", super::folder::PROGRAM);
    let key = |variable: &str, value: &str| {
        let assert = cc(&folder, &["--cache-key"]).env(variable, value).assert().success().stderr("");
        String::from_utf8(assert.get_output().stdout.clone()).expect("text")
    };
    let variants = [("ALLOCATOR", ""), ("ALLOCATOR", "spill-free"), ("REGISTERS", "4"), ("OPTIONS", "--effort 0")];
    let keys = variants.map(|(variable, value)| key(&format!("CHORDAL_{variable}"), value));
    assert!((1..keys.len()).all(|i| !keys[..i].contains(&keys[i])), "{keys:?}");
    assert_eq!(keys[0], key("CHORDAL_ALLOCATOR", ""));
    let counted = cc(&folder, &["--cache-key"]).env("CHORDAL_STATS", "stats").assert();
    assert_fails(counted, "chordal: error: CHORDAL_STATS: ", "not from a cache");
    if Process::new("ccache").arg("--version").output().is_err() {
        eprintln!("skipped: ccache is not installed");
        return;
    }
    let compile = |allocator: &str, statistics: &str| {
        let mut command = Command::new("ccache");
        command.current_dir(folder.0.path()).arg(chordal().get_program()).args(["cc", "-O2", "-c", "p.c", "-o", "p.o"]);
        command.env("CCACHE_DIR", folder.path("cache")).env("CCACHE_COMPILERCHECK", "%compiler% cc --cache-key");
        command.env("CHORDAL_ALLOCATOR", allocator).env("CHORDAL_STATS", statistics).assert().success().stderr("");
        folder.read("p.o")
    };
    let (tuned, other) = (compile("tuned", ""), compile("llvm-fast", ""));
    assert!(tuned != other && tuned == compile("tuned", "") && other == compile("llvm-fast", ""));
    let hits = folder.run(Process::new("ccache").arg("--print-stats").env("CCACHE_DIR", folder.path("cache")));
    assert!(hits.lines().any(|line| line == "direct_cache_hit\t2"), "{hits}");
    compile("tuned", "stats");
    assert_eq!(folder.json("stats/p.o.json")["allocator"], "tuned");
}

/// Outputs of a build system's probes are not counted as parts of the build.
#[test]
fn probes_leave_no_statistics() {
    let folder = sources();
    let probe = "CMakeFiles/CMakeScratch/TryCompile-1";
    std::fs::create_dir_all(folder.path(probe)).expect("the folder is writable");
    folder.write("conftest.c", SQUARE);
    let in_probe = format!("{probe}/square.o");
    for (source, output) in [("square.c", &in_probe[..]), ("conftest.c", "conftest.o"), ("square.c", "square.o")] {
        cc(&folder, &["-c", source, "-o", output]).env("CHORDAL_STATS", "stats").assert().success().stderr("");
        assert!(folder.path(output).exists(), "{output}");
    }
    let found = std::fs::read_dir(folder.path("stats")).expect("there are some").map(|entry| entry.unwrap().file_name());
    assert_eq!(found.collect::<Vec<_>>(), ["square.o.json"]);
}

#[test]
fn statistics_of_deleted_sources_are_named() {
    let folder = sources();
    for source in ["main.c", "square.c"] {
        cc(&folder, &["-c", source]).env("CHORDAL_STATS", "stats").assert().success().stderr("");
    }
    folder.chordal(&["stats", "stats"]).assert().success().stderr("");
    std::fs::remove_file(folder.path("square.c")).expect("it was there");
    let gone = "chordal: warning: stats/square.o.json: counts although its source square.c is gone\n";
    folder.chordal(&["stats", "stats"]).assert().success().stderr(gone);
    std::fs::remove_file(folder.path("main.c")).expect("it was there");
    folder.chordal(&["stats", "stats"]).assert().success().stderr("");
}

/// A device stays a device whatever a job does to its output, and whether or not that succeeds. (Only root can create a
/// device.)
#[test]
fn devices_are_never_replaced() {
    let folder = sources();
    let is_device = || std::fs::metadata(folder.path("null")).is_ok_and(|file| file.file_type().is_char_device());
    if !Process::new("mknod")
        .current_dir(folder.0.path())
        .args(["null", "c", "1", "3"])
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("skipped: no device can be made here");
        return;
    }
    folder.write("bad.c", "int f( {");
    folder.write("crash.c", "#pragma clang __debug crash\n");
    folder.write("refused.c", "__attribute__((error(\"no\"))) int e(void); int main(void) { return e(); }\n");
    // A linker that renames a file of its own to the output, as llvm-strip and llvm-objcopy do.
    folder.write("ld", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\necho linked >new && mv -f new \"$2\"\n");
    std::fs::set_permissions(folder.path("ld"), PermissionsExt::from_mode(0o755)).expect("the file is ours");
    let link = format!("-O2 main.c square.c --ld-path={}", folder.path("ld").display());
    for arguments in [
        "-O2 -c square.c",
        "-O2 -S square.c",
        "-c square.c -o other.o",
        "-c square.c -MD -MF null",
        "-c square.c -save-temps",
        "-O2 main.c square.c",
        "-fno-integrated-as -c square.c",
        "-c bad.c",
        "-c crash.c",
        "-O2 -c refused.c",
        "-O2 refused.c",
        "main.c",
        &link,
    ] {
        let arguments: Vec<&str> = arguments.split(' ').chain(["-o", "null"]).collect();
        let mut command = cc(&folder, &arguments);
        command.env("TMPDIR", folder.0.path()).env("CHORDAL_STATS", "stats");
        let _ = command.assert();
        assert!(is_device(), "{arguments:?}");
    }
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "square.c", "-o", "square.bc"]));
    for arguments in
        ["-o null", "-o null --stats null", "-o null --memory-limit 1", "-o null --registers 1", "-o square.s --stats null"]
    {
        let arguments: Vec<&str> = ["compile", "square.bc"].into_iter().chain(arguments.split(' ')).collect();
        let _ = folder.chordal(&arguments).assert();
        assert!(is_device(), "{arguments:?}");
    }
}

#[test]
fn a_link_or_copy_with_the_right_name_is_a_compiler() {
    let folder = sources();
    let (link, copy) = (folder.path("chordal-cc"), folder.path("chordal-c++"));
    std::os::unix::fs::symlink(chordal().get_program(), &link).expect("the folder is writable");
    std::fs::copy(chordal().get_program(), &copy).expect("the folder is writable");
    for compiler in [link, copy] {
        folder.run(Process::new(&compiler).args(["-O2", "-x", "c", "main.c", "square.c", "-o", "p"]));
        runs(&folder, "p", "144\n");
        std::fs::remove_file(folder.path("p")).expect("it was made");
    }
    chordal().args(["cc", "--help"]).assert().success().stdout(contains("CHORDAL_STATS"));
}

/// A folder of statistics has a file for each object, by its path; `stats` adds the files up, and `diff` compares two
/// folders.
#[test]
fn statistics_of_a_build() {
    let folder = sources();
    folder.write("p.c", super::folder::PROGRAM);
    for (allocator, statistics) in [("tuned", "new"), ("llvm-greedy", "base")] {
        let build = |arguments: &[&str]| {
            let mut command = cc(&folder, arguments);
            command.env("CHORDAL_ALLOCATOR", allocator).env("CHORDAL_STATS", statistics).assert().success().stderr("");
        };
        std::fs::create_dir_all(folder.path("sub")).expect("the folder is writable");
        build(&["-O2", "-c", "square.c"]);
        build(&["-O2", "-c", "square.c", "-o", "sub/square.o"]);
        build(&["-O2", "p.c", "-o", "p"]);
        runs(&folder, "p", PROGRAM_PRINTS);
        for file in ["square.o.json", "sub/square.o.json", "p.c.json"] {
            assert_eq!(folder.json(&format!("{statistics}/{file}"))["allocator"], allocator);
        }
    }
    let sum = folder.chordal(&["stats", "new", "--format", "json"]).assert().success().stderr("");
    let sum: serde_json::Value = serde_json::from_slice(&sum.get_output().stdout).expect("JSON");
    let of = |file: &str| folder.json(&format!("new/{file}.json"))["total"]["static"]["instructions"].as_u64().expect("a count");
    assert_eq!(sum["total"]["static"]["instructions"], of("square.o") + of("sub/square.o") + of("p.c"));
    let rows = folder.chordal(&["stats", "new"]).assert().success();
    rows.stdout(contains("p.c ").and(contains("square.c ").count(2)).and(contains("total ")));
    let functions = folder.chordal(&["stats", "new", "--per", "function", "--top", "1", "--format", "csv"]).assert().success();
    functions.stdout(predicate::function(|text: &str| text.lines().count() == 3));
    let diff = folder.chordal(&["diff", "base", "new"]).assert().success().stderr("");
    diff.stdout(contains("llvm-greedy -> tuned").and(contains("static.instructions")));
    folder.chordal(&["diff", "new", "new", "--fail-above", "0"]).assert().success();

    let mixed = folder.chordal(&["stats", "new", "base"]).assert();
    assert_fails(mixed, "chordal: error: base/p.c.json: is of llvm-greedy with all registers", "of tuned with all registers");
    assert_fails(folder.chordal(&["stats", "sub"]).assert(), "chordal: error: sub: no statistics are in it", "");
    assert_fails(folder.chordal(&["diff", "sub", "new"]).assert(), "chordal: error: sub: no statistics are in it", "");
    folder.write("empty.json", "");
    assert_fails(folder.chordal(&["stats", "empty.json"]).assert(), "chordal: error: empty.json: is empty\n", "");
    assert_fails(folder.chordal(&["stats", "p.c"]).assert(), "chordal: error: p.c: ", "expected value");
}
