//! Tests of `scripts/regress`, with a corpus of three empty modules and a fake chordal whose `compare` gives a test's
//! answers.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Corpus(TempDir);

impl Corpus {
    fn new() -> Self {
        let corpus = Corpus(TempDir::new().expect("a temporary folder"));
        for module in ["lua.bc", "lua.i386.bc", "zlib.bc"] {
            corpus.write(module, "");
        }
        corpus.versions("5.4.4-3", "1.2.13-1");
        // The answers are beside the fake, a file for each target.
        corpus.write(
            "chordal",
            &format!(
                "#!/usr/bin/env bash\ncase $1 in\ncompare) cp \"$ANSWERS/$(basename \"${{@: -1}}\")\" \"${{@: -1}}\" ;;\n\
                 *) exec {} \"$@\" ;;\nesac\n",
                assert_cmd::cargo::cargo_bin("chordal").display()
            ),
        );
        fs::set_permissions(corpus.path("chordal"), fs::Permissions::from_mode(0o755)).expect("our own file");
        corpus.answer(1000, 2000);
        corpus
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("the folder is writable");
    }

    fn versions(&self, lua: &str, zlib: &str) {
        let header = "program package version target functions instructions";
        self.write("versions.txt", &format!("{header}\nlua lua5.4 {lua} x86-64 9 9\nzlib zlib {zlib} x86-64 9 9\n"));
    }

    /// Sets the counts that the fake answers from now on.
    fn answer(&self, lua_loads: u64, zlib_loads: u64) {
        let wide = [module("lua.bc", "x86_64", lua_loads), module("zlib.bc", "x86_64", zlib_loads)];
        self.write("x86-64.json", &document(&wide));
        self.write("i386.json", &document(&[module("lua.i386.bc", "i686", 500)]));
    }

    fn regress(&self, arguments: &[&str]) -> Assert {
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/regress"));
        command.args(arguments).env("CHORDAL", self.path("chordal")).env("CORPUS", self.0.path());
        command.env("BASELINE", self.path("baseline.json")).env("ANSWERS", self.0.path());
        command.env_remove("PROGRAMS").env_remove("LIMIT").assert()
    }

    fn update(&self) {
        self.regress(&["--update"]).success();
    }
}

/// A document as `chordal compare --per module` writes it.
fn document(modules: &[Value]) -> String {
    json!({ "schema": "chordal-compare/1", "summary": { "groups": [] }, "modules": modules }).to_string()
}

fn module(source: &str, target: &str, loads: u64) -> Value {
    let mut total = serde_json::to_value(chordal::measure::stats::Counts::default()).expect("counts are JSON");
    total["static"]["loads"] = loads.into();
    let statistics = json!({ "schema": "chordal-stats/1", "target": target, "total": total, "functions": [] });
    let run = json!({ "allocator": "ch-o3", "registers": "all", "outcome": "done", "statistics": statistics });
    json!({ "schema": "chordal-compare/1", "source": source, "fingerprint": "f00", "runs": [run] })
}

#[test]
fn what_got_worse_fails() {
    let corpus = Corpus::new();
    corpus.update();
    corpus.regress(&[]).success().stdout(contains("Nothing is worse by more than 1%."));
    corpus.answer(1020, 1900);
    corpus.regress(&[]).success();
    corpus.answer(1040, 2000);
    corpus.regress(&[]).code(1).stderr(contains("static.loads grew from 3000 to 3040 (+1.33%): ch-o3, all registers, x86-64"));
    corpus.update();
    corpus.regress(&[]).success();
}

#[test]
fn programs_that_cannot_be_compared_are_skipped() {
    let corpus = Corpus::new();
    corpus.update();
    corpus.versions("5.4.4-3", "1.3.1-1");
    let skipped = contains("SKIP zlib.bc: the baseline is of version 1.2.13-1, this is 1.3.1-1");
    corpus.answer(1000, 9000);
    corpus.write("x86-64.json", &document(&[module("lua.bc", "x86_64", 1000)]));
    corpus.regress(&[]).success().stderr(skipped).stdout(contains("Vanished").not());
    fs::remove_file(corpus.path("zlib.bc")).expect("it is there");
    corpus.write("gzip.bc", "");
    let skipped = contains("SKIP zlib.bc: it is not in the corpus").and(contains("SKIP gzip.bc: it is not in the baseline"));
    corpus.regress(&[]).success().stderr(skipped);
}

#[test]
fn the_baseline_is_short_and_names_no_place() {
    let corpus = Corpus::new();
    corpus.update();
    let text = fs::read_to_string(corpus.path("baseline.json")).expect("it is written");
    assert!(!text.contains(corpus.0.path().to_str().expect("text")), "{text}");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["versions"], json!({ "lua": "5.4.4-3", "zlib": "1.2.13-1" }));
    let totals = &document["modules"][0]["runs"][0]["statistics"]["total"];
    assert!(totals["static"]["loads"] == 1000 && totals.get("weighted").is_none(), "{totals}");
    let runs = text.lines().filter(|line| line.contains("\"allocator\""));
    assert!(runs.clone().count() == 3 && runs.clone().all(|line| line.len() < 500), "{text}");
}

#[test]
fn numeric_programs_are_summed_up_by_themselves() {
    let corpus = Corpus::new();
    fs::create_dir(corpus.path("v3")).expect("the folder is writable");
    corpus.write("v3/gemm.bc", "");
    corpus.write("v3.json", &document(&[module("v3/gemm.bc", "x86_64", 100)]));
    corpus.update();
    corpus.regress(&[]).success();
    corpus.write("v3.json", &document(&[module("v3/gemm.bc", "x86_64", 102)]));
    corpus.regress(&[]).code(1).stderr(contains("static.loads grew from 100 to 102 (+2.00%): ch-o3, all registers, v3"));
    let fewer = contains("SKIP v3/gemm.bc: it is not in the corpus");
    fs::remove_file(corpus.path("v3/gemm.bc")).expect("it is there");
    corpus.regress(&[]).success().stderr(fewer);
}

#[test]
fn without_a_corpus_or_a_baseline_there_is_a_message() {
    let corpus = Corpus::new();
    corpus.regress(&[]).code(1).stderr(contains("make baseline writes one"));
    corpus.update();
    for module in ["lua.bc", "lua.i386.bc", "zlib.bc"] {
        fs::remove_file(corpus.path(module)).expect("it is there");
    }
    corpus.regress(&[]).code(1).stderr(contains("run make corpus first"));
    corpus.regress(&["--update"]).code(1).stderr(contains("run make corpus first"));
    corpus.regress(&["--frobnicate"]).code(1).stderr(contains("usage: scripts/regress [--update]"));
}
