//! The programs of `testdata/programs`.
//!
//! A program's first lines may say `// flags: …` (for the compiler and the linker), `// flags32: …` (the same, only with
//! `-m32`) and `// only: x86_64` or `// only: i386`. `// registers: 12` gives the smallest of the register limits with which
//! the program can be allocated at all. `// beyond-regalloc2: …` says why regalloc2 refuses one of its functions, `//
//! beyond-stock: …` why LLVM's allocators do so when they are held to few registers.
//!
//! Environment: `CHORDAL_PROGRAMS` (only programs whose names contain this).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[derive(Default)]
pub struct Program {
    pub path: PathBuf,
    flags: Vec<String>,
    flags32: Vec<String>,
    only: Option<String>,
    pub registers: usize,
    pub beyond_regalloc2: bool,
    pub beyond_stock: bool,
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

    pub fn name(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8")
    }

    pub fn is_cpp(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }

    pub fn clang(&self) -> &'static str {
        if self.is_cpp() { "clang++-22" } else { "clang-22" }
    }

    /// Whether the program is to be compiled with these flags.
    pub fn has(&self, flags: &str) -> bool {
        let arch = if flags.contains("-m32") { "i386" } else { "x86_64" };
        self.only.as_deref().is_none_or(|only| only == arch)
    }

    /// These flags and the program's own.
    pub fn all_flags<'a>(&'a self, flags: &'a str) -> impl Iterator<Item = &'a str> {
        let only32 = if flags.contains("-m32") { &self.flags32[..] } else { &[] };
        flags.split_whitespace().chain(self.flags.iter().chain(only32).map(String::as_str))
    }
}

pub fn programs() -> Vec<Program> {
    let wanted = std::env::var("CHORDAL_PROGRAMS").unwrap_or_default();
    programs_in("programs").into_iter().filter(|program| program.name().contains(&wanted)).collect()
}

/// All of a folder of `testdata`, by name.
pub fn programs_in(folder: &str) -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry can be read").path());
    let mut programs: Vec<Program> = entries.map(Program::read).collect();
    programs.sort_by(|a, b| a.path.cmp(&b.path));
    programs
}

/// The complaints of all jobs, in alphabetical order. All processors work on the jobs.
pub fn complaints<J: Sync>(jobs: &[J], run: impl Fn(&J) -> Vec<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let complaints = run(job);
                    found.lock().expect("no worker panics").extend(complaints);
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no worker panics");
    found.sort();
    found
}
