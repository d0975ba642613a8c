//! The tables and figures: what has to be run for each, and how it is shown.
//!
//! An exhibit names the variants that it needs, so that `chordal paper` can run each once even if several exhibits share it,
//! and shows their results beside the numbers in [`published`].

mod compile_times;
mod counts;
pub mod destruction;
mod graphs;
mod join_sets;
pub mod names;
mod optimality;
mod optimisations;
mod rivals;
mod run_times;
mod threshold;
mod transfers;

use super::charts::Chart;
use super::document::Block;
use super::published;
use super::results::Results;
use super::variants::{self, *};
use names::*;

/// A table or figure of the papers.
pub struct Exhibit {
    /// Its name on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// The runs that it and its claims need.
    pub variants: fn() -> Vec<Variant>,
    /// Its tables and chart, the paper's numbers beside ours.
    pub show: fn(&Results) -> (Vec<Block>, Option<Chart>),
}

pub const ALL: &[Exhibit] = &[
    Exhibit {
        name: SRA_TABLE_1,
        title: "SRA Table 1: sizes of interference graphs",
        variants: || vec![Variant::new(CH_O3, FIFTEEN)],
        show: graphs::show,
    },
    Exhibit {
        name: SRA_TABLE_2,
        title: "SRA Table 2: instructions with 4 registers",
        variants: all_counts,
        show: |results| counts::show(results, &published::TABLE_2, FOUR, "sra-table2.svg"),
    },
    Exhibit {
        name: SRA_TABLE_3,
        title: "SRA Table 3: instructions with 8 registers",
        variants: || {
            let own_slots = variants::product(&[CH_O3_OWN_SLOTS, LINEAR_SCAN_OWN_SLOTS], &[FOUR, EIGHT, FIFTEEN]);
            let tests = variants::product(&[LINEAR_SCAN_UNFOLDED, CH_O3_REPAIRED], &[EIGHT]);
            [all_counts(), own_slots, tests].concat()
        },
        show: |results| counts::show(results, &published::TABLE_3, EIGHT, "sra-table3.svg"),
    },
    Exhibit {
        name: SRA_TABLE_4,
        title: "SRA Table 4: instructions with all registers",
        variants: all_counts,
        show: |results| counts::show(results, &published::TABLE_4, FIFTEEN, "sra-table4.svg"),
    },
    Exhibit { name: SRA_FIGURE_10, title: "SRA Figure 10, Tables 2 to 4: run times", variants: Vec::new, show: run_times::show },
    Exhibit {
        name: SRA_FIGURE_11,
        title: "SRA Figure 11: Ch-O3 and linear scan with 4, 8, 12 and all registers",
        variants: || variants::product(&[CH_O3, LINEAR_SCAN], &[FOUR, EIGHT, TWELVE, FIFTEEN]),
        show: threshold::show,
    },
    Exhibit {
        name: SFE_RIVALS,
        title: "SFE section 1: the rivals of spill-free elimination",
        variants: || {
            let mut all = variants::product(&[SPILL_FREE, SPARE_REGISTER, ON_DEMAND, BRISK, BIN_PACKING], SFE_SETTINGS);
            all.extend([SPILL_FREE, BIN_PACKING, LINEAR_SCAN].map(|allocator| Variant::new(allocator, I386_SIX)));
            all
        },
        show: rivals::show,
    },
    Exhibit {
        name: SFE_FIGURE_10,
        title: "SFE Figure 10: location transfer graphs",
        variants: || variants::product(&[BIN_PACKING, SPILL_FREE], SFE_SETTINGS),
        show: transfers::show,
    },
    Exhibit {
        name: SFE_FIGURE_11,
        title: "SFE Figure 11: time of compilation",
        variants: || variants::product(&[BIN_PACKING_STEPS.not_optimised, BIN_PACKING, LINEAR_SCAN], SFE_SETTINGS),
        show: compile_times::show,
    },
    Exhibit {
        name: SFE_FIGURE_12,
        title: "SFE Figure 12: the optimisations",
        variants: || {
            let mut all = variants::product(&BIN_PACKING_STEPS.all(), SFE_SETTINGS);
            all.extend(variants::product(&SPILL_FREE_STEPS.all(), &[I386]));
            all.extend([METHOD_I, METHOD_I_COALESCED].map(|allocator| Variant::new(allocator, I386)));
            all
        },
        show: optimisations::show,
    },
    Exhibit {
        name: DESTRUCTION,
        title: "SSA destruction for machine code: what each refinement buys",
        variants: destruction::variants,
        show: destruction::show,
    },
    Exhibit { name: JOIN_SETS, title: "JSR Tables 2 and 3: redundant join sets", variants: Vec::new, show: join_sets::show },
];

/// How near the heuristics are to the optimum. Shown only on request: it takes hours, and a solver.
pub const OPTIMAL: Exhibit = Exhibit {
    name: OPTIMALITY,
    title: "How far spilling and coalescing are from the optimum",
    variants: optimality::variants,
    show: optimality::show,
};

/// The variants of Tables 2 to 4, in all three settings: that is how their claims are measured.
fn all_counts() -> Vec<Variant> {
    variants::product(&SRA_ALLOCATORS, &[FOUR, EIGHT, FIFTEEN])
}

/// The variants that exhibits need for a machine, each once.
pub fn variants_of(exhibits: &[&Exhibit], machine: Machine) -> Vec<Variant> {
    let mut all: Vec<Variant> = Vec::new();
    for variant in exhibits.iter().flat_map(|exhibit| (exhibit.variants)()) {
        if variant.setting.machine == machine && !all.contains(&variant) {
            all.push(variant);
        }
    }
    all
}

/// The rows of a table of programs: the paper's with our stand-ins, then the rest of ours.
fn pairs<'r>(benchmarks: impl IntoIterator<Item = &'static str>, results: &'r Results) -> Vec<Pair<'r>> {
    pairs_of(benchmarks, results.programs.keys())
}

fn pairs_of<'r>(
    benchmarks: impl IntoIterator<Item = &'static str>,
    programs: impl IntoIterator<Item = &'r String>,
) -> Vec<Pair<'r>> {
    let programs: Vec<&str> = programs.into_iter().map(String::as_str).collect();
    let mut rows: Vec<Pair<'r>> = Vec::new();
    for (index, theirs) in benchmarks.into_iter().enumerate() {
        let ours = published::stand_in(theirs).filter(|name| programs.contains(name));
        rows.push(Pair { theirs: Some((index, theirs)), ours });
    }
    for program in programs {
        if !rows.iter().any(|row| row.ours == Some(program)) {
            rows.push(Pair { theirs: None, ours: Some(program) });
        }
    }
    rows
}

/// A program of the paper and its stand-in, or either alone.
struct Pair<'r> {
    /// With its index in the paper's table.
    theirs: Option<(usize, &'static str)>,
    ours: Option<&'r str>,
}

impl Pair<'_> {
    fn their_name(&self) -> &str {
        self.theirs.map_or("", |(_, name)| name)
    }

    fn our_name(&self) -> &str {
        self.ours.unwrap_or_default()
    }

    /// Both names, as the label of a chart.
    fn label(&self) -> String {
        format!("{} / {}", self.their_name(), self.our_name())
    }

    fn is_both(&self) -> bool {
        self.theirs.is_some() && self.ours.is_some()
    }
}

fn paragraph(text: &str) -> Block {
    Block::Paragraph(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        for (index, exhibit) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != exhibit.name), "{}", exhibit.name);
        }
    }

    #[test]
    fn each_run_is_made_once() {
        let exhibits: Vec<&Exhibit> = ALL.iter().collect();
        let variants = variants_of(&exhibits, Machine::X86_64);
        let wanted = variants.iter().filter(|&&variant| variant == Variant::new(CH_O3, FIFTEEN)).count();
        assert_eq!(wanted, 1);
        assert!(variants.iter().all(|variant| variant.setting.machine == Machine::X86_64));
    }

    #[test]
    fn programs_that_correspond_share_a_row() {
        let mut results = Results::default();
        for name in ["gawk", "gzip"] {
            results.programs.entry(name.into()).or_default();
        }
        let rows = pairs(["175.vpr", "164.gzip"], &results);
        let shown: Vec<(&str, &str)> = rows.iter().map(|row| (row.their_name(), row.our_name())).collect();
        assert_eq!(shown, [("175.vpr", ""), ("164.gzip", "gzip"), ("", "gawk")]);
    }
}
