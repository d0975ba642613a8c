//! SSA destruction before allocation: what each refinement buys.
//!
//! The chapter that chordal follows (Rastello, *SSA Destruction for Machine Code*) has no such table; the paper on which it
//! is based has one (Boissinot et al., *Revisiting Out-of-SSA Translation for Correctness, Code Quality, and Efficiency*)
//! \[Bo09\].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::Chart;
use crate::paper::document::{Block, amount};
use crate::paper::results::{Compiled, Quantity, Results, geometric_mean, quantity, quotient};
use crate::paper::variants::*;

/// No refinement, then one after another added, then all of them.
const STEPS: [(&str, &str); 6] = [
    ("intersection, inserted, sets", "out-of-ssa --out-of-ssa interference=intersection,virtualise=off,liveness=sets"),
    ("Chaitin's interference", "out-of-ssa --out-of-ssa interference=chaitin,virtualise=off,liveness=sets"),
    ("interference by value", "out-of-ssa --out-of-ssa virtualise=off,liveness=sets"),
    ("copies virtual", "out-of-ssa --out-of-ssa liveness=sets"),
    ("liveness checked", "out-of-ssa"),
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

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let text = "Copies that are left of those that isolate phis and two-address operands, by those that the first row leaves: \
                geometric means over programs. Each row adds a refinement to the one before; the last has all of them, and \
                merges copies' sides all at once (Algorithm 21.3) where the others take one copy after the other, by frequency. \
                *memory* is what destruction builds beside the function, of the function that takes most. Boissinot et al. \
                found interference by value and virtual copies with a liveness check twice as fast as Sreedhar's third method, \
                in a tenth of its memory.";
    let mut table = Table::new([vec!["refinement"], COLUMNS.map(|(name, _)| name).to_vec()].concat());
    for (name, allocator) in STEPS {
        let ratio = |(_, quantity): (&str, Quantity)| {
            let ratios = results.programs.keys().filter_map(|program| {
                let of = |allocator| results.of(program, Variant::new(allocator, FIFTEEN));
                let number = |compiled: &Compiled| quantity(compiled);
                quotient(number(of(allocator)?), number(of(STEPS[0].1)?))
            });
            amount(geometric_mean(ratios.collect()), 3)
        };
        table.row([Cell::from(name)].into_iter().chain(COLUMNS.map(ratio)));
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
