//! SRA Tables 2 to 4: loads, stores, moves and exclusive-ors by allocator [PP05, §6].

use super::{Pair, pairs, paragraph};
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, change, count};
use crate::paper::published::{Allocation, CountTable, SRA_PROGRAMS, sum};
use crate::paper::results::{Quantity, Results, quantity, quotient};
use crate::paper::variants::{CH_O3, LINEAR_SCAN, SRA_ALLOCATORS, Setting, Variant};

/// A line of the paper's tables, with our counterpart.
struct Line {
    name: &'static str,
    theirs: fn(&Allocation) -> Option<&[u64; 10]>,
    ours: Quantity,
}

const LINES: [Line; 4] = [
    Line { name: "stores", theirs: |it| Some(&it.stores), ours: quantity::stores },
    Line { name: "loads", theirs: |it| Some(&it.loads), ours: quantity::loads },
    Line { name: "moves", theirs: |it| Some(&it.moves), ours: quantity::moves },
    Line { name: "xors", theirs: |it| Some(&it.xors), ours: quantity::xors },
];

/// Lines that only Table 3 has.
const SPILL_LINES: [Line; 2] = [
    Line { name: "spilled", theirs: |it| it.spilled.as_ref().map(|lines| &lines[0]), ours: quantity::spilled_values },
    Line { name: "slots", theirs: |it| it.spilled.as_ref().map(|lines| &lines[1]), ours: quantity::slots },
];

pub fn show(results: &Results, published: &CountTable, setting: Setting, file: &'static str) -> (Vec<Block>, Option<Chart>) {
    let has_spills = published.allocations.iter().all(|allocation| allocation.spilled.is_some());
    let lines: Vec<&Line> = SPILL_LINES.iter().filter(|_| has_spills).chain(&LINES).collect();
    let mut blocks = vec![
        paragraph(&format!(
            "The paper has {} registers, we have {}. All instructions of the code are counted, including the program's own.",
            published.registers,
            setting.count()
        )),
        against_linear_scan(results, published, setting),
    ];
    for allocation in &published.allocations {
        blocks.push(details(results, allocation, setting, &lines));
    }
    (blocks, chart(results, published, setting, file))
}

/// Each allocator against linear scan, over all programs.
fn against_linear_scan(results: &Results, published: &CountTable, setting: Setting) -> Block {
    let mut header = vec!["against linear-scan".to_owned()];
    for name in ["accesses", "moves and xors", "moves", "xors"] {
        header.extend([format!("{name}: paper"), "here".to_owned()]);
    }
    let mut table = Table::new(header);
    for allocator in SRA_ALLOCATORS.into_iter().filter(|&allocator| allocator != LINEAR_SCAN) {
        let theirs = |quantity: fn(&Allocation) -> f64| Cell::Change(published.change(LINEAR_SCAN, allocator, quantity));
        let ours = |quantity| change(results.change(setting, LINEAR_SCAN, allocator, quantity));
        table.row([
            allocator.into(),
            theirs(Allocation::accesses),
            ours(quantity::accesses),
            theirs(Allocation::transfers),
            ours(quantity::transfers),
            theirs(|allocation| sum(&allocation.moves)),
            ours(quantity::moves),
            theirs(|allocation| sum(&allocation.xors)),
            ours(quantity::xors),
        ]);
    }
    Block::Table { caption: "All programs together; accesses are loads and stores.".into(), table }
}

/// One allocator, program by program.
fn details(results: &Results, allocation: &Allocation, setting: Setting, lines: &[&Line]) -> Block {
    let variant = Variant::new(allocation.allocator, setting);
    let names = || lines.iter().map(|line| line.name);
    let mut table = Table::new(["SPEC"].into_iter().chain(names()).chain(["ours"]).chain(names()));
    for Pair { theirs, ours } in pairs(SRA_PROGRAMS, results) {
        let compiled = ours.and_then(|ours| results.of(ours, variant));
        let theirs_of = |line: &&Line| Cell::from(theirs.and_then(|(index, _)| Some((line.theirs)(allocation)?[index])));
        let ours_of = |line: &&Line| count(compiled.map(line.ours));
        let mut row: Vec<Cell> = vec![theirs.map_or("", |(_, name)| name).into()];
        row.extend(lines.iter().map(theirs_of));
        row.push(ours.unwrap_or_default().into());
        row.extend(lines.iter().map(ours_of));
        table.row(row);
    }
    Block::Table { caption: format!("`{}`, {setting}.", allocation.allocator), table }
}

/// Accesses of Ch-O3 divided by those of linear scan, for programs that both sides have.
fn chart(results: &Results, published: &CountTable, setting: Setting, file: &'static str) -> Option<Chart> {
    let title =
        format!("Memory accesses of Ch-O3 by those of linear scan ({} / {} registers)", published.registers, setting.count());
    let mut bars = Bars::new(file, &title, "loads and stores, ch-o3 / linear-scan");
    for pair in pairs(SRA_PROGRAMS, results).into_iter().filter(Pair::is_both) {
        let Some((index, ours)) = pair.theirs.map(|(index, _)| index).zip(pair.ours) else { continue };
        let of = |allocator| published.of(allocator).loads[index] + published.of(allocator).stores[index];
        let theirs = of(CH_O3) as f64 / of(LINEAR_SCAN) as f64;
        let accesses = |allocator| results.of(ours, Variant::new(allocator, setting)).map(quantity::accesses);
        let ratio = accesses(CH_O3).zip(accesses(LINEAR_SCAN)).and_then(|(ours, scan)| quotient(ours, scan));
        if let Some(ratio) = ratio {
            bars.group(&pair.label(), [(THEIRS, theirs), (OURS, ratio)]);
        }
    }
    if let Some(change) = results.change(setting, LINEAR_SCAN, CH_O3, quantity::accesses) {
        let theirs = 1.0 + published.change(LINEAR_SCAN, CH_O3, Allocation::accesses);
        bars.group("all", [(THEIRS, theirs), (OURS, 1.0 + change)]);
    }
    bars.draw()
}
