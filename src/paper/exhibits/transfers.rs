//! SFE Figure 10: location transfer graphs, and how many of their edges are memory transfers [PP09, §7].

use super::{Pair, pairs, paragraph};
use crate::allocate::eliminate::TransferGraphs;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount, count};
use crate::paper::published::{self, FIGURE_10};
use crate::paper::results::{Compiled, Results, quantity, quotient};
use crate::paper::variants::{BIN_PACKING, I386, SFE_SETTINGS, SPILL_FREE, Variant};

/// A way to count graphs.
type Unit = fn(&Compiled) -> TransferGraphs;

const UNITS: [(&str, Unit); 3] = [
    ("φs of the program", quantity::graphs),
    ("and mock φs of values that move", quantity::with_mock_phis),
    ("and mock φs of all live values", quantity::with_all_mock_phis),
];

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let explanation = "Location transfer graphs (LTGs), the share of them that are potential spills, their edges, and the share \
                       of those that are memory transfers. An edge is a φ. The paper's 8.1 edges a graph are more than programs \
                       have φs, so mock φs are among them. Whether only values that arrive in different places have mock φs, or \
                       all values that are live into the same block, is not said: both are counted. The paper's seven registers \
                       and 53% of transfers in memory, together 3.8 edges between registers, go with the latter.";
    let caption = format!("By program; ours under {BIN_PACKING}, {I386}, with mock φs of all live values.");
    let blocks = vec![
        paragraph(explanation),
        Block::Table { caption, table: programs(results) },
        Block::Table { caption: "All programs together, in each setting and unit.".into(), table: settings(results) },
    ];
    (blocks, chart(results))
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    quotient(100.0 * part as f64, whole as f64)
}

fn programs(results: &Results) -> Table {
    let columns = ["LTGs", "% spills", "edges", "% memory"];
    let mut table = Table::new(["SPEC"].into_iter().chain(columns).chain(["ours"]).chain(columns));
    for pair in pairs(FIGURE_10.iter().map(|column| column.program), results) {
        let theirs = pair.theirs.map(|(index, _)| &FIGURE_10[index]);
        let compiled = pair.ours.and_then(|ours| results.of(ours, Variant::new(BIN_PACKING, I386)));
        let ours = cells(compiled.map(quantity::with_all_mock_phis));
        let mut row: Vec<Cell> = vec![
            pair.their_name().into(),
            count(theirs.map(|it| (it.graphs * 1000.0).round())),
            amount(theirs.map(|it| it.potential_spills), 1),
            count(theirs.map(|it| (it.edges * 1000.0).round())),
            amount(theirs.map(|it| it.memory_transfers), 1),
            pair.our_name().into(),
        ];
        row.extend(ours);
        table.row(row);
    }
    table
}

fn cells(graphs: Option<TransferGraphs>) -> [Cell; 4] {
    [
        count(graphs.map(|it| it.graphs as f64)),
        amount(graphs.and_then(|it| percent(it.potential_spills, it.graphs)), 1),
        count(graphs.map(|it| it.edges as f64)),
        amount(graphs.and_then(|it| percent(it.memory_transfers, it.edges)), 1),
    ]
}

fn settings(results: &Results) -> Table {
    let columns = ["LTGs", "% spills", "edges", "% memory", "edges an LTG"];
    let mut table = Table::new(["setting", "allocator", "unit"].into_iter().chain(columns));
    table.row([
        "paper (i386, 7 registers)".into(),
        "".into(),
        "".into(),
        Cell::Count(published::ALL_GRAPHS as u64),
        Cell::Amount(100.0 * published::ALL_POTENTIAL_SPILLS / published::ALL_GRAPHS, 1),
        Cell::Count(published::ALL_EDGES as u64),
        Cell::Amount(100.0 * published::ALL_MEMORY_TRANSFERS / published::ALL_EDGES, 1),
        Cell::Amount(published::ALL_EDGES / published::ALL_GRAPHS, 1),
    ]);
    for &setting in SFE_SETTINGS {
        for allocator in [BIN_PACKING, SPILL_FREE] {
            for (name, unit) in UNITS {
                let graphs = all(results, Variant::new(allocator, setting), unit);
                let mut row: Vec<Cell> = vec![setting.to_string().into(), allocator.into(), name.into()];
                row.extend(cells(graphs));
                row.push(amount(graphs.and_then(|it| quotient(it.edges as f64, it.graphs as f64)), 1));
                table.row(row);
            }
        }
    }
    table
}

/// The graphs of all programs together.
fn all(results: &Results, variant: Variant, unit: Unit) -> Option<TransferGraphs> {
    let sum = |of: fn(TransferGraphs) -> u64| Some(results.sums([variant], |compiled| of(unit(compiled)) as f64)?[0] as u64);
    Some(TransferGraphs {
        graphs: sum(|it| it.graphs)?,
        edges: sum(|it| it.edges)?,
        memory_transfers: sum(|it| it.memory_transfers)?,
        potential_spills: sum(|it| it.potential_spills)?,
    })
}

fn chart(results: &Results) -> Option<Chart> {
    let mut bars = Bars::new("sfe-figure10.svg", "Edges that are memory transfers, i386 (SFE Figure 10)", "percent of all edges");
    let rows = pairs(FIGURE_10.iter().map(|column| column.program), results);
    for pair in rows.into_iter().filter(Pair::is_both) {
        let theirs = pair.theirs.map(|(index, _)| FIGURE_10[index].memory_transfers);
        let compiled = pair.ours.and_then(|ours| results.of(ours, Variant::new(BIN_PACKING, I386)));
        let ours = compiled.map(quantity::with_all_mock_phis).and_then(|it| percent(it.memory_transfers, it.edges));
        if let Some((theirs, ours)) = theirs.zip(ours) {
            bars.group(&pair.label(), [(THEIRS, theirs), (OURS, ours)]);
        }
    }
    bars.draw()
}
