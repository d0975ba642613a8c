//! What a debugger shows of variables in chordal's code: `scripts/debugging.py`, which runs gdb.

use crate::plugin::plugin;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Variables of one function that clang's build shows at some line and ours does not. Their instructions move down in a block past
/// the line, or nothing reads them any more and their registers have another use.
const HIDDEN: (&str, [&str; 3]) = ("mix", ["a", "e", "l"]);

fn rows(registers: &str) -> Vec<serde_json::Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().expect("there is room for temporary files");
    let json = folder.path().join("rows.json");
    let mut script = Command::new("python3");
    script.arg(root.join("scripts/debugging.py")).args(["--chordal", env!("CARGO_BIN_EXE_chordal"), "--registers", registers]);
    script.env("CHORDAL_PLUGIN", plugin());
    let output = script.arg("--json").arg(&json).output().expect("Python starts");
    // It fails if a value is wrong.
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&std::fs::read(&json).expect("it has written rows")).expect("rows are JSON")
}

fn shown(row: &serde_json::Value, build: &str) -> BTreeSet<String> {
    let names = row[build].as_array().expect("each build has a list").iter();
    names.map(|name| name.as_str().expect("names are text").to_owned()).collect()
}

#[test]
fn gdb_shows_what_it_shows_of_clangs_code() {
    let rows = rows("all");
    assert!(rows.len() >= 20, "{} lines were reached", rows.len());
    for row in &rows {
        let hidden: Vec<String> = shown(row, "clang").difference(&shown(row, "chordal")).cloned().collect();
        let (function, names) = HIDDEN;
        let is_known = row["function"] == function && hidden.iter().all(|name| names.contains(&name.as_str()));
        assert!(hidden.is_empty() || is_known, "gdb does not show {hidden:?} any more: {row}");
    }
}

/// Where variables are in memory, gdb finds them there.
#[test]
fn gdb_finds_variables_in_memory() {
    let rows = rows("6");
    let count = |build: &str| rows.iter().map(|row| shown(row, build).len()).sum::<usize>();
    assert!(count("chordal") * 10 >= count("clang") * 9, "{} of {}", count("chordal"), count("clang"));
}

/// Debug information changes no instruction.
#[test]
fn the_same_is_executed_with_debug_information() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/debugging/program.c");
    let instructions = |registers: &str, flags: &[&str]| {
        let mut chordal = Command::new(env!("CARGO_BIN_EXE_chordal"));
        chordal
            .args(["cc", "-O2", "-S", "-o", "-"])
            .args(flags)
            .arg(&source)
            .env("CHORDAL_REGISTERS", registers)
            .env("CHORDAL_PLUGIN", plugin());
        let assembly = chordal.output().expect("chordal starts").stdout;
        let assembly = String::from_utf8(assembly).expect("assembly is text");
        let code = assembly.lines().map(|line| line.split('#').next().unwrap_or_default().trim_end());
        let is_code = |line: &&str| line.starts_with('\t') && !line.trim_start().starts_with('.');
        code.filter(is_code).map(str::to_owned).collect::<Vec<_>>()
    };
    for registers in ["all", "6"] {
        let plain = instructions(registers, &[]);
        assert!(plain.len() > 200, "{} instructions", plain.len());
        assert_eq!(plain, instructions(registers, &["-g"]));
    }
}
