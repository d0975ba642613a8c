//! Runs every program of `testdata/programs` through chordal and holds its
//! output and exit status against clang's build of the same bitcode.
//!
//! A program's first lines may say `// flags: …` (for the compiler and the
//! linker), `// flags32: …` (the same, with `-m32` only) and `// only: x86_64`
//! or `// only: i386`. `// registers: 12` names the least of the
//! register limits that the program can be allocated to at all. `// beyond-regalloc2: …` says why that refuses a function
//! of it, `// beyond-stock: …` why LLVM's allocators do so when they are held to few registers. Programs named `*_avx2`, `*_avx512` and `*_cx16` are
//! executed only where the processor can.
//!
//! Environment: `CHORDAL_BIN` (another binary), `CHORDAL_PROGRAMS` (only
//! programs whose name contains this).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assert_cmd::Command;

/// What every program is compiled with.
const ALWAYS: &[&str] = &["-O2", "-O0", "-m32 -O2"];
/// Of these every program takes two, in turn.
const ROTATED: &[&str] = &[
    "-O1",
    "-O3",
    "-Os",
    "-O2 -g",
    "-O2 -fPIC",
    "-O2 -fno-pic",
    "-O2 -fno-omit-frame-pointer",
    "-O0 -g",
    "-O3 -march=x86-64-v2",
    "-O2 -fstack-protector-all -fcf-protection",
    "-O2 -fstack-clash-protection",
];
/// And of these one.
const ROTATED_32: &[&str] = &["-m32 -O0", "-m32 -O3", "-m32 -O1 -fno-pic", "-m32 -Os -fno-omit-frame-pointer", "-m32 -O2 -msse2"];
/// At `-O2` for x86-64, every program is also allocated to so many registers.
const REGISTERS: &[&str] = &["4", "6", "8", "12"];
/// There, and at `-m32 -O2`, every program also goes through every allocator,
const ALLOCATORS: &[&str] = &["ch-o1", "ch-o2", "ch-o3", "linear-scan", "local", "simple"];
/// one of these two, the other one there, unless the program says that it is beyond regalloc2,
const REGALLOC2: &[&str] = &["regalloc2", "regalloc2-fast"];
/// and through one of LLVM's that are held to few registers,
const STOCK: &[&str] = &["llvm-greedy", "llvm-basic", "llvm-pbqp", "llvm-greedy --llvm-schedule off"];
/// and takes two of these options in turn, with 4 registers where it can.
const OPTIONS: &[&str] = &[
    "--store-hoist off",
    "--load-lower off --memory-coalesce off",
    "--load-lower weighted",
    "--pins avoid",
    "--swap xchg",
    "--swap xor",
    "--rematerialise off",
    "--eliminate spare-register --frugal off",
    "--eliminate on-demand --frugal off",
    "--allocator ch-o1 --pins repair",
    "--allocator ch-o2 --eliminate on-demand --frugal off",
    "--allocator ch-o3 --eliminate spare-register --frugal off",
];
const WORKERS: usize = 2;
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Program {
    path: PathBuf,
    flags: Vec<String>,
    flags32: Vec<String>,
    only: Option<String>,
    registers: usize,
    beyond_regalloc2: bool,
    beyond_stock: bool,
}

impl Program {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).expect("a program can be read");
        let mut program = Program { path, ..Program::default() };
        let words = |s: &str| s.split_whitespace().map(String::from).collect();
        for line in text.lines().take_while(|line| line.starts_with("// ")) {
            match line[3..].split_once(": ") {
                Some(("flags", rest)) => program.flags = words(rest),
                Some(("flags32", rest)) => program.flags32 = words(rest),
                Some(("registers", rest)) => program.registers = rest.trim().parse().expect("a number of registers"),
                Some(("beyond-regalloc2", _)) => program.beyond_regalloc2 = true,
                Some(("beyond-stock", _)) => program.beyond_stock = true,
                Some(("only", rest)) => program.only = Some(rest.trim().to_string()),
                _ => {}
            }
        }
        program
    }

    fn name(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8")
    }

    fn compiler(&self) -> &'static str {
        if self.path.extension().is_some_and(|extension| extension == "cpp") { "clang++-22" } else { "clang-22" }
    }

    fn has(&self, flags: &str) -> bool {
        let arch = if flags.contains("-m32") { "i386" } else { "x86_64" };
        self.only.as_deref().is_none_or(|only| only == arch)
    }

    fn runs_here(&self) -> bool {
        match self.name().rsplit('_').next() {
            Some("avx2") => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Some("avx512") => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
            Some("cx16") => is_x86_feature_detected!("cmpxchg16b"),
            _ => true,
        }
    }
}

/// One program with one set of flags, and the arguments of chordal to try on it.
struct Job<'a> {
    program: &'a Program,
    flags: &'static str,
    variants: Vec<String>,
}

fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs");
    let wanted = std::env::var("CHORDAL_PROGRAMS").unwrap_or_default();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("testdata/programs is there")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    paths.sort();
    paths.into_iter().map(Program::read).collect()
}

fn jobs(programs: &[Program]) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (i, program) in programs.iter().enumerate() {
        let turns = [ROTATED[2 * i % ROTATED.len()], ROTATED[(2 * i + 1) % ROTATED.len()], ROTATED_32[i % ROTATED_32.len()]];
        for &flags in ALWAYS.iter().chain(&turns).filter(|flags| program.has(flags)) {
            let mut variants = vec![String::new()];
            if flags == "-O2" {
                let enough = |n: &&str| n.parse::<usize>().is_ok_and(|n| n >= program.registers);
                variants.extend(REGISTERS.iter().copied().filter(enough).map(|n| format!("--registers {n}")));
            }
            if ["-O2", "-m32 -O2"].contains(&flags) {
                variants.extend(ALLOCATORS.iter().map(|name| format!("--allocator {name}")));
                if !program.beyond_regalloc2 {
                    let turn = i + usize::from(flags == "-O2");
                    variants.push(format!("--allocator {}", REGALLOC2[turn % REGALLOC2.len()]));
                }
                let fewest = if flags == "-O2" { program.registers.max(4) } else { 5 };
                let limit = if program.beyond_stock { String::new() } else { format!(" --registers {fewest}") };
                variants.push(format!("--allocator {}{limit}", STOCK[i % STOCK.len()]));
                let few = if flags == "-O2" && program.registers <= 4 { " --registers 4" } else { "" };
                let turns = [OPTIONS[2 * i % OPTIONS.len()], OPTIONS[(2 * i + 1) % OPTIONS.len()]];
                variants.extend(turns.map(|options| format!("{options}{few}")));
            }
            jobs.push(Job { program, flags, variants });
        }
    }
    jobs
}

/// Runs a command; `Err` says which step failed, and how.
fn step(name: &str, command: &mut Command) -> Result<(), String> {
    let output = command.timeout(LIMIT).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words: String = String::from_utf8_lossy(&output.stderr).chars().take(1500).collect();
    Err(format!("{name}: {}\n{}", output.status, words.trim_end()))
}

fn execute(executable: &Path) -> Result<Output, String> {
    Command::new(executable).timeout(LIMIT).output().map_err(|error| format!("execute: {error}"))
}

impl Job<'_> {
    fn clang(&self) -> Command {
        let mut command = Command::new(self.program.compiler());
        command.args(self.flags.split_whitespace()).args(&self.program.flags).arg("-w");
        if self.flags.contains("-m32") {
            command.args(&self.program.flags32);
        }
        command
    }

    fn link(&self, step_name: &str, input: &Path, executable: &Path) -> Result<(), String> {
        let mut command = self.clang();
        command.arg(input);
        if self.flags.contains("-m32") {
            let support = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/support/x87_double.c");
            command.arg(support);
        }
        if self.flags.contains("-fno-pic") {
            command.arg("-no-pie");
        }
        step(step_name, command.arg("-o").arg(executable).arg("-lm"))
    }

    /// All of the job's failures.
    fn run(&self, folder: &Path) -> Vec<String> {
        fs::create_dir_all(folder).expect("a folder can be made");
        let failures = match self.reference(folder) {
            Err(failure) => vec![failure],
            Ok(expected) => {
                let variant = |arguments: &String| {
                    self.variant(folder, arguments, expected.as_ref()).map_err(|failure| format!("{arguments}: {failure}"))
                };
                self.variants.iter().map(variant).filter_map(Result::err).collect()
            }
        };
        if failures.is_empty() {
            fs::remove_dir_all(folder).expect("a folder can be removed");
        }
        failures
    }

    /// Compiles to bitcode, and has clang's own code generator finish it.
    fn reference(&self, folder: &Path) -> Result<Option<Output>, String> {
        let bitcode = folder.join("program.bc");
        let object = folder.join("reference.o");
        let executable = folder.join("reference");
        let mut compile = self.clang();
        compile.args(["-c", "-emit-llvm"]).arg(&self.program.path);
        step("clang", compile.arg("-o").arg(&bitcode))?;
        if !self.program.runs_here() {
            return Ok(None);
        }
        let mut generate = self.clang();
        generate.args(["-Xclang", "-disable-llvm-passes", "-c"]).arg(&bitcode);
        step("clang's code generator", generate.arg("-o").arg(&object))?;
        self.link("clang's linking", &object, &executable)?;
        let output = execute(&executable)?;
        if output.status.success() { Ok(Some(output)) } else { Err(format!("clang's own build: {}", output.status)) }
    }

    /// The same bitcode through chordal.
    fn variant(&self, folder: &Path, arguments: &str, expected: Option<&Output>) -> Result<(), String> {
        let assembly = folder.join("program.s");
        let object = folder.join("program.o");
        let executable = folder.join("program");
        let chordal = std::env::var_os("CHORDAL_BIN").unwrap_or(env!("CARGO_BIN_EXE_chordal").into());
        let mut compile = Command::new(chordal);
        compile.arg("compile").arg(folder.join("program.bc")).arg("-o").arg(&assembly);
        compile.args(["--verify-llvm", "--no-fallback"]).args(arguments.split_whitespace());
        step("chordal", &mut compile)?;
        step("assemble", self.clang().arg("-c").arg(&assembly).arg("-o").arg(&object))?;
        let Some(expected) = expected else { return Ok(()) };
        self.link("link", &object, &executable)?;
        let output = execute(&executable)?;
        if output.status != expected.status {
            return Err(format!("exit status: {} where clang's build has {}", output.status, expected.status));
        }
        if output.stdout != expected.stdout {
            return Err(first_difference(&expected.stdout, &output.stdout));
        }
        Ok(())
    }
}

fn first_difference(expected: &[u8], output: &[u8]) -> String {
    let (expected, output) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(output));
    let pairs = expected.lines().map(Some).chain([None]).zip(output.lines().map(Some).chain([None]));
    let (line, (left, right)) = pairs.enumerate().find(|(_, (left, right))| left != right).unwrap_or((0, (None, None)));
    format!("output: line {}: expected {left:?}, got {right:?}", line + 1)
}

#[test]
fn programs_print_what_clangs_builds_print() {
    let programs = programs();
    let jobs = jobs(&programs);
    assert!(!jobs.is_empty(), "no program to run");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = job.program.name();
                    let place = folder.join(format!("{name}{}", job.flags.replace(' ', "")));
                    let found = job.run(&place);
                    let named = found.iter().map(|failure| format!("{name} {}: {failure}", job.flags));
                    failures.lock().expect("no worker panics").extend(named);
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no worker panics");
    failures.sort();
    let variants: usize = jobs.iter().map(|job| job.variants.len()).sum();
    assert!(failures.is_empty(), "{} of {variants} failed:\n\n{}\n", failures.len(), failures.join("\n"));
}
