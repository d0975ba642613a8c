//! Tests of the plug-in in clang, llc, lld and cargo.

use crate::cli::{Folder, PROGRAM, PROGRAM_PRINTS};
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

fn with_plugin(flag: &str) -> String {
    format!("{flag}{}", plugin().display())
}

/// What a compiler or linker says in a folder, and whether it succeeds.
fn said(folder: &Folder, command: &mut Command) -> (bool, String) {
    let output = command.current_dir(folder.0.path()).output().expect("it starts");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A program of several modules, each with a function that takes long to allocate.
fn modules(folder: &Folder, flags: &[&str]) -> Vec<String> {
    folder.write("p.c", PROGRAM);
    let sources = (0..6).map(|i| {
        let name = format!("m{i}");
        let text = format!(
            "int f{i}(int *p, int n) {{ int s = 0, t = {i}; for (int k = 0; k < n; k++) \
             {{ s += p[k] * t; t ^= s >> 3; if (s & 1) p[k] = t; }} return s + t; }}"
        );
        folder.write(&format!("{name}.c"), text);
        name
    });
    let names: Vec<String> = sources.chain(["p".to_owned()]).collect();
    for name in &names {
        folder.run(Command::new("clang-22").args(flags).args(["-O2", "-c", &format!("{name}.c"), "-o", &format!("{name}.o")]));
    }
    names.iter().map(|name| format!("{name}.o")).collect()
}

/// Whatever the number of threads, the program is the same, and each module has its statistics.
#[test]
fn a_linker_generates_code_with_it() {
    for kind in ["-flto=thin", "-flto=full"] {
        let folder = Folder::new();
        let objects = modules(&folder, &[kind]);
        let link = |jobs: &str, statistics: &str| {
            let mut clang = Command::new("clang-22");
            clang.args(["-O2", kind, "-fuse-ld=lld", &with_plugin("-Wl,--load-pass-plugin="), jobs]).args(&objects);
            // Nothing calls the functions of the modules.
            clang.args(["-Wl,--export-dynamic", "-o", "p"]).env("CHORDAL_STATS", folder.path(statistics));
            clang.env("CHORDAL_OPTIONS", "--no-times");
            folder.run(&mut clang);
            folder.read("p")
        };
        let one = link("-Wl,--thinlto-jobs=1", "stats");
        for _ in 0..4 {
            assert!(one == link("-Wl,--thinlto-jobs=4", "again"), "{kind}");
        }
        assert_eq!(folder.run(&mut Command::new(folder.path("p"))), PROGRAM_PRINTS);
        let module = if kind == "-flto=thin" { "p.o" } else { "ld-temp.o" };
        let statistics = folder.json(&format!("stats/p.lto/{module}.json"));
        assert_eq!(statistics["allocator"], "tuned");
        assert_eq!(statistics, folder.json(&format!("again/p.lto/{module}.json")));
        folder.run(Command::new("clang-22").args(["-O2", kind, "-fuse-ld=lld", "-o", "q"]).args(&objects));
        assert!(one != folder.read("q"), "lld has allocated");
    }
}

#[test]
fn options_come_by_the_command_line_or_the_environment() {
    let folder = Folder::new();
    folder.write("p.c", PROGRAM);
    let flag = with_plugin("-fpass-plugin=");
    let made = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut clang = Command::new("clang-22");
        clang.args(["-O2", "-c", "p.c", "-o", "p.o", &flag]).args(arguments).envs(environment.iter().copied());
        folder.run(&mut clang);
        folder.read("p.o")
    };
    let simple = made(&[], &[("CHORDAL_ALLOCATOR", "simple"), ("CHORDAL_REGISTERS", "4")]);
    assert!(simple != made(&[], &[]));
    let options = ["-mllvm", "-chordal-allocator=simple", "-mllvm", "-chordal-registers=4"];
    assert!(simple == made(&options, &[("CHORDAL_ALLOCATOR", "ch-o1")]));
    assert!(simple == made(&["-mllvm", "-chordal-options=--allocator simple --registers 4"], &[]));
    assert!(made(&[], &[]) == made(&[], &[("CHORDAL_OPTIONS", "--in-turn")]));
    let greedy = made(&[], &[("CHORDAL_ALLOCATOR", "llvm-greedy")]);
    folder.run(Command::new("clang-22").args(["-O2", "-c", "p.c", "-o", "p.o"]));
    assert!(greedy == folder.read("p.o"));
}

/// A function that cannot be allocated goes on through LLVM's passes, and the compiler says so where it says such things.
#[test]
fn what_cannot_be_allocated_is_left_to_llvm_in_the_same_run() {
    let folder = Folder::with_crowded_program(&["-g"]);
    let clang = |arguments: &[&str]| {
        let mut clang = Command::new("clang-22");
        clang.args(["-O2", "-g", "-c", "p.c", "-o", "p.o", &with_plugin("-fpass-plugin=")]).args(arguments);
        clang.env("CHORDAL_REGISTERS", "4");
        clang
    };
    let (done, text) = said(&folder, &mut clang(&["-Rpass-missed=chordal"]));
    assert!(done && text.contains("p.c:19:1: remark: left to LLVM's greedy allocator: "), "{text}");
    assert!(text.contains("warning: chordal: function crowded: left to LLVM's greedy allocator: "), "{text}");
    assert_eq!(folder.link_and_run("p.o", &[]), PROGRAM_PRINTS);
    let compile = ["compile", "p.bc", "--emit", "obj", "--addrsig", "--call-site-info", "--registers", "4", "-o", "q.o"];
    folder.chordal(&compile).assert().success();
    assert!(folder.read("p.o") == folder.read("q.o"));
    std::fs::remove_file(folder.path("p.o")).expect("it was made");
    for (variable, value, why) in [
        ("CHORDAL_OPTIONS", "--no-fallback", "error: chordal: p.c: function crowded: "),
        ("CHORDAL_ALLOCATOR", "tunde", "error: chordal: invalid value 'tunde' for CHORDAL_ALLOCATOR: "),
        ("CHORDAL_REGISTERS", "3", "error: chordal: invalid value '3' for CHORDAL_REGISTERS: "),
        ("CHORDAL_OPTIONS", "--emit obj", "unexpected argument '--emit'"),
        ("CHORDAL_ALLOCATOR", "llvm-fast", "llvm-fast cannot be held to registers"),
        ("CHORDAL_STATS", "/dev/null/x", "error: chordal: p.c: CHORDAL_STATS"),
    ] {
        let (done, text) = said(&folder, clang(&[]).env(variable, value));
        assert!(!done && text.contains(why), "{variable}={value}: {text}");
        assert!(!folder.path("p.o").exists(), "{variable}={value}");
    }
}

#[test]
fn other_targets_are_llvms() {
    let folder = Folder::new();
    folder.write("p.c", "int f(int x) { return x + 1; }");
    for flags in [["-O2", "--target=aarch64-linux-gnu"], ["-O0", "--target=aarch64-linux-gnu"]] {
        let made = |plugin: &[String]| {
            let (done, text) = said(&folder, Command::new("clang-22").args(flags).args(["-c", "p.c", "-o", "p.o"]).args(plugin));
            assert!(done, "{text}");
            (text, folder.read("p.o"))
        };
        let (text, object) = made(&[with_plugin("-fpass-plugin=")]);
        assert!(text.contains("the target `aarch64-unknown-linux-gnu` is not supported"), "{text}");
        assert!(object == made(&[]).1, "{flags:?}");
    }
}

#[test]
fn llc_generates_code_with_it() {
    let folder = Folder::with_program(&[]);
    let flag = with_plugin("--load-pass-plugin=");
    folder.run(Command::new("llc-22").args(["-relocation-model=pic", &flag, "p.bc", "-o", "p.s"]));
    assert_eq!(folder.link_and_run("p.s", &[]), PROGRAM_PRINTS);
    folder.chordal(&["compile", "p.bc", "-o", "q.s"]).assert().success();
    let code = |file: &str| {
        let text = String::from_utf8(folder.read(file)).expect("text");
        text.lines()
            .filter(|line| line.starts_with('\t') && !line.starts_with("\t."))
            .map(str::trim)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let stripped = |lines: Vec<String>| {
        lines.into_iter().map(|line| line.split('#').next().unwrap_or_default().trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(stripped(code("p.s")), stripped(code("q.s")));
}

/// Rust, by way of cargo: its linker generates the code.
#[test]
fn cargo_builds_with_it() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("src")).expect("the folder is writable");
    folder.write("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    let main = "fn main() { let mut v: Vec<u32> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect(); \
                v.sort(); println!(\"{v:?}\"); }";
    folder.write("src/main.rs", main);
    let mut cargo = folder.chordal(&["cargo", "build", "--release", "--quiet", "--offline", "--target-dir", "made"]);
    cargo.env("CHORDAL_STATS", folder.path("stats")).env("CHORDAL_ALLOCATOR", "spill-free").env_remove("CARGO");
    cargo.assert().success().stderr("");
    assert_eq!(folder.run(Command::new(folder.path("made/release/p")).args(["3", "1", "2"])), "[1, 2, 3]\n");
    folder.chordal(&["stats", "stats", "--per", "total"]).assert().success().stdout(predicates::str::contains("total"));
    let refused = folder.chordal(&["cargo", "build"]).env("CHORDAL_REGISTERS", "rax,rax").assert();
    refused.code(2).stderr(predicates::str::contains("CHORDAL_REGISTERS"));
}

/// A program that loads the library, but not LLVM.
const WITHOUT_LLVM: &str = "#include <dlfcn.h>
struct Info { unsigned api; void *rest[4]; };
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return 9;
  struct Info (*info)(void) = (struct Info (*)(void))dlsym(library, \"llvmGetPassPluginInfo\");
  return info().api;
}
";

#[test]
fn a_program_without_this_llvm_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.write("load.c", WITHOUT_LLVM);
    folder.run(Command::new("clang-22").args(["load.c", "-ldl", "-o", "load"]));
    let (accepted_nothing, text) = said(&folder, Command::new(folder.path("load")).arg(plugin()));
    assert!(accepted_nothing, "the version of the interface is not 0: {text}");
    let sentence = "chordal: error: the plug-in was built for LLVM 22.1, and this program has no such LLVM as a shared library\n";
    assert_eq!(text, sentence);
}
