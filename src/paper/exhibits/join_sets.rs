//! JSR Tables 2 and 3: redundant join sets [FA05, §5].

use super::{pairs_of, paragraph};
use crate::analysis::Reuse;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount};
use crate::paper::published::{JOIN_SETS, JoinSetCounts};
use crate::paper::results::{Results, quotient};

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let redundant = Block::Table {
        caption:
            "Table 2: variables that blocks assign (worklists), those of them whose set of assigning blocks A(x) contains or \
                  equals another one, and those where it is equal."
                .into(),
        table: redundant(results),
    };
    let subsets = Block::Table {
        caption:
            "Table 3: variables whose set properly contains another one, by how many blocks it is larger, and the part of it \
                  that need not be computed; means."
                .into(),
        table: subsets(results),
    };
    let before = "Ours are the variables of unoptimised code (`clang -O0 -Xclang -disable-O0-optnone`) that could be in registers, \
                  assigned where they are stored.";
    (vec![paragraph(before), redundant, subsets], chart(results))
}

/// Percentages of worklists: those that are avoided or made smaller, and those that are avoided altogether.
fn percentages(reuse: &Reuse) -> [Option<f64>; 2] {
    let percent = |count: u64| quotient(100.0 * count as f64, reuse.sets as f64);
    [percent(reuse.redundant()), percent(reuse.equal)]
}

fn redundant(results: &Results) -> Table {
    let columns = ["worklists", "A(x) ⊆ A(y)", "% saved", "A(x) = A(y)", "% avoided"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    let theirs = |it: Option<&JoinSetCounts>| {
        [
            it.map(|it| it.worklists).into(),
            it.map(|it| it.redundant).into(),
            amount(it.map(|it| it.redundant_percent), 2),
            it.map(|it| it.equal).into(),
            amount(it.map(|it| it.equal_percent), 2),
        ]
    };
    let ours = |it: Option<&Reuse>| {
        let [redundant, equal] = it.map_or([None; 2], percentages);
        [
            it.map(|it| it.sets).into(),
            it.map(Reuse::redundant).into(),
            amount(redundant, 2),
            it.map(|it| it.equal).into(),
            amount(equal, 2),
        ]
    };
    rows(&mut table, results, theirs, ours);
    table
}

fn subsets(results: &Results) -> Table {
    let columns = ["A(x) ⊂ A(y)", "difference", "% saved"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    let theirs = |it: Option<&JoinSetCounts>| {
        [it.map(|it| it.subsets).into(), amount(it.map(|it| it.difference), 2), amount(it.map(|it| it.saved_percent), 2)]
    };
    let ours = |it: Option<&Reuse>| {
        let mean = |sum: f64| it.and_then(|it| quotient(sum, it.supersets as f64));
        [
            it.map(|it| it.supersets).into(),
            amount(it.and_then(|it| mean(it.remainder as f64)), 2),
            amount(it.and_then(|it| mean(100.0 * it.saved)), 2),
        ]
    };
    rows(&mut table, results, theirs, ours);
    table
}

/// A row for each program, and one for all together.
fn rows<const N: usize>(
    table: &mut Table,
    results: &Results,
    theirs: impl Fn(Option<&JoinSetCounts>) -> [Cell; N],
    ours: impl Fn(Option<&Reuse>) -> [Cell; N],
) {
    let row = |names: [&str; 2], theirs: [Cell; N], ours: [Cell; N]| {
        let cells = [Cell::from(names[0])].into_iter().chain(theirs).chain([Cell::from(names[1])]).chain(ours);
        cells.collect::<Vec<Cell>>()
    };
    for pair in pairs_of(JOIN_SETS.programs.iter().map(|column| column.program), results.join_sets.keys()) {
        let counts = pair.theirs.map(|(index, _)| &JOIN_SETS.programs[index]);
        let reuse = pair.ours.and_then(|ours| results.join_sets.get(ours));
        table.row(row([pair.their_name(), pair.our_name()], theirs(counts), ours(reuse)));
    }
    let all = results.all_join_sets();
    table.row(row(["average", "all"], theirs(Some(&JOIN_SETS.average)), ours(all.as_ref())));
}

fn chart(results: &Results) -> Option<Chart> {
    let mut bars = Bars::new("join-sets.svg", "Worklists that are avoided or made smaller (JSR Table 2)", "% of worklists");
    for pair in pairs_of(JOIN_SETS.programs.iter().map(|column| column.program), results.join_sets.keys()) {
        let ours = pair.ours.and_then(|ours| percentages(&results.join_sets[ours])[0]);
        if let (Some((index, _)), Some(ours)) = (pair.theirs, ours) {
            bars.group(&pair.label(), [(THEIRS, JOIN_SETS.programs[index].redundant_percent), (OURS, ours)]);
        }
    }
    bars.draw()
}
