//! Tests of the plug-in in clang, llc and lld.

use crate::support::programs::{Program, complaints, programs};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Flags of clang, and the arguments of `chordal compile` that say the same about code generation. Every program takes some of
/// them, in turn.
const FLAGS: &[(&str, &str)] = &[
    ("-O2", ""),
    ("-O0", ""),
    ("-O1", ""),
    ("-O3", ""),
    ("-Os", ""),
    ("-m32 -O2", ""),
    ("-m32 -O0 -fPIC", ""),
    ("-m32 -O2 -fno-pic", "--relocation-model static"),
    ("-O2 -fPIC", ""),
    ("-O2 -fno-pic", "--relocation-model static"),
    ("-O2 -fPIC -mcmodel=medium", ""),
    ("-O2 -fPIC -mcmodel=large", ""),
    ("-O2 -march=x86-64-v3", ""),
    ("-O2 -g", "--call-site-info"),
    ("-O0 -g", ""),
    ("-O2 -ffunction-sections -fdata-sections", "--function-sections --data-sections"),
    ("-O2 -fcf-protection -fstack-protector-all", ""),
    ("-O2 -mretpoline", ""),
    ("-O1 -fsanitize=address,undefined", ""),
    ("-O1 -fprofile-instr-generate -fcoverage-mapping", ""),
];
/// How many of them a program takes.
const TURNS: usize = 3;

/// The plug-in that was built with this test.
pub fn plugin() -> PathBuf {
    let program = std::env::current_exe().expect("it has a path");
    let folder = program.parent().expect("it is in a folder");
    folder.join("libchordal.so")
}

struct Case<'a> {
    program: &'a Program,
    flags: &'static str,
    arguments: &'static str,
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(output) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))) }
}

/// Whether clang with the plug-in makes the object that chordal makes of the bitcode.
fn is_the_same(case: &Case<'_>, folder: &Path) -> Result<(), String> {
    let path = |name: &str| folder.join(name);
    let clang = |arguments: &[&str], output: &str| {
        let mut command = Command::new(case.program.clang());
        command.args(case.program.all_flags(case.flags)).args(arguments).arg("-c").arg(&case.program.path);
        run(command.arg("-o").arg(path(output)))
    };
    clang(&["-emit-llvm"], "p.bc")?;
    clang(&[&format!("-fpass-plugin={}", plugin().display())], "plugin.o")?;
    let mut chordal = Command::new(env!("CARGO_BIN_EXE_chordal"));
    chordal.arg("compile").arg(path("p.bc")).args(["--emit", "obj", "--addrsig", "-o"]).arg(path("compile.o"));
    chordal.args(case.arguments.split_whitespace());
    run(&mut chordal)?;
    let read = |name: &str| fs::read(path(name)).map_err(|error| format!("{name}: {error}"));
    if read("plugin.o")? == read("compile.o")? { Ok(()) } else { Err("the objects differ".into()) }
}

#[test]
fn objects_are_those_of_chordal_compile() {
    let programs = programs();
    let cases: Vec<Case<'_>> = programs
        .iter()
        .enumerate()
        .flat_map(|(i, program)| (0..TURNS).map(move |turn| (program, FLAGS[(TURNS * i + turn) % FLAGS.len()])))
        .filter(|(program, (flags, _))| program.has(flags))
        .map(|(program, (flags, arguments))| Case { program, flags, arguments })
        .collect();
    let failures = complaints(&cases, |case| {
        let folder = TempDir::new().expect("a temporary folder");
        let done = is_the_same(case, folder.path());
        done.err().map(|why| format!("{} {}: {why}", case.program.name(), case.flags)).into_iter().collect()
    });
    assert!(failures.is_empty() && cases.len() > programs.len(), "{}", failures.join("\n"));
}
