//! Reasons for numbers that differ from the papers', as far as they are tested: the measure of a claim with a supposed cause
//! switched off, or with another unit. And causes that claims share.

use super::destruction::{MEMORY, TIME};
use super::jsr::{DIFFERENCE, EQUAL, REDUNDANT, SAVED, WORTH_IT};
use super::sfe::{HOISTED_STORES, MORE_ON_DEMAND, REDUNDANT_TRANSFERS, SPARE, SPILLS_ON_DEMAND, fewer, spilled_on_demand};
use super::sra::{
    CATCHES_UP, EVERY_PROGRAM, FASTER, FASTER_COALESCED, FASTEST, FEWER_SLOTS, cost_crossing, cost_ratio, cost_ratios,
};
use crate::analysis::Reuse;
use crate::paper::exhibits::destruction::{REFINED, SETS, range, ratio};
use crate::paper::join_sets::Shared;
use crate::paper::results::{Results, quantity, quotient};
use crate::paper::variants::*;

/// A measure beside that of a claim.
struct Test {
    claim: &'static str,
    /// How it differs from the claim's.
    what: &'static str,
    measure: fn(&Results) -> Option<f64>,
}

const ALL_REGISTERS: &str = "if registers that one block assigns count as well";
const SOURCE: &str = "among the variables of sources (`clang -O0`), those that one block assigns included";
const SEVERAL_OF_SOURCE: &str = "among the variables of sources, those only that several blocks assign";
const BY_BRISK: &str = "stores and reloads of registers that `brisk` spills";
const BY_WINDMILL: &str =
    "stores and reloads of registers that `on-demand` spills, which orders edges such that one is free for long";
const ESTIMATE: &str = "by an estimate that charges 4 for a load, 1 for a store and 0.2 for a move, by frequency";

const TESTS: &[Test] = &[
    Test {
        claim: FEWER_SLOTS,
        what: "if webs that are not live at once share slots, as they do by default",
        measure: |results| results.change(EIGHT, LINEAR_SCAN, CH_O3, quantity::slots),
    },
    Test {
        claim: FEWER_SLOTS,
        what: "if linear-scan does not read memory in place of registers either (`--memory-operands none`)",
        measure: |results| results.change(EIGHT, LINEAR_SCAN_UNFOLDED, CH_O3_OWN_SLOTS, quantity::slots),
    },
    Test {
        claim: FEWER_SLOTS,
        what: "if ch-o3 moves values out of the way of pinned registers in place of avoiding these (`--pins repair`)",
        measure: |results| results.change(EIGHT, LINEAR_SCAN_OWN_SLOTS, CH_O3_REPAIRED, quantity::slots),
    },
    Test { claim: FASTER, what: ESTIMATE, measure: |results| cost_ratio(results, FOUR, CH_O2) },
    Test { claim: FASTER_COALESCED, what: ESTIMATE, measure: |results| cost_ratio(results, FOUR, CH_O3) },
    Test { claim: EVERY_PROGRAM, what: ESTIMATE, measure: |results| cost_ratios(results, FOUR).reduce(f64::min) },
    Test { claim: FASTEST, what: ESTIMATE, measure: |results| cost_ratios(results, FOUR).reduce(f64::max) },
    Test { claim: CATCHES_UP, what: ESTIMATE, measure: cost_crossing },
    Test { claim: SPARE, what: "under spill-free", measure: |results| fewer(results, SPILL_FREE, I386) },
    Test { claim: SPARE, what: "under linear-scan", measure: |results| fewer(results, LINEAR_SCAN, I386) },
    Test {
        claim: SPARE,
        what: "the rival as a whole under spill-free: slots not shared, memory moved to memory",
        measure: |results| results.change(I386, SPILL_FREE, SPARE_REGISTER, quantity::spill_code),
    },
    Test {
        claim: HOISTED_STORES,
        what: "under spill-free, which spills for life and stores once in any case",
        measure: |results| results.change(I386, SPILL_FREE_STEPS.not_optimised, SPILL_FREE_STEPS.hoisted, quantity::stores),
    },
    Test {
        claim: REDUNDANT_TRANSFERS,
        what: "with all copies of Method I left in (`--cssa none`)",
        measure: |results| results.change(I386, METHOD_I, METHOD_I_COALESCED, quantity::spill_code),
    },
    Test { claim: SPILLS_ON_DEMAND, what: BY_BRISK, measure: |results| spilled_on_demand(results, I386, BRISK) },
    Test { claim: SPILLS_ON_DEMAND, what: BY_WINDMILL, measure: |results| spilled_on_demand(results, I386, ON_DEMAND) },
    Test { claim: MORE_ON_DEMAND, what: BY_BRISK, measure: |results| spilled_on_demand(results, I386, BRISK) },
    Test { claim: MORE_ON_DEMAND, what: BY_WINDMILL, measure: |results| spilled_on_demand(results, I386, ON_DEMAND) },
    Test { claim: REDUNDANT, what: ALL_REGISTERS, measure: |results| of_registers(results, |it| it.share(it.all.redundant())) },
    Test { claim: REDUNDANT, what: SOURCE, measure: |results| of_sources(results, |it| it.share(it.all.redundant())) },
    Test {
        claim: REDUNDANT,
        what: SEVERAL_OF_SOURCE,
        measure: |results| of_sources(results, |it| it.share(it.several.redundant())),
    },
    Test { claim: EQUAL, what: ALL_REGISTERS, measure: |results| of_registers(results, |it| it.share(it.all.equal)) },
    Test { claim: EQUAL, what: SOURCE, measure: |results| of_sources(results, |it| it.share(it.all.equal)) },
    Test { claim: EQUAL, what: SEVERAL_OF_SOURCE, measure: |results| of_sources(results, |it| it.share(it.several.equal)) },
    Test { claim: SAVED, what: SOURCE, measure: |results| of_sources(results, |it| saved(&it.all)) },
    Test { claim: DIFFERENCE, what: SOURCE, measure: |results| of_sources(results, |it| difference(&it.all)) },
    Test {
        claim: WORTH_IT,
        what: "among the variables of sources",
        measure: |results| of_sources(results, |it| quotient(it.reusing as f64, it.plain as f64).map(|ratio| ratio - 1.0)),
    },
    Test {
        claim: MEMORY,
        what: "with liveness sets in place of the check, copies virtual",
        measure: |results| ratio(results, SETS, |it| it.counts.destruction.bytes as f64),
    },
    Test {
        claim: TIME,
        what: "the lowest of the programs",
        measure: |results| Some(range(results, REFINED, quantity::destruction)?.0),
    },
    Test {
        claim: TIME,
        what: "the highest of the programs",
        measure: |results| Some(range(results, REFINED, quantity::destruction)?.1),
    },
    Test {
        claim: TIME,
        what: "pairs of variables that are tested for intersection",
        measure: |results| ratio(results, REFINED, |it| it.counts.destruction.tests as f64),
    },
];

/// Why several claims are not reproduced.
struct Cause {
    name: &'static str,
    claims: &'static [&'static str],
}

const CAUSES: &[Cause] = &[Cause {
    name: "here, programs hardly run faster for fewer accesses to the stack",
    claims: &[FASTER, FASTER_COALESCED, EVERY_PROGRAM, FASTEST],
}];

/// The measures beside that of a claim, each with how it differs.
pub fn tested(claim: &str, results: &Results) -> Vec<(&'static str, f64)> {
    let tests = TESTS.iter().filter(|test| test.claim == claim);
    tests.filter_map(|test| Some((test.what, (test.measure)(results)?))).collect()
}

/// The cause that a claim shares with others.
pub fn cause_of(claim: &str) -> Option<&'static str> {
    CAUSES.iter().find(|cause| cause.claims.contains(&claim)).map(|cause| cause.name)
}

fn of_registers(results: &Results, measure: fn(&Shared) -> Option<f64>) -> Option<f64> {
    results.all_registers().as_ref().and_then(measure)
}

fn of_sources(results: &Results, measure: fn(&Shared) -> Option<f64>) -> Option<f64> {
    results.all_variables().as_ref().and_then(measure)
}

fn saved(reuse: &Reuse) -> Option<f64> {
    quotient(reuse.saved, reuse.supersets as f64)
}

fn difference(reuse: &Reuse) -> Option<f64> {
    quotient(reuse.remainder as f64, reuse.supersets as f64)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::results;
    use super::super::all;
    use super::*;

    #[test]
    fn reasons_and_causes_are_those_of_claims() {
        let claims: Vec<&str> = all().iter().map(|claim| claim.text).collect();
        let named = TESTS.iter().map(|test| test.claim).chain(CAUSES.iter().flat_map(|cause| cause.claims).copied());
        for name in named {
            assert!(claims.contains(&name), "{name}");
        }
    }

    #[test]
    fn every_test_is_measured() {
        let results = results();
        for claim in all() {
            let tests = TESTS.iter().filter(|test| test.claim == claim.text).count();
            assert_eq!(tested(claim.text, &results).len(), tests, "{}", claim.text);
        }
    }
}
