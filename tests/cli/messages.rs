//! Messages for users who are new to chordal or made a mistake.

use super::folder::{Folder, PROGRAM, assert_fails, assert_usage, chordal};
use predicates::prelude::*;
use predicates::str::contains;
use std::process::Command as Process;

/// The arguments that show each of the help texts.
fn helps() -> Vec<Vec<&'static str>> {
    let commands = ["compile", "compare", "diff", "count", "stats", "allocate", "paper", "cc", "c++", "fc", "list"];
    let long = commands.iter().map(|&command| vec![command, "--help"]);
    long.chain([vec!["--help"], vec!["-h"], vec!["help", "compile"], vec!["--version"]]).collect()
}

#[test]
fn help_has_colours_only_where_they_are_seen() {
    let escapes = || contains("\u{1b}");
    for arguments in helps() {
        chordal().args(&arguments).env_remove("CLICOLOR_FORCE").assert().success().stdout(escapes().not());
        let unwanted = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        chordal().args(&arguments).envs(unwanted).assert().success().stdout(escapes().not());
    }
    chordal().arg("--help").env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").assert().success().stdout(escapes());
}

/// A folder with files of many kinds that are not modules, each made from `p.c`.
fn no_modules() -> Folder {
    let folder = Folder::with_program(&[]);
    folder.run(Process::new("clang-22").args(["-c", "p.c", "-o", "p.o"]));
    folder.run(Process::new("clang-22").args(["-S", "p.c", "-o", "asm.s"]));
    folder.run(Process::new("ar").args(["rc", "p.a", "p.o"]));
    folder.run(Process::new("ar").args(["rcT", "thin.a", "p.o"]));
    for name in ["q.cpp", "q.f90", "q.rs", "my prog.c", "q.d"] {
        folder.write(name, PROGRAM);
    }
    folder
}

#[test]
fn what_is_no_module_is_explained() {
    let folder = no_modules();
    let bitcode = "not LLVM bitcode or IR: ";
    for (file, explanation) in [
        (
            "p.c",
            "is C, not LLVM bitcode or IR: `clang-22 -O2 -emit-llvm -c p.c` makes bitcode of it, and `chordal cc -O2 -c p.c`",
        ),
        ("my prog.c", "`chordal cc -O2 -c 'my prog.c'` an object"),
        ("q.cpp", &format!("is C++, {bitcode}`clang++-22 -O2 -emit-llvm -c q.cpp` makes bitcode of it, and `chordal c++")),
        ("q.f90", &format!("is Fortran, {bitcode}`flang-22 -O2 -emit-llvm -c q.f90` makes bitcode of it, and `chordal fc")),
        ("q.rs", &format!("is Rust, {bitcode}`rustc ")),
        ("q.d", &format!("is D, {bitcode}`ldc2 ")),
        ("asm.s", "is assembly, whose registers are allocated already"),
        ("p.o", "is an ELF file, whose registers are allocated already (`chordal count` counts its instructions)"),
        ("p.a", "is an archive: give its members"),
        ("thin.a", "is an archive: give its members"),
    ] {
        folder.assert_refused(file, explanation);
        let compare = folder.chordal(&["compare", file, "--allocators", "simple"]).assert().code(1);
        compare.stderr(contains(explanation));
        if file.contains('.') {
            let paper = folder.chordal(&["paper", &format!("./{file}")]).assert();
            assert_fails(paper, &format!("chordal: error: ./{file}: "), explanation.split('`').next().expect("a part"));
        }
    }
    // This is said before a complaint that the output would overwrite the input.
    assert_fails(folder.chordal(&["compile", "asm.s"]).assert(), "chordal: error: asm.s: is assembly", "");
    // A file named like a source that contains IR is a module.
    folder.run(Process::new("clang-22").args(["-S", "-emit-llvm", "p.c", "-o", "ir.c"]));
    folder.chordal(&["compile", "ir.c"]).assert().success().stderr("");
    // And C on standard input is not IR.
    folder.chordal(&["compile", "-"]).write_stdin(PROGRAM).assert().code(1).stderr(contains("-: invalid IR: line 2"));
}

#[test]
fn the_commands_that_are_named_do_it() {
    let folder = no_modules();
    let message = folder.chordal(&["compile", "my prog.c", "-o", "x.s"]).assert().code(1).get_output().stderr.clone();
    let message = String::from_utf8(message).expect("text");
    let commands: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 2, "{message}");
    let own = chordal();
    let path = std::path::Path::new(own.get_program()).parent().expect("it is in a folder");
    let path = format!("{}:{}", path.display(), std::env::var("PATH").expect("it is set"));
    for command in commands {
        let mut shell = Process::new("sh");
        shell.args(["-c", command]).env("PATH", &path).env("CHORDAL_PLUGIN", crate::plugin::plugin());
        folder.run(&mut shell);
    }
    assert!(folder.files().contains(&"my prog.bc".to_owned()) && folder.files().contains(&"my prog.o".to_owned()));
}

#[test]
fn arguments_of_a_compiler_are_for_its_stand_in() {
    for (arguments, meant) in [
        (&["-O2", "prog.c"][..], "did you mean `chordal cc -O2 prog.c`?"),
        (&["prog.c"], "did you mean `chordal cc prog.c`?"),
        (&["-c", "my prog.cpp"], "did you mean `chordal c++ -c 'my prog.cpp'`?"),
        (&["-g", "-O2", "-c", "a.f90", "-o", "a.o"], "did you mean `chordal fc -g -O2 -c a.f90 -o a.o`?"),
        (&["compile", "-O2", "prog.c"], "did you mean `chordal cc -O2 prog.c`?"),
        (&["prog.bc", "-o", "prog.s"], "did you mean `chordal compile prog.bc -o prog.s`?"),
    ] {
        assert_usage(chordal().args(arguments), meant);
    }
    for other in [&["compile", "--no-such", "prog.bc"][..], &["-O2"], &["count", "--no-such", "prog.c"], &["compil", "prog"]] {
        chordal().args(other).assert().code(2).stderr(contains("chordal cc").not());
    }
}

/// Messages name the variable, since whoever sets it need not know which option it becomes.
#[test]
fn what_a_variable_says_is_told_by_its_name() {
    let folder = Folder::new();
    folder.write("p.c", PROGRAM);
    let refused = |variables: &[(&str, &str)], flags: &[&str], message: &str| {
        let mut command = folder.chordal(&["cc", "-c", "p.c"]);
        let assert = command.args(flags).envs(variables.iter().copied()).assert().code(2);
        assert.stderr(contains(message.to_owned())).stderr(contains("for '--").not());
        assert_eq!(folder.files(), ["p.c"]);
    };
    refused(&[("CHORDAL_ALLOCATOR", "tunde")], &[], "invalid value 'tunde' for CHORDAL_ALLOCATOR: there is no such allocator");
    refused(&[("CHORDAL_REGISTERS", "3")], &[], "invalid value '3' for CHORDAL_REGISTERS: there is no published list of 3");
    let few = folder.chordal(&["cc", "-m32", "-c", "p.c"]).env("CHORDAL_REGISTERS", "8").assert().code(1);
    few.stderr(contains(
        "error: chordal: invalid value '8' for CHORDAL_REGISTERS: there is no published list of 8 registers for i386",
    ));
    let fast = [("CHORDAL_ALLOCATOR", "llvm-fast"), ("CHORDAL_REGISTERS", "4")];
    refused(&fast, &[], "CHORDAL_ALLOCATOR, CHORDAL_REGISTERS: llvm-fast cannot be held to registers");
    let theirs = [("CHORDAL_ALLOCATOR", "llvm-greedy"), ("CHORDAL_OPTIONS", "--prepare none")];
    refused(&theirs, &[], "CHORDAL_ALLOCATOR, CHORDAL_OPTIONS: --prepare is for chordal's own allocators");
    refused(&[("CHORDAL_OPTIONS", "--fold off")], &[], "CHORDAL_OPTIONS: `--fold` is now part of `--memory-operands");
    refused(&[("CHORDAL_OPTIONS", "q.bc")], &[], "CHORDAL_OPTIONS: unexpected argument 'q.bc' found");
    for (variable, option) in [("--efort 2", "--efort"), ("-o x.o", "-o")] {
        let assert = folder.chordal(&["cc", "-c", "p.c"]).env("CHORDAL_OPTIONS", variable).assert().code(2);
        assert.stderr(predicate::str::starts_with("error: CHORDAL_OPTIONS: ").and(contains(option)));
    }
}

#[test]
fn a_file_that_is_not_there_is_one_sentence_everywhere() {
    let folder = Folder::with_program(&[]);
    std::fs::create_dir(folder.path("folder.d")).expect("the folder is writable");
    for arguments in [
        &["compile", "FILE"][..],
        &["compile", "FILE", "--name", "FILE"],
        &["compare", "FILE"],
        &["compare", "p.bc", "FILE"],
        &["diff", "FILE", "p.bc"],
        &["count", "FILE"],
        &["stats", "FILE"],
        &["allocate", "FILE"],
        &["paper", "FILE"],
        &["paper", "p.bc", "--run-times", "FILE"],
        &["paper", "p.bc", "--versions", "FILE"],
    ] {
        let with = |file: &str| {
            let arguments: Vec<&str> = arguments.iter().map(|&it| if it == "FILE" { file } else { it }).collect();
            folder.chordal(&arguments).assert().code(1).stdout("")
        };
        with("missing.d").stderr("chordal: error: missing.d: no such file\n");
        match arguments {
            ["stats" | "diff", ..] => (),
            ["compare", ..] | ["paper", "FILE"] => {
                _ = with("folder.d").stderr("chordal: error: folder.d: no modules are in it (files that end in .bc or .ll)\n");
            }
            _ => _ = with("folder.d").stderr("chordal: error: folder.d: is a directory\n"),
        }
    }
}

#[test]
fn what_is_no_statistics_is_told() {
    let folder = Folder::with_program(&[]);
    folder.chordal(&["compile", "p.bc", "--stats", "p.json"]).assert().success();
    let statistics = String::from_utf8(folder.read("p.json")).expect("text");
    let refused = |text: &[u8], why: &str| {
        let assert = folder.chordal(&["stats", "-"]).write_stdin(text).assert();
        assert_fails(assert, &format!("chordal: error: -: {why}"), "");
    };
    refused(PROGRAM.as_bytes(), "is not JSON: expected value at line 2 column 1\n");
    refused(&folder.read("p.bc"), "is not text (UTF-8)\n");
    refused(b"", "is empty\n");
    refused(b" \n", "is empty\n");
    refused(b"{\"a\": 1}", "names no schema: it is no chordal-stats/1\n");
    refused(b"[]", "names no schema: it is no chordal-stats/1\n");
    refused(&statistics.as_bytes()[..statistics.len() / 2], "is cut short: EOF");
    refused(b"{\"schema\": \"chordal-compare/1\"}\n{}\n", "the schema is `chordal-compare/1`, not `chordal-stats/1`\n");
    refused(b"{\"schema\": \"chordal-stats/1\"}", "missing field `chordal`");
    folder.chordal(&["stats", "-"]).write_stdin(statistics).assert().success().stdout(contains("p.bc"));
}

/// A message names the file once, even where LLVM names the source because it knows a line of it.
#[test]
fn warnings_name_their_file_once() {
    let folder = Folder::new();
    let source = "int g(int *); int f(int n) { int a[100] = {n}; __asm__(\".warning \\\"watch out\\\"\"); return g(a); }\n";
    folder.write("large.c", source);
    let frame = "stack frame size (";
    for (flags, place) in [(&["-g"][..], "large.c:1:0: "), (&[], "")] {
        let compile = ["-O1", "-Wframe-larger-than=16", "-emit-llvm", "-c", "large.c", "-o", "large.bc"];
        folder.run(Process::new("clang-22").args(compile).args(flags));
        let warned = folder.chordal(&["compile", "large.bc"]).assert().success();
        warned.stderr(contains(format!("chordal: warning: large.bc: {place}{frame}")));
    }
}
