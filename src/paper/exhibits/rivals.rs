//! The rivals of spill-free elimination: a spare register, and spilling on demand [PP09, §1].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::Chart;
use crate::paper::document::{Block, change, count};
use crate::paper::published as paper;
use crate::paper::results::{Results, quantity};
use crate::paper::variants::*;

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut table =
        Table::new(["setting", "spill code: spill-free", "spare-register", "on-demand", "registers spilled on demand"]);
    table.row([
        "paper (i386, 7 registers)".into(),
        Cell::Missing,
        Cell::Change(paper::SPARE_REGISTER),
        Cell::Text(format!("at least {:+.1}%", 100.0 * paper::ON_DEMAND)),
        Cell::Missing,
    ]);
    for &setting in SFE_SETTINGS {
        let [base, spills] = [(SPILL_FREE, quantity::spill_code as fn(&_) -> f64), (ON_DEMAND, quantity::elimination_spills)]
            .map(|(allocator, quantity)| results.sums([Variant::new(allocator, setting)], quantity).map(|[sum]| sum));
        let against = |allocator| change(results.change(setting, SPILL_FREE, allocator, quantity::spill_code));
        table.row([setting.to_string().into(), count(base), against(SPARE_REGISTER), against(ON_DEMAND), count(spills)]);
    }
    let explanation = "How much more spill code (loads from spill slots and stores to them) the other two ways out of SSA form \
                       need. In both measurements each value has a slot of its own, since with shared slots \
                       no phi moves memory to memory.";
    (vec![paragraph(explanation), Block::Table { caption: "All programs together.".into(), table }], None)
}
