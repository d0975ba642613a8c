//! Tests of scripts that evaluate other programs' output, with an invented corpus: the sums of `scripts/executed` and the
//! verdicts of `scripts/same-assembly`. Also, that two runs of `scripts/corpus` wait for each other.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is writable");
        fs::write(path, content).expect("the folder is writable");
    }

    fn executable(&self, name: &str, script: &str) {
        self.write(name, &format!("#!/usr/bin/env bash\n{script}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("our own file");
    }

    fn read(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.path(name)).expect("it is written");
        serde_json::from_str(&text).expect("JSON")
    }

    /// One of our scripts, which finds its corpus here, with some variables set.
    fn script(&self, name: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(script(name));
        command.env("CORPUS", self.0.path()).envs(variables.iter().copied());
        command
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name)
}

fn python(name: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(script(name));
    command
}

/// The counts of one line of assembly that is executed ten times, with this many reads and writes seen by Cachegrind.
fn counted(instruction: &str, reads: u64, writes: u64) -> Value {
    let folder = Folder::new();
    folder.write("lua.s", &format!("f:\n\t{instruction}\n\tretq\n"));
    folder.write(
        "counts.1",
        &format!(
            "desc: I1 cache: 1 B\ncmd: ./lua\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw \n\
             fl=./malloc/malloc.c\nfn=malloc\n2 500 0 0 500 0 0 500 0 0\n\
             fl=./lua.s\nfn=f\n2 10 1 1 {reads} 2 2 {writes} 3 3\n3 10 0 0 10 0 0 0 0 0\n\
             summary: 520 1 1 510 2 2 500 3 3\n"
        ),
    );
    let output = python("cachegrind.py").arg(folder.path("lua.s")).arg(folder.path("counts.1")).output().expect("Python runs");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn only_the_programs_own_instructions_are_counted() {
    let counts = counted("movl\t8(%rsp), %eax", 10, 0);
    assert_eq!(counts["total"], json!({ "instructions": 20, "loads": 20, "stores": 0 }));
    assert_eq!(counts["functions"], json!({ "f": [20, 20, 0] }));
}

#[test]
fn what_is_read_and_written_by_one_instruction_is_a_load_and_a_store() {
    for both in
        ["addl\t%eax, 8(%rsp)", "incq\t(%rdi,%rax,8)", "lock\t\tcmpxchgl\t%ecx, (%rdi)", "shll\t$2, %fs:0", "xchgl\t(%rdi), %eax"]
    {
        assert_eq!(counted(both, 10, 0)["total"]["stores"], 10, "{both}");
    }
    for read in [
        "addl\t8(%rsp), %eax",
        "cmpl\t%eax, 8(%rsp)",
        "imulq\t(%rdi), %rax",
        "testb\t$1, (%rdi)",
        "orl\tflags(%rip), %eax  # f(x)",
    ] {
        assert_eq!(counted(read, 10, 0)["total"]["stores"], 0, "{read}");
    }
    assert_eq!(counted("pushq\t8(%rsp)", 10, 10)["total"]["stores"], 10);
}

/// Programs of one function each, so that the estimates by module and by function agree.
fn executed(cases: &[(&str, &str, u64, f64)]) -> Folder {
    let folder = Folder::new();
    for (index, &(program, allocator, loads, share)) in cases.iter().enumerate() {
        let run = format!("run{index}");
        let record = json!({ "program": program, "target": "x86-64", "registers": "8", "allocator": allocator, "run": run });
        folder.write(&format!("build{index}/record.json"), &record.to_string());
        // The loop runs half as often as estimated.
        let weighted = json!({ "instructions": 200, "loads": 2 * loads, "stores": 0 });
        let function = json!({ "name": "main", "overhead_share": share, "weighted": weighted });
        let statistics = json!({ "total": { "overhead_share": share }, "functions": [function] });
        folder.write(&format!("build{index}/stats.json"), &statistics.to_string());
        let total = json!({ "instructions": 100, "loads": loads, "stores": 0 });
        let counts = json!({ "total": total, "functions": { "main": [100, loads, 0] } });
        folder.write(&format!("runs/{run}.json"), &counts.to_string());
    }
    folder
}

fn report(folder: &Folder, builds: usize) -> Assert {
    let builds = (0..builds).map(|index| folder.path(&format!("build{index}")));
    python("executed.py").args(["report", "llvm-greedy"]).arg(folder.0.path()).args(builds).assert()
}

#[test]
fn executed_counts_become_ratios_and_correlations() {
    let cases = [
        ("lua", "llvm-greedy", 10, 0.1),
        ("lua", "spill-free", 20, 0.2),
        ("zlib", "llvm-greedy", 10, 0.1),
        ("zlib", "spill-free", 80, 0.4),
        ("gzip", "llvm-greedy", 10, 0.1),
        ("gzip", "spill-free", 40, 0.3),
    ];
    let folder = executed(&cases);
    let row = contains("| x86-64, 8 | spill-free | 3 | 1.000 | 4.000 | - | 3.015 |");
    report(&folder, cases.len())
        .success()
        .stdout(row.and(contains("| all | overhead_share, difference | 3 | - | 1.000 | - | 1.000 |")));
    let document = folder.read("executed.json");
    assert_eq!(document["schema"], "chordal-executed/1");
    assert_eq!(document["records"].as_array().expect("a list").len(), 6);
    assert_eq!(document["records"][1]["ratios"]["loads"], 2.0);
    assert_eq!(document["summary"][0]["ratios"]["stores"], Value::Null);
    assert_eq!(document["records"][1]["weighted"]["loads"], 2.0);
    assert_eq!(document["correlation"][2]["estimate"], "executed_share");
    assert_eq!(document["correlation"][4]["estimate"], "weighted");
    assert_eq!(document["correlation"][4]["loads"], 1.0);
    let agreement = &document["agreement"][0];
    assert_eq!((&agreement["pairs"], &agreement["cost"]), (&json!(3), &json!(3)));
}

#[test]
fn profiles_are_held_against_the_same_allocator_without() {
    let cases = [
        ("lua", "llvm-greedy", 10, 0.1),
        ("lua", "tuned", 20, 0.2),
        ("lua", "llvm-greedy", 9, 0.1),
        ("lua", "tuned", 15, 0.1),
        ("gemm", "llvm-greedy", 7, 0.1),
        ("gemm", "tuned", 7, 0.1),
    ];
    let folder = executed(&cases);
    for (index, change) in [
        (2, json!({ "target": "profile" })),
        (3, json!({ "target": "profile" })),
        (4, json!({ "target": "v3", "suite": "numeric" })),
        (5, json!({ "target": "v3", "suite": "numeric" })),
    ] {
        let name = format!("build{index}/record.json");
        let mut record = folder.read(&name);
        record.as_object_mut().expect("a record").extend(change.as_object().expect("fields").clone());
        folder.write(&name, &record.to_string());
    }
    let ratios =
        contains("| x86-64, 8 | tuned | 1 | 1.000 | 2.000 |").and(contains("| v3, 8, numeric | tuned | 1 | 1.000 | 1.000 |"));
    let gains =
        contains("| profile, 8 | tuned | 1 | 1.000 | 0.750 |").and(contains("| profile, 8 | llvm-greedy | 1 | 1.000 | 0.900 |"));
    report(&folder, cases.len()).success().stdout(ratios.and(gains));
    assert_eq!(folder.read("executed.json")["profile"].as_array().expect("a list").len(), 2);
}

#[test]
fn executed_counts_are_drawn_as_bars() {
    let folder = Folder::new();
    let record = |program: &str, ratio: f64| {
        json!({ "program": program, "target": "x86-64", "registers": "all", "allocator": "tuned",
                "ratios": { "instructions": ratio, "loads": ratio, "stores": ratio } })
    };
    let document = json!({ "base": "llvm-greedy", "records": [record("zlib", 0.91), record("lua", 1.02)] });
    folder.write("executed.json", &document.to_string());
    python("executed.py").arg("chart").arg(folder.path("")).arg(folder.path("chart.svg")).assert().success();
    let chart = fs::read_to_string(folder.path("chart.svg")).expect("it is there");
    for shown in ["zlib", "lua", ">0.91<", ">1.02<", "llvm-greedy"] {
        assert!(chart.contains(shown), "{shown} is missing: {chart}");
    }
}

/// Two builds of chordal that emit two functions each. The second has another `g`, and fails where told to.
fn builds(g: &str) -> Folder {
    let folder = Folder::new();
    let assembly = |g: &str| format!("printf '\\t.text\\n\\t.type\\tf,@function\\nf:\\n\\t.type\\tg,@function\\ng:\\n\\t{g}\\n'");
    folder.executable("old", &assembly("ret"));
    folder.executable("new", &format!("[ -z \"$BROKEN\" ] || {{ echo error: broken >&2; exit 1; }}\n{}", assembly(g)));
    folder.write("zlib.bc", "BC");
    folder
}

fn same_assembly(folder: &Folder, variables: &[(&str, &str)]) -> Assert {
    let mut command = folder.script("same-assembly", variables);
    command.arg(folder.path("old")).arg(folder.path("new"));
    command.env("PROGRAMS", "zlib").env("LISTS", "4").env("VARIANTS", "ch-o1,spill-free --swap xor").assert()
}

#[test]
fn equal_assembly_passes() {
    let folder = builds("ret");
    let lines = contains("PASS 4    ch-o1").and(contains("PASS 4    spill-free --swap xor"));
    same_assembly(&folder, &[]).success().stdout(lines);
    folder.executable("old", "exit 1");
    same_assembly(&folder, &[]).code(1).stdout(contains("zlib: OLD failed"));
}

#[test]
fn other_assembly_fails_and_names_the_function() {
    let folder = builds("nop");
    let line = contains("FAIL 4    ch-o1").and(contains("zlib: 1 of 3 functions differ; the first is g"));
    same_assembly(&folder, &[]).code(1).stdout(line);
    same_assembly(&folder, &[("BROKEN", "yes")]).code(1).stdout(contains("zlib: NEW failed: error: broken"));
    fs::remove_file(folder.path("zlib.bc")).expect("it is there");
    same_assembly(&folder, &[]).code(1).stderr(contains("zlib.bc: run make corpus"));
}

#[test]
fn two_corpora_at_once_wait_for_each_other() {
    let folder = Folder::new();
    // Everything that is built of one program, so that nothing is left to do.
    folder.write("src/lua/lua.c", "");
    folder.write("lua.bc", "BC");
    folder.write("rows/lua.x86-64", "lua lua5.4 5.4.4-3 x86-64 9 9\n");
    folder.executable("ref/x86-64/lua", "true");
    folder.executable("tools/bin/extract-bc", "true");
    let variables = [("PROGRAMS", "lua"), ("CONFIGS", "x86-64")];
    folder.script("corpus", &variables).assert().success().stdout(contains("waiting").not());
    let mut other = Process::new("flock");
    other.arg(folder.path("lock")).args(["bash", "-c", "echo locked; sleep 1"]).stdout(Stdio::piped());
    let mut other = other.spawn().expect("flock is there");
    let mut locked = [0; 6];
    std::io::Read::read_exact(other.stdout.as_mut().expect("it is a pipe"), &mut locked).expect("it says so");
    folder.script("corpus", &variables).assert().success().stdout(contains("waiting for it"));
    other.wait().expect("it ends");
}
