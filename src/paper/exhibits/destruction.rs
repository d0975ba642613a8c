//! SSA destruction before allocation: what each refinement buys.
//!
//! The chapter that chordal follows (Rastello, *SSA Destruction for Machine Code*) has no such table; the paper on which it
//! is based has one (Boissinot et al., *Revisiting Out-of-SSA Translation for Correctness, Code Quality, and Efficiency*)
//! \[Bo09\].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::Chart;
use crate::paper::document::{Block, amount};
use crate::paper::results::{Quantity, Results, geometric_mean, quantity, quotient};
use crate::paper::variants::*;

/// No refinement.
pub const PLAIN: &str = "out-of-ssa --out-of-ssa interference=intersection,virtualise=off,liveness=sets";
/// Chaitin's interference.
pub const CHAITIN: &str = "out-of-ssa --out-of-ssa interference=chaitin,virtualise=off,liveness=sets";
/// Interference by value, copies inserted.
pub const INSERTED: &str = "out-of-ssa --out-of-ssa virtualise=off,liveness=sets";
/// Copies virtual, liveness still by sets.
pub const SETS: &str = "out-of-ssa --out-of-ssa liveness=sets";
/// All refinements.
pub const REFINED: &str = "out-of-ssa";

/// No refinement, then one after another added, then all of them.
const STEPS: [(&str, &str); 6] = [
    ("intersection, inserted, sets", PLAIN),
    ("Chaitin's interference", CHAITIN),
    ("interference by value", INSERTED),
    ("copies virtual", SETS),
    ("liveness checked", REFINED),
    ("merged at once", "out-of-ssa --out-of-ssa merge=at-once"),
];

/// The quantities that are compared.
const COLUMNS: [(&str, Quantity); 6] = [
    ("phi copies", |it| it.counts.destruction.isolating_left as f64),
    ("two-address copies", |it| it.counts.destruction.ties_left as f64),
    ("all by frequency", |it| it.counts.destruction.weighted_left),
    ("tests", |it| it.counts.destruction.tests as f64),
    ("time", quantity::destruction),
    ("memory", |it| it.counts.destruction.bytes as f64),
];

pub fn variants() -> Vec<Variant> {
    product(&STEPS.map(|(_, allocator)| allocator), &[FIFTEEN])
}

/// For each program, a quantity with some refinements by that without any.
fn ratios(results: &Results, allocator: &'static str, quantity: Quantity) -> Vec<f64> {
    let ratio = |program: &String| {
        let of = |allocator| Some(quantity(results.of(program, Variant::new(allocator, FIFTEEN))?));
        quotient(of(allocator)?, of(PLAIN)?)
    };
    results.programs.keys().filter_map(ratio).collect()
}

/// The geometric mean of these ratios.
pub fn ratio(results: &Results, allocator: &'static str, quantity: Quantity) -> Option<f64> {
    geometric_mean(ratios(results, allocator, quantity))
}

/// The least and the greatest of these ratios.
pub fn range(results: &Results, allocator: &'static str, quantity: Quantity) -> Option<(f64, f64)> {
    let ratios = ratios(results, allocator, quantity);
    let least = ratios.iter().copied().reduce(f64::min)?;
    Some((least, ratios.into_iter().reduce(f64::max)?))
}

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let text = "Copies that are left of those that isolate phis and two-address operands, by those that the first row leaves: \
                geometric means over programs. Each row adds a refinement to the one before; the last has all of them, and \
                merges copies' sides all at once (Algorithm 21.3) where the others take one copy after the other, by frequency. \
                *memory* is what destruction builds beside the function, of the function that takes most. Boissinot et al. \
                found interference by value and virtual copies with a liveness check twice as fast as Sreedhar's third method, \
                in a tenth of its memory.";
    let mut table = Table::new([vec!["refinement"], COLUMNS.map(|(name, _)| name).to_vec()].concat());
    for (name, allocator) in STEPS {
        let column = |(_, quantity): (&str, Quantity)| amount(ratio(results, allocator, quantity), 3);
        table.row([Cell::from(name)].into_iter().chain(COLUMNS.map(column)));
    }
    let mut absolute =
        Table::new(vec!["program", "isolating", "left by intersection", "by value", "two-address", "left", "left"]);
    for program in results.programs.keys() {
        let of = |allocator| results.of(program, Variant::new(allocator, FIFTEEN)).map(|it| &it.counts.destruction);
        let (Some(first), Some(last)) = (of(STEPS[0].1), of(STEPS[4].1)) else { continue };
        let counts = [first.isolating, first.isolating_left, last.isolating_left, first.ties, first.ties_left, last.ties_left];
        absolute.row([Cell::from(program.as_str())].into_iter().chain(counts.map(|count| Cell::Amount(count as f64, 0))));
    }
    let caption = |text: &str| text.to_owned();
    let blocks = vec![
        paragraph(text),
        Block::Table { caption: caption("By the first row."), table },
        Block::Table { caption: caption("Copies before, and left without any refinement and with all."), table: absolute },
    ];
    (blocks, None)
}
