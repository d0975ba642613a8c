//! `chordal cc`, `chordal c++` and `chordal fc`, and `chordal stats` of what they count, from outside.

use super::folder::{Folder, PROGRAM_PRINTS, assert_fails, chordal};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use std::os::unix::fs::PermissionsExt;
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

/// Not clang's code: with as few registers, it would look different.
#[test]
fn the_code_is_chordals() {
    let folder = sources();
    let assembly = |variables: &[(&str, &str)]| {
        let assert = cc(&folder, &["-S", "-O2", "square.c", "-o", "-"]).envs(variables.iter().copied()).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).expect("text")
    };
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "square.c", "-o", "square.bc"]));
    for (allocator, registers) in [("tuned", "all"), ("spill-free", "4")] {
        let compile =
            folder.chordal(&["compile", "square.bc", "--allocator", allocator, "--registers", registers, "-o", "-"]).output();
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

/// Flang, as far as its driver goes: it compiles the source in C that is called as the one in Fortran.
const FLANG: &str = "#!/bin/sh
case $* in
*-###*) echo ' \"./flang\" \"-fc1\" \"-emit-obj\" \"-O2\" \"-o\" \"square.o\" \"square.f90\"' >&2 ;;
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

/// A folder of statistics has a file for each object, by its path; they are added up, and folders are compared.
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
