//! The second opinion: what chordal counts while compiling is what `chordal count` finds in the object, function by
//! function, in programs of every kind.

use crate::support::programs::{Program, complaints, programs};
use assert_cmd::Command;
use chordal::measure::stats::{Function, Static, Statistics};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command as Process;
use tempfile::TempDir;

const FLAGS: &[&str] = &["-O2", "-O0", "-m32 -O2", "-m32 -O0", "-O2 -fPIC", "-m32 -O2 -fPIC"];
const ALLOCATORS: &[&str] = &["spill-free", "linear-scan", "irc", "llvm-greedy"];

/// Functions of x86-64 whose names differ on the two sides, because their calling convention decorates symbols.
const RENAMED: &[(&str, &str)] = &[("conventions", "vector")];

fn chordal() -> Command {
    Command::cargo_bin("chordal").expect("the binary is built")
}

fn run(command: &mut Process) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn compile(program: &Program, flags: &str, ir: &Path) {
    let mut clang = Process::new(program.clang());
    run(clang.args(program.all_flags(flags)).args(["-w", "-S", "-emit-llvm", "-o"]).arg(ir).arg(&program.path));
}

/// The functions of a module that contain inline assembly. Only the assembler knows how many instructions that is: chordal
/// counts it as one that accesses no memory.
fn with_inline_assembly(ir: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut function = "";
    for line in ir.lines() {
        if line.starts_with("define ") {
            function = line.split('@').nth(1).and_then(|rest| rest.split('(').next()).expect("a function has a name");
        } else if line.contains(" asm ") {
            found.insert(function.trim_matches('"'));
        }
    }
    found
}

fn by_name(functions: Vec<Function>) -> BTreeMap<String, Static> {
    functions.into_iter().map(|function| (function.name, function.counts.fixed)).collect()
}

/// The counts of chordal while it compiles, and those of the disassembled result.
fn both_sides(ir: &Path, allocator: &str) -> (BTreeMap<String, Static>, BTreeMap<String, Static>) {
    let (object, json) = (ir.with_extension("o"), ir.with_extension("json"));
    let mut compile = chordal();
    compile.arg("compile").arg(ir).args(["--emit", "obj", "--no-check", "--allocator", allocator]);
    compile.arg("-o").arg(&object).arg("--stats").arg(&json).assert().success().stderr("");
    let counted = chordal().arg("count").arg(&object).args(["--format", "json"]).assert().success().stderr("");
    let read = |bytes: &[u8]| -> Statistics { serde_json::from_slice(bytes).expect("statistics are JSON") };
    let ours = read(&fs::read(&json).expect("statistics are there"));
    (by_name(ours.functions), by_name(read(&counted.get_output().stdout).functions))
}

/// All functions of a program about which the two sides disagree.
fn disagreements(program: &Program, flags: &str, folder: &Path) -> Vec<String> {
    let path = folder.join(format!("{}{}.ll", program.name(), flags.replace(' ', "")));
    compile(program, flags, &path);
    let ir = fs::read_to_string(&path).expect("textual IR");
    let assembly = with_inline_assembly(&ir);
    let mut found = Vec::new();
    for allocator in ALLOCATORS {
        let (mut ours, mut theirs) = both_sides(&path, allocator);
        for (_, function) in RENAMED.iter().filter(|(name, _)| *name == program.name() && !flags.contains("-m32")) {
            assert!(!theirs.contains_key(*function), "{function} is no exception any more");
            ours.remove(*function);
            theirs.retain(|name, _| !name.starts_with(&format!("{function}@@")));
        }
        for name in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let (ours, theirs) = (ours.get(name), theirs.get(name));
            if ours != theirs && !(assembly.contains(name.as_str()) && theirs.is_some()) {
                found.push(format!("{} {flags} {allocator}: {name}: {ours:?}, in the object {theirs:?}", program.name()));
            }
        }
    }
    found
}

#[test]
fn disassembly_agrees_with_the_statistics_of_every_function() {
    let programs = programs();
    let pairs = programs.iter().flat_map(|program| FLAGS.iter().map(move |flags| (program, *flags)));
    let jobs: Vec<_> = pairs.filter(|(program, flags)| program.has(flags)).collect();
    assert!(!jobs.is_empty(), "no program to compile");
    let folder = TempDir::new().expect("a temporary folder");
    let found = complaints(&jobs, |(program, flags)| disagreements(program, flags, folder.path()));
    assert!(found.is_empty(), "{} functions differ:\n{}", found.len(), found.join("\n"));
}
