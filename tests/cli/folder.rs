//! Folders in which tests run commands.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::path::PathBuf;
use std::process::Command as Process;
use tempfile::TempDir;

pub const PROGRAM: &str = r#"
#include <stdio.h>
typedef int Operation(int, int);
static int add(int a, int b) { return a + b; }
static int mul(int a, int b) { return a * b; }
Operation *volatile operations[] = {add, mul};
__attribute__((noinline)) int indirect(int a, int b) {
  Operation *f = operations[a & 1];
  if (!f) return 7;
  __attribute__((musttail)) return f(a, b);
}
int sum(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
int main(void) {
  int numbers[] = {1, 2, 3, 4};
  printf("%d %d %d\n", indirect(2, 3), indirect(3, 4), sum(numbers, 4));
  return 0;
}
"#;
pub const PROGRAM_PRINTS: &str = "5 12 10\n";

/// Another function for the program, whose inline assembly needs six registers at once.
const CROWDED: &str = r#"
long crowded(void) {
  long a, b, c, d, e, f;
  __asm__("" : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "=&r"(e), "=&r"(f));
  return a + b + c + d + e + f;
}
"#;

/// A folder with `p.bc`, the program as bitcode.
pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    pub fn with_program(flags: &[&str]) -> Self {
        Folder::compiled(PROGRAM, flags)
    }

    /// A folder with the program and `crowded`, which needs more than four registers.
    pub fn with_crowded_program(flags: &[&str]) -> Self {
        Folder::compiled(&[PROGRAM, CROWDED].concat(), flags)
    }

    fn compiled(program: &str, flags: &[&str]) -> Self {
        let folder = Folder::new();
        folder.write("p.c", program);
        folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "p.c", "-o", "p.bc"]).args(flags));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("the folder is writable");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&self.read(name)).expect("statistics are JSON")
    }

    /// The names of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder is readable");
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs a program in the folder, which must succeed, and returns its output.
    pub fn run(&self, command: &mut Process) -> String {
        let output = command.current_dir(self.0.path()).output().expect("the program starts");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    pub fn chordal(&self, arguments: &[&str]) -> Command {
        let mut command = chordal();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Links an output with clang and runs it.
    pub fn link_and_run(&self, output: &str, flags: &[&str]) -> String {
        self.run(Process::new("clang-22").args([output, "-o", "p"]).args(flags));
        self.run(&mut Process::new(self.path("p")))
    }

    /// Asserts that the input is refused: one message that names it, exit status 1, and no new file.
    pub fn assert_refused(&self, input: &str, reason: &str) {
        let before = self.files();
        let assert = self.chordal(&["compile", input, "-o", "out.s", "--stats", "out.json"]).assert();
        assert_fails(assert, &format!("chordal: error: {input}: "), reason);
        assert_eq!(self.files(), before);
    }
}

pub fn chordal() -> Command {
    let mut command = Command::cargo_bin("chordal").expect("the binary is built");
    command.env("CHORDAL_PLUGIN", crate::plugin::plugin());
    command
}

/// Asserts exit status 1 and one line on standard error.
pub fn assert_fails(assert: Assert, start: &str, reason: &str) {
    let one_line = predicate::function(|text: &str| text.trim_end().lines().count() == 1);
    assert
        .code(1)
        .stdout("")
        .stderr(predicate::str::starts_with(start.to_owned()))
        .stderr(contains(reason.to_owned()))
        .stderr(one_line);
}

/// Asserts exit status 2 and a message with this text.
pub fn assert_usage(command: &mut Command, text: &str) {
    command.assert().code(2).stdout("").stderr(contains("error: ")).stderr(contains(text.to_owned()));
}
