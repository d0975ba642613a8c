//! Claims of *SSA Elimination after Register Allocation* \[PP09\].

use super::{Claim, Measure, Ran, Unit};
use crate::allocate::eliminate::TransferGraphs;
use crate::paper::exhibits::names::*;
use crate::paper::published as paper;
use crate::paper::results::{Compiled, Results, quantity, quotient};
use crate::paper::variants::*;
use crate::paper::verdict::Rule;

/// The allocator of the paper's experiments, with its optimisations one by one.
const STEPS: Steps = BIN_PACKING_STEPS;

pub fn claims() -> Vec<Claim> {
    let mut claims = transfers();
    claims.extend(times());
    claims.extend(optimisations());
    claims.extend(lowering_and_loops());
    claims.extend(rivals());
    claims
}

fn size(published: f64) -> Rule {
    Rule::Size { published, neutral: 0.0 }
}

const UNIT: &str = "An edge is a phi, or a mock phi of any value that is live into the block, which is what the paper's 8.1 edges a \
    graph suggest; the table has other units. How many values are in memory depends on the number of registers: compare the \
    settings.";

const POTENTIAL: &str = "A graph is a potential spill if it has a memory transfer and its source block ends with every register \
    taken that the transferred value could pass through.";

/// The graphs of SFE 7.
fn graphs(compiled: &Compiled) -> TransferGraphs {
    quantity::with_all_mock_phis(compiled)
}

fn transfers() -> Vec<Claim> {
    vec![
        Claim {
            exhibit: SFE_FIGURE_10,
            text: "53% of the edges of location transfer graphs are memory transfers",
            source: "SFE 7, Figure 10",
            quantity: "edges from memory to memory by all edges, bin-packing",
            unit: Unit::Share,
            published: None,
            rule: size(paper::ALL_MEMORY_TRANSFERS / paper::ALL_EDGES),
            measure: Measure::Compiled(|results, setting| {
                let variant = Variant::new(BIN_PACKING, setting);
                results.share(variant, |it| graphs(it).memory_transfers as f64, |it| graphs(it).edges as f64)
            }),
            settings: SFE_SETTINGS,
            why: UNIT,
        },
        Claim {
            exhibit: SFE_FIGURE_10,
            text: "All programs but the smallest have memory transfers",
            source: "SFE 1",
            quantity: "share of programs with memory transfers, bin-packing",
            unit: Unit::Share,
            published: None,
            rule: size(14.0 / 15.0),
            measure: Measure::Compiled(|results, setting| {
                results.share_of_programs(Variant::new(BIN_PACKING, setting), |it| graphs(it).memory_transfers > 0)
            }),
            settings: SFE_SETTINGS,
            why: "",
        },
        Claim {
            exhibit: SFE_FIGURE_10,
            text: "6% of the location transfer graphs are potential spills",
            source: "SFE 7, Figure 10",
            quantity: "potential spills by graphs, bin-packing",
            unit: Unit::Share,
            published: None,
            rule: size(paper::ALL_POTENTIAL_SPILLS / paper::ALL_GRAPHS),
            measure: Measure::Compiled(|results, setting| {
                let variant = Variant::new(BIN_PACKING, setting);
                results.share(variant, |it| graphs(it).potential_spills as f64, |it| graphs(it).graphs as f64)
            }),
            settings: SFE_SETTINGS,
            why: POTENTIAL,
        },
        Claim {
            exhibit: SFE_FIGURE_10,
            text: "Spilling on demand would need a second spilling phase in every program",
            source: "SFE 7",
            quantity: "share of programs with potential spills, bin-packing",
            unit: Unit::Share,
            published: None,
            rule: size(1.0),
            measure: Measure::Compiled(|results, setting| {
                results.share_of_programs(Variant::new(BIN_PACKING, setting), |it| graphs(it).potential_spills > 0)
            }),
            settings: SFE_SETTINGS,
            why: POTENTIAL,
        },
        Claim {
            exhibit: SFE_FIGURE_10,
            text: "Spill-free elimination spills nothing",
            source: "SFE 1",
            quantity: "registers stored while phis are eliminated, bin-packing",
            unit: Unit::Count,
            published: None,
            rule: Rule::AtMost(0.0),
            measure: Measure::Compiled(|results, setting| {
                let [spills] = results.sums([Variant::new(BIN_PACKING, setting)], quantity::elimination_spills)?;
                Some(spills)
            }),
            settings: SFE_SETTINGS,
            why: "The types of the solver for parallel copies cannot name memory.",
        },
    ]
}

const COMPILATION: &str = "Here, compilation goes from optimised bitcode to machine code, with the checker and without an \
    optimiser; the paper's is that of a just-in-time compiler.";

fn times() -> Vec<Claim> {
    vec![
        Claim {
            exhibit: SFE_FIGURE_11,
            text: "The passes of SSA elimination take less than 5% of compilation time",
            source: "SFE 1, 7",
            quantity: "time of conversion and elimination by compilation time, bin-packing",
            unit: Unit::Share,
            published: Some(
                paper::METHOD_I_SHARE + paper::CRITICAL_EDGES_SHARE + paper::COALESCING_SHARE + paper::ELIMINATION_SHARE,
            ),
            rule: Rule::Below(0.05),
            measure: Measure::Compiled(|results, setting| {
                let passes = |it: &Compiled| quantity::conversion(it) + quantity::elimination(it);
                results.share(Variant::new(BIN_PACKING, setting), passes, quantity::compilation)
            }),
            settings: SFE_SETTINGS,
            why: "Conversion is Method I and its coalescing together. Critical edges are split while a function is read, which \
                  is not timed separately.",
        },
        Claim {
            exhibit: SFE_FIGURE_11,
            text: "Register allocation takes 28% of compilation time",
            source: "SFE 7, Figure 11",
            quantity: "allocation time by compilation time, bin-packing",
            unit: Unit::Share,
            published: None,
            rule: size(paper::ALLOCATION_SHARE),
            measure: Measure::Compiled(|results, setting| {
                results.share(Variant::new(BIN_PACKING, setting), quantity::allocation, quantity::compilation)
            }),
            settings: SFE_SETTINGS,
            why: COMPILATION,
        },
        Claim {
            exhibit: SFE_FIGURE_11,
            text: "Register allocation takes about as long as linear scan",
            source: "SFE 7",
            quantity: "allocation time, bin-packing by linear-scan",
            unit: Unit::Ratio,
            published: None,
            rule: Rule::Within { low: 0.75, high: 1.25 },
            measure: Measure::Compiled(|results, setting| {
                let variants = [Variant::new(BIN_PACKING, setting), Variant::new(LINEAR_SCAN, setting)];
                let [ours, theirs] = results.sums(variants, quantity::allocation)?;
                quotient(ours, theirs)
            }),
            settings: SFE_SETTINGS,
            why: "Our linear scan starts from SSA form, coalesces all copies and restarts whenever it has to spill; it aims at \
                  good code, not at speed.",
        },
        Claim {
            exhibit: SFE_FIGURE_11,
            text: "The three optimisations cost no measurable compilation time",
            source: "SFE 7",
            quantity: "additional allocation time by compilation time",
            unit: Unit::Change,
            published: None,
            rule: Rule::AtMost(0.01),
            measure: Measure::Compiled(|results, setting| {
                let variants = [Variant::new(STEPS.not_optimised, setting), Variant::new(BIN_PACKING, setting)];
                let [before, after] = results.sums(variants, quantity::allocation)?;
                let [compilation, _] = results.sums(variants, quantity::compilation)?;
                quotient(after - before, compilation)
            }),
            settings: SFE_SETTINGS,
            why: "Up to 1% counts as not measurable: equal runs differ by that much.",
        },
    ]
}

const HOISTING: &str = "Without hoisting, a value is stored each time that it leaves its register, in a block or on an edge, and for \
    each phi in memory that takes it.";
const LOWERING: &str = "A value is loaded before each use in place of on edges if it takes more reloads than it has uses.";

pub const HOISTED_STORES: &str = "Store hoisting removes 12% of the stores";
pub const REDUNDANT_TRANSFERS: &str = "Elimination of redundant memory transfers removes another 2.6% of the spill code";

/// A claim that optimisations remove code.
struct Reduction {
    text: &'static str,
    quantity: &'static str,
    rule: Rule,
    measure: fn(&Results, Setting) -> Option<f64>,
    why: &'static str,
}

fn optimisations() -> Vec<Claim> {
    let reductions = [
        Reduction {
            text: HOISTED_STORES,
            quantity: "stores, with store hoisting against without",
            rule: size(paper::HOISTING_STORES),
            measure: |results, setting| results.change(setting, STEPS.not_optimised, STEPS.hoisted, quantity::stores),
            why: HOISTING,
        },
        Reduction {
            text: "Store hoisting removes almost 5% of the spill code",
            quantity: "spill loads and stores, with store hoisting against without",
            rule: size(paper::HOISTING_SPILL_CODE),
            measure: |results, setting| results.change(setting, STEPS.not_optimised, STEPS.hoisted, quantity::spill_code),
            why: HOISTING,
        },
        Reduction {
            text: REDUNDANT_TRANSFERS,
            quantity: "spill loads and stores, with memory coalescing on top against without",
            rule: size(paper::MEMORY_COALESCING_SPILL_CODE),
            measure: |results, setting| results.change(setting, STEPS.hoisted, STEPS.coalesced, quantity::spill_code),
            why: "A transfer is redundant if it copies between values that share a slot, hence of one web. Copies that isolate \
                  phis lead from one web to another, so that only copies of the program are left, which selection makes \
                  few of. What the paper's are is not known.",
        },
        Reduction {
            text: "Load lowering removes another 7.8% of the spill code",
            quantity: "spill loads and stores, with load lowering on top against without",
            rule: size(paper::LOWERING_SPILL_CODE),
            measure: |results, setting| results.change(setting, STEPS.coalesced, BIN_PACKING, quantity::spill_code),
            why: LOWERING,
        },
        Reduction {
            text: "Load lowering removes 5% of the copies",
            quantity: "moves, with load lowering on top against without",
            rule: size(paper::LOWERING_MOVES),
            measure: |results, setting| results.change(setting, STEPS.coalesced, BIN_PACKING, quantity::moves),
            why: LOWERING,
        },
        Reduction {
            text: "The three optimisations together remove more than 9% of the memory accesses",
            quantity: "loads and stores, with all three against without",
            rule: Rule::AtMost(paper::ALL_ACCESSES),
            measure: |results, setting| results.change(setting, STEPS.not_optimised, BIN_PACKING, quantity::accesses),
            why: "They include the program's own accesses, which no allocator can remove. For what is left for each of the \
                  three optimisations here, see the claims above.",
        },
    ];
    let claim = |Reduction { text, quantity, rule, measure, why }| Claim {
        exhibit: SFE_FIGURE_12,
        text,
        source: "SFE 7, Figure 12",
        quantity,
        unit: Unit::Change,
        published: None,
        rule,
        measure: Measure::Compiled(measure),
        settings: SFE_SETTINGS,
        why,
    };
    reductions.into_iter().map(claim).collect()
}

/// The stand-in for the program that load lowering slows down.
const CRAFTY: &str = "phalanx";

fn lowering_and_loops() -> Vec<Claim> {
    vec![
        Claim {
            exhibit: SFE_FIGURE_12,
            text: "The three optimisations make programs 1.9% faster",
            source: "SFE 7, Figure 12",
            quantity: "time without by time with all three",
            unit: Unit::Ratio,
            published: None,
            rule: Rule::Size { published: paper::OPTIMISATIONS_SPEED_UP, neutral: 1.0 },
            measure: Measure::Ran { before: STEPS.not_optimised, after: BIN_PACKING, of: Ran::Together },
            settings: SFE_SETTINGS,
            why: "",
        },
        Claim {
            exhibit: SFE_FIGURE_12,
            text: "Load lowering makes 186.crafty (here: phalanx) slower",
            source: "SFE 7, Figure 12",
            quantity: "time with load lowering by time without, phalanx",
            unit: Unit::Ratio,
            published: Some(1.025),
            rule: Rule::Above(1.0),
            measure: Measure::Ran { before: BIN_PACKING, after: STEPS.coalesced, of: Ran::One(CRAFTY) },
            settings: SFE_SETTINGS,
            why: "",
        },
        Claim {
            exhibit: SFE_FIGURE_12,
            text: "Not all programs benefit from load lowering, since it does not look at loops",
            source: "SFE 7",
            quantity: "share of programs in which it adds estimated executed accesses",
            unit: Unit::Share,
            published: None,
            rule: Rule::Above(0.0),
            measure: Measure::Compiled(|results, setting| {
                let (with, without) = (Variant::new(BIN_PACKING, setting), Variant::new(STEPS.coalesced, setting));
                let ratios = results.mean_ratios(with, without, |estimate| estimate.accesses);
                quotient(ratios.iter().filter(|&&ratio| ratio > 1.0).count() as f64, ratios.len() as f64)
            }),
            settings: SFE_SETTINGS,
            why: "Executed accesses are estimated from block frequencies; a program's figure is the geometric mean over its \
                  functions.",
        },
        Claim {
            exhibit: SFE_FIGURE_12,
            text: "Load lowering that takes loop nesting into account would gain more",
            source: "SFE 7",
            quantity: "estimated executed accesses, `load-lower=weighted` against `on` (geometric mean over all functions)",
            unit: Unit::Change,
            published: None,
            rule: Rule::Below(0.0),
            measure: Measure::Compiled(|results, setting| {
                let (weighted, counted) = (Variant::new(STEPS.lowered_by_weight, setting), Variant::new(BIN_PACKING, setting));
                results.mean_ratio(weighted, counted, |estimate| estimate.accesses).map(|ratio| ratio - 1.0)
            }),
            settings: SFE_SETTINGS,
            why: "The paper only speculates about this; `weighted` lowers a load if that is estimated to execute fewer accesses.",
        },
    ]
}

pub const SPILLS_ON_DEMAND: &str = "Spilling on demand has to spill: at least 0.2% more spill code";
pub const MORE_ON_DEMAND: &str = "An implementation of spilling on demand would reveal a substantially higher number";

/// Stores and reloads of registers that the allocator spills while it eliminates φs, by the spill code of spill-free.
pub fn spilled_on_demand(results: &Results, setting: Setting, allocator: &'static str) -> Option<f64> {
    let [spills] = results.sums([Variant::new(allocator, setting)], quantity::elimination_spills)?;
    let [code] = results.sums([Variant::new(SPILL_FREE, setting)], quantity::spill_code)?;
    quotient(2.0 * spills, code)
}

pub const SPARE: &str = "A spare register for memory transfers, six instead of seven, costs 5.2% more spill code";

/// The spill code that one register fewer adds, i386.
pub fn fewer(results: &Results, allocator: &'static str, setting: Setting) -> Option<f64> {
    let variants = [setting, I386_SIX].map(|setting| Variant::new(allocator, setting));
    let [seven, six] = results.sums(variants, quantity::spill_code)?;
    quotient(six, seven).map(|ratio| ratio - 1.0)
}

fn rivals() -> Vec<Claim> {
    let claim = |text, quantity, unit, rule, measure, settings, why| Claim {
        exhibit: SFE_RIVALS,
        text,
        source: "SFE 1",
        quantity,
        unit,
        published: None,
        rule,
        measure: Measure::Compiled(measure),
        settings,
        why,
    };
    vec![
        claim(
            SPARE,
            "spill loads and stores, 6 registers against 7, bin-packing",
            Unit::Change,
            size(paper::SPARE_REGISTER),
            |results, setting| fewer(results, BIN_PACKING, setting),
            &[I386],
            "The list of six lacks ebp. The paper does not say which register it removed, nor under which allocator.",
        ),
        claim(
            SPILLS_ON_DEMAND,
            "a store and a reload for each block with thirteen phis or more, by spill code of spill-free",
            Unit::Share,
            Rule::AtLeast(paper::ON_DEMAND),
            |results, setting| {
                let [crowded] = results.sums([Variant::new(SPILL_FREE, setting)], quantity::crowded)?;
                let [code] = results.sums([Variant::new(SPILL_FREE, setting)], quantity::spill_code)?;
                quotient(2.0 * crowded, code)
            },
            SFE_SETTINGS,
            "The paper derives its number from the phis alone, without an implementation: thirteen phis in a block are too \
             many for seven registers. With k registers it is 2k - 1 phis here. So the number says how many phis the blocks \
             of the programs have.",
        ),
        claim(
            MORE_ON_DEMAND,
            "spill loads and stores, brisk against spill-free",
            Unit::Change,
            Rule::Above(paper::ON_DEMAND),
            |results, setting| results.change(setting, SPILL_FREE, BRISK, quantity::spill_code),
            SFE_SETTINGS,
            "All lines count: transfers from memory to memory, a load and a store each, and the stores and reloads of registers \
             that are spilled for them. `brisk` moves memory at one point in the code of an edge, and spills a register if none is \
             free there.",
        ),
    ]
}
