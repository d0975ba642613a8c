//! The rivals of spill-free elimination: a spare register, and spilling on demand [PP09, §1].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::Chart;
use crate::paper::document::{Block, change, count};
use crate::paper::published as paper;
use crate::paper::results::{Quantity, Results, quantity};
use crate::paper::variants::*;

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut table = Table::new([
        "setting",
        "spill code: spill-free",
        "spare-register",
        "brisk",
        "on-demand",
        "registers spilled: brisk",
        "on-demand",
        "crowded blocks",
    ]);
    let bound = Cell::Text(format!("at least {:+.1}%", 100.0 * paper::ON_DEMAND));
    let missing = || Cell::Missing;
    let spare = Cell::Change(paper::SPARE_REGISTER);
    table.row(["paper (i386, 7 registers)".into(), missing(), spare, bound, missing(), missing(), missing(), missing()]);
    for &setting in SFE_SETTINGS {
        let sum =
            |allocator, quantity: Quantity| count(results.sums([Variant::new(allocator, setting)], quantity).map(|[sum]| sum));
        let against = |allocator| change(results.change(setting, SPILL_FREE, allocator, quantity::spill_code));
        table.row([
            setting.to_string().into(),
            sum(SPILL_FREE, quantity::spill_code),
            against(SPARE_REGISTER),
            against(BRISK),
            against(ON_DEMAND),
            sum(BRISK, quantity::elimination_spills),
            sum(ON_DEMAND, quantity::elimination_spills),
            sum(SPILL_FREE, quantity::crowded),
        ]);
    }
    let explanation = "How much more spill code (loads from spill slots and stores to them) the other ways out of SSA form need. \
                       With all of them each value has a slot of its own, since with shared slots no phi moves memory to \
                       memory. `brisk` moves memory at one point of an edge's code, and stores a register if none is free \
                       there; `on-demand` orders the code such that one is free for long. *Crowded blocks* have thirteen phis \
                       where there are seven registers, or more, so that the paper counts them as spilling in any case.";
    (vec![paragraph(explanation), Block::Table { caption: "All programs together.".into(), table }], None)
}
