use super::*;
use crate::allocate::allocators::{PRESETS, Preset};
use crate::allocate::pipeline::{Strategy, allocate_watched};
use crate::machine::parse;

fn dumped(text: &str, allocator: &str, wanted: &[Phase]) -> String {
    let function = parse(text).unwrap();
    let mut said = String::new();
    let preset = Preset::named(allocator).unwrap();
    let mut dump = Dump::new(&function, wanted.to_vec(), |part: &str| said.push_str(part));
    allocate_watched(&function, preset, &mut dump).unwrap();
    said
}

const ACROSS_CALL: &str = "target tiny\nfunction f\nb0:\n  v0:x = op\n  op clobbers=x0,x1,x2,x3\n  op v0\n";

#[test]
fn one_phase_is_a_function_that_can_be_parsed_and_its_changes() {
    let expected = "\
; after spill: 3 lines added, 1 removed
target tiny
function f
b0:
  v0:x = op
  store(s0) v0
  op clobbers=x0,x1,x2,x3
  v1:x(of=v0) = load(s0)
  op v1
; s0: 16 bytes, aligned to 16, home of v0
; since cssa:
;   b0:
; +   store(s0) v0
; -   op v0
; +   v1:x(of=v0) = load(s0)
; +   op v1
";
    assert_eq!(dumped(ACROSS_CALL, "spill-free", &[Phase::Spill]), expected);
    assert!(parse(expected).is_ok());
}

#[test]
fn a_phase_that_changes_nothing_says_so_and_no_more() {
    let said = dumped(ACROSS_CALL, "spill-free", &[Phase::Cssa, Phase::Spill, Phase::Assign]);
    assert!(said.starts_with("; after cssa: no line changes since import\ntarget tiny\nfunction f\nb0:\n"), "{said}");
    assert_eq!(said.matches("target").count(), 1);
    assert!(said.contains("; after assign: no line changes since spill\nfunction f\nb0:\n  v0:x = op  ; x0 =\n"), "{said}");
    let said = dumped("target tiny\nfunction f\nb0:\n  op\n", "hack", &[Phase::Spill, Phase::Recolour]);
    assert!(said.ends_with("b0:\n  op\n; after recolour: no line changes since assign\n"), "{said}");
}

/// Linear scan finds no register for v0 at first.
#[test]
fn phases_that_run_again_are_numbered() {
    let text = include_str!("../../../testdata/functions/second_chance.txt");
    let said = dumped(text, "linear-scan", &[Phase::Spill, Phase::Assign]);
    let headings: Vec<&str> = said.lines().filter(|line| line.starts_with("; after")).collect();
    let expected = [
        "; after spill: no line changes since cssa",
        "; after assign: no registers are left for v0, to be spilled now",
        "; after spill, run 2: 5 lines added, 2 removed",
        "; after assign, run 2: no line changes since spill",
    ];
    assert_eq!(headings, expected, "{said}");
}

#[test]
fn preparing_that_is_undone_is_done_again_otherwise() {
    let text = include_str!("../../../testdata/functions/copy_with_more_registers.txt");
    let said = dumped(text, "tuned", &Phase::ALL);
    let undone = said.find("; all of this is undone, and done again without merging copies").expect("it is said");
    assert!(
        said[..undone].contains("; after copies: ")
            && said[undone..].contains("; after cssa, run 2: no line changes since import")
    );
    assert!(!said[undone..].contains("; after copies"), "{said}");
}

/// Observers see the phases that an allocator says it runs, in that order.
#[test]
fn every_phase_is_shown() {
    struct Names(Vec<Phase>);
    impl Observer for Names {
        fn after(&mut self, phase: Phase, _: Stage<'_>) {
            self.0.push(phase);
        }
        fn evicted(&mut self, values: &[Value]) {
            panic!("{values:?}");
        }
        fn undone(&mut self, reason: &str) {
            panic!("{reason}");
        }
    }
    let function = parse("target tiny\nfunction f\nb0:\n  v0:w = op\n  op v0\n").unwrap();
    let ours = PRESETS.iter().filter(|preset| crate::allocate::HAS_SOLVER || !preset.assignment.needs_solver());
    let theirs = crate::allocate::regalloc2::Algorithm::ALL.into_iter().map(|(_, algorithm)| Strategy::Regalloc2(algorithm));
    for strategy in ours.map(|&preset| preset.into()).chain(theirs) {
        let mut names = Names(Vec::new());
        allocate_watched(&function, strategy, &mut names).unwrap();
        assert_eq!(names.0, strategy.phases(), "{strategy:?}");
    }
}
