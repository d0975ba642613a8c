//! SRA Figure 10, and the times of Tables 2 to 4: run times of the programs [PP05, §6].

use super::{pairs, paragraph};
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount};
use crate::paper::published::{CountTable, SRA_PROGRAMS, TABLE_2, TABLE_3, TABLE_4};
use crate::paper::results::Results;
use crate::paper::variants::{CH_O1, CH_O2, CH_O3, EIGHT, FIFTEEN, FOUR, LINEAR_SCAN, Setting, Variant};

const TABLES: [(&CountTable, Setting); 3] = [(&TABLE_2, FOUR), (&TABLE_3, EIGHT), (&TABLE_4, FIFTEEN)];

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut blocks = vec![paragraph(
        "Time under linear scan divided by time under the SSA-based allocator: above 1 is faster. The chart of Figure 10, \
         which includes `simple`, `local` and GCC, is lost. `gcc -O2` is in none of the papers' tables, so there is nothing to \
         compare its counts with.",
    )];
    if results.run_times.is_empty() {
        blocks.push(paragraph("Our run times were not given: `scripts/paper-times` measures them, `--run-times` reads them."));
    }
    for (published, setting) in TABLES {
        let caption = format!("{} registers in the paper, {setting} here.", published.registers);
        blocks.push(Block::Table { caption, table: table(results, published, setting) });
    }
    (blocks, chart(results))
}

fn speed_up(results: &Results, program: &str, allocator: &'static str, setting: Setting) -> Option<f64> {
    let [before, after] = [LINEAR_SCAN, allocator].map(|allocator| Variant::new(allocator, setting));
    results.run_times.speed_up(&[program], before, after).map(|interval| interval.middle)
}

fn table(results: &Results, published: &CountTable, setting: Setting) -> Table {
    let allocators = [CH_O1, CH_O2, CH_O3];
    let mut table = Table::new(["SPEC"].into_iter().chain(allocators).chain(["ours"]).chain(allocators));
    for pair in pairs(SRA_PROGRAMS, results) {
        let theirs = |allocator| {
            let ratio = pair.theirs.and_then(|(index, _)| Some(published.of(allocator).ratio?[index]));
            amount(ratio, 2)
        };
        let ours = |allocator| amount(pair.ours.and_then(|program| speed_up(results, program, allocator, setting)), 2);
        let mut row: Vec<Cell> = vec![pair.their_name().into()];
        row.extend(allocators.map(theirs));
        row.push(pair.our_name().into());
        row.extend(allocators.map(ours));
        table.row(row);
    }
    let all = |allocator| {
        let (before, after) = (Variant::new(LINEAR_SCAN, setting), Variant::new(allocator, setting));
        let times = &results.run_times;
        amount(times.speed_up(&times.common(before, after), before, after).map(|interval| interval.middle), 2)
    };
    let mut row: Vec<Cell> = vec!["all".into()];
    row.extend(allocators.map(|allocator| Cell::Amount(published.speed_up(allocator), 2)));
    row.push("all".into());
    row.extend(allocators.map(all));
    table.row(row);
    table
}

fn chart(results: &Results) -> Option<Chart> {
    let mut bars =
        Bars::new("sra-figure10.svg", "Run time under linear scan by run time under Ch-O3, few registers (SRA)", "speed-up");
    for pair in pairs(SRA_PROGRAMS, results) {
        let theirs = pair.theirs.and_then(|(index, _)| Some(TABLE_2.of(CH_O3).ratio?[index]));
        let ours = pair.ours.and_then(|program| speed_up(results, program, CH_O3, FOUR));
        if let Some((theirs, ours)) = theirs.zip(ours) {
            bars.group(&pair.label(), [(THEIRS, theirs), (OURS, ours)]);
        }
    }
    bars.draw()
}
