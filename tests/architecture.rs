//! Only `src/llvm/` and `src/cli/` know LLVM, only `src/llvm/x86/` the processor's instructions, and only one table the name of an
//! allocator; no integration test is left out.

use std::fs;
use std::path::{Path, PathBuf};

const MAY_NAME_LLVM: [&str; 3] = ["src/llvm", "src/cli", "src/paper/exhibits/optimality.rs"];

#[test]
fn only_the_bridge_and_the_command_line_name_llvm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut offenders = Vec::new();
    for file in sources(&root.join("src")) {
        let relative = file.strip_prefix(root).expect("the file is below the root");
        if MAY_NAME_LLVM.iter().any(|folder| relative.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("sources are readable");
        for (number, line) in code(&text).lines().enumerate() {
            let line = line.to_lowercase();
            // The map of the crate has to name the module.
            let declaration = relative == Path::new("src/lib.rs") && line.trim() == "pub mod llvm;";
            if !declaration && (line.contains("llvm") || line.contains("inkwell")) {
                offenders.push(format!("{}:{}: {}", relative.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(offenders.is_empty(), "these name LLVM:\n{}", offenders.join("\n"));
}

/// Registers and instructions are found by name, since LLVM installs no headers for them.
#[test]
fn only_one_folder_of_the_bridge_names_instructions() {
    let mut offenders = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/llvm")).expect("folders are readable") {
        let path = entry.expect("entries are readable").path();
        if !path.extension().is_some_and(|extension| extension == "cpp" || extension == "h") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("sources are readable");
        for (number, line) in code(&text).lines().enumerate() {
            if ["X86", "x86-", "classNamed(\"", ".opcode("].iter().any(|name| line.contains(name)) {
                offenders.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(offenders.is_empty(), "these know the processor:\n{}", offenders.join("\n"));
}

/// Cargo does not look for tests itself (`autotests` is off), and what no module names is not compiled.
#[test]
fn every_integration_test_is_in_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (folder, names) in [(root.clone(), include_str!("main.rs")), (root.join("cli"), include_str!("cli/mod.rs"))] {
        for entry in fs::read_dir(folder).expect("folders are readable") {
            let path = entry.expect("entries are readable").path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("names are UTF-8");
            let named = names.lines().any(|line| line == format!("mod {name};"));
            assert!(named || ["main", "mod"].contains(&name), "no module names {}", path.display());
        }
    }
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("folders are readable") {
        let path = entry.expect("entries are readable").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// A source without its comments, line by line. (No string of ours contains `//`.)
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What allocates knows neither who asks for it nor who measures it.
#[test]
fn the_core_knows_neither_the_command_line_nor_measuring() {
    const CORE: [&str; 4] = ["src/allocate", "src/analysis", "src/check", "src/machine"];
    const OUTSIDE: [&str; 4] = ["clap", "cli::", "measure::", "paper::"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut offenders = Vec::new();
    for file in CORE.iter().flat_map(|folder| sources(&root.join(folder))) {
        let text = fs::read_to_string(&file).expect("sources are readable");
        for (number, line) in code(&text).lines().enumerate().filter(|(_, line)| OUTSIDE.iter().any(|name| line.contains(name))) {
            offenders.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
        }
    }
    assert!(offenders.is_empty(), "these know who asks or measures:\n{}", offenders.join("\n"));
}
