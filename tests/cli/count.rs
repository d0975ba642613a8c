//! Tests of `chordal count`.

use super::folder::{Folder, assert_fails, assert_usage};
use assert_cmd::Command;
use chordal::measure::stats::Statistics;
use predicates::str::contains;
use std::process::Command as Process;

const SOURCE: &str = "
int table[] = {1, 2, 3};
int first(int *p) { return *p; }
int second(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
extern int alias(int *p) __attribute__((alias(\"first\")));
";

fn gcc(folder: &Folder, arguments: &[&str]) {
    folder.run(Process::new("gcc").args(arguments));
}

/// Compiles a source.
fn compile(folder: &Folder, source: &str, flags: &[&str]) {
    folder.write("p.c", source);
    gcc(folder, &[&["-O2", "-c", "p.c"], flags].concat());
}

fn count(folder: &Folder, arguments: &[&str]) -> Command {
    folder.chordal(&[&["count"], arguments].concat())
}

/// The output of counting that causes no warning.
fn counted(folder: &Folder, arguments: &[&str]) -> String {
    let assert = count(folder, arguments).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).expect("text")
}

fn assert_refused(folder: &Folder, file: &str, reason: &str) {
    assert_fails(count(folder, &[file]).assert(), &format!("chordal: error: {file}: "), reason);
}

#[test]
fn a_row_for_each_file_and_a_total() {
    let folder = Folder::new();
    compile(&folder, SOURCE, &["-o", "a.o"]);
    compile(&folder, SOURCE, &["-m32", "-ffunction-sections", "-o", "b.o"]);
    let text = counted(&folder, &["a.o", "b.o", "--format", "csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "file,functions,static.loads,static.stores,static.moves,static.xors,static.instructions,static.bytes");
    assert!(lines[1].starts_with("a.o,2,2,0,"), "{text}");
    assert!(lines[2].starts_with("b.o,2,"), "{text}");
    assert!(lines[3].starts_with("total,4,"), "{text}");
    assert_eq!(lines.len(), 4);
    assert_eq!(counted(&folder, &["a.o", "b.o", "--per", "total", "--format", "csv"]).lines().nth(1), Some(lines[3]));
    assert!(counted(&folder, &["a.o"]).starts_with("file  functions  loads"));
    assert!(counted(&folder, &["a.o", "--format", "markdown"]).starts_with("| file | functions |"));
}

#[test]
fn functions_are_those_of_the_symbol_table() {
    let folder = Folder::new();
    compile(&folder, SOURCE, &["-o", "a.o"]);
    let text = counted(&folder, &["a.o", "--per", "function", "--format", "csv"]);
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(names, ["first", "second", ""], "an alias is counted once");
    let top = counted(&folder, &["a.o", "--per", "function", "--top", "1", "--format", "csv"]);
    assert!(top.contains("a.o,second,") && !top.contains("first"), "{top}");
    assert_eq!(top.lines().last(), text.lines().last());
}

#[test]
fn json_is_statistics() {
    let folder = Folder::new();
    compile(&folder, SOURCE, &["-m32", "-o", "a.o"]);
    let text = counted(&folder, &["a.o", "--format", "json"]);
    let statistics: Statistics = serde_json::from_str(&text).expect("statistics");
    assert_eq!((statistics.allocator.as_str(), statistics.source.as_str()), ("disassembly", "a.o"));
    assert_eq!(statistics.target, "i386");
    assert_eq!(statistics.functions.len(), 2);
    assert_eq!(text, counted(&folder, &["a.o", "--format", "json"]));
    assert_usage(&mut count(&folder, &["a.o", "--format", "json", "--top", "3"]), "JSON always has everything");
}

#[test]
fn executables_and_archives_are_counted() {
    let folder = Folder::new();
    compile(&folder, "int main(void) { return 0; }", &["-o", "main.o"]);
    compile(&folder, SOURCE, &["-o", "a.o"]);
    compile(&folder, "int data = 1;", &["-o", "data.o"]);
    gcc(&folder, &["main.o", "a.o", "-o", "program"]);
    gcc(&folder, &["-shared", "-fPIC", "-O2", "p.c", "-o", "library.so"]);
    folder.run(Process::new("ar").args(["rcs", "lib.a", "a.o", "data.o", "main.o"]));
    let functions = counted(&folder, &["program", "--per", "function", "--format", "csv"]);
    for name in ["main", "second", "_start"] {
        assert!(functions.contains(&format!("program,{name},")), "{functions}");
    }
    let members = counted(&folder, &["lib.a", "--format", "csv"]);
    assert!(members.contains("\nlib.a(a.o),2,") && members.contains("\nlib.a(main.o),1,"), "{members}");
    counted(&folder, &["library.so"]);
    folder.run(Process::new("strip").args(["program", "library.so"]));
    assert_refused(&folder, "program", "no symbol table (stripped?)");
    assert_refused(&folder, "library.so", "no symbol table (stripped?)");
    folder.run(Process::new("ar").args(["rcsT", "thin.a", "a.o"]));
    assert_refused(&folder, "thin.a", "a thin archive");
}

#[test]
fn code_of_no_function_is_reported() {
    let folder = Folder::new();
    folder.write("p.s", "label:\n  mov %ebx, %eax\n  ret\n  .p2align 4\n  .type f, @function\nf:\n  ret\n  .p2align 4\n");
    gcc(&folder, &["-c", "p.s"]);
    let assert = count(&folder, &["p.o", "--format", "csv"]).assert().success();
    let assert = assert.stderr("chordal: warning: p.o: 3 bytes of code are in no function and not counted\n");
    assert.stdout(contains("p.o,1,0,0,0,0,1,1\n"));
    folder.write("data.s", "  .type f, @function\nf:\n  ret\n  .byte 6, 6\n  .size f, .-f\n");
    gcc(&folder, &["-c", "data.s"]);
    let assert = count(&folder, &["data.o", "--format", "csv"]).assert().success();
    let assert = assert.stderr("chordal: warning: data.o: 2 bytes in functions are no known instructions\n");
    assert.stdout(contains("data.o,1,0,0,0,0,1,3\n"));
}

#[test]
fn files_without_code_are_an_error_only_where_no_other_has_some() {
    let folder = Folder::new();
    compile(&folder, "int data = 1;", &["-o", "data.o"]);
    compile(&folder, SOURCE, &["-o", "a.o"]);
    assert_refused(&folder, "data.o", "no code");
    let both = count(&folder, &["data.o", "a.o"]).assert().success();
    both.stderr("chordal: warning: data.o: no code\n").stdout(contains("a.o "));
    folder.run(Process::new("ar").args(["rcs", "data.a", "data.o"]));
    assert_refused(&folder, "data.a", "no code");
}

#[test]
fn bad_input_is_one_message() {
    let folder = Folder::new();
    compile(&folder, SOURCE, &["-o", "a.o"]);
    let object = folder.read("a.o");
    folder.write("empty", "");
    folder.write("text", "these are words, and no object file at all\n");
    let mut arm = object.clone();
    arm[18] = 183;
    folder.write("arm.o", &arm);
    folder.write("asm.s", ".globl label\nlabel: ret\n");
    gcc(&folder, &["-c", "asm.s"]);
    assert_refused(&folder, "empty", "the file is empty");
    assert_refused(&folder, "text", "not an ELF object file");
    assert_refused(&folder, "p.c", "not an ELF object file");
    assert_refused(&folder, "arm.o", "code for another machine (Aarch64)");
    assert_refused(&folder, "asm.o", "no function has a symbol");
    assert_refused(&folder, "missing.o", "no such file");
    assert_refused(&folder, ".", "directory");
    folder.write("bad.a", [b"!<arch>\n".as_slice(), &object].concat());
    assert_refused(&folder, "bad.a", "damaged");
    assert_usage(&mut count(&folder, &[]), "<FILE>...");
}

#[test]
fn damaged_objects_never_panic() {
    let folder = Folder::new();
    compile(&folder, SOURCE, &["-o", "a.o"]);
    let object = folder.read("a.o");
    for length in 0..object.len() {
        let _ = chordal::measure::count::count(&object[..length]);
    }
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let mut damaged = object.clone();
        for _ in 0..random.usize(1..8) {
            let place = random.usize(..damaged.len());
            damaged[place] = random.u8(..);
        }
        let _ = chordal::measure::count::count(&damaged);
    }
}
