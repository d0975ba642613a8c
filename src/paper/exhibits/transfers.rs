//! SFE Figure 10: location transfer graphs, and how many of their edges are memory transfers [PP09, §7].

use super::{Pair, pairs};
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount, count};
use crate::paper::published::{self, FIGURE_10};
use crate::paper::results::{Compiled, Quantity, Results, quantity, quotient};
use crate::paper::variants::{I386, SFE_SETTINGS, SPILL_FREE, Setting, Variant};

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let caption = format!(
        "Location transfer graphs (LTGs), the share of them that are potential spills, their edges, and the share of those that are \
         memory transfers; ours under spill-free, {I386}."
    );
    let blocks = vec![
        Block::Table { caption, table: programs(results) },
        Block::Table { caption: "All programs together, in each setting.".into(), table: settings(results) },
    ];
    (blocks, chart(results))
}

fn percent(compiled: Option<&Compiled>, part: Quantity, whole: Quantity) -> Option<f64> {
    compiled.and_then(|compiled| quotient(part(compiled) * 100.0, whole(compiled)))
}

fn programs(results: &Results) -> Table {
    let columns = ["LTGs", "% spills", "edges", "% memory"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    for pair in pairs(FIGURE_10.iter().map(|column| column.program), results) {
        let theirs = pair.theirs.map(|(index, _)| &FIGURE_10[index]);
        let compiled = pair.ours.and_then(|ours| results.of(ours, Variant::new(SPILL_FREE, I386)));
        table.row([
            pair.their_name().into(),
            count(theirs.map(|it| (it.graphs * 1000.0).round())),
            amount(theirs.map(|it| it.potential_spills), 1),
            count(theirs.map(|it| (it.edges * 1000.0).round())),
            amount(theirs.map(|it| it.memory_transfers), 1),
            pair.our_name().into(),
            count(compiled.map(quantity::graphs)),
            amount(percent(compiled, quantity::potential_spills, quantity::graphs), 1),
            count(compiled.map(quantity::edges)),
            amount(percent(compiled, quantity::memory_transfers, quantity::edges), 1),
        ]);
    }
    table
}

fn settings(results: &Results) -> Table {
    let mut table = Table::new(["", "LTGs", "% spills", "edges", "% memory"]);
    table.row([
        "paper (i386, 7 registers)".into(),
        Cell::Count(published::ALL_GRAPHS as u64),
        Cell::Amount(100.0 * published::ALL_POTENTIAL_SPILLS / published::ALL_GRAPHS, 1),
        Cell::Count(published::ALL_EDGES as u64),
        Cell::Amount(100.0 * published::ALL_MEMORY_TRANSFERS / published::ALL_EDGES, 1),
    ]);
    for &setting in SFE_SETTINGS {
        table.row(all(results, setting));
    }
    table
}

fn all(results: &Results, setting: Setting) -> [Cell; 5] {
    let variant = Variant::new(SPILL_FREE, setting);
    let sum = |quantity: Quantity| results.sums([variant], quantity).map(|[sum]| sum);
    let share = |part, whole| results.share(variant, part, whole).map(|share| share * 100.0);
    [
        setting.to_string().into(),
        count(sum(quantity::graphs)),
        amount(share(quantity::potential_spills, quantity::graphs), 2),
        count(sum(quantity::edges)),
        amount(share(quantity::memory_transfers, quantity::edges), 1),
    ]
}

fn chart(results: &Results) -> Option<Chart> {
    let mut bars = Bars::new("sfe-figure10.svg", "Edges that are memory transfers, i386 (SFE Figure 10)", "percent of all edges");
    let rows = pairs(FIGURE_10.iter().map(|column| column.program), results);
    for pair in rows.into_iter().filter(Pair::is_both) {
        let theirs = pair.theirs.map(|(index, _)| FIGURE_10[index].memory_transfers);
        let compiled = pair.ours.and_then(|ours| results.of(ours, Variant::new(SPILL_FREE, I386)));
        let ours = percent(compiled, quantity::memory_transfers, quantity::edges);
        if let Some((theirs, ours)) = theirs.zip(ours) {
            bars.group(&pair.label(), [(THEIRS, theirs), (OURS, ours)]);
        }
    }
    bars.draw()
}
