//! SFE Figure 11: shares of compilation time [PP09, §7].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, amount};
use crate::paper::published as paper;
use crate::paper::results::{Quantity, Results, quantity};
use crate::paper::variants::{SFE_SETTINGS, SPILL_FREE, Variant};

/// A part of compilation.
struct Part {
    name: &'static str,
    /// The paper's share of it.
    published: f64,
    ours: Quantity,
}

const CONVERSION: f64 = paper::METHOD_I_SHARE + paper::COALESCING_SHARE;

const PARTS: [Part; 4] = [
    Part { name: "register allocation", published: paper::ALLOCATION_SHARE, ours: quantity::allocation },
    Part {
        name: "SSA elimination",
        published: CONVERSION + paper::CRITICAL_EDGES_SHARE + paper::ELIMINATION_SHARE,
        ours: |it| quantity::conversion(it) + quantity::elimination(it),
    },
    Part { name: "conversion to CSSA", published: CONVERSION, ours: quantity::conversion },
    Part { name: "phi elimination", published: paper::ELIMINATION_SHARE, ours: quantity::elimination },
];

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let mut header = vec!["percent of compilation time".to_owned(), "paper".to_owned()];
    header.extend(SFE_SETTINGS.iter().map(ToString::to_string));
    let mut table = Table::new(header);
    let mut bars = Bars::new("sfe-figure11.svg", "Shares of compilation time (SFE Figure 11)", "percent");
    for Part { name, published, ours } in PARTS {
        let share = |setting| Some(100.0 * results.share(Variant::new(SPILL_FREE, setting), ours, quantity::compilation)?);
        let shares: Vec<Option<f64>> = SFE_SETTINGS.iter().map(|&setting| share(setting)).collect();
        let mut row: Vec<Cell> = vec![name.into(), Cell::Amount(100.0 * published, 1)];
        row.extend(shares.iter().map(|&share| amount(share, 1)));
        table.row(row);
        if let Some(&ours) = shares.iter().flatten().next() {
            bars.group(name, [(THEIRS, 100.0 * published), (OURS, ours)]);
        }
    }
    let explanation = "The paper's conversion is Method I (0.2%) and coalescing (1.6%); its SSA elimination also includes \
                       splitting critical edges (0.5%), which here is part of reading a function. The chart of Figure 11 is \
                       lost; these are the numbers in the text.";
    let caption = "Under spill-free, all programs together.";
    (vec![paragraph(explanation), Block::Table { caption: caption.into(), table }], bars.draw())
}
