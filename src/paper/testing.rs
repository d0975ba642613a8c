//! Handmade results for tests.

use super::join_sets::Shared;
use super::results::Results;
use super::variants::{Machine, Variant};
use super::{exhibits, variants_of};
use crate::analysis::Reuse;
use crate::measure::compare::record::{Outcome, Record, Run, SCHEMA};
use crate::measure::stats::{Counts, Function, Statistics, Times};

/// Two programs, for both machines, under every variant of the exhibits; within a variant, every count is the same number.
pub fn results() -> Results {
    let exhibits: Vec<&exhibits::Exhibit> = exhibits::ALL.iter().collect();
    let mut results = Results::default();
    for machine in [Machine::X86_64, Machine::I386] {
        let variants = variants_of(&exhibits, machine);
        for (program, base) in [("gzip", 100), ("gawk", 300)] {
            let runs =
                variants.iter().enumerate().map(|(index, &variant)| run(variant, vec![function("f", base + index as u64)]));
            results.add(program, machine, &variants, &record(runs));
        }
    }
    let reuse = Reuse { sets: 100, equal: 10, supersets: 5, remainder: 15, saved: 2.5 };
    let shared = Shared { worklists: 1000, all: reuse, several: reuse, plain: 100, reusing: 150 };
    results.registers.insert("gzip".into(), shared);
    results.variables.insert("gzip".into(), Shared { worklists: 100, ..shared });
    results
}

pub fn record(runs: impl IntoIterator<Item = Run>) -> Record {
    let fingerprint = String::new();
    Record { schema: SCHEMA.into(), source: "p.bc".into(), fingerprint, runs: runs.into_iter().collect() }
}

pub fn run(variant: Variant, functions: Vec<Function>) -> Run {
    let statistics = Statistics {
        schema: crate::measure::stats::SCHEMA.into(),
        chordal: String::new(),
        allocator: variant.allocator.into(),
        options: None,
        registers: None,
        source: "p.bc".into(),
        directory: None,
        target: String::new(),
        compilation_ns: Some(10_000),
        total: Counts::total(&functions),
        functions,
    };
    outcome(variant, Outcome::Done { statistics: Box::new(statistics), allocation_ns: vec![] })
}

pub fn outcome(variant: Variant, outcome: Outcome) -> Run {
    Run { allocator: variant.allocator.into(), registers: variant.setting.registers.into(), outcome }
}

/// A function whose every reported count is `count`.
pub fn function(name: &str, count: u64) -> Function {
    let mut counts = Counts::default();
    let fixed = &mut counts.fixed;
    [fixed.loads, fixed.stores, fixed.moves, fixed.xors] = [count; 4];
    let weighted = &mut counts.weighted;
    [weighted.loads, weighted.stores, weighted.moves, weighted.xors] = [count as f64; 4];
    let spill = &mut counts.spill;
    [spill.values, spill.slots, spill.stores, spill.reloads, spill.copies] = [count; 5];
    counts.conversion.copies_before = count;
    [counts.graphs.value_register, counts.graphs.interference] = [count, 10 * count];
    let elimination = &mut counts.elimination;
    [elimination.graphs, elimination.edges, elimination.memory_transfers, elimination.potential_spills] = [count; 4];
    let graphs = &mut elimination.with_all_mock_phis;
    [graphs.graphs, graphs.edges, graphs.memory_transfers, graphs.potential_spills] = [count; 4];
    elimination.crowded = count;
    let destruction = &mut counts.destruction;
    [destruction.isolating, destruction.isolating_left, destruction.tests, destruction.bytes] = [count; 4];
    let mut times = Times::default();
    for phase in ["cssa", "destruct", "assign", "eliminate"] {
        times.add(phase, count);
    }
    counts.time_ns = Some(times);
    Function { name: name.into(), counts, ..Function::default() }
}
