//! What the runs came to: the input of everything that is reported.

use super::run_times::RunTimes;
use super::variants::{Machine, Setting, Variant};
use crate::analysis::Reuse;
use crate::measure::compare::record::{Outcome, Record};
use crate::measure::stats::Counts;
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap};

/// All programs under all variants.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub programs: IndexMap<String, Program>,
    /// Runs that came to nothing.
    pub missing: Vec<Missing>,
    /// Functions that no total has, because some variant could not allocate them.
    pub left_out: Vec<LeftOut>,
    /// Of the compiled programs, where somebody has measured them.
    pub run_times: RunTimes,
    /// Of the programs that were given before SSA form, what their join sets have in common.
    pub join_sets: IndexMap<String, Reuse>,
}

/// A program under all variants that compiled it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    runs: HashMap<Variant, Compiled>,
}

/// What compiling a program came to.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// Over the functions that all variants for this machine could allocate.
    pub counts: Counts,
    /// The time that it took, all functions and the compiler's other passes included.
    pub compilation_ns: Option<u64>,
    /// By function, in the order of the module, which is the same in all variants.
    estimates: Vec<Estimate>,
}

/// What executing a function once costs, estimated from block frequencies.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Loads and stores.
    pub accesses: f64,
    /// A load 4, a store 1, a move or an exclusive-or 0.2: the weights of `RegAllocScore`, as in `overhead` of the statistics.
    pub cost: f64,
    /// Of spilling: reloads, stores, saves, restores and what is executed again.
    pub spilling: f64,
    /// What spilling was planned to cost, and what it costs at least, where that is known.
    pub planned: Option<(f64, f64)>,
    /// Of copies, before and after recolouring, and at least.
    pub copies_before: f64,
    pub copies_after: f64,
    pub copies_bound: Option<f64>,
    /// Selected instructions.
    selected: f64,
}

/// A run that came to nothing.
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

/// Something that a compiled program has a number of.
pub type Quantity = fn(&Compiled) -> f64;

impl Results {
    /// Adds what a program came to: a record whose runs are those of the variants, all for one machine.
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

    /// The join sets of all programs together, if there are any.
    pub fn all_join_sets(&self) -> Option<Reuse> {
        self.join_sets.values().copied().reduce(|sum, reuse| sum + reuse)
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

    /// How much more of a quantity one allocator's code has than another's, over all programs: 0.01 for one percent.
    pub fn change(&self, setting: Setting, from: &'static str, to: &'static str, quantity: Quantity) -> Option<f64> {
        let [before, after] = self.sums([Variant::new(from, setting), Variant::new(to, setting)], quantity)?;
        quotient(after, before).map(|ratio| ratio - 1.0)
    }

    /// One quantity by another of the same code, over all programs.
    pub fn share(&self, variant: Variant, part: Quantity, whole: Quantity) -> Option<f64> {
        let ([part], [whole]) = (self.sums([variant], part)?, self.sums([variant], whole)?);
        quotient(part, whole)
    }

    /// The share of programs of which something is true.
    pub fn share_of_programs(&self, variant: Variant, holds: impl Fn(&Compiled) -> bool) -> Option<f64> {
        let [with] = self.sums([variant], |compiled| f64::from(u8::from(holds(compiled))))?;
        let [all] = self.sums([variant], |_| 1.0)?;
        quotient(with, all)
    }

    /// The geometric mean, over all functions of the programs, of one variant's estimate by another's.
    pub fn mean_ratio(&self, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Option<f64> {
        let ratios = self.common(&[over, under]).into_iter().flat_map(|program| self.ratios(program, over, under, of));
        geometric_mean(ratios.collect())
    }

    /// The same for each program that both variants compiled.
    pub fn mean_ratios(&self, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Vec<f64> {
        let programs = self.common(&[over, under]).into_iter();
        programs.filter_map(|program| geometric_mean(self.ratios(program, over, under, of))).collect()
    }

    /// Function by function; one is added to each, since estimates may be zero. Sums over functions would say little: a few
    /// deeply nested loops decide them.
    fn ratios(&self, program: &str, over: Variant, under: Variant, of: fn(&Estimate) -> f64) -> Vec<f64> {
        let estimates = |variant| self.of(program, variant).map_or(&[][..], |compiled| &compiled.estimates);
        estimates(over).iter().zip(estimates(under)).map(|(over, under)| (of(over) + 1.0) / (of(under) + 1.0)).collect()
    }
}

impl Compiled {
    /// The sum over functions of a cost for each selected instruction that is executed.
    pub fn sum_of_shares(&self, cost: impl Fn(&Estimate) -> f64) -> f64 {
        self.estimates.iter().filter_map(|it| quotient(cost(it), it.selected)).sum()
    }

    /// The share of functions of which something is true.
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

/// If there are any.
pub fn geometric_mean(numbers: Vec<f64>) -> Option<f64> {
    let logarithms: f64 = numbers.iter().map(|number| number.ln()).sum();
    quotient(logarithms, numbers.len() as f64).map(f64::exp)
}

/// A quotient, if there is one.
pub fn quotient(over: f64, under: f64) -> Option<f64> {
    let quotient = over / under;
    quotient.is_finite().then_some(quotient)
}

/// The functions that some run could not allocate, and why; sorted by name.
fn left_out(record: &Record) -> BTreeMap<String, String> {
    let functions = record.runs.iter().filter_map(|run| run.statistics()).flat_map(|statistics| &statistics.functions);
    functions.filter_map(|function| Some((function.name.clone(), function.fallback.clone()?))).collect()
}

/// Quantities that several tables and claims are about.
pub mod quantity {
    use super::Compiled;

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

    /// Moves and exclusive-ors: what values in registers cost.
    pub fn transfers(compiled: &Compiled) -> f64 {
        moves(compiled) + xors(compiled)
    }

    /// The papers' "lines of spill code": loads from spill slots and stores to them.
    pub fn spill_code(compiled: &Compiled) -> f64 {
        (compiled.counts.spill.reloads + compiled.counts.spill.stores) as f64
    }

    pub fn spilled_values(compiled: &Compiled) -> f64 {
        compiled.counts.spill.values as f64
    }

    pub fn slots(compiled: &Compiled) -> f64 {
        compiled.counts.spill.slots as f64
    }

    pub fn graphs(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.graphs as f64
    }

    pub fn edges(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.edges as f64
    }

    pub fn memory_transfers(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.memory_transfers as f64
    }

    pub fn potential_spills(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.potential_spills as f64
    }

    /// Registers stored while φs are eliminated.
    pub fn elimination_spills(compiled: &Compiled) -> f64 {
        compiled.counts.elimination.spills as f64
    }

    pub fn compilation(compiled: &Compiled) -> f64 {
        compiled.compilation_ns.unwrap_or_default() as f64
    }

    /// All of allocation but the checker.
    pub fn allocation(compiled: &Compiled) -> f64 {
        compiled.counts.allocation_ns().unwrap_or_default() as f64
    }

    /// Conversion to conventional SSA form.
    pub fn conversion(compiled: &Compiled) -> f64 {
        phase(compiled, "cssa")
    }

    /// The way out of SSA form before allocation.
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
