//! Choosing the values to spill: in dominance order, wherever too many values are live, the lightest of them.

use super::Which;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::{Demand, Excess, LastUse, first_reuse, folded_operand};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::weights::CurrentWeights;
use crate::analysis::Occupancy;
use crate::machine::{Block, Function, Inst, Operand, Value};
use std::cmp::Ordering;

/// Spills further values, until all that are left fit.
///
/// # Errors
/// If an instruction alone needs more registers than there are.
pub fn choose(problem: &Problem, which: Which, set: SpillSet) -> Result<SpillSet, Unsupported> {
    let function = &problem.conventional.function;
    let live = LiveSet::new(function, &problem.limits);
    let mut chooser = Chooser { function, problem, set, live, current: None, lighter_here: 0 };
    match which {
        Which::Everything => chooser.spill_everything(),
        Which::AcrossBlocks => chooser.spill_across_blocks(),
        Which::Lightest => {}
        Which::LightestByNow => chooser.weigh_dynamically(),
    }
    for &block in problem.order.blocks() {
        chooser.enter(block)?;
        for inst in function.block_insts(block) {
            chooser.pass(block, inst)?;
        }
    }
    Ok(chooser.set)
}

struct Chooser<'a> {
    function: &'a Function,
    problem: &'a Problem<'a>,
    set: SpillSet,
    /// The values that are live and in registers at the current point.
    live: LiveSet<'a>,
    /// Weights, if they change.
    current: Option<CurrentWeights>,
    /// How often a value that is live at the current point has become lighter.
    lighter_here: usize,
}

impl Chooser<'_> {
    /// From now on, φs become lighter when their arguments are spilled. Some may have been already.
    fn weigh_dynamically(&mut self) {
        let Problem { loops, liveness, .. } = self.problem;
        self.current = Some(CurrentWeights::new(self.problem.weights().clone(), self.function, loops, liveness));
        self.function.values.keys().for_each(|value| self.deduct(value));
    }

    /// Has φs be lighter for this argument, if it is in memory.
    fn deduct(&mut self, value: Value) {
        if let Some(current) = self.current.as_mut().filter(|_| self.set.is_in_memory(value)) {
            let lighter = current.deduct(value);
            self.lighter_here += lighter.iter().filter(|&&(phi, _)| self.live.contains(phi)).count();
        }
    }

    fn spill_everything(&mut self) {
        for phi in self.function.blocks.values().flat_map(|data| &data.phis) {
            self.spill(phi.def);
        }
        for def in
            self.function.operands.iter().filter(|operand| operand.is_def() && !self.problem.unspillable.contains(operand.value))
        {
            self.spill(def.value);
        }
    }

    /// Spills the values that are live across the borders of blocks, among them all that φs define.
    fn spill_across_blocks(&mut self) {
        for (block, data) in &self.function.blocks {
            for &value in self.problem.liveness.live_out(block).iter().filter(|&&value| !self.problem.unspillable.contains(value))
            {
                self.spill(value);
            }
            for phi in &data.phis {
                self.spill(phi.def);
            }
        }
    }

    fn add(&mut self, value: Value) {
        if !self.set.spilled[value] {
            self.live.add(value);
        }
    }

    /// Starts a block with the values that are live at its head, and spills until they fit.
    fn enter(&mut self, block: Block) -> Result<(), Unsupported> {
        self.live.clear();
        for &value in self.problem.liveness.live_in(block) {
            self.add(value);
        }
        for phi in &self.function.blocks[block].phis {
            self.add(phi.def);
        }
        let occupied = self.problem.pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        let mut spare = self.problem.limits.spare();
        let mut lightest = Lightest::default();
        while let Some(set) = self.problem.limits.exceeded(self.live.counts(), occupied, spare) {
            match lightest.next(self, set) {
                Some(value) => {
                    self.live.remove(value);
                    self.spill(value);
                }
                None if spare > 0 => spare = 0,
                None => return Err(Unsupported(format!("too many pinned registers at the head of {block}"))),
            }
        }
        for phi in &self.function.blocks[block].phis {
            if self.problem.liveness.is_dead(phi.def) {
                self.live.remove(phi.def);
            }
        }
        Ok(())
    }

    /// Passes an instruction, and spills until it fits. (The definition of a spilled constant will not be executed here.)
    fn pass(&mut self, block: Block, inst: Inst) -> Result<(), Unsupported> {
        let function = self.function;
        let operands = function.operands(inst);
        let occupancy = self.problem.pins.occupancy(function, block, inst);
        let mut spare = self.problem.limits.spare();
        while !self.is_dropped(inst) {
            let demand = self.demand(inst);
            let through = self.live.counts_without(&demand.dying);
            let excess = demand.excess(&self.problem.limits, &through, &occupancy, spare);
            let Some(Excess { set, while_reading }) = excess.or_else(|| self.misfit(inst, &occupancy)) else { break };
            let first = function.insts[inst].operands.start as usize;
            // A spilled value that the instruction reads still takes a register while it is read, because folding is the
            // last resort. But if the instruction overwrites it, that register is the definition's too.
            let helps = |value: Value| {
                let mut uses = operands.iter().enumerate().filter(|(_, o)| o.value == value && !o.is_def());
                let overwritten = first_reuse(operands, value).is_some();
                uses.all(|(k, _)| !self.problem.liveness.kills(first + k) && (!while_reading || overwritten))
            };
            match self.spill_lightest(set, helps).or_else(|| self.set.drop_constant(self.problem, inst)) {
                Some(()) => {}
                None if spare > 0 => spare = 0,
                None if self.fold(inst).is_some() => {}
                None => {
                    let index = inst.as_u32() - function.blocks[block].insts.start;
                    return Err(Unsupported(format!("instruction {index} of {block} needs more registers than there are")));
                }
            }
        }
        self.live.advance(self.problem.liveness, inst, |value| !self.set.spilled[value]);
        Ok(())
    }

    fn demand(&self, inst: Inst) -> Demand {
        Demand::of(self.function, &self.problem.limits, inst, self.folded(inst), |k| self.last_use(inst, k))
    }

    fn folded(&self, inst: Inst) -> Option<usize> {
        let operands = self.function.operands(inst);
        let in_memory = |value: Value| self.set.is_in_memory(value);
        folded_operand(self.function, inst, self.problem.policy.fold, |k| in_memory(operands[k].value))
    }

    /// Spills a value that the instruction can read from memory, unless it reads one from there already.
    fn fold(&mut self, inst: Inst) -> Option<()> {
        let constant = |value: Value| self.problem.policy.rematerialise && self.problem.constants[value].is_some();
        let read = |o: &&Operand| {
            let in_register = !self.set.spilled[o.value] && !self.problem.unspillable.contains(o.value) && !constant(o.value);
            in_register && could_fold(self.function, self.problem.policy.fold, inst, o.value)
        };
        let value = self.function.operands(inst).iter().find(read).filter(|_| self.folded(inst).is_none())?.value;
        self.live.remove(value);
        self.spill(value);
        Some(())
    }

    /// Whether a use is its value's last one.
    fn last_use(&self, inst: Inst, k: usize) -> LastUse {
        let data = &self.function.insts[inst];
        match self.problem.liveness.kills(data.operands.start as usize + k) {
            _ if self.set.spilled[self.function.operands(inst)[k].value] => LastUse::OfRefill,
            true => LastUse::OfValue,
            false => LastUse::No,
        }
    }

    /// The shortage where counting finds registers enough, but there is no way to distribute them.
    fn misfit(&self, inst: Inst, occupancy: &Occupancy) -> Option<Excess> {
        let live = self.live.values().iter().map(|&value| (value, None));
        feasible::misfit(self.function, &self.problem.limits, inst, occupancy, live, self.folded(inst), |k| {
            self.last_use(inst, k)
        })
    }

    fn is_dropped(&self, inst: Inst) -> bool {
        self.set.drops(self.function.operands(inst))
    }

    /// Spills a value. It leaves the live set, with the values that are in memory because of it.
    fn spill(&mut self, value: Value) {
        self.set.spill(self.problem, value);
        let related = self.problem.bundles.related(value).iter().chain([&value]);
        for &value in related {
            if self.set.spilled[value] {
                self.live.remove(value);
                self.deduct(value);
            }
        }
    }

    /// The order in which values are spilled: the lighter one first, of equal ones the younger.
    fn lighter(&self, a: Value, b: Value) -> Ordering {
        let weights = self.current.as_ref().map_or_else(|| self.problem.weights(), CurrentWeights::all);
        weights[a].total_cmp(&weights[b]).then(b.cmp(&a))
    }

    /// Spills the lightest live value that is confined to a register set, the youngest of equal ones; `None` if there is no
    /// candidate.
    fn spill_lightest(&mut self, set: usize, candidate: impl Fn(Value) -> bool) -> Option<()> {
        let confined = |&value: &Value| self.problem.limits.is_confined(self.function.values[value].class, set);
        let lightest = self
            .live
            .values()
            .iter()
            .copied()
            .filter(confined)
            .filter(|&value| !self.problem.unspillable.contains(value) && candidate(value))
            .min_by(|&a, &b| self.lighter(a, b))?;
        self.live.remove(lightest);
        self.spill(lightest);
        Some(())
    }
}

/// The values at a block's head, lightest first. They are sorted once, because tens of thousands of φs may have to be
/// spilled there; again only if one of them has become lighter.
#[derive(Default)]
struct Lightest {
    /// Empty until somebody asks.
    values: Vec<Value>,
    /// For each set of registers, how many of the first values are spilled already, or not confined to the set.
    passed: Vec<usize>,
    /// How often a value had become lighter when they were sorted.
    lighter: usize,
}

impl Lightest {
    /// The lightest value that is still live and confined to a set.
    fn next(&mut self, chooser: &Chooser, set: usize) -> Option<Value> {
        if self.passed.is_empty() || self.lighter != chooser.lighter_here {
            self.lighter = chooser.lighter_here;
            self.values = chooser.live.values().to_vec();
            self.values.retain(|&value| !chooser.problem.unspillable.contains(value));
            self.values.sort_unstable_by(|&a, &b| chooser.lighter(a, b));
            self.passed = chooser.problem.limits.sets().map(|_| 0).collect();
        }
        let is_candidate = |value: Value| {
            chooser.live.contains(value) && chooser.problem.limits.is_confined(chooser.function.values[value].class, set)
        };
        let passed = &mut self.passed[set];
        *passed += self.values[*passed..].iter().position(|&value| is_candidate(value))?;
        Some(self.values[*passed])
    }
}

/// Whether the instruction could read the value from memory.
fn could_fold(function: &Function, folding: bool, inst: Inst, value: Value) -> bool {
    let operands = function.operands(inst);
    let reads = |k: usize| operands[k].value == value && !operands[k].is_def();
    folded_operand(function, inst, folding, reads).is_some()
}
