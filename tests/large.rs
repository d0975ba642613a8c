//! Functions that are large in one respect, for which time or memory could run out.

use chordal::allocate::allocators::Preset;
use chordal::allocate::degraded::Degraded;
use chordal::allocate::pipeline::{Report, allocate};
use chordal::check::check;
use chordal::machine::{Edit, Point, parse};
use std::fmt::Write;

/// A loop of `count` φs, each of which takes its neighbour's value.
fn loop_of_phis(count: usize) -> String {
    let mut text = "target wide\nfunction phis\nb0: -> b1\n".to_owned();
    (0..count).for_each(|it| writeln!(text, "  v{it}:w = op").unwrap());
    text += "  op terminator\nb1: preds=b0,b1 -> b1 b2\n";
    (0..count).for_each(|it| writeln!(text, "  v{}:w = phi b0:v{it} b1:v{}", count + it, 2 * count + it).unwrap());
    (0..count)
        .for_each(|it| writeln!(text, "  v{}:w = op v{} v{}", 2 * count + it, count + it, count + (it + 1) % count).unwrap());
    text += "  op terminator\nb2:\n";
    (0..count).for_each(|it| writeln!(text, "  op v{}", 2 * count + it).unwrap());
    text
}

/// `count` values that all live through as many conditions, each of which uses one of them.
fn values_through_conditions(count: usize) -> String {
    let mut text = "target wide\nfunction live\nb0: -> b1\n".to_owned();
    (0..count).for_each(|it| writeln!(text, "  v{it}:w = op").unwrap());
    for it in 0..count {
        let [head, left, right, next] = [1, 2, 3, 4].map(|block| 3 * it + block);
        writeln!(text, "b{head}: -> b{left} b{right}\n  op v{} terminator", it * 7 % count).unwrap();
        writeln!(text, "b{left}: -> b{next}\n  op v{}\nb{right}: -> b{next}", it * 3 % count).unwrap();
    }
    writeln!(text, "b{}:", 1 + 3 * count).unwrap();
    (0..count).for_each(|it| writeln!(text, "  op v{it}").unwrap());
    text
}

fn allocated(text: &str, allocator: &str) -> Report {
    allocate(&parse(text).unwrap(), Preset::named(allocator).expect("it exists")).unwrap().1
}

/// Prices come with a certificate of the plan; there is none where they were not computed.
#[test]
fn prices_decide_unless_too_much_is_live() {
    let [small, large] = [100, 700].map(|phis| allocated(&loop_of_phis(phis), "tuned"));
    assert!(small.spill.certificate.is_some() && small.degraded.is_empty());
    assert!(large.spill.certificate.is_none());
    let reason = "by weight, not by prices: too many values are live for too long";
    assert_eq!(large.degraded, [Degraded::new("spill", reason)], "it is said that this is not what was asked for");
}

/// The checker's states share equal parts from block to block; nevertheless an error in one block is reported there, and
/// nowhere else.
#[test]
fn one_edit_too_few_among_many_equal_states_is_noticed() {
    let function = parse(&values_through_conditions(300)).unwrap();
    for allocator in ["ch-o3", "tuned"] {
        let (overlay, _) = allocate(&function, Preset::named(allocator).expect("it exists")).unwrap();
        assert!(check(&function, &overlay).is_ok());
        let is_load = |(index, (_, edit)): (usize, &(Point, Edit))| matches!(edit, Edit::Load { .. }).then_some(index);
        let loads: Vec<usize> = overlay.edits.iter().enumerate().filter_map(is_load).collect();
        assert!(loads.len() > 100, "{allocator} has few registers");
        for index in loads.into_iter().step_by(50) {
            let mut broken = overlay.clone();
            let (at, _) = broken.edits.remove(index);
            let complaints = check(&function, &broken).expect_err("a reload is missing");
            assert!(complaints.iter().any(|complaint| complaint.to_string().contains(&at.block.to_string())), "{complaints:?}");
        }
    }
}
