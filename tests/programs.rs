//! Compiles every program of `testdata/programs` with chordal, and compares its output and exit status with those of clang's
//! build of the same bitcode. (`support/programs.rs` explains the first lines of a program.)
//!
//! Programs named `*_avx2`, `*_avx512`, `*_bmi2` and `*_cx16` are executed only on processors that can.
//!
//! Environment: `CHORDAL_BIN` (another binary).

use crate::support::programs::{Program, complaints, programs};
use assert_cmd::Command;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

/// The flags that every program is compiled with.
const ALWAYS: &[&str] = &["-O2", "-O0", "-m32 -O2"];
/// Every program takes two of these, in turn.
const ROTATED: &[&str] = &[
    "-O1",
    "-O3",
    "-Os",
    "-Oz",
    "-O2 -g",
    "-O2 -fPIC",
    "-O2 -fno-pic",
    "-O2 -fno-omit-frame-pointer",
    "-O0 -g",
    "-O3 -march=x86-64-v2",
    "-O2 -fstack-protector-all -fcf-protection",
    "-O2 -fstack-clash-protection",
];
/// And one of these.
const ROTATED_32: &[&str] = &["-m32 -O0", "-m32 -O3", "-m32 -O1 -fno-pic", "-m32 -Os -fno-omit-frame-pointer", "-m32 -O2 -msse2"];
/// At `-O2` for x86-64, every program is also allocated to each of these numbers of registers.
const REGISTERS: &[&str] = &["4", "6", "8", "12"];
/// There and at `-m32 -O2`, every program also goes through every allocator,
const ALLOCATORS: &[&str] =
    &["spill-free", "bin-packing", "ch-o1", "ch-o2", "ch-o3", "hack", "linear-scan", "out-of-ssa", "irc", "local", "simple"];
/// one of these two (and the other one there), unless the program says that it is beyond regalloc2,
const REGALLOC2: &[&str] = &["regalloc2", "regalloc2-fast"];
/// and one of LLVM's that are held to few registers,
const STOCK: &[&str] = &["llvm-greedy", "llvm-basic", "llvm-pbqp", "llvm-greedy --llvm-schedule off"];
/// and takes two of these options in turn, with 4 registers if it can.
const OPTIONS: &[&str] = &[
    "--spill belady",
    "--spill min",
    "--allocator bin-packing --phi-memory store-hoist=off,load-lower=off,memory-coalesce=off",
    "--allocator bin-packing --phi-memory load-lower=weighted --rematerialise on --memory-operands spilled",
    "--allocator spill-free --spill priced",
    "--effort 0",
    "--effort 2 --set forms=off",
    "--prepare none --set forms=on --splits none --memory-operands spilled --set spare-jumps=off --set separate-saves=off",
    "--set weigh-size=off --coalesce units",
    "--allocator spill-free --prepare all --splits all --set weigh-size=on --set spare-jumps=on --set separate-saves=on --coalesce recolour",
    "--allocator spill-free --coalesce recolour",
    "--coalesce punctual",
    "--spill min --pins perm --coalesce units",
    "--spill min --set fold=off --rematerialise off --pins avoid",
    "--allocator spill-free --phi-memory store-hoist=off",
    "--allocator spill-free --phi-memory load-lower=off,memory-coalesce=off",
    "--allocator spill-free --phi-memory load-lower=weighted",
    "--allocator spill-free --pins avoid",
    "--pins repair --memory-operands none",
    "--swap xchg",
    "--swap xor",
    "--rematerialise off",
    "--phi-memory eliminate=spare-register",
    "--allocator spill-free --phi-memory eliminate=on-demand",
    "--allocator ch-o1 --pins repair",
    "--allocator ch-o2 --phi-memory eliminate=on-demand",
    "--allocator ch-o3 --phi-memory eliminate=spare-register",
    "--allocator spill-free --phi-memory eliminate=brisk",
    "--allocator linear-scan --share-slots off",
];
/// The file that chordal writes.
const ASSEMBLY: &str = "program.s";
const LIMIT: Duration = Duration::from_secs(60);

fn runs_here(program: &Program) -> bool {
    match program.name().rsplit('_').next() {
        Some("avx2") => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        Some("avx512") => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
        Some("bmi2") => is_x86_feature_detected!("bmi2"),
        Some("cx16") => is_x86_feature_detected!("cmpxchg16b"),
        _ => true,
    }
}

/// One program with one set of flags, and the arguments of chordal to try on it.
struct Job<'a> {
    program: &'a Program,
    flags: &'static str,
    variants: Vec<String>,
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

/// Clang's own build, with which a job's variants are compared.
struct Reference {
    output: Output,
    /// A further object that every executable is linked with.
    support: Option<PathBuf>,
}

impl Job<'_> {
    /// The compiler, with the job's flags.
    fn clang(&self) -> Command {
        self.tool(self.program.clang())
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.args(self.program.all_flags(self.flags)).arg("-w");
        command
    }

    /// The relocation model, which bitcode does not contain.
    fn relocation(&self) -> &'static str {
        if self.flags.contains("-fno-pic") { "--relocation-model static" } else { "" }
    }

    /// Links by GCC: clang would load LLVM for this, which takes longer than linking.
    fn link(&self, step_name: &str, objects: &[&Path], executable: &Path) -> Result<(), String> {
        let mut command = self.tool(if self.program.is_cpp() { "g++" } else { "gcc" });
        command.args(objects);
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
            Ok(reference) => self.failures(folder, reference.as_ref()),
        };
        if failures.is_empty() {
            fs::remove_dir_all(folder).expect("a folder can be removed");
        }
        failures
    }

    /// The failures of the variants. Equal assembly makes equal executables, so each is tried once.
    fn failures(&self, folder: &Path, reference: Option<&Reference>) -> Vec<String> {
        let mut tried = HashMap::new();
        let mut variant = |arguments: &str| {
            let assembly = chordal(folder, &format!("{arguments} {}", self.relocation()))?;
            tried.entry(assembly).or_insert_with(|| self.finish(folder, reference)).clone()
        };
        let failure = |arguments: &String| variant(arguments).err().map(|failure| format!("{arguments}: {failure}"));
        self.variants.iter().filter_map(failure).collect()
    }

    /// Compiles to bitcode, and has clang's own code generator compile that.
    fn reference(&self, folder: &Path) -> Result<Option<Reference>, String> {
        let bitcode = folder.join("program.bc");
        let object = folder.join("reference.o");
        let executable = folder.join("reference");
        let mut compile = self.clang();
        compile.args(["-c", "-emit-llvm"]).arg(&self.program.path);
        step("clang", compile.arg("-o").arg(&bitcode))?;
        if !runs_here(self.program) {
            return Ok(None);
        }
        let mut generate = self.clang();
        generate.args(["-Xclang", "-disable-llvm-passes", "-c"]).arg(&bitcode);
        step("clang's code generator", generate.arg("-o").arg(&object))?;
        let support = self.support(folder)?;
        self.link("link clang's build", &objects(&object, support.as_deref()), &executable)?;
        let output = execute(&executable)?;
        if output.status.success() {
            Ok(Some(Reference { output, support }))
        } else {
            Err(format!("clang's own build: {}", output.status))
        }
    }

    /// The object that a 32-bit program needs in addition.
    fn support(&self, folder: &Path) -> Result<Option<PathBuf>, String> {
        if !self.flags.contains("-m32") {
            return Ok(None);
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/support/x87_double.c");
        let object = folder.join("support.o");
        step("clang", self.clang().arg("-c").arg(source).arg("-o").arg(&object))?;
        Ok(Some(object))
    }

    /// Makes an executable from chordal's assembly, and compares its behaviour.
    fn finish(&self, folder: &Path, reference: Option<&Reference>) -> Result<(), String> {
        let object = folder.join("program.o");
        let executable = folder.join("program");
        step("assemble", self.clang().arg("-c").arg(folder.join(ASSEMBLY)).arg("-o").arg(&object))?;
        let Some(Reference { output: expected, support }) = reference else { return Ok(()) };
        self.link("link", &objects(&object, support.as_deref()), &executable)?;
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

fn objects<'a>(object: &'a Path, support: Option<&'a Path>) -> Vec<&'a Path> {
    [object].into_iter().chain(support).collect()
}

/// The assembly that chordal makes of the same bitcode.
fn chordal(folder: &Path, arguments: &str) -> Result<Vec<u8>, String> {
    let assembly = folder.join(ASSEMBLY);
    let chordal = std::env::var_os("CHORDAL_BIN").unwrap_or(env!("CARGO_BIN_EXE_chordal").into());
    let mut compile = Command::new(chordal);
    compile.arg("compile").arg(folder.join("program.bc")).arg("-o").arg(&assembly);
    step("chordal", compile.args(["--verify-llvm", "--no-fallback"]).args(arguments.split_whitespace()))?;
    Ok(fs::read(assembly).expect("chordal wrote it"))
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
    let failures = complaints(&jobs, |job| {
        let name = job.program.name();
        let found = job.run(&folder.join(format!("{name}{}", job.flags.replace(' ', ""))));
        found.iter().map(|failure| format!("{name} {}: {failure}", job.flags)).collect()
    });
    let variants: usize = jobs.iter().map(|job| job.variants.len()).sum();
    assert!(failures.is_empty(), "{} of {variants} failed:\n\n{}\n", failures.len(), failures.join("\n"));
}
