//! The second opinion: what chordal counts while it compiles is what `chordal count` finds in the object, function by
//! function, in programs of every kind.
//!
//! Environment: `CHORDAL_PROGRAMS` (only programs whose name contains this).

use assert_cmd::Command;
use chordal::measure::stats::{Function, Static, Statistics};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

const FLAGS: &[&str] = &["-O2", "-O0", "-m32 -O2", "-m32 -O0", "-O2 -fPIC", "-m32 -O2 -fPIC"];
const ALLOCATORS: &[&str] = &["spill-free", "linear-scan", "llvm-greedy"];
const WORKERS: usize = 2;

/// Functions of x86-64 that the two sides know by different names: a calling convention that decorates symbols.
const RENAMED: &[(&str, &str)] = &[("conventions", "vector")];

fn chordal() -> Command {
    Command::cargo_bin("chordal").expect("the binary is built")
}

fn run(command: &mut Process) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A program of `testdata/programs`; `tests/programs.rs` says what its first lines mean.
struct Program {
    path: PathBuf,
    header: BTreeMap<String, String>,
}

impl Program {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).expect("programs are readable");
        let lines = text.lines().map_while(|line| line.strip_prefix("// "));
        let header = lines.filter_map(|line| line.split_once(": ")).map(|(key, value)| (key.into(), value.into()));
        Program { header: header.collect(), path }
    }

    fn name(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8")
    }

    fn has(&self, flags: &str) -> bool {
        let machine = if flags.contains("-m32") { "i386" } else { "x86_64" };
        self.header.get("only").is_none_or(|only| only.trim() == machine)
    }

    fn compile(&self, flags: &str, ir: &Path) {
        let compiler = if self.path.extension().is_some_and(|extension| extension == "cpp") { "clang++-22" } else { "clang-22" };
        let mut command = Process::new(compiler);
        command.args(flags.split_whitespace()).args(["-w", "-S", "-emit-llvm", "-o"]).arg(ir).arg(&self.path);
        for key in ["flags", "flags32"] {
            if key == "flags" || flags.contains("-m32") {
                command.args(self.header.get(key).map_or("", String::as_str).split_whitespace());
            }
        }
        run(&mut command);
    }
}

fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs");
    let wanted = std::env::var("CHORDAL_PROGRAMS").unwrap_or_default();
    let entries = fs::read_dir(folder).expect("testdata/programs is there");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths.filter(|path| path.to_string_lossy().contains(&wanted)).map(Program::read).collect()
}

/// The functions with inline assembly in a module. Nobody but the assembler knows how many instructions it is: chordal
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

/// What chordal counts while it compiles, and what the disassembly of the result counts.
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
    program.compile(flags, &path);
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
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((program, flags)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let disagreements = disagreements(program, flags, folder.path());
                    found.lock().expect("no worker panics").extend(disagreements);
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no worker panics");
    found.sort();
    assert!(found.is_empty(), "{} functions differ:\n{}", found.len(), found.join("\n"));
}
