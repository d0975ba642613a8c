//! Functions in which something is so many that the time or the room for it has to be thought of.

use chordal::allocate::allocators::Preset;
use chordal::allocate::pipeline::{Report, allocate};
use chordal::machine::parse;
use std::fmt::Write;

/// A loop of so many φs, each of which takes its neighbour.
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

fn allocated(text: &str, allocator: &str) -> Report {
    allocate(&parse(text).unwrap(), Preset::named(allocator).expect("it exists")).unwrap().1
}

/// Prices are a certificate of what they choose; there is none where they were not asked.
#[test]
fn prices_decide_unless_too_much_is_live() {
    assert!(allocated(&loop_of_phis(100), "tuned").spill.certificate.is_some());
    assert!(allocated(&loop_of_phis(700), "tuned").spill.certificate.is_none());
}
