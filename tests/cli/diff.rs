//! Tests of `chordal diff`, on the small files of `testdata/diff` and on the output of `chordal compile`.

use super::folder::Folder;
use assert_cmd::Command;
use predicates::str::{contains, starts_with};
use std::fs;
use std::path::Path;
use std::process::Command as Process;
use tempfile::TempDir;

/// A command in the folder of the files.
fn diff(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("chordal").expect("the binary is built");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/diff");
    command.current_dir(folder).arg("diff").args(arguments);
    command
}

/// Its output, if it succeeds without a message.
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

**Better: static.loads 75 -> 73 (-2.67%)**

spill-free, all registers, x86-64

| metric       |  base |   new | change | geomean | helped | hurt | items |
|--------------|-------|-------|--------|---------|--------|------|-------|
| static.loads |    75 |    73 |  -2.7% |   -4.0% |      1 |    1 |     3 |
| overhead     | 83.00 | 75.00 |  -9.6% |  -24.8% |      1 |    1 |     3 |

**Hurt most**

| item   | place | moved                                          | of total |
|--------|-------|------------------------------------------------|----------|
| `push` |       | overhead 46.50 -> 64.00, static.loads 40 -> 44 |   +21.1% |
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

/// A page says the same, escapes what it is given, and links.
#[test]
fn html() {
    let link = ["--link", "why/{function}.html"];
    let page = output(&[&["base.json", "new.json", "--format", "html"], &link[..]].concat());
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>base.json -&gt; new.json</h1>"), "{page}");
    assert!(page.contains("Better: static.loads 75 -&gt; 73 (-2.67%)"), "{page}");
    assert!(page.contains("<a href=\"why/push.html\"><code>push</code></a>"), "{page}");
    assert!(page.contains("spill.reloads 10 -&gt; 14, static.loads 40 -&gt; 44"), "{page}");
    assert!(!page.contains("http"), "it fetches something: {page}");
    let markdown = output(&[&["base.json", "new.json", "--format", "markdown"], &link[..]].concat());
    assert!(markdown.contains("| [`push`](why/push.html) |"), "{markdown}");
}

#[test]
fn github() {
    let expected = "\
::warning title=Not allocated any more::resize: fallback: no register is left for an indirect tail call
::warning title=Vanished::dump
::warning title=Hurt most::push: spill_accesses from 16 to 22, static.loads from 40 to 44, overhead from 46.50 to 64.00
::notice title=spill-free%2C all registers%2C x86-64::static.loads: 75 -> 73 (-2.7%25), 1 helped, 1 hurt\
%0Aoverhead: 83.00 -> 75.00 (-9.6%25), 1 helped, 1 hurt%0Aspill_accesses: 28 -> 26 (-7.1%25), 1 helped, 1 hurt
";
    assert_eq!(output(&three_metrics(&["--format", "github"])), expected);
    let error = "::error title=static.loads and 1 more grew::\
        static.loads grew from 1500 to 1560 (+4.00%25): spill-free, all registers, i386%0A\
        spill.reloads grew from 700 to 756 (+8.00%25): spill-free, all registers, i386\n";
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
    refused(&["base.json", "new.json", "--link", "{name}"], "{name} means nothing here");
    refused(&["base.json", "new.json", "--format", "yaml"], "[possible values: table, markdown, html, json, github]");
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
    // A limit on a counter that was not counted would always pass.
    let missing = "chordal: error: new.json: `score` is not there, or not in base.json\n";
    diff(&["base.json", "new.json", "--metric", "score", "--fail-above", "1"]).assert().code(1).stdout("").stderr(missing);
}

#[test]
fn limits_of_single_metrics_and_absolute_ones() {
    let with = |limits: &[&str]| {
        let limits = limits.iter().flat_map(|&limit| ["--fail-above", limit]);
        let arguments: Vec<&str> =
            ["compare-base.json", "compare-new.json", "--metric", "overhead"].into_iter().chain(limits).collect();
        let output = diff(&arguments).assert().code(1).get_output().clone();
        (String::from_utf8(output.stdout).expect("text"), String::from_utf8(output.stderr).expect("text"))
    };
    // The overhead grows from 3100 to 3330; and a run of ch-o3 is lost, which fails whatever the limits.
    let (grown, lost) = ("overhead grew from 3100.00 to 3330.00", "cannot be allocated any more");
    for (limits, shown, fails) in [
        (&["7"][..], "7%", true),
        (&["0%+229"], "0%+229", true),
        (&["0+231"], "0%+231", false),
        (&["5%+80"], "5%+80", false),
        (&["1", "overhead=8"], "1%, 8% for overhead", false),
        (&["100", "overhead=1%+1"], "100%, 1%+1 for overhead", true),
        (&["overhead=0%+300"], "0%+300 for overhead", false),
        (&["spill.reloads=50"], "50% for spill.reloads", false),
    ] {
        let (text, error) = with(limits);
        assert!(text.contains(&format!("Worse by more than {shown}:\n")), "{limits:?}: {text}");
        assert_eq!(error.contains(grown), fails, "{limits:?}: {error}");
        assert!(error.contains(lost) || fails && text.contains(lost), "{limits:?}: {error}");
    }
    // A metric with a limit is compared, too.
    let (text, error) = with(&["spill.reloads=5"]);
    assert!(text.contains("spill.reloads ") && error.contains("spill.reloads grew from 700 to 756"), "{text}{error}");
    let document =
        diff(&["base.json", "base.json", "--format", "json", "--fail-above", "2", "--fail-above", "static.moves=5%+10"]);
    let output = { document }.assert().success().get_output().stdout.clone();
    let document: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    assert_eq!(document["fail_above"], 2.0);
    assert_eq!(document["limits"][1], serde_json::json!({ "metric": "static.moves", "percent": 5.0, "slack": 10.0 }));
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let refused = |limits: &[&str], text: &str| {
        let limits = limits.iter().map(|limit| format!("--fail-above={limit}"));
        diff(&["base.json", "new.json"]).args(limits).assert().code(2).stdout("").stderr(contains(text.to_owned()));
    };
    refused(&["static.move=5"], "the nearest is `static.moves`");
    refused(&["static.moves=5%+"], "has to be a number of per cent");
    refused(&["1", "2"], "--fail-above has two limits for all metrics");
    refused(&["static.moves=1", "static.moves=2%+1"], "--fail-above has two limits for static.moves");
    // A limit on a counter that was not counted would always pass.
    let missing = "chordal: error: new.json: `score` is not there, or not in base.json\n";
    diff(&["base.json", "new.json", "--fail-above", "score=1"]).assert().code(1).stdout("").stderr(missing);
}

/// The totals of a run that got worse make one annotation.
#[test]
fn a_run_is_annotated_once() {
    let compare = ["compare-base.json", "compare-new.json", "--format", "github", "--fail-above", "3"];
    let metrics = ["--metric", "static.loads", "--metric", "spill.reloads", "--metric", "overhead"];
    let output = diff(&[&compare[..], &metrics].concat()).assert().code(1).get_output().stdout.clone();
    let text = String::from_utf8(output).expect("text");
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("::error ")).collect();
    let [i386, lost] = errors[..] else { panic!("{text}") };
    let line =
        "static.loads grew from 1500 to 1560 (+4.00%25): spill-free, all registers, i386%0Aspill.reloads grew from 700 to 756";
    assert!(i386.starts_with(&format!("::error title=static.loads and 2 more grew::{line}")), "{i386}");
    assert!(lost.starts_with("::error title=Not allocated any more::zlib.bc (ch-o3, 4 registers) "), "{lost}");
}

/// A build of two objects from files of one name, with statistics as `chordal cc` writes them.
fn build(folder: &Folder, allocator: &str) {
    const SOURCE: &str = "int g(int, int);\n\nint NAME(int a, int b) {\n  return g(a, b) + g(b, a) + a * b;\n}\n";
    for name in ["one", "two"] {
        fs::create_dir_all(folder.path(name)).expect("the folder is writable");
        folder.write(&format!("{name}/util.c"), SOURCE.replace("NAME", name));
        let mut command = folder.chordal(&["cc", "-O2", "-g", "-c", "util.c"]);
        command.current_dir(folder.path(name)).env("CHORDAL_ALLOCATOR", allocator);
        command.env("CHORDAL_STATS", folder.path(allocator)).assert().success().stderr("");
    }
}

/// `stats` and `diff` tell modules of one name apart in the same way, and a function is annotated once, at its place.
#[test]
fn modules_of_one_name_are_told_apart_and_functions_annotated() {
    let folder = Folder::new();
    build(&folder, "tuned");
    build(&folder, "simple");
    let stats = folder.chordal(&["stats", "simple", "--format", "csv"]).assert().success();
    let rows = String::from_utf8(stats.get_output().stdout.clone()).expect("text");
    let names: Vec<&str> = rows.lines().skip(1).map(|row| row.split(',').next().expect("a cell")).collect();
    assert_eq!(names, ["util.c (one/util.o.json)", "util.c (two/util.o.json)", "total"]);
    let diff = |arguments: &[&str]| {
        let mut command = folder.chordal(&[&["diff", "tuned", "simple"], arguments].concat());
        command.env_remove("GITHUB_WORKSPACE");
        command
    };
    let json = diff(&["--format", "json"]).assert().success().get_output().stdout.clone();
    let document: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let modules: Vec<&str> =
        document["hurt"].as_array().expect("a list").iter().map(|it| it["module"].as_str().unwrap()).collect();
    assert_eq!(modules, names[..2]);
    let statistics = &folder.json("simple/one/util.o.json")["functions"][0];
    let file = fs::canonicalize(folder.path("one/util.c")).expect("it is there");
    assert_eq!((&statistics["file"], &statistics["line"]), (&file.to_str().into(), &3.into()));

    let annotated = |command: &mut Command| {
        let text = String::from_utf8(command.assert().code(1).get_output().stdout.clone()).expect("text");
        let of = |level: &str| text.lines().filter(|line| line.starts_with(level)).map(str::to_owned).collect::<Vec<_>>();
        (of("::error "), of("::warning "))
    };
    let (errors, warnings) = annotated(&mut diff(&["--format", "github", "--fail-above", "1"]));
    assert_eq!((errors.len(), warnings.len()), (1, 2), "{errors:?} {warnings:?}");
    for (warning, name) in warnings.iter().zip(["one", "two"]) {
        let start = format!("::warning file={name}/util.c,line=3,title=Hurt most::util.c ({name}/util.o.json) {name}: ");
        assert!(warning.starts_with(&start), "{warning}");
        assert!(["static.loads from ", "static.stores from ", "spill.reloads from "].iter().all(|part| warning.contains(part)));
    }
    // A file outside the workspace has its whole name.
    let (_, warnings) = annotated(diff(&["--format", "github", "--fail-above", "1"]).env("GITHUB_WORKSPACE", folder.path("one")));
    assert!(warnings[0].starts_with("::warning file=util.c,line=3"), "{warnings:?}");
    assert!(warnings[1].starts_with("::warning file=/") && warnings[1].contains("/two/util.c,line=3"), "{warnings:?}");
}

/// Two allocators on one program: the one with fewer registers spills more.
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
