//! Tests of `chordal paper`.

use super::folder::{Folder, assert_fails, assert_usage, chordal};
use serde_json::{Value, json};
use std::fs;

/// A folder with `gzip.bc` and `gzip.i386.bc`, by their names the stand-in for 164.gzip.
fn folder() -> Folder {
    let folder = Folder::with_program(&["-m32"]);
    fs::rename(folder.path("p.bc"), folder.path("gzip.i386.bc")).expect("the folder is writable");
    folder.run(std::process::Command::new("clang-22").args(["-O2", "-emit-llvm", "-c", "p.c", "-o", "gzip.bc"]));
    folder
}

fn claim<'v>(section: &'v Value, text: &str) -> &'v Value {
    let claims = section["claims"].as_array().expect("claims");
    let has_text = |claim: &&Value| claim["claim"].as_str().is_some_and(|claim| claim.contains(text));
    claims.iter().find(has_text).unwrap_or_else(|| panic!("no claim says {text}"))
}

#[test]
fn ours_is_what_compile_counts_and_theirs_what_the_paper_prints() {
    let folder = folder();
    folder.chordal(&["paper", "sra-table1", "gzip.bc", "--format", "json", "-o", "r.json"]).assert().success().stderr("");
    folder.chordal(&["compile", "gzip.bc", "-o", "gzip.s", "--allocator", "ch-o3", "--stats", "s.json"]).assert().success();
    let (report, statistics) = (folder.json("r.json"), folder.json("s.json"));
    let row = &report["sections"][0]["blocks"][1]["table"]["rows"][0];
    let graphs = &statistics["total"]["graphs"];
    assert_eq!(
        row.as_array().expect("cells")[..5],
        json!(["164.gzip", 25716, 339771, 13.21, "gzip"]).as_array().expect("cells")[..]
    );
    assert_eq!((&row[5], &row[6]), (&graphs["value_register"], &graphs["interference"]));
    let measured = claim(&report["sections"][0], "order of magnitude")["measured"][0]["value"].as_f64().expect("a number");
    let ratio = graphs["interference"].as_f64().expect("a number") / graphs["value_register"].as_f64().expect("a number");
    assert!((measured - ratio).abs() < 1e-9, "{measured} is not {ratio}");
}

#[test]
fn a_document_has_charts_and_verdicts_for_both_machines() {
    let folder = folder();
    let arguments = ["paper", "sfe-figure10", "sra-table1", "gzip.bc", "gzip.i386.bc", "--format", "markdown", "-o", "r.md"];
    let more = ["--plot", "charts", "--records", "r.jsonl", "--resume"];
    folder.chordal(&[&arguments[..], &more].concat()).assert().success().stderr("");
    let text = String::from_utf8(folder.read("r.md")).expect("text");
    assert!(text.contains("](charts/sra-table1.svg)") && text.contains("i386, 7 registers: "), "{text}");
    assert!(text.contains("**Spill-free elimination spills nothing** (SFE 1): **reproduced**."), "{text}");
    assert!(!text.contains("sfe-figure12"), "only what was asked for:\n{text}");
    assert!(folder.read("charts/sra-table1.svg").starts_with(b"<svg"));
    // Nothing is run again: the records have all runs, and give the same result.
    let records = folder.read("r.jsonl");
    folder.chordal(&[&arguments[..], &more].concat()).assert().success();
    assert_eq!(folder.read("r.jsonl"), records);
    assert_eq!(folder.read("r.md"), text.as_bytes());
}

#[test]
fn wrong_usage_is_told() {
    let folder = folder();
    assert_usage(&mut folder.chordal(&["paper", "tabel2", "gzip.bc"]), "the nearest is `sra-table2`");
    assert_usage(&mut folder.chordal(&["paper", "all"]), "no module is given");
    fs::create_dir(folder.path("other")).expect("the folder is writable");
    fs::copy(folder.path("gzip.bc"), folder.path("other/gzip.bc")).expect("the folder is writable");
    assert_usage(&mut folder.chordal(&["paper", "gzip.bc", "other/gzip.bc"]), "both the program gzip for x86-64");
    assert_usage(chordal().args(["paper"]), "required");
}

#[test]
fn a_wrong_input_is_one_message_and_nothing_is_run() {
    let folder = folder();
    folder.write("bad.bc", "no module");
    let run = folder.chordal(&["paper", "gzip.bc", "bad.bc", "-o", "r.txt"]).assert();
    assert_fails(run, "chordal: error: bad.bc: ", "");
    folder.write("times.csv", "program,machine,allocator,registers,seconds\ngzip,x86-64,ch-o3,4,fast\n");
    let run = folder.chordal(&["paper", "gzip.bc", "--run-times", "times.csv"]).assert();
    assert_fails(run, "chordal: error: times.csv: ", "line: 2");
    assert!(!folder.files().contains(&"r.txt".to_owned()));
}

/// `a` is assigned in the entry; `b` and `x` there and in one more block; `y` where `x` is; `z` in one block more than
/// these.
const BEFORE_SSA: &str = "\
int f(int a, int b) {
    int x = 0, y = 0, z = 0;
    if (a) { x = a; y = b; z = 1; }
    while (b--) { z += x; }
    return x + y + z;
}
";

/// As registers, `x` and `y` are assigned in the entry and in the loop's body, `z` in one block more, and all other values
/// but `b` once.
const IN_SSA: &str = "\
int g(int a, int b) {
    int x = 0, y = 0, z = 0;
    while (b--) {
        x += a;
        y ^= b;
        z += x;
        if (z > 9) z -= y;
    }
    return x + y + z;
}
";

#[test]
fn modules_before_ssa_form_have_redundant_join_sets() {
    let folder = folder();
    for (name, source) in [("before", BEFORE_SSA), ("within", IN_SSA)] {
        folder.write(&format!("{name}.c"), source);
        let flags = ["-O0", "-Xclang", "-disable-O0-optnone", "-emit-llvm", "-c", &format!("{name}.c")];
        folder.run(std::process::Command::new("clang-22").args(flags));
    }
    fs::rename(folder.path("before.bc"), folder.path("gzip.O0.bc")).expect("the folder is writable");
    folder.run(std::process::Command::new("opt-22").args(["-passes=mem2reg", "within.bc", "-o", "gzip.bc"]));
    let report = ["paper", "join-sets", "gzip.O0.bc", "gzip.bc", "--format", "json", "-o", "r.json"];
    folder.chordal(&report).assert().success().stderr("");
    let section = &folder.json("r.json")["sections"][0];
    let row = |block: usize| section["blocks"][block]["table"]["rows"][0].as_array().expect("cells");
    assert_eq!(row(1)[..7], json!(["164.gzip", 2787, 220, 7.89, 89, 3.19, "gzip"]).as_array().expect("cells")[..]);
    // Variables of the source, of which those count that are assigned once.
    assert_eq!(row(3)[7..], json!([5, 4, 80.0, 1, 20.0]).as_array().expect("cells")[..]);
    let [worklists, redundant, equal] = [7, 8, 10].map(|column| row(1)[column].as_u64().expect("a count"));
    assert_eq!((worklists, redundant, equal), (8, 2, 1), "variables and four sums and comparisons");
    let judged = claim(section, "avoided altogether");
    assert_eq!(judged["tested"][1]["value"], 0.2);
    // With them, the program's module in SSA form is compiled.
    let both = ["paper", "join-sets", "sra-table1", "gzip.bc", "gzip.O0.bc", "--format", "json", "-o", "both.json"];
    folder.chordal(&both).assert().success().stderr("");
    assert_eq!(folder.json("both.json")["sections"][1]["blocks"][1], section["blocks"][1]);
}
