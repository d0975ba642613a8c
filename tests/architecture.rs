//! The rules of the modules: only the bridge and the command line know LLVM, only one table knows the names of allocators,
//! and no integration test is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const MAY_NAME_LLVM: [&str; 4] = ["src/llvm", "src/cli", "src/plugin", "src/paper/exhibits/optimality.rs"];

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
            // lib.rs has to declare the module.
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

/// Cargo does not look for tests itself (`autotests` is off), so a file that no module names would not be compiled.
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

/// A source without its comments. (None of our strings contains `//`.)
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Code that allocates knows neither who asks for it nor who measures it.
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

/// Files that import each other are one thing: below `src/allocate` they have to be in one folder.
#[test]
fn no_circle_of_imports_leaves_a_folder_of_the_allocator() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: BTreeMap<Vec<String>, PathBuf> =
        sources(&src.join("allocate")).into_iter().map(|file| (module(&src, &file), file)).collect();
    let imports: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        files.iter().map(|(name, file)| (name, imported(name, file, &files))).collect();
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > files.len(), "hardly any import was found");
    let reachable: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        imports.keys().map(|&from| (from, reached(from, &imports))).collect();
    let circles = reachable.iter().flat_map(|(&from, to)| to.iter().map(move |&to| (from, to)));
    let circles = circles.filter(|(from, to)| from < to && reachable[to].contains(from));
    let folder = |name: &Vec<String>| files[name].parent().map(Path::to_path_buf);
    let across: Vec<String> = circles
        .filter(|&(from, to)| folder(from) != folder(to))
        .map(|(from, to)| format!("{} and {}", from.join("::"), to.join("::")))
        .collect();
    assert!(across.is_empty(), "these import each other, by way of others or not:\n{}", across.join("\n"));
}

/// The module that a file is: `src/allocate/spill/mod.rs` is `allocate::spill`.
fn module(src: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(src).expect("the file is below the sources").with_extension("");
    let mut names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.pop_if(|last| last == "mod");
    names
}

/// The files that a file imports from: of each path that it names in a `use`, the longest beginning that is a file. (Tests within
/// it do not count.)
fn imported<'a>(name: &[String], file: &Path, files: &'a BTreeMap<Vec<String>, PathBuf>) -> BTreeSet<&'a Vec<String>> {
    let text = fs::read_to_string(file).expect("sources are readable");
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut paths = Vec::new();
    for item in &parsed.items {
        if let syn::Item::Use(item) = item {
            flatten(&item.tree, &mut Vec::new(), &mut paths);
        }
    }
    let absolute = paths.into_iter().map(|path| absolute(name, path));
    let longest = absolute.filter_map(|path| (1..=path.len()).rev().find_map(|length| files.get_key_value(&path[..length])));
    longest.map(|(found, _)| found).filter(|&found| found != name).collect()
}

/// All paths of a tree of imports.
fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, paths)),
        syn::UseTree::Name(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        syn::UseTree::Rename(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        syn::UseTree::Glob(_) => paths.push(before.clone()),
    }
}

/// A path from the crate's root, as a module names it.
fn absolute(module: &[String], path: Vec<String>) -> Vec<String> {
    let mut names = module.to_vec();
    let mut rest = path.as_slice();
    match rest.first().map(String::as_str) {
        Some("crate") => {
            names.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        _ => {}
    }
    while rest.first().is_some_and(|first| first == "super") {
        names.pop();
        rest = &rest[1..];
    }
    names.extend_from_slice(rest);
    names
}

/// Everything that a file imports from, by way of others too.
fn reached<'a>(
    from: &'a Vec<String>,
    imports: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
) -> BTreeSet<&'a Vec<String>> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&Vec<String>> = imports[from].iter().copied().collect();
    while let Some(name) = pending.pop() {
        if reached.insert(name) {
            pending.extend(imports[name].iter().copied());
        }
    }
    reached
}
