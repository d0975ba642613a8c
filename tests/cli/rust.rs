//! rustc's bitcode, from `testdata/rust`: compiled, linked with Rust's own library, and executed.

use super::folder::Folder;
use std::process::Command as Process;

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/rust/library.rs");
const MAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/rust/main.rs");

/// Arguments of rustc and, for each, of chordal.
const BUILDS: [(&str, &[&str]); 3] = [
    ("-Copt-level=3", &["", "--registers 4", "--allocator spill-free", "--allocator linear-scan", "--allocator llvm-greedy"]),
    ("-Copt-level=z", &["", "--registers 8"]),
    ("-Copt-level=0 -g", &["", "--allocator ch-o3 --registers 8"]),
];

#[test]
fn the_same_is_printed_as_with_rustcs_own_code() {
    let folder = Folder::new();
    if !llvm_can_read_rustcs(&folder) {
        eprintln!("skipped: this rustc has a newer LLVM than chordal");
        return;
    }
    for (flags, variants) in BUILDS {
        let library = ["-Ccodegen-units=1", "--crate-type=lib", "--emit=llvm-bc=l.bc,obj=l.o", LIBRARY];
        folder.run(rustc().args(flags.split(' ')).args(library));
        let expected = linked(&folder);
        assert!(expected.contains("unwinding: 18 876\n"), "{expected}");
        for variant in variants {
            let options = ["compile", "l.bc", "-o", "l.o", "--emit", "obj", "--verify-llvm", "--no-fallback"];
            folder.chordal(&options).args(variant.split_whitespace()).assert().success();
            assert_eq!(linked(&folder), expected, "{flags}, {variant}");
        }
    }
}

fn rustc() -> Process {
    let mut rustc = Process::new("rustc");
    rustc.arg("--edition=2024");
    rustc
}

/// Whether our LLVM can read rustc's bitcode; a newer LLVM's is refused.
fn llvm_can_read_rustcs(folder: &Folder) -> bool {
    let versions = folder.run(Process::new("rustc").arg("-vV"));
    let version = versions.lines().find_map(|line| line.strip_prefix("LLVM version: ")).expect("rustc says which LLVM it has");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.expect("a version begins with a number") <= 22
}

/// Links the program with the library as it is now, and returns its output.
fn linked(folder: &Folder) -> String {
    // Otherwise, members of the old archive would remain.
    let _ = std::fs::remove_file(folder.path("liblibrary.a"));
    folder.run(Process::new("ar").args(["rc", "liblibrary.a", "l.o"]));
    folder.run(rustc().args(["-L.", "-lstatic=library", "-oprogram", MAIN]));
    folder.run(&mut Process::new(folder.path("program")))
}
