//! SRA Figure 11: the number of registers at which linear scan catches up [PP05, §6].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Chart, Lines};
use crate::paper::claims::cost_ratio;
use crate::paper::document::{Block, amount, change};
use crate::paper::published::{Allocation, TABLE_2, TABLE_3, TABLE_4};
use crate::paper::results::{Results, quantity};
use crate::paper::variants::{CH_O3, EIGHT, FIFTEEN, FOUR, LINEAR_SCAN, Setting, TWELVE, Variant};

/// Our settings, and the paper's table for each, if it has one.
const POINTS: [(Setting, Option<&crate::paper::published::CountTable>); 4] =
    [(FOUR, Some(&TABLE_2)), (EIGHT, Some(&TABLE_3)), (TWELVE, None), (FIFTEEN, Some(&TABLE_4))];

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let header =
        ["registers here", "paper", "accesses: paper", "here", "moves and xors: paper", "here", "cost", "time: paper", "here"];
    let mut table = Table::new(header);
    let mut lines = Lines::new(
        "sra-figure11.svg",
        "Ch-O3 against linear scan (SRA Figure 11)",
        ("registers", "linear scan by Ch-O3: above 1, Ch-O3 is ahead"),
    );
    for (setting, published) in POINTS {
        let theirs = |quantity: fn(&Allocation) -> f64| published.map(|table| table.change(LINEAR_SCAN, CH_O3, quantity));
        let ours = |quantity| results.change(setting, LINEAR_SCAN, CH_O3, quantity);
        let [before, after] = [LINEAR_SCAN, CH_O3].map(|allocator| Variant::new(allocator, setting));
        let times = &results.run_times;
        let time = times.speed_up(&times.common(before, after), before, after).map(|interval| interval.middle);
        let their_time = published.map(|table| table.speed_up(CH_O3));
        let cost = cost_ratio(results, setting, CH_O3);
        table.row([
            Cell::Count(setting.count().into()),
            published.map(|table| u64::from(table.registers)).into(),
            change(theirs(Allocation::accesses)),
            change(ours(quantity::accesses)),
            change(theirs(Allocation::transfers)),
            change(ours(quantity::transfers)),
            amount(cost, 3),
            amount(their_time, 3),
            amount(time, 3),
        ]);
        let registers = f64::from(setting.count());
        if let Some(published) = published {
            // The chart ends at our largest count; the paper's last table has 29 registers.
            let place = if published.registers > setting.count() { registers } else { f64::from(published.registers) };
            lines.point("paper: run time (29 registers drawn at 15)", place, their_time);
        }
        lines.point("here: run time", registers, time);
        lines.point("here: estimated cost", registers, cost);
    }
    let explanation = "Ch-O3 against linear-scan: changes of loads and stores, and of moves and exclusive-ors; cost and time \
                       are linear-scan's divided by Ch-O3's, so Ch-O3 is ahead above 1. *cost* is an estimate from block \
                       frequencies (a load 4, a store 1, a move or exclusive-or 0.2), as a geometric mean over all functions. \
                       The paper's columns are computed from its Tables 2 to 4; its chart, with the point for 12, is lost.";
    (vec![paragraph(explanation), Block::Table { caption: "All programs together.".into(), table }], lines.draw())
}
