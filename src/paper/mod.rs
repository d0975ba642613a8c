//! Sets the papers' tables, figures and claims beside what chordal measures.
//!
//! `published` has what the papers print, `variants` what is run, `results` what was measured. `exhibits` puts their numbers
//! and ours side by side, a file for each table or figure; `claims` are sentences of the papers' texts, each with a rule
//! (`verdict`) that decides by the measured number whether the claim is reproduced. All of it goes into one `document`.
//!
//! Requires: the records of a comparison for each program, with the runs that [`variants_of`] names.
//! Ensures: a sum that compares variants is over programs that all of them compiled, and over functions that all variants
//! for the machine could allocate.

mod charts;
mod claims;
mod document;
mod executed;
mod exhibits;
mod join_sets;
mod published;
mod results;
mod run_times;
mod variants;
mod verdict;

pub use charts::Chart;
pub use document::{Block, Document, Format, Section};
pub use executed::Executed;
pub use exhibits::names::{JOIN_SETS, OPTIMALITY};
pub use exhibits::{ALL, Exhibit, OPTIMAL, variants_of};
pub use join_sets::{Shared, is_before_ssa, shared};
pub use results::Results;
pub use run_times::RunTimes;
pub use variants::{Machine, Variant};

use crate::measure::report::Table;

/// The exhibits with their claims, and notes on the inputs.
pub fn report(exhibits: &[&Exhibit], results: &Results, versions: Option<&str>) -> Document {
    let section = |exhibit: &&Exhibit| {
        let (blocks, chart) = (exhibit.show)(results);
        let claims = claims::all().into_iter().filter(|claim| claim.exhibit == exhibit.name);
        let claims = claims.map(|claim| claim.judge(results)).collect();
        Section { name: exhibit.name, title: exhibit.title, blocks, chart, claims }
    };
    Document { sections: exhibits.iter().map(section).collect(), inputs: inputs(results, versions) }
}

/// Notes on the inputs: what was compiled, what could not be, and which functions are in no total.
fn inputs(results: &Results, versions: Option<&str>) -> Vec<Block> {
    let names = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let mut blocks = Vec::new();
    for (what, programs) in [
        ("Programs", results.programs.keys().collect()),
        ("Programs before SSA form", results.variables.keys().collect::<Vec<_>>()),
    ] {
        if !programs.is_empty() {
            blocks.push(Block::Paragraph(format!("{what}: {}.", names(programs))));
        }
    }
    if let Some(versions) = versions {
        blocks.push(Block::Verbatim(versions.to_owned()));
    }
    if !results.missing.is_empty() {
        let mut table = Table::new(["program", "run", "what happened"]);
        for missing in &results.missing {
            table.row([missing.program.as_str().into(), missing.variant.to_string().into(), missing.reason.as_str().into()]);
        }
        let caption = "Runs that failed; their programs are left out of the sums over all programs that compare these runs.";
        blocks.push(Block::Table { caption: caption.into(), table });
    }
    if !results.left_out.is_empty() {
        let mut table = Table::new(["program", "machine", "function", "why"]);
        for function in &results.left_out {
            let (program, name, reason) = (&function.program, &function.function, &function.reason);
            table.row([program.as_str(), function.machine.name(), name, reason].map(Into::into));
        }
        let caption = "Functions that some variant could not allocate; they are left out of every variant's counts for that \
                       machine.";
        blocks.push(Block::Table { caption: caption.into(), table });
    }
    blocks
}

#[cfg(test)]
mod testing;
