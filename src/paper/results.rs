//! The results of the runs, from which everything is reported.

use super::executed::Executed;
use super::join_sets::Shared;
use super::run_times::RunTimes;
use super::variants::{Machine, Setting, Variant};
use crate::measure::compare::record::{Outcome, Record};
use crate::measure::stats::Counts;
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap};
use std::ops::Add;

/// All programs under all variants.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub programs: IndexMap<String, Program>,
    /// Runs without statistics.
    pub missing: Vec<Missing>,
    /// Functions that are in no total, because some variant could not allocate them.
    pub left_out: Vec<LeftOut>,
    /// Run times of the compiled programs, if they were measured.
    pub run_times: RunTimes,
    /// What the compiled programs execute, if it was counted.
    pub executed: Executed,
    /// What the join sets of programs' registers have in common.
    pub registers: IndexMap<String, Shared>,
    /// For programs that were given before SSA form: the same of the variables of their sources.
    pub variables: IndexMap<String, Shared>,
}

/// A program under all variants that compiled it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    runs: HashMap<Variant, Compiled>,
}

/// The result of compiling a program.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// Sums over the functions that all variants for this machine could allocate.
    pub counts: Counts,
    /// Compilation time, of all functions and including the compiler's other passes.
    pub compilation_ns: Option<u64>,
    /// By function, in the order of the module, which all variants share.
    estimates: Vec<Estimate>,
}

/// The cost of executing a function once, estimated from block frequencies.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Loads and stores.
    pub accesses: f64,
    /// The cost of all its code, by the weights of `RegAllocScore`, as in `overhead` of the statistics: a load 4, a store 1,
    /// a move or an exclusive-or 0.2.
    pub cost: f64,
    /// The cost of spilling: reloads, stores, saves, restores and rematerialisation.
    pub spilling: f64,
    /// The planned cost of spilling, and a lower bound, if known.
    pub planned: Option<(f64, f64)>,
    /// The cost of copies before and after recolouring, and a lower bound.
    pub copies_before: f64,
    pub copies_after: f64,
    pub copies_bound: Option<f64>,
    /// Selected instructions that are executed.
    selected: f64,
}

/// A run without statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub program: String,
    pub variant: Variant,
    pub reason: String,
}

/// A function that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub program: String,
    pub machine: Machine,
    pub function: String,
    pub reason: String,
}

/// A quantity of a compiled program.
pub type Quantity = fn(&Compiled) -> f64;

impl Results {
    /// Adds the results of a program: a record with one run for each variant, in their order, all for one machine.
    pub fn add(&mut self, program: &str, machine: Machine, variants: &[Variant], record: &Record) {
        let left_out = left_out(record);
        let runs = &mut self.programs.entry(program.to_owned()).or_default().runs;
        for (&variant, run) in variants.iter().zip(&record.runs) {
            match &run.outcome {
                Outcome::Done { statistics, .. } => {
                    let compared = |name: &str| !left_out.contains_key(name);
                    let functions = statistics.functions.iter().filter(|function| compared(&function.name));
                    let compiled = Compiled {
                        counts: Counts::total(functions.clone()),
                        compilation_ns: statistics.compilation_ns,
                        estimates: functions.map(|function| Estimate::new(&function.counts)).collect(),
                    };
                    runs.insert(variant, compiled);
                }
                Outcome::NotApplicable { message }
                | Outcome::Failed { message }
                | Outcome::Crashed { message }
                | Outcome::TimedOut { message } => {
                    self.missing.push(Missing { program: program.to_owned(), variant, reason: message.clone() });
                }
            }
        }
        self.left_out.extend(left_out.into_iter().map(|(function, reason)| LeftOut {
            program: program.to_owned(),
            machine,
            function,
            reason,
        }));
    }

    /// The join sets of all programs' registers together, if there are any.
    pub fn all_registers(&self) -> Option<Shared> {
        self.registers.values().copied().reduce(Add::add)
    }

    /// The join sets of all sources' variables together, if there are any.
    pub fn all_variables(&self) -> Option<Shared> {
        self.variables.values().copied().reduce(Add::add)
    }

    /// A program under a variant, if there is such a run.
    pub fn of(&self, program: &str, variant: Variant) -> Option<&Compiled> {
        self.programs.get(program)?.runs.get(&variant)
    }

    /// The programs that every one of the variants compiled: only those can be compared.
    pub fn common(&self, variants: &[Variant]) -> Vec<&str> {
        let everywhere = |program: &Program| variants.iter().all(|variant| program.runs.contains_key(variant));
        self.programs.iter().filter(|(_, program)| everywhere(program)).map(|(name, _)| name.as_str()).collect()
    }

    /// Each variant's sum of a quantity over the programs that all of them compiled, if there are any.
    pub fn sums<const N: usize>(&self, variants: [Variant; N], quantity: impl Fn(&Compiled) -> f64) -> Option<[f64; N]> {
        let programs = self.common(&variants);
        let sum = |variant| programs.iter().filter_map(|&program| self.of(program, variant)).map(&quantity).sum();
        (!programs.is_empty()).then(|| variants.map(sum))
    }

    /// The change of a quantity from one allocator's code to another's, over all programs: 0.01 is one per cent more.
    pub fn change(&self, setting: Setting, from: &'static str, to: &'static str, quantity: Quantity) -> Option<f64> {
        let [before, after] = self.sums([Variant::new(from, setting), Variant::new(to, setting)], quantity)?;
        quotient(after, before).map(|ratio| ratio - 1.0)
    }

    /// One quantity divided by another of the same code, over all programs.
    pub fn share(&self, variant: Variant, part: Quantity, whole: Quantity) -> Option<f64> {
        let ([part], [whole]) = (self.sums([variant], part)?, self.sums([variant], whole)?);
        quotient(part, whole)
    }

    /// The share of programs for which something holds.
    pub fn share_of_programs(&self, variant: Variant, holds: impl Fn(&Compiled) -> bool) -> Option<f64> {
        let [with] = self.sums([variant], |compiled| f64::from(u8::from(holds(compiled))))?;
        let [all] = self.sums([variant], |_| 1.0)?;
        quotient(with, all)
    }

    /// The geometric mean, over all functions of the programs, of the ratio of one variant's estimate to another's.
    pub fn mean_ratio(&self, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Option<f64> {
        let ratios = self.common(&[over, under]).into_iter().flat_map(|program| self.ratios(program, over, under, of));
        geometric_mean(ratios.collect())
    }

    /// As [`Self::mean_ratio`], for each program that both variants compiled.
    pub fn mean_ratios(&self, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Vec<f64> {
        let programs = self.common(&[over, under]).into_iter();
        programs.filter_map(|program| geometric_mean(self.ratios(program, over, under, of))).collect()
    }

    /// The ratio for each function; one is added to both sides, since estimates may be zero. A ratio of sums would say
    /// little: a few deeply nested loops decide such sums.
    fn ratios(&self, program: &str, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Vec<f64> {
        let estimates = |variant| self.of(program, variant).map_or(&[][..], |compiled| &compiled.estimates);
        estimates(over).iter().zip(estimates(under)).map(|(over, under)| (of(over) + 1.0) / (of(under) + 1.0)).collect()
    }
}

impl Compiled {
    /// The sum over functions of a cost per selected instruction executed.
    pub fn sum_of_shares(&self, cost: impl Fn(&Estimate) -> f64) -> f64 {
        self.estimates.iter().filter_map(|it| quotient(cost(it), it.selected)).sum()
    }

    /// The share of functions for which something holds.
    pub fn share_of_functions(&self, holds: impl Fn(&Estimate) -> bool) -> f64 {
        self.estimates.iter().filter(|it| holds(it)).count() as f64 / self.estimates.len().max(1) as f64
    }
}

impl Estimate {
    fn new(counts: &Counts) -> Self {
        let (weighted, parts) = (&counts.weighted, &counts.overhead_parts);
        Estimate {
            accesses: weighted.loads + weighted.stores,
            cost: 4.0 * weighted.loads + weighted.stores + 0.2 * (weighted.moves + weighted.xors),
            spilling: parts.reloads + parts.stores + parts.saves + parts.restores + parts.remats,
            planned: counts.spill.cost.zip(counts.spill.bound),
            copies_before: counts.recolouring.cost_before,
            copies_after: counts.recolouring.cost_after,
            copies_bound: counts.recolouring.bound,
            selected: counts.selected.weighted_instructions,
        }
    }
}

/// The geometric mean, if there are any numbers.
pub fn geometric_mean(numbers: Vec<f64>) -> Option<f64> {
    let logarithms: f64 = numbers.iter().map(|number| number.ln()).sum();
    quotient(logarithms, numbers.len() as f64).map(f64::exp)
}

/// The quotient, if it is finite.
pub fn quotient(over: f64, under: f64) -> Option<f64> {
    let quotient = over / under;
    quotient.is_finite().then_some(quotient)
}

/// The functions that some run could not allocate, and why, sorted by name.
fn left_out(record: &Record) -> BTreeMap<String, String> {
    let functions = record.runs.iter().filter_map(|run| run.statistics()).flat_map(|statistics| &statistics.functions);
    functions.filter_map(|function| Some((function.name.clone(), function.fallback.clone()?))).collect()
}

/// Quantities that several tables and claims share.
pub mod quantity {
    use super::Compiled;
    use crate::allocate::eliminate::{EliminationCounts, TransferGraphs};

    pub fn loads(compiled: &Compiled) -> f64 {
        compiled.counts.fixed.loads as f64
    }

    pub fn stores(compiled: &Compiled) -> f64 {
        compiled.counts.fixed.stores as f64
    }

    pub fn moves(compiled: &Compiled) -> f64 {
        compiled.counts.fixed.moves as f64
    }

    pub fn xors(compiled: &Compiled) -> f64 {
        compiled.counts.fixed.xors as f64
    }

    /// Memory accesses.
    pub fn accesses(compiled: &Compiled) -> f64 {
        loads(compiled) + stores(compiled)
    }

    /// Moves and exclusive-ors: the instructions that move values between registers.
    pub fn transfers(compiled: &Compiled) -> f64 {
        moves(compiled) + xors(compiled)
    }

    /// The papers' "lines of spill code": loads from spill slots, and stores to them.
    pub fn spill_code(compiled: &Compiled) -> f64 {
        (compiled.counts.spill.reloads + compiled.counts.spill.stores) as f64
    }

    pub fn spilled_values(compiled: &Compiled) -> f64 {
        compiled.counts.spill.values as f64
    }

    pub fn slots(compiled: &Compiled) -> f64 {
        compiled.counts.spill.slots as f64
    }

    /// Location transfer graphs of the program's φs.
    pub fn graphs(compiled: &Compiled) -> TransferGraphs {
        let EliminationCounts { graphs, edges, memory_transfers, potential_spills, .. } = compiled.counts.elimination;
        TransferGraphs { graphs, edges, memory_transfers, potential_spills }
    }

    /// Those with mock φs of values that arrive in different places.
    pub fn with_mock_phis(compiled: &Compiled) -> TransferGraphs {
        compiled.counts.elimination.with_mock_phis
    }

    /// Those with mock φs of all values that are live into the same blocks.
    pub fn with_all_mock_phis(compiled: &Compiled) -> TransferGraphs {
        compiled.counts.elimination.with_all_mock_phis
    }

    /// Blocks with so many φs that spilling on demand would have to spill.
    pub fn crowded(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.crowded as f64
    }

    /// Registers stored while φs are eliminated.
    pub fn elimination_spills(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.spills as f64
    }

    pub fn compilation(compiled: &Compiled) -> f64 {
        compiled.compilation_ns.unwrap_or_default() as f64
    }

    /// Allocation without the checker.
    pub fn allocation(compiled: &Compiled) -> f64 {
        compiled.counts.allocation_ns().unwrap_or_default() as f64
    }

    /// Conversion to conventional SSA form.
    pub fn conversion(compiled: &Compiled) -> f64 {
        phase(compiled, "cssa")
    }

    /// Destruction of SSA form before allocation.
    pub fn destruction(compiled: &Compiled) -> f64 {
        phase(compiled, "destruct")
    }

    /// φ elimination proper.
    pub fn elimination(compiled: &Compiled) -> f64 {
        phase(compiled, "eliminate")
    }

    fn phase(compiled: &Compiled, name: &str) -> f64 {
        let times = compiled.counts.time_ns.as_ref();
        times.and_then(|times| times.phases.get(name)).copied().unwrap_or_default() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{function, outcome, record, run};
    use super::super::variants::{CH_O3, FOUR, LINEAR_SCAN};
    use super::*;
    use crate::measure::stats::Function;

    const OURS: Variant = Variant::new(CH_O3, FOUR);
    const THEIRS: Variant = Variant::new(LINEAR_SCAN, FOUR);

    fn add(results: &mut Results, program: &str, ours: Vec<Function>, theirs: Vec<Function>) {
        results.add(program, Machine::X86_64, &[OURS, THEIRS], &record([run(OURS, ours), run(THEIRS, theirs)]));
    }

    #[test]
    fn sums_are_over_programs_that_all_variants_compiled() {
        let mut results = Results::default();
        add(&mut results, "a", vec![function("f", 5)], vec![function("f", 10)]);
        add(&mut results, "b", vec![function("f", 10)], vec![function("f", 10)]);
        let crash = outcome(THEIRS, Outcome::Crashed { message: "signal 11".into() });
        results.add("c", Machine::X86_64, &[OURS, THEIRS], &record([run(OURS, vec![function("f", 99)]), crash]));
        assert_eq!(results.sums([OURS, THEIRS], quantity::loads), Some([15.0, 20.0]));
        assert_eq!(results.change(FOUR, LINEAR_SCAN, CH_O3, quantity::loads), Some(-0.25));
        // Loads and stores of `f`, and one: 11 and 21 in `a`, 21 and 21 in `b`.
        let mean = results.mean_ratio(OURS, THEIRS, |estimate| estimate.accesses).expect("there are programs");
        assert!((mean - (11.0_f64 / 21.0).sqrt()).abs() < 1e-9, "{mean}");
        assert_eq!(results.mean_ratios(OURS, THEIRS, |estimate| estimate.accesses).len(), 2);
        let reason = "signal 11".to_owned();
        assert_eq!(results.missing, [Missing { program: "c".into(), variant: THEIRS, reason }]);
    }

    #[test]
    fn what_one_variant_cannot_allocate_counts_for_none() {
        let mut results = Results::default();
        let failed = Function { fallback: Some("too few registers".into()), ..function("g", 1000) };
        add(&mut results, "a", vec![function("f", 5), function("g", 7)], vec![function("f", 10), failed]);
        assert_eq!(results.sums([OURS, THEIRS], quantity::loads), Some([5.0, 10.0]));
        assert_eq!(results.left_out.len(), 1);
        assert_eq!(results.left_out[0].function, "g");
    }

    #[test]
    fn what_there_is_nothing_of_has_no_change() {
        let mut results = Results::default();
        add(&mut results, "a", vec![function("f", 5)], vec![function("f", 0)]);
        assert_eq!(results.change(FOUR, LINEAR_SCAN, CH_O3, quantity::loads), None);
        assert_eq!(results.sums([Variant::new("simple", FOUR)], quantity::loads), None);
    }
}
