//! SRA Table 1: sizes of interference graphs [PP05, §4.4].

use super::{pairs, paragraph};
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount, count};
use crate::paper::published::{SRA_PROGRAMS, TABLE_1};
use crate::paper::results::{Results, quotient};
use crate::paper::variants::{CH_O3, FIFTEEN, Variant};

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut table = Table::new(["SPEC", "(a)", "(b)", "b/a", "ours", "(a)", "(b)", "b/a"]);
    let mut bars =
        Bars::new("sra-table1.svg", "Interference graph by value-register graph (SRA Table 1)", "edges (b) / edges (a)");
    for pair in pairs(SRA_PROGRAMS, results) {
        let graphs = pair.ours.and_then(|ours| results.of(ours, Variant::new(CH_O3, FIFTEEN))).map(|it| &it.counts.graphs);
        let ratio = graphs.and_then(|graphs| quotient(graphs.interference as f64, graphs.value_register as f64));
        let theirs = pair.theirs.map(|(index, _)| index);
        table.row([
            pair.their_name().into(),
            theirs.map(|index| TABLE_1.value_register[index]).into(),
            theirs.map(|index| TABLE_1.interference[index]).into(),
            amount(theirs.map(|index| TABLE_1.ratio[index]), 2),
            pair.our_name().into(),
            graphs.map(|graphs| graphs.value_register).into(),
            graphs.map(|graphs| graphs.interference).into(),
            amount(ratio, 2),
        ]);
        if let (Some(index), Some(ratio)) = (theirs, ratio) {
            bars.group(&pair.label(), [(THEIRS, TABLE_1.ratio[index]), (OURS, ratio)]);
        }
    }
    let sums = results.sums([Variant::new(CH_O3, FIFTEEN)], |it| it.counts.graphs.value_register as f64);
    let interferences = results.sums([Variant::new(CH_O3, FIFTEEN)], |it| it.counts.graphs.interference as f64);
    let (ours_a, ours_b) = (sums.map(|[a]| a), interferences.map(|[b]| b));
    let (theirs_a, theirs_b) = (TABLE_1.value_register.iter().sum::<u64>(), TABLE_1.interference.iter().sum::<u64>());
    table.row([
        "all".into(),
        Cell::Count(theirs_a),
        Cell::Count(theirs_b),
        Cell::Amount(theirs_b as f64 / theirs_a as f64, 2),
        "all".into(),
        count(ours_a),
        count(ours_b),
        amount(ours_a.zip(ours_b).and_then(|(a, b)| quotient(b, a)), 2),
    ]);
    let caption = "(a) edges between values and physical registers, (b) edges of the interference graph; ours under ch-o3 with all \
                   registers of x86-64.";
    let blocks = vec![paragraph("Both are counted before spilling."), Block::Table { caption: caption.into(), table }];
    (blocks, bars.draw())
}
