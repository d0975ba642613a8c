//! Small functions in which LLVM's greedy allocator once did better than `tuned`: `testdata/greedy`, a file for each reason.

use crate::support::programs::{Program, programs_in};
use assert_cmd::Command;
use chordal::measure::stats::Statistics;
use std::fs;
use std::path::Path;
use std::process::Command as Process;
use tempfile::TempDir;

/// A hundredth or two of greedy's overhead is no fault.
const TOLERANCE: f64 = 1.02;

fn compile(program: &Program, module: &Path) {
    let mut clang = Process::new(program.clang());
    clang.args(program.all_flags("-w -emit-llvm -c")).arg(&program.path).arg("-o").arg(module);
    let status = clang.status();
    assert!(status.expect("clang starts").success(), "{}", program.name());
}

fn statistics(module: &Path, allocator: &str) -> Statistics {
    let json = module.with_extension("json");
    let mut command = Command::cargo_bin("chordal").expect("the binary is built");
    command.arg("compile").arg(module).args(["-o", "/dev/null", "--allocator", allocator, "--stats"]).arg(&json);
    command.assert().success().stderr("");
    serde_json::from_slice(&fs::read(&json).expect("statistics are there")).expect("statistics are JSON")
}

#[test]
fn tuned_is_as_good_as_greedy_where_it_was_not() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let mut worse = Vec::new();
    for program in programs_in("greedy") {
        let module = folder.path().join(program.name()).with_extension("bc");
        compile(&program, &module);
        let (tuned, greedy) = (statistics(&module, "tuned"), statistics(&module, "llvm-greedy"));
        assert_eq!(tuned.functions.len(), greedy.functions.len(), "{}", program.name());
        for (ours, theirs) in tuned.functions.iter().zip(&greedy.functions) {
            assert_eq!(ours.name, theirs.name);
            let (overhead, greedys) = (ours.counts.overhead, theirs.counts.overhead);
            if overhead > greedys * TOLERANCE {
                worse.push(format!("{}: {}: {overhead:.2}, {greedys:.2}", program.name(), ours.name));
            }
        }
    }
    assert!(worse.is_empty(), "overhead, and greedy's: {worse:#?}");
}

#[test]
fn copies_of_extended_numbers_are_of_32_bits() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let program = programs_in("greedy").into_iter().find(|program| program.name() == "short_copies").expect("it is there");
    let module = folder.path().join("short_copies.bc");
    compile(&program, &module);
    let output = Command::cargo_bin("chordal").expect("the binary is built").args(["compile", "-o", "-"]).arg(&module).output();
    let assembly = String::from_utf8(output.expect("chordal starts").stdout).expect("assembly is text");
    let is_copy = |line: &&str, opcode: &str| line.contains(opcode) && line.matches('%').count() == 2 && !line.contains('(');
    let copies = |opcode: &str| assembly.lines().filter(|line| is_copy(line, opcode)).count();
    assert_eq!(copies("\tmovq\t"), 0, "{assembly}");
    assert!(copies("\tmovl\t") > 1, "{assembly}");
}
