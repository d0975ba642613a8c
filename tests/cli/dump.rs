//! `chordal allocate --dump-after`.

use super::folder::{Folder, assert_usage};
use predicates::str::{contains, starts_with};
use std::fs;

const LOST_COPY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/functions/lost_copy.txt");

/// The files of `testdata/phases` say which command prints them.
#[test]
fn files_of_phases_can_be_printed_by_hand() {
    for file in ["cssa/lost_copy", "spill/frugal", "eliminate/sink.on", "destruct/early_two_address.out-of-ssa"] {
        let text = fs::read_to_string(format!("{}/testdata/phases/{file}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let (command, rest) = text[text.find("; chordal ").expect("a command")..].split_once('\n').expect("lines");
        let words: Vec<&str> = command.split_whitespace().skip(2).collect();
        let mut chordal = super::folder::chordal();
        chordal.current_dir(env!("CARGO_MANIFEST_DIR")).args(words).assert().success().stdout(rest.to_owned());
    }
}

#[test]
fn all_phases_are_shown_in_order() {
    let folder = Folder::new();
    let all = |allocator| folder.chordal(&["allocate", LOST_COPY, "--allocator", allocator, "--dump-after", "all"]);
    let output = all("hack").assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    let headings = text.lines().filter_map(|line| line.strip_prefix("; after ")?.split(':').next());
    assert_eq!(headings.collect::<Vec<_>>(), ["cssa", "spill", "assign", "recolour", "eliminate"]);
    all("regalloc2").assert().success().stdout(starts_with("; after regalloc2: "));
    let some = ["allocate", LOST_COPY, "--allocator", "hack", "--dump-after", "assign", "--dump-after", "cssa,spill"];
    let shown = folder.chordal(&some).assert().success();
    shown.stdout(starts_with("; after cssa: 2 lines added, 1 removed\ntarget tiny\n")).stdout(contains("; after assign: "));
}

#[test]
fn phases_that_do_not_run_are_refused() {
    let folder = Folder::new();
    let after = |phase, allocator: &[&str]| {
        folder.chordal(&[&["allocate", LOST_COPY, "--dump-after", phase, "--allocator"], allocator].concat())
    };
    let spill_free = "spill-free, with these options, runs only cssa, spill, assign, eliminate: there is no phase";
    assert_usage(&mut after("sink", &["spill-free"]), &format!("{spill_free} `sink`"));
    assert_usage(&mut after("colour", &["spill-free"]), &format!("{spill_free} `colour`"));
    after("sink", &["spill-free", "--set", "sink=on"]).assert().success();
    assert_usage(&mut after("cssa", &["out-of-ssa"]), "runs only unsplit, destruct, spill, assign, eliminate");
}
