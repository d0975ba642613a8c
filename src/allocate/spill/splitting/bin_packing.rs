//! Bin-packing in dominance order: values are evicted to memory and refilled, rather than spilled for life.
//!
//! As in the linear scan of Traub, Holloway and Smith, a value that is evicted gets a second chance: where it is used next, it
//! is loaded into a register, and stays there. A block begins with the values where its immediate dominator left them, so a
//! value may reach a join from one predecessor in a register and from another in memory. Code on the edges makes up for that,
//! as if each such join had a φ of the value with itself, a mock φ.
//!
//! Relies on: [PP09, §7], and the optimisations of [PP09, §6].
//!
//! `testdata/phases/spill/bin_packing.txt`, where the call in b1 evicts v0. b3's mock φ takes v0 from a register by way of b2,
//! and from memory by way of b1:
//!
//! ```text
//! b0: -> b1 b2                  b0: -> b1 b2
//!   v0:w = op                     v0:w = op
//!                                 store(s0) v0
//!   op v0 terminator              op v0 terminator
//! b1: -> b3                     b1: -> b3
//!   op clobbers=a,b,c,d,s,t       op clobbers=a,b,c,d,s,t
//! b2: -> b3                     b2: -> b3
//!   op                            op
//! b3:                           b3:
//!                                 v1:w(of=v0) = phi b1:undef b2:v0  ; b1:s0
//!   op v0                         op v1
//! ```

use super::edges::{Decided, StorePlacement, connect};
use super::guide::WhereDominated;
use super::in_memory_anyway;
use super::walk::{Ahead, decide};
use crate::allocate::cost;
use crate::allocate::failure::Unsupported;
use crate::allocate::spill::config::LoadLowering;
use crate::allocate::spill::plan::{Plan, Refill, Site};
use crate::allocate::spill::problem::{Abilities, Problem};
use crate::allocate::spill::spilled::{MemoryRow, MemoryRows};
use crate::allocate::spill::spiller::Spiller;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Second-chance bin-packing.
pub struct BinPacking;

impl Spiller for BinPacking {
    fn abilities(&self) -> Abilities {
        Abilities { splits: true, ..Abilities::default() }
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let mut set = in_memory_anyway(problem, requested)?;
        let ahead = Ahead::new(problem, Some(problem.next_uses(Some(&problem.loops))));
        let mut decided = decide(problem, &set, &ahead, &WhereDominated, &problem.pins)?;
        let lowered = lowered(problem, &decided);
        if !lowered.values.is_empty() {
            drop(decided);
            lowered.values.iter().for_each(|&value| set.spill(problem, value));
            decided = decide(problem, &set, &ahead, &WhereDominated, &problem.pins)?;
        }
        let dead = copies_for_memory(problem, &decided);
        decided.folds.extend(dead.into_iter().map(|copy| (copy, 0)));
        let placement = if problem.policy.store_hoist { StorePlacement::AfterDefinition } else { StorePlacement::WhereEvicted };
        let memory_rows = memory_rows(problem, &decided);
        let mut plan = connect(problem, &set, decided, placement);
        plan.memory_rows = memory_rows;
        plan.counts.optimisations.lowered_values = lowered.values.len() as u64;
        plan.counts.optimisations.lowered_loads = lowered.loads;
        Ok(plan)
    }
}

/// Values that are better loaded before each use.
#[derive(Default)]
struct Lowered {
    values: Vec<Value>,
    /// The reloads that they had before.
    loads: u64,
}

/// The values that take more reloads than they have uses, in the program or in its executions [PP09, §7].
fn lowered(problem: &Problem, decided: &Decided) -> Lowered {
    let function = problem.function();
    let weight = |frequency: f64| match problem.policy.load_lower {
        LoadLowering::Off => 0.0,
        LoadLowering::Counted => 1.0,
        LoadLowering::Weighted => frequency,
    };
    let mut loads: SecondaryMap<Value, u64> = of_each(function.values.len());
    // The reloads of each value, and the rest when its uses are taken from them.
    let mut surplus: SecondaryMap<Value, f64> = of_each(function.values.len());
    for (value, frequency) in reloads_in_blocks(problem, decided).chain(reloads_on_edges(problem, decided)) {
        loads[value] += 1;
        surplus[value] += weight(frequency);
    }
    for (value, frequency) in uses(function) {
        surplus[value] -= weight(frequency);
    }
    // Where values cross edges without code has been decided for all of them together.
    let is_free = |value: Value| problem.can_be_in_memory(value) && problem.bundles.related(value).is_empty();
    let values: Vec<Value> = function.values.keys().filter(|&value| surplus[value] > 0.0 && is_free(value)).collect();
    Lowered { loads: values.iter().map(|&value| loads[value]).sum(), values }
}

/// The values that are loaded within blocks, with frequencies.
fn reloads_in_blocks<'a>(problem: &'a Problem, decided: &'a Decided) -> impl Iterator<Item = (Value, f64)> + 'a {
    decided.refills.iter().filter_map(|&(site, value, refill)| match (site, refill) {
        (Site::At(at), Refill::Load) => Some((value, problem.function().blocks[at.block].frequency)),
        _ => None,
    })
}

/// The values that are loaded on edges, with frequencies. Where the argument of a φ is loaded, the φ stands for it.
fn reloads_on_edges<'a>(problem: &'a Problem, decided: &'a Decided) -> impl Iterator<Item = (Value, f64)> + 'a {
    let function = problem.function();
    let Decided { entries, .. } = decided;
    function.blocks.iter().flat_map(move |(to, data)| {
        let phi = move |value: Value| data.phis.iter().find(|phi| phi.def == value);
        entries.at_head(to).iter().flat_map(move |&value| {
            let args = data.preds.iter().enumerate().map(move |(column, &from)| {
                let arg = phi(value).map_or(Some(value), |phi| phi.args[column].expand());
                (from, arg)
            });
            let loaded = args.filter(move |&(from, arg)| {
                arg.is_some_and(|arg| problem.refill(arg) == Refill::Load && !entries.comes_over(from, to, arg))
            });
            loaded.map(move |(from, _)| (value, cost::edge(function, from, to)))
        })
    })
}

/// The values that are used, with frequencies.
fn uses(function: &Function) -> impl Iterator<Item = (Value, f64)> + '_ {
    function.blocks.iter().flat_map(move |(block, data)| {
        let read = function.block_operands(block).iter().filter(|operand| !operand.is_def());
        let read = read.map(move |operand| (operand.value, data.frequency));
        let columns = data.preds.iter().enumerate();
        let taken = columns.flat_map(move |(column, &from)| {
            let args = data.phis.iter().filter_map(move |phi| phi.args[column].expand());
            args.map(move |arg| (arg, cost::edge(function, from, block)))
        });
        read.chain(taken)
    })
}

/// Copies that load values from their own homes, if nothing but φs in memory takes the result. The copy loads it, and does not
/// even have to do that [PP09, §6.3 (d)].
fn copies_for_memory(problem: &Problem, decided: &Decided) -> Vec<Inst> {
    let function = problem.function();
    let mut written = EntitySet::with_capacity(function.insts.len());
    written.extend(decided.folds.iter().filter(|&&(_, k)| k == 0).map(|&(inst, _)| inst));
    let loads = decided.folds.iter().filter(|&&(inst, k)| k == 1 && !written.contains(inst) && problem.copies_within_home(inst));
    let mut loads: Vec<Inst> = loads.map(|&(inst, _)| inst).collect();
    if loads.is_empty() {
        return loads;
    }
    let mut is_read: SecondaryMap<Value, bool> = of_each(function.values.len());
    for (block, data) in &function.blocks {
        let operands = function.block_operands(block).iter().filter(|operand| !operand.is_def());
        operands.for_each(|operand| is_read[operand.value] = true);
        let phis = data.phis.iter().filter(|phi| decided.entries.is_in(block, phi.def));
        phis.flat_map(|phi| &phi.args).filter_map(|arg| arg.expand()).for_each(|arg| is_read[arg] = true);
    }
    loads.retain(|&inst| !is_read[function.operands(inst)[0].value]);
    loads
}

/// The values in memory at the head of each block that has φs, or several predecessors.
fn memory_rows(problem: &Problem, Decided { entries, .. }: &Decided) -> SecondaryMap<Block, MemoryRows> {
    let function = problem.function();
    let mut rows: SecondaryMap<Block, MemoryRows> = SecondaryMap::new();
    for (to, data) in function.blocks.iter().filter(|(_, data)| data.preds.len() > 1 || !data.phis.is_empty()) {
        let from_memory = |from: Block, value: Value| !entries.comes_over(from, to, value);
        let phis = data.phis.iter().filter(|phi| !entries.is_in(to, phi.def));
        rows[to].phis.extend(phis.map(|phi| MemoryRow {
            value: phi.def,
            is_mock: false,
            from_memory: phi.args.iter().zip(&data.preds).map(|(arg, &from)| Some(from_memory(from, arg.expand()?))).collect(),
        }));
        for &value in problem.liveness.live_in(to).iter().filter(|&&value| !entries.is_in(to, value)) {
            let from_memory = data.preds.iter().map(|&from| Some(from_memory(from, value)));
            match from_memory.clone().all(|it| it == Some(true)) {
                true => rows[to].stay(function, value),
                false => rows[to].phis.push(MemoryRow { value, is_mock: true, from_memory: from_memory.collect() }),
            }
        }
    }
    rows
}
