//! `chordal count`: the second opinion on chordal's statistics, and the command from outside.

use assert_cmd::Command;
use chordal::stats::{Function, Static, Statistics};
use predicates::str::contains;
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

/// Functions that the two sides know by different names: a calling convention that decorates symbols.
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
    compile.arg("compile").arg(ir).args(["--emit", "obj", "--allocator", allocator]);
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
        for (_, function) in RENAMED.iter().filter(|(name, _)| *name == program.name()) {
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

const SOURCE: &str = "
int table[] = {1, 2, 3};
int first(int *p) { return *p; }
int second(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
extern int alias(int *p) __attribute__((alias(\"first\")));
";

/// A folder with objects that gcc has made.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).expect("the folder is writable");
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        run(Process::new(program).current_dir(self.0.path()).args(arguments));
    }

    fn compile(&self, source: &str, flags: &[&str]) {
        self.write("p.c", source);
        self.run("gcc", &[&["-O2", "-c", "p.c"], flags].concat());
    }

    fn count(&self, arguments: &[&str]) -> Command {
        let mut command = chordal();
        command.current_dir(self.0.path()).arg("count").args(arguments);
        command
    }

    fn counted(&self, arguments: &[&str]) -> String {
        let assert = self.count(arguments).assert().success().stderr("");
        String::from_utf8(assert.get_output().stdout.clone()).expect("text")
    }

    fn assert_refused(&self, file: &str, reason: &str) {
        let start = format!("chordal: error: {file}: ");
        let assert = self.count(&[file]).assert().code(1).stdout("").stderr(contains(reason.to_owned()));
        let message = String::from_utf8(assert.get_output().stderr.clone()).expect("text");
        assert!(message.starts_with(&start) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn a_row_for_each_file_and_a_total() {
    let folder = Folder::new();
    folder.compile(SOURCE, &["-o", "a.o"]);
    folder.compile(SOURCE, &["-m32", "-ffunction-sections", "-o", "b.o"]);
    let text = folder.counted(&["a.o", "b.o", "--format", "csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "file,functions,loads,stores,moves,xors,instructions,bytes");
    assert!(lines[1].starts_with("a.o,2,2,0,"), "{text}");
    assert!(lines[2].starts_with("b.o,2,"), "{text}");
    assert!(lines[3].starts_with("total,4,"), "{text}");
    assert_eq!(lines.len(), 4);
    assert_eq!(folder.counted(&["a.o", "b.o", "--per", "total", "--format", "csv"]).lines().nth(1), Some(lines[3]));
    assert!(folder.counted(&["a.o"]).starts_with("file  functions  loads"));
    assert!(folder.counted(&["a.o", "--format", "markdown"]).starts_with("| file | functions |"));
}

#[test]
fn functions_are_those_of_the_symbol_table() {
    let folder = Folder::new();
    folder.compile(SOURCE, &["-o", "a.o"]);
    let text = folder.counted(&["a.o", "--per", "function", "--format", "csv"]);
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(names, ["first", "second", ""], "an alias is counted once");
    let top = folder.counted(&["a.o", "--per", "function", "--top", "1", "--format", "csv"]);
    assert!(top.contains("a.o,second,") && !top.contains("first"), "{top}");
    assert_eq!(top.lines().last(), text.lines().last());
}

#[test]
fn json_is_statistics() {
    let folder = Folder::new();
    folder.compile(SOURCE, &["-m32", "-o", "a.o"]);
    let text = folder.counted(&["a.o", "--format", "json"]);
    let statistics: Statistics = serde_json::from_str(&text).expect("statistics");
    assert_eq!((statistics.allocator.as_str(), statistics.source.as_str()), ("disassembly", "a.o"));
    assert_eq!(statistics.target, "i386");
    assert_eq!(statistics.functions.len(), 2);
    assert_eq!(text, folder.counted(&["a.o", "--format", "json"]));
    let usage = folder.count(&["a.o", "--format", "json", "--top", "3"]).assert().code(2);
    usage.stderr(contains("JSON always has everything"));
}

#[test]
fn executables_and_archives_are_counted() {
    let folder = Folder::new();
    folder.compile("int main(void) { return 0; }", &["-o", "main.o"]);
    folder.compile(SOURCE, &["-o", "a.o"]);
    folder.compile("int data = 1;", &["-o", "data.o"]);
    folder.run("gcc", &["main.o", "a.o", "-o", "program"]);
    folder.run("gcc", &["-shared", "-fPIC", "-O2", "p.c", "-o", "library.so"]);
    folder.run("ar", &["rcs", "lib.a", "a.o", "data.o", "main.o"]);
    let functions = folder.counted(&["program", "--per", "function", "--format", "csv"]);
    for name in ["main", "second", "_start"] {
        assert!(functions.contains(&format!("program,{name},")), "{functions}");
    }
    let members = folder.counted(&["lib.a", "--format", "csv"]);
    assert!(members.contains("\nlib.a(a.o),2,") && members.contains("\nlib.a(main.o),1,"), "{members}");
    folder.counted(&["library.so"]);
    folder.run("strip", &["program", "library.so"]);
    folder.assert_refused("program", "no symbol table (stripped?)");
    folder.assert_refused("library.so", "no symbol table (stripped?)");
    folder.run("ar", &["rcsT", "thin.a", "a.o"]);
    folder.assert_refused("thin.a", "a thin archive");
}

#[test]
fn code_of_no_function_is_reported() {
    let folder = Folder::new();
    folder.write("p.s", "label:\n  mov %ebx, %eax\n  ret\n  .p2align 4\n  .type f, @function\nf:\n  ret\n  .p2align 4\n");
    folder.run("gcc", &["-c", "p.s"]);
    let assert = folder.count(&["p.o", "--format", "csv"]).assert().success();
    let assert = assert.stderr("chordal: warning: p.o: 3 bytes of code are in no function and not counted\n");
    assert.stdout(contains("p.o,1,0,0,0,0,1,1\n"));
    folder.write("data.s", "  .type f, @function\nf:\n  ret\n  .byte 6, 6\n  .size f, .-f\n");
    folder.run("gcc", &["-c", "data.s"]);
    let assert = folder.count(&["data.o", "--format", "csv"]).assert().success();
    let assert = assert.stderr("chordal: warning: data.o: 2 bytes in functions are no known instructions\n");
    assert.stdout(contains("data.o,1,0,0,0,0,1,3\n"));
}

#[test]
fn files_without_code_are_an_error_only_where_no_other_has_some() {
    let folder = Folder::new();
    folder.compile("int data = 1;", &["-o", "data.o"]);
    folder.compile(SOURCE, &["-o", "a.o"]);
    folder.assert_refused("data.o", "no code");
    let both = folder.count(&["data.o", "a.o"]).assert().success();
    both.stderr("chordal: warning: data.o: no code\n").stdout(contains("a.o "));
    folder.run("ar", &["rcs", "data.a", "data.o"]);
    folder.assert_refused("data.a", "no code");
}

#[test]
fn bad_input_is_one_message() {
    let folder = Folder::new();
    folder.compile(SOURCE, &["-o", "a.o"]);
    let object = fs::read(folder.0.path().join("a.o")).expect("an object");
    folder.write("empty", "");
    folder.write("text", "these are words, and no object file at all\n");
    let mut arm = object.clone();
    arm[18] = 183;
    folder.write("arm.o", &arm);
    folder.write("asm.s", ".globl label\nlabel: ret\n");
    folder.run("gcc", &["-c", "asm.s"]);
    folder.assert_refused("empty", "the file is empty");
    folder.assert_refused("text", "not an ELF object file");
    folder.assert_refused("p.c", "not an ELF object file");
    folder.assert_refused("arm.o", "code for another machine (Aarch64)");
    folder.assert_refused("asm.o", "no function has a symbol");
    folder.assert_refused("missing.o", "No such file");
    folder.assert_refused(".", "directory");
    folder.write("bad.a", [b"!<arch>\n".as_slice(), &object].concat());
    folder.assert_refused("bad.a", "damaged");
    folder.count(&[]).assert().code(2);
}

#[test]
fn damaged_objects_never_panic() {
    let folder = Folder::new();
    folder.compile(SOURCE, &["-o", "a.o"]);
    let object = fs::read(folder.0.path().join("a.o")).expect("an object");
    for length in 0..object.len() {
        let _ = chordal::count::count(&object[..length]);
    }
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let mut damaged = object.clone();
        for _ in 0..random.usize(1..8) {
            let place = random.usize(..damaged.len());
            damaged[place] = random.u8(..);
        }
        let _ = chordal::count::count(&damaged);
    }
}
