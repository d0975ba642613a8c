//! Records files: their runs are neither lost nor repeated.

use super::folder::{Folder, assert_fails, assert_usage};
use super::outputs::{start, with_long_work};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::Duration;

const SMALL: &str = "target triple = \"x86_64-pc-linux-gnu\"\ndefine i32 @f(i32 %a) { ret i32 %a }\n";

/// Each line of the file: the name of its module, and its allocators.
fn lines(folder: &Folder, records: &str) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let line = |line: &str| {
        let record: Value = serde_json::from_str(line).expect("a record");
        let runs = record["runs"].as_array().expect("runs").iter();
        (text(&record["source"]), runs.map(|run| text(&run["allocator"])).collect())
    };
    String::from_utf8(folder.read(records)).expect("text").lines().map(line).collect()
}

fn line(source: &str, allocators: &[&str]) -> (String, Vec<String>) {
    (source.into(), allocators.iter().map(ToString::to_string).collect())
}

fn signal(signal: &str, process: u32) {
    let sent = Process::new("kill").args([format!("-{signal}"), process.to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

/// Of two processes, the second is refused and told of the first, by whatever names they know the file; the first loses
/// nothing. A process that is killed leaves the file to others.
#[test]
fn a_records_file_has_one_writer_at_a_time() {
    let folder = with_long_work();
    folder.write("small.ll", SMALL);
    let second = |records: &str| {
        let arguments = ["compare", "small.ll", "--allocators", "local", "--records", records, "--resume"];
        folder.chordal(&arguments).assert()
    };
    for (end, records, link) in [("KILL", "killed", "link-to-killed"), ("CONT", "continued", "link-to-continued")] {
        symlink(records, folder.path(link)).expect("the folder is writable");
        let first = ["compare", "small.ll", "long.bc", "--allocators", "simple", "-j", "1", "--records", records, "--resume"];
        let mut process = start(&folder, &first);
        while fs::read(folder.path(records)).unwrap_or_default().is_empty() {
            assert!(process.try_wait().expect("it can be asked").is_none(), "it ended and wrote nothing");
            thread::sleep(Duration::from_millis(5));
        }
        signal("STOP", process.id());
        let before = folder.read(records);
        for name in [records, link] {
            let start = format!("chordal: error: {name}: process {} is adding to these records", process.id());
            assert_fails(second(name), &start, "");
        }
        assert!(folder.read(records) == before, "it was written to");
        signal(end, process.id());
        process.wait().expect("it ends");
        second(link).success();
    }
    let (small, other) = (line("small.ll", &["simple"]), line("small.ll", &["local"]));
    assert_eq!(lines(&folder, "killed"), [small.clone(), other.clone()]);
    assert_eq!(lines(&folder, "continued"), [small, line("long.bc", &["simple"]), other]);
}

/// A module is known by its content: from another folder, by another path, or as a copy.
#[test]
fn a_module_is_known_by_its_content() {
    let folder = Folder::new();
    fs::create_dir(folder.path("sub")).expect("the folder is writable");
    folder.write("a.ll", SMALL);
    folder.write("sub/copy.ll", SMALL);
    let options = ["--allocators", "simple", "--resume", "--format", "json", "--records"];
    let compare = |within: &str, module: &str, records: &str| -> Value {
        let mut command = folder.chordal(&["compare", module]);
        let assert = command.current_dir(folder.path(within)).args(options).arg(records).assert().success().stderr("");
        serde_json::from_slice(&assert.get_output().stdout).expect("JSON")
    };
    let first = compare(".", "a.ll", "r.jsonl");
    let written = folder.read("r.jsonl");
    for (within, module, records) in [
        (".", "./a.ll", "r.jsonl"),
        ("sub", "../a.ll", "../r.jsonl"),
        (".", "sub/copy.ll", "r.jsonl"),
        ("sub", "copy.ll", "../r.jsonl"),
    ] {
        let mut again = compare(within, module, records);
        assert!(folder.read("r.jsonl") == written, "{module} was run again");
        assert_eq!(again["modules"][0]["source"], module);
        let statistics = &mut again["modules"][0]["runs"][0]["statistics"];
        assert_eq!(statistics["source"], module, "it is called as it is now");
        statistics["source"] = "a.ll".into();
        assert_eq!(again["modules"][0]["runs"], first["modules"][0]["runs"]);
    }
    // A module with other content is run, whatever its name, and the runs of its old content are kept.
    folder.write("a.ll", SMALL.replace("@f", "@g"));
    compare(".", "a.ll", "r.jsonl");
    let grown = folder.read("r.jsonl");
    assert!(grown.starts_with(&written) && grown.len() > written.len());
    folder.write("a.ll", SMALL);
    assert_eq!(compare(".", "a.ll", "r.jsonl"), first);
    assert!(folder.read("r.jsonl") == grown, "it was run again");
}

/// Symbols, debug information and the build ID make no difference.
#[test]
fn a_stripped_chordal_knows_the_records_of_the_whole_one() {
    let folder = Folder::new();
    folder.write("a.ll", SMALL);
    let arguments = ["compare", "a.ll", "--allocators", "simple", "--records", "r", "--resume"];
    folder.chordal(&arguments).assert().success();
    let written = folder.read("r");
    let whole = folder.chordal(&[]).get_program().to_owned();
    folder.run(Process::new("strip").arg("--remove-section=.note.gnu.build-id").arg("-o").arg("stripped").arg(&whole));
    assert!(fs::metadata(&whole).expect("it is there").len() > folder.read("stripped").len() as u64);
    folder.run(Process::new(folder.path("stripped")).args(arguments));
    assert!(folder.read("r") == written, "nothing was run again");
}

#[test]
fn more_allocators_add_only_their_runs() {
    let folder = Folder::new();
    folder.write("a.ll", SMALL);
    for allocators in ["simple", "simple,local", "hack,local,simple"] {
        folder.chordal(&["compare", "a.ll", "--records", "r", "--resume", "--allocators", allocators]).assert().success();
    }
    let each = [line("a.ll", &["simple"]), line("a.ll", &["local"]), line("a.ll", &["hack"])];
    assert_eq!(lines(&folder, "r"), each);
    folder.write("half", [&folder.read("r")[..], b"{\"schema\":\"chordal-comp"].concat());
    folder.chordal(&["compare", "a.ll", "--records", "half", "--resume", "--allocators", "hack,local"]).assert().success();
    assert!(folder.read("half") == folder.read("r"), "half a line is dropped");
    let differs = folder.chordal(&["diff", "r", "half", "--format", "json"]).assert().success();
    let diff: Value = serde_json::from_slice(&differs.get_output().stdout).expect("JSON");
    assert_eq!(diff["groups"].as_array().map(Vec::len), Some(3), "diff reads all three");
}

#[test]
fn what_is_no_records_file_stays_as_it_is() {
    let folder = Folder::new();
    folder.write("a.ll", SMALL);
    folder.write("notes", "buy milk\nand bread");
    folder.write("word", "milk");
    for (file, line) in [("notes", 1), ("word", 1)] {
        let before = folder.read(file);
        let run = folder.chordal(&["compare", "a.ll", "--records", file, "--resume"]).assert();
        assert_fails(run, &format!("chordal: error: {file}: line {line}: "), "");
        assert_eq!(folder.read(file), before);
    }
    assert_usage(&mut folder.chordal(&["compare", "a.ll", "--records", "notes"]), "--resume continues from it");
}

/// Standard output is recognised by any of its names, and where it is redirected to the file.
#[test]
fn records_and_result_do_not_share_standard_output() {
    let folder = Folder::new();
    folder.write("a.ll", SMALL);
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let arguments = ["compare", "a.ll", "--allocators", "simple", "--records", name];
        assert_usage(&mut folder.chordal(&arguments), "the records and the result cannot go to the same place");
        let aside = folder.chordal(&[&arguments[..], &["-o", "result"]].concat()).assert().success().stderr("");
        assert!(aside.get_output().stdout.starts_with(b"{\"schema\":\"chordal-compare/1\""), "{name}");
    }
    let mut redirected = Process::new(folder.chordal(&[]).get_program());
    redirected.current_dir(folder.path("")).args(["compare", "a.ll", "--records", "r", "--resume", "--allocators", "simple"]);
    let log = fs::File::create(folder.path("r")).expect("the folder is writable");
    assert_eq!(redirected.stdout(log).stderr(Stdio::null()).status().expect("it starts").code(), Some(2));
}
