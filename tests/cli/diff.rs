//! `chordal diff`, from outside, on the small files of `testdata/diff` and on what `chordal compile` writes.

use assert_cmd::Command;
use predicates::str::{contains, starts_with};
use std::fs;
use std::path::Path;
use std::process::Command as Process;
use tempfile::TempDir;

/// Runs in the folder of the files.
fn diff(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("chordal").expect("the binary is built");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/diff");
    command.current_dir(folder).arg("diff").args(arguments);
    command
}

/// What it writes if it succeeds without another word.
fn output(arguments: &[&str]) -> String {
    let assert = diff(arguments).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).expect("text")
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

const THREE: [&str; 6] = ["--metric", "static.loads", "--metric", "overhead", "--metric", "spill_accesses"];

fn three_metrics<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["base.json", "new.json"], &THREE[..], arguments].concat()
}

#[test]
fn table() {
    let expected = "\
base.json -> new.json
spill-free, all registers, x86-64

metric           base    new  change  geomean  helped  hurt  items
static.loads       75     73   -2.7%    -4.0%       1     1      3
overhead        83.00  75.00   -9.6%   -24.8%       1     1      3
spill_accesses     28     26   -7.1%   -19.6%       1     1      3

Hurt most
item  metric          base  new  change  of total
push  spill_accesses    16   22  +37.5%    +21.4%

Helped most
item  metric     base    new  change  of total
pop   overhead  36.00  10.50  -70.8%    -30.7%

Not allocated any more: 1
item    base       new
resize  allocated  fallback: no register is left for an indirect tail call

Not allocated in either: 1
item      base                                      new
multiply  fallback: a value of register class TILE  fallback: a value of register class TILE

Vanished: 1
item  base       new
dump  allocated  absent

Appeared: 1
item   base    new
drain  absent  allocated
";
    assert_eq!(output(&three_metrics(&[])), expected);
}

#[test]
fn markdown() {
    let expected = "\
### base.json -> new.json
spill-free, all registers, x86-64

| metric       |  base |   new | change | geomean | helped | hurt | items |
|--------------|-------|-------|--------|---------|--------|------|-------|
| static.loads |    75 |    73 |  -2.7% |   -4.0% |      1 |    1 |     3 |
| overhead     | 83.00 | 75.00 |  -9.6% |  -24.8% |      1 |    1 |     3 |

**Hurt most**

| item   | metric   |  base |   new | change | of total |
|--------|----------|-------|-------|--------|----------|
| `push` | overhead | 46.50 | 64.00 | +37.6% |   +21.1% |
";
    let arguments = ["base.json", "new.json", "--metric", "static.loads", "--metric", "overhead", "--format", "markdown"];
    let text = output(&arguments);
    assert!(text.starts_with(expected), "{text}");
    let lost = "\
**Not allocated any more: 1**

| item     | base      | new                                                     |
|----------|-----------|---------------------------------------------------------|
| `resize` | allocated | fallback: no register is left for an indirect tail call |
";
    assert!(text.contains(lost), "{text}");
}

#[test]
fn github() {
    let expected = "\
::warning title=Not allocated any more::resize: fallback: no register is left for an indirect tail call
::warning title=Vanished::dump
::warning title=Hurt most::push: spill_accesses from 16 to 22
::notice title=spill-free%2C all registers%2C x86-64::static.loads: 75 -> 73 (-2.7%25), 1 helped, 1 hurt\
%0Aoverhead: 83.00 -> 75.00 (-9.6%25), 1 helped, 1 hurt%0Aspill_accesses: 28 -> 26 (-7.1%25), 1 helped, 1 hurt
";
    assert_eq!(output(&three_metrics(&["--format", "github"])), expected);
    let error =
        "::error title=static.loads grew::static.loads grew from 1500 to 1560 (+4.00%25): spill-free, all registers, i386\n";
    let compare = ["compare-base.json", "compare-new.json", "--format", "github", "--fail-above", "3"];
    diff(&compare).assert().code(1).stdout(starts_with(error));
}

#[test]
fn json_document() {
    let document = json(&three_metrics(&[]));
    assert_eq!(document["schema"], "chordal-diff/1");
    assert_eq!((&document["base"], &document["new"]), (&"base.json".into(), &"new.json".into()));
    let loads = &document["groups"][0]["metrics"][0];
    for (field, value) in [("items", 3), ("base", 75), ("new", 73), ("helped", 1), ("hurt", 1)] {
        assert_eq!(loads[field], value, "{field}");
    }
    assert!((loads["change"].as_f64().unwrap() + 2.0 / 75.0).abs() < 1e-12);
    assert_eq!(document["hurt"][0]["function"], "push");
    assert_eq!(document["helped"][0]["new"], 10.5);
    let lost = document["left_out"].as_array().unwrap().iter().find(|item| item["function"] == "resize").unwrap();
    assert_eq!((&lost["base"]["status"], &lost["new"]["status"]), (&"allocated".into(), &"fallback".into()));
    assert!(document["fail_above"].is_null());
}

#[test]
fn comparisons_have_a_group_for_each_run() {
    let text = output(&["compare-base.json", "compare-new.json", "--metric", "spill.reloads"]);
    let expected = "\
compare-base.json -> compare-new.json

run                              metric         base  new  change  geomean  helped  hurt  items
spill-free, 4 registers, x86-64  spill.reloads   440  442   +0.5%    -2.0%       1     1      2
ch-o3, 4 registers, x86-64       spill.reloads   500  460   -8.0%    -8.0%       1     0      1
spill-free, all registers, i386  spill.reloads   700  756   +8.0%    +8.0%       0     1      1
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("zlib.bc (ch-o3, 4 registers)  allocated  crashed: signal 11"), "{text}");
    assert!(!text.contains("not applicable"), "what applies in neither is no news: {text}");
}

#[test]
fn exit_status() {
    let compare = |limit: &str| diff(&["compare-base.json", "compare-new.json", "--metric", "overhead", "--fail-above", limit]);
    compare("7.5").assert().code(1).stderr(
        "chordal: error: compare-new.json: worse than compare-base.json: \
         zlib.bc (ch-o3, 4 registers) cannot be allocated any more: crashed: signal 11\n",
    );
    compare("7").assert().code(1).stdout(contains("Worse by more than 7%:\n- overhead grew from 3100.00 to 3330.00")).stderr(
        "chordal: error: compare-new.json: worse than compare-base.json: \
         overhead grew from 3100.00 to 3330.00 (+7.42%): spill-free, all registers, i386; and 1 more\n",
    );
    let unchanged = output(&["base.json", "base.json", "--fail-above", "0"]);
    assert!(unchanged.ends_with("Nothing is worse by more than 0%.\n"), "{unchanged}");
    diff(&["new.json", "base.json", "--fail-above", "50"]).assert().success().stdout(contains("Vanished: 1"));
}

#[test]
fn lists_are_as_long_as_wanted() {
    let text = output(&["base.json", "new.json", "--top", "0"]);
    assert!(!text.contains("Hurt most") && !text.contains("Vanished"), "{text}");
    assert_eq!(json(&["base.json", "new.json", "--top", "0"])["left_out"].as_array().unwrap().len(), 4, "programs get all");
}

#[test]
fn standard_input_and_output_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = folder.path().join("out.md");
    let base = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/diff/base.json")).unwrap();
    let arguments = ["-", "new.json", "--format", "markdown", "-o", out.to_str().expect("text")];
    diff(&arguments).write_stdin(base).assert().success().stdout("").stderr("");
    assert!(fs::read_to_string(out).expect("it is written").starts_with("### - -> new.json\n"));
}

#[test]
fn wrong_usage() {
    let refused = |arguments: &[&str], text: &str| {
        diff(arguments).assert().code(2).stdout("").stderr(contains(text.to_owned()));
    };
    refused(&["base.json", "new.json", "--metric", "static.load"], "the nearest is `static.loads`");
    refused(&["base.json", "new.json", "--metric", "accesses"], "the nearest is `");
    for percent in ["-1", "many", "nan", "inf"] {
        refused(&["base.json", "new.json", &format!("--fail-above={percent}")], "has to be a number of per cent");
    }
    refused(&["base.json", "new.json", "--format", "yaml"], "[possible values: table, markdown, json, github]");
    refused(&["-", "-"], "only one of the files can be standard input");
    refused(&["base.json"], "<NEW>");
}

#[test]
fn bad_inputs() {
    let base = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/diff/base.json")).unwrap();
    let refused = |content: &str, message: &str| {
        let assert = diff(&["base.json", "-"]).write_stdin(content).assert().code(1).stdout("");
        assert.stderr(starts_with(format!("chordal: error: -: {message}")));
    };
    refused("", "is empty\n");
    refused("define void @f()", "is not JSON: ");
    refused(&base[..base.len() / 2], "is cut short: ");
    refused("[1, 2]", "names no schema: neither chordal-stats/1 nor chordal-compare/1\n");
    refused(&base.replace("chordal-stats/1", "chordal-stats/9"), "the schema is `chordal-stats/9`, not ");
    let unknown = base.replace("\"name\": \"", "\"name\": \"other_");
    refused(&unknown, "has nothing in common with base.json that was allocated in both\n");
    diff(&["base.json", "missing.json"]).assert().code(1).stderr("chordal: error: missing.json: no such file\n");
    diff(&["base.json", "."]).assert().code(1).stderr("chordal: error: .: compare-base.json: is no chordal-stats/1\n");
    let mixed =
        "chordal: error: compare-new.json: is chordal-compare/1, and base.json is chordal-stats/1: two of a kind are needed\n";
    diff(&["base.json", "compare-new.json"]).assert().code(1).stderr(mixed);
    // Held to a counter that was not counted, everything would pass.
    let missing = "chordal: error: new.json: `score` is not there, or not in base.json\n";
    diff(&["base.json", "new.json", "--metric", "score", "--fail-above", "1"]).assert().code(1).stdout("").stderr(missing);
}

/// Two allocators on one program: who has fewer registers spills more.
#[test]
fn two_allocators_on_a_program() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs/sha256.c");
    let clang =
        Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "-o", "p.bc"]).arg(program).current_dir(&folder).status();
    assert!(clang.expect("clang starts").success());
    let chordal = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("chordal").expect("the binary is built");
        command.current_dir(&folder).args(arguments);
        command
    };
    for allocator in ["spill-free", "simple"] {
        let stats = format!("{allocator}.json");
        chordal(&["compile", "p.bc", "-o", "p.s", "--allocator", allocator, "--stats", &stats]).assert().success();
    }
    let metrics = ["--metric", "spill.reloads", "--metric", "weighted.loads", "--metric", "time_ns.total"];
    let forth =
        chordal(&[&["diff", "spill-free.json", "simple.json", "--fail-above", "1", "--format", "json"], &metrics[..]].concat())
            .assert()
            .code(1)
            .stderr(contains("spill.reloads grew from"));
    let document: serde_json::Value = serde_json::from_slice(&forth.get_output().stdout).expect("JSON");
    let totals = document["groups"][0]["metrics"].as_array().unwrap();
    assert_eq!(totals.len(), 3);
    assert!(totals[..2].iter().all(|total| total["new"].as_f64() > total["base"].as_f64()), "{document}");
    let back = ["diff", "simple.json", "spill-free.json", "--fail-above", "0", "--metric", "spill.reloads"];
    chordal(&back).assert().success().stdout(contains("simple -> spill-free, all registers, x86-64"));
}
