//! SFE Figure 12: the effects of store hoisting, memory coalescing and load lowering [PP09, §7].

use super::paragraph;
use crate::measure::report::{Cell, Table};
use crate::paper::charts::{Bars, Chart, OURS, THEIRS};
use crate::paper::document::{Block, change};
use crate::paper::executed::Executed;
use crate::paper::published as paper;
use crate::paper::results::{Quantity, Results, quantity};
use crate::paper::variants::*;

/// A step from one variant to the next.
struct Step {
    name: &'static str,
    ends: fn(&Steps) -> [&'static str; 2],
    /// The paper's changes of spill code, stores, moves and all accesses.
    published: [Option<f64>; 4],
}

const STEPS: [Step; 5] = [
    Step {
        name: "store hoisting (SH)",
        ends: |steps| [steps.not_optimised, steps.hoisted],
        published: [Some(paper::HOISTING_SPILL_CODE), Some(paper::HOISTING_STORES), None, None],
    },
    Step {
        name: "memory coalescing (RMTE)",
        ends: |steps| [steps.hoisted, steps.coalesced],
        published: [Some(paper::MEMORY_COALESCING_SPILL_CODE), None, None, None],
    },
    Step {
        name: "load lowering (LL)",
        ends: |steps| [steps.coalesced, steps.optimised],
        published: [Some(paper::LOWERING_SPILL_CODE), None, Some(paper::LOWERING_MOVES), None],
    },
    Step {
        name: "all three",
        ends: |steps| [steps.not_optimised, steps.optimised],
        published: [None, None, None, Some(paper::ALL_ACCESSES)],
    },
    Step { name: "LL by weight instead", ends: |steps| [steps.coalesced, steps.lowered_by_weight], published: [None; 4] },
];

const COLUMNS: [(&str, Quantity); 4] = [
    ("spill code", quantity::spill_code),
    ("stores", quantity::stores),
    ("moves", quantity::moves),
    ("accesses", quantity::accesses),
];

pub fn show(results: &Results) -> (Vec<Block>, Option<Chart>) {
    let explanation = "Each step is compared with the one before it. Spill code is loads from spill slots and stores to them; \
                       accesses are all loads and stores of the code; *by frequency*, as they are estimated to be executed. \
                       The last columns are what the programs execute. The charts of Figure 12 are lost; these are the numbers \
                       in the text. The paper's allocator is `bin-packing`; `spill-free` spills values for life, so a value is \
                       stored once in any case, and is loaded on edges only for φs.";
    let of = |steps: &Steps, settings| {
        let caption = format!("All programs together, {}.", steps.optimised);
        Block::Table { caption, table: table(results, steps, settings) }
    };
    let mut bars = Bars::new("sfe-figure12.svg", "What the optimisations take away (SFE Figure 12)", "percent fewer");
    STEPS.iter().for_each(|step| compare(results, step, &mut bars));
    (vec![paragraph(explanation), of(&BIN_PACKING_STEPS, SFE_SETTINGS), of(&SPILL_FREE_STEPS, &[I386])], bars.draw())
}

fn table(results: &Results, steps: &Steps, settings: &[Setting]) -> Table {
    let names = COLUMNS.map(|(name, _)| name).into_iter().chain(["by frequency"]).chain(Executed::NAMES);
    let mut table = Table::new(["step", "setting"].into_iter().chain(names));
    for step in &STEPS {
        if step.published.iter().any(Option::is_some) {
            let published = step.published.map(change);
            let row = [step.name.into(), "paper (i386, 7 registers)".into()].into_iter().chain(published);
            table.row(row.chain([Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing]));
        }
        let [from, to] = (step.ends)(steps);
        for &setting in settings {
            let measured = COLUMNS.map(|(_, quantity)| change(results.change(setting, from, to, quantity)));
            let row = [step.name.into(), Cell::Text(setting.to_string())].into_iter().chain(measured);
            let [before, after] = [from, to].map(|allocator| Variant::new(allocator, setting));
            let by_frequency = results.mean_ratio(after, before, |estimate| estimate.accesses).map(|ratio| ratio - 1.0);
            let executed = results.executed.ratios(None, after, before);
            let executed = [0, 1, 2].map(|count| change(executed.map(|ratios| ratios[count] - 1.0)));
            table.row(row.chain([change(by_frequency)]).chain(executed));
        }
    }
    table
}

/// Adds bars for the numbers that the paper has, each beside ours in the first setting that has one.
fn compare(results: &Results, step: &Step, bars: &mut Bars) {
    let [from, to] = (step.ends)(&BIN_PACKING_STEPS);
    for ((name, quantity), published) in COLUMNS.into_iter().zip(step.published) {
        let measured = |&setting| results.change(setting, from, to, quantity);
        if let Some((published, measured)) = published.zip(SFE_SETTINGS.iter().find_map(measured)) {
            bars.group(&format!("{}: {name}", step.name), [(THEIRS, -100.0 * published), (OURS, -100.0 * measured)]);
        }
    }
}
