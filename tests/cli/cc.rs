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
        let assert = cc(&folder, &["-c", "-O2", "square.c", "-o", "-"]).envs(variables.iter().copied()).assert().success();
        assert.get_output().stdout.clone()
    };
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "square.c", "-o", "square.bc"]));
    for (allocator, registers) in [("tuned", "all"), ("spill-free", "4")] {
        let compile = folder
            .chordal(&["compile", "square.bc", "--emit", "obj", "--addrsig", "-o", "-"])
            .args(["--allocator", allocator, "--registers", registers])
            .output();
        let expected = compile.expect("chordal starts").stdout;
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

#[test]
fn fortran_goes_through_flang() {
    let folder = sources();
    folder
        .write("square.f90", "integer(4) function square(x) bind(c)\n  integer(4), value :: x\n  square = x * x\nend function\n");
    let fc = || {
        let mut command = folder.chordal(&["fc", "-O2", "-c", "square.f90"]);
        command.envs([("CHORDAL_ALLOCATOR", "spill-free"), ("CHORDAL_STATS", "stats")]);
        command
    };
    if Process::new("flang-22").arg("--version").output().is_err() {
        assert_fails(fc().assert(), "chordal: error: there is no flang 22", "CHORDAL_FLANG");
        eprintln!("skipped: flang is not installed");
        return;
    }
    fc().assert().success().stdout("").stderr("");
    assert_eq!(folder.json("stats/square.o.json")["allocator"], "spill-free");
    cc(&folder, &["-O2", "main.c", "square.o", "-o", "p"]).assert().success().stderr("");
    runs(&folder, "p", "144\n");
    assert_fails(fc().env("CHORDAL_FLANG", "./flang").assert(), "chordal: error: ./flang: ", "No such file");
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
        cc(&folder, &["-flto", "main.c", "square.c", "-o", "p"]).assert(),
        "chordal: error: -flto leaves code generation to the linker",
        "-fuse-ld=lld",
    );
    cc(&folder, &["-c", "square.c"]).env("CHORDAL_ALLOCATOR", "tunde").assert().code(2).stderr(contains("`tuned`"));
    let unclosed = "CHORDAL_OPTIONS: --no-check ': a quotation mark is not closed";
    cc(&folder, &["-c", "square.c"]).env("CHORDAL_OPTIONS", "--no-check '").assert().code(2).stderr(contains(unclosed));
    cc(&folder, &["-c", "square.c"]).env("CHORDAL_OPTIONS", "--emit obj").assert().code(2).stderr(contains("'--emit'"));
    assert_eq!(folder.files(), ["bad.c", "main.c", "square.c", "square.h"]);
    cc(&folder, &["-c", "square.c", "-lm"]).assert().success().stderr(contains("warning: -lm: 'linker' input unused"));
}

/// Flags of code generation are clang's, whatever they ask for.
#[test]
fn flags_have_their_effect() {
    let folder = sources();
    let made = |flags: &str| {
        let flags = ["-O2", "-c", "square.c", "-o", "square.o"].into_iter().chain(flags.split_whitespace()).collect::<Vec<_>>();
        cc(&folder, &flags).assert().success().stderr("");
        folder.run(Process::new("readelf").args(["-SW", "square.o"]))
    };
    assert!(!made("-g").contains(".stack_sizes"));
    for (flags, section) in [
        ("-fstack-size-section", ".stack_sizes"),
        ("-g -gsplit-dwarf", ".debug_addr"),
        ("-g -gz", ".debug_info"),
        ("-fbasic-block-sections=all -ffunction-sections", ".text.square"),
        ("-fbasic-block-address-map", ".llvm_bb_addr_map"),
        ("-mllvm -align-all-functions=6", ".text"),
    ] {
        assert!(made(flags).contains(section), "{flags}");
    }
    assert!(folder.path("square.dwo").exists());
    let intel = cc(&folder, &["-O2", "-S", "-masm=intel", "square.c", "-o", "-"]).assert().success();
    intel.stdout(contains("imul\teax, edi").or(contains("imul\tedi, edi")));
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
fn warnings_of_code_generation_are_clangs() {
    let folder = Folder::new();
    folder.write("f.c", "int g(char *);\nint f(void) { char b[500]; return g(b); }\n");
    let compile =
        |flags: &[&str]| cc(&folder, &[&["-O2", "-c", "f.c", "-o", "o.o", "-Wframe-larger-than=100"], flags].concat()).assert();
    compile(&[]).success().stderr(contains("warning: stack frame size (504) exceeds limit (100) in 'f'"));
    compile(&["-w"]).success().stderr("");
    std::fs::remove_file(folder.path("o.o")).expect("it was made");
    compile(&["-Werror"]).code(1).stderr(contains("[-Werror,-Wframe-larger-than]"));
    assert!(!folder.path("o.o").exists());
}

/// `-###` prints what would be done.
#[test]
fn what_is_only_to_be_shown_is_not_done() {
    let folder = sources();
    let shown = cc(&folder, &["-###", "-O2", "main.c", "square.c", "-o", "p"]).assert().success().stdout("");
    shown.stderr(contains("-fpass-plugin=").count(2));
    assert_eq!(folder.files(), ["main.c", "square.c", "square.h"]);
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
        command.env("CHORDAL_PLUGIN", crate::plugin::plugin());
        command.env("CHORDAL_ALLOCATOR", allocator).env("CHORDAL_STATS", statistics).assert().success().stderr("");
        folder.read("p.o")
    };
    let (tuned, other) = (compile("tuned", ""), compile("llvm-greedy", ""));
    assert!(tuned != other && tuned == compile("tuned", "") && other == compile("llvm-greedy", ""));
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
        let plugin = crate::plugin::plugin();
        folder
            .run(Process::new(&compiler).env("CHORDAL_PLUGIN", plugin).args(["-O2", "-x", "c", "main.c", "square.c", "-o", "p"]));
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
