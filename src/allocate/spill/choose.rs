//! Which values to spill: along the dominance order, wherever too many values are live, the one of least weight.

use super::crossing::{self, Head};
use super::{Choice, Problem};
use crate::allocate::cssa::Web;
use crate::allocate::pressure::demand::{Demand, Excess, LastUse, first_reuse, folded_operand};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::limits::Limits;
use crate::allocate::pressure::live_set::LiveSet;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundles, Liveness, Occupancy, Order, PinLiveness};
use crate::machine::{Block, Function, Inst, InstFlags, Operand, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use std::cmp::Ordering;

/// The values to spill.
pub(super) struct Chosen {
    pub(super) spilled: SecondaryMap<Value, bool>,
    /// Of these, the ones that are computed again for each use; the others are in memory.
    pub(super) rematerialised: SecondaryMap<Value, bool>,
    /// Others that are in memory wherever they cross a bundle of jumps that can take no code, or are live beside it.
    pub(super) off_bundles: SecondaryMap<Value, bool>,
}

impl Chosen {
    /// Whether a value is in memory from its definition on.
    pub(super) fn is_in_memory(&self, value: Value) -> bool {
        self.spilled[value] && !self.rematerialised[value]
    }

    /// Whether an instruction with these operands is executed where its value is used instead.
    pub(super) fn drops(&self, operands: &[Operand]) -> bool {
        operands.iter().any(|operand| operand.is_def() && self.rematerialised[operand.value])
    }
}

/// Chooses the values to spill, the requested ones among them.
pub(super) fn choose(problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Chosen, String> {
    let Problem { conventional, order, liveness, bundles, pins, unspillable, constants, limits, policy, downstream, .. } =
        problem;
    let function = &conventional.function;
    let mut chooser = Chooser {
        function,
        liveness,
        bundles,
        limits,
        problem,
        unspillable,
        constants,
        rematerialise: policy.rematerialise,
        folding: policy.fold,
        splits: downstream.choice.is_some_and(Choice::splits),
        without_code: EntitySet::new(),
        chosen: Chosen {
            spilled: of_each(function.values.len()),
            rematerialised: of_each(function.values.len()),
            off_bundles: SecondaryMap::new(),
        },
        live: LiveSet::new(function, limits),
    };
    chooser.without_code.extend(conventional.without_code.iter().copied());
    for (value, _) in requested.iter().filter(|&(_, &requested)| requested) {
        if unspillable.contains(value) {
            return Err("what inline assembly that jumps defines finds no register".into());
        }
        chooser.spill(value);
    }
    let Some(choice) = downstream.choice else {
        chooser.drop_constants_without_register(order, pins, |chosen, value| chosen.spilled[value]);
        return Ok(chooser.chosen);
    };
    chooser.spill_across_edges_without_code(problem)?;
    for value in crossing::excess(problem, &chooser.chosen.spilled) {
        chooser.keep_off_bundles(value)?;
    }
    match choice {
        Choice::Everything => chooser.spill_everything(),
        Choice::AcrossBlocks => chooser.spill_across_blocks(),
        Choice::Lightest => {}
        Choice::Farthest(_) | Choice::Priced | Choice::Optimal => {
            chooser.drop_constants_without_register(order, pins, |_, _| true);
            return Ok(chooser.chosen);
        }
    }
    for &block in order.blocks() {
        chooser.enter(block, pins)?;
        for inst in function.block_insts(block) {
            chooser.pass(block, inst, pins)?;
        }
    }
    Ok(chooser.chosen)
}

struct Chooser<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    bundles: &'a Bundles,
    limits: &'a Limits,
    problem: &'a Problem<'a>,
    unspillable: &'a EntitySet<Value>,
    constants: &'a SecondaryMap<Value, PackedOption<Inst>>,
    rematerialise: bool,
    folding: bool,
    /// Whether what is in memory at bundles may be in registers elsewhere.
    splits: bool,
    /// The values that are only there to cross edges without code.
    without_code: EntitySet<Value>,
    chosen: Chosen,
    /// The values live at the current point in registers.
    live: LiveSet<'a>,
}

impl Chooser<'_> {
    /// A value that crosses an edge where no code can stand may have to be elsewhere at its two ends: it is in memory, if there
    /// is nowhere to meet (there alone, if live ranges are split and no bundle of jumps begins or ends there). So are the φs
    /// there, with all of their webs.
    fn spill_across_edges_without_code(&mut self, problem: &Problem) -> Result<(), String> {
        let Problem { conventional, .. } = problem;
        let mut webs: SecondaryMap<Web, bool> = SecondaryMap::new();
        for (block, data) in &self.function.blocks {
            if crossing::head(problem, block) == Head::Nothing {
                let jumps_meet = !data.landing_pad && self.bundles.entry(block).is_some();
                for &value in self.liveness.live_in(block) {
                    match self.splits && !jumps_meet {
                        // There alone it is in memory.
                        true => self.require_spillable(value)?,
                        false => self.spill_crossing(value)?,
                    }
                }
                for phi in &data.phis {
                    webs[conventional.webs[phi.def].expect("a φ's definition is in a web")] = true;
                }
            }
        }
        for &value in &conventional.without_code {
            if webs[conventional.webs[value].expect("a φ's values are in a web")] {
                self.spill(value);
            }
        }
        Ok(())
    }

    fn spill_crossing(&mut self, value: Value) -> Result<(), String> {
        self.require_spillable(value)?;
        self.spill(value);
        Ok(())
    }

    /// Has a value, and what φs relate it to over edges that can take no code, be in memory at bundles.
    fn keep_off_bundles(&mut self, value: Value) -> Result<(), String> {
        if !self.splits {
            return self.spill_crossing(value);
        }
        let related = self.bundles.related(value).iter().copied();
        for member in related.filter(|&related| related != value).chain([value]) {
            self.require_spillable(member)?;
            self.leave_bundles(member);
        }
        Ok(())
    }

    /// Has a value be in memory at bundles: there alone, if live ranges are split and it lives elsewhere.
    fn leave_bundles(&mut self, value: Value) {
        if self.splits && !self.without_code.contains(value) {
            self.chosen.off_bundles[value] = true;
        } else {
            self.chosen.spilled[value] = true;
            self.live.remove(value);
        }
    }

    fn require_spillable(&self, value: Value) -> Result<(), String> {
        match self.unspillable.contains(value) {
            true => Err("what inline assembly that jumps defines would have to be in memory behind it".into()),
            false => Ok(()),
        }
    }

    fn spill_everything(&mut self) {
        for phi in self.function.blocks.values().flat_map(|data| &data.phis) {
            self.spill(phi.def);
        }
        for def in self.function.operands.iter().filter(|operand| operand.is_def() && !self.unspillable.contains(operand.value)) {
            self.spill(def.value);
        }
    }

    /// Spills what is live at the borders of blocks; φs are there.
    fn spill_across_blocks(&mut self) {
        for (block, data) in &self.function.blocks {
            for &value in self.liveness.live_out(block).iter().filter(|&&value| !self.unspillable.contains(value)) {
                self.spill(value);
            }
            for phi in &data.phis {
                self.spill(phi.def);
            }
        }
    }

    fn add(&mut self, value: Value) {
        if !self.chosen.spilled[value] {
            self.live.add(value);
        }
    }

    /// Starts a block with what is live at its head.
    fn enter(&mut self, block: Block, pins: &PinLiveness) -> Result<(), String> {
        self.live.clear();
        for &value in self.liveness.live_in(block) {
            self.add(value);
        }
        for phi in &self.function.blocks[block].phis {
            self.add(phi.def);
        }
        let occupied = pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        let mut spare = self.limits.spare();
        let mut lightest = Lightest::default();
        while let Some(set) = self.limits.exceeded(self.live.counts(), occupied, spare) {
            match lightest.next(self, set) {
                Some(value) => {
                    self.live.remove(value);
                    self.spill(value);
                }
                None if spare > 0 => spare = 0,
                None => return Err(format!("too many pinned registers at the head of {block}")),
            }
        }
        for phi in &self.function.blocks[block].phis {
            if self.liveness.is_dead(phi.def) {
                self.live.remove(phi.def);
            }
        }
        Ok(())
    }

    /// Passes an instruction, spilling until it fits. (One that defines a spilled constant will not be there.)
    fn pass(&mut self, block: Block, inst: Inst, pins: &PinLiveness) -> Result<(), String> {
        let function = self.function;
        let operands = function.operands(inst);
        let occupancy = pins.occupancy(function, block, inst);
        let mut spare = self.limits.spare();
        while !self.is_dropped(inst) {
            let demand = self.demand(inst);
            let through = self.live.counts_without(&demand.dying);
            let excess = demand.excess(self.limits, &through, &occupancy, spare);
            let Some(Excess { set, while_reading }) = excess.or_else(|| self.misfit(inst, &occupancy)) else { break };
            let first = function.insts[inst].operands.start as usize;
            // In memory, a value that the instruction reads still takes a register while it is read (folding is the last
            // resort); but if the instruction overwrites it, that register is the definition's too.
            let helps = |value: Value| {
                let mut uses = operands.iter().enumerate().filter(|(_, o)| o.value == value && !o.is_def());
                let overwritten = first_reuse(operands, value).is_some();
                uses.all(|(k, _)| !self.liveness.kills(first + k) && (!while_reading || overwritten))
            };
            match self.spill_lightest(set, helps).or_else(|| self.drop_constant(inst)) {
                Some(()) => {}
                None if spare > 0 => spare = 0,
                None if self.fold(inst).is_some() => {}
                None => {
                    let index = inst.as_u32() - function.blocks[block].insts.start;
                    return Err(format!("instruction {index} of {block} needs more registers than there are"));
                }
            }
        }
        self.live.advance(self.liveness, inst, |value| !self.chosen.spilled[value]);
        Ok(())
    }

    fn demand(&self, inst: Inst) -> Demand {
        Demand::of(self.function, self.limits, inst, self.folded(inst), |k| self.last_use(inst, k))
    }

    fn folded(&self, inst: Inst) -> Option<usize> {
        let operands = self.function.operands(inst);
        let in_memory = |value: Value| self.chosen.is_in_memory(value);
        folded_operand(self.function, inst, self.folding, |k| in_memory(operands[k].value))
    }

    /// Spills a value that the instruction can read from memory, if it reads none from there yet.
    fn fold(&mut self, inst: Inst) -> Option<()> {
        let constant = |value: Value| self.rematerialise && self.constants[value].is_some();
        let read = |o: &&Operand| {
            let in_register = !self.chosen.spilled[o.value] && !self.unspillable.contains(o.value) && !constant(o.value);
            in_register && could_fold(self.function, self.folding, inst, o.value)
        };
        let value = self.function.operands(inst).iter().find(read).filter(|_| self.folded(inst).is_none())?.value;
        self.live.remove(value);
        self.spill(value);
        Some(())
    }

    /// Whether a use is its value's last one.
    fn last_use(&self, inst: Inst, k: usize) -> LastUse {
        let data = &self.function.insts[inst];
        match self.liveness.kills(data.operands.start as usize + k) {
            _ if self.chosen.spilled[self.function.operands(inst)[k].value] => LastUse::OfRefill,
            true => LastUse::OfValue,
            false => LastUse::No,
        }
    }

    /// Where counting finds registers enough, but there is no way to distribute them.
    fn misfit(&self, inst: Inst, occupancy: &Occupancy) -> Option<Excess> {
        let live = self.live.values().iter().map(|&value| (value, None));
        feasible::misfit(self.function, self.limits, inst, occupancy, live, self.folded(inst), |k| self.last_use(inst, k))
    }

    fn is_dropped(&self, inst: Inst) -> bool {
        self.chosen.drops(self.function.operands(inst))
    }

    /// Spills a value; what φs relate it to over edges that can take no code is in memory there.
    fn spill(&mut self, value: Value) {
        self.chosen.spilled[value] = true;
        self.chosen.rematerialised[value] = self.rematerialise && self.constants[value].is_some();
        for &related in self.bundles.related(value).iter().filter(|&&related| related != value) {
            self.leave_bundles(related);
        }
    }

    /// Spills the constant that the instruction defines; it is computed again, whatever the policy, for it finds no register
    /// here.
    fn drop_constant(&mut self, inst: Inst) -> Option<()> {
        let is_constant = |o: &&Operand| o.is_def() && self.constants[o.value].is_some();
        let def = self.function.operands(inst).iter().find(is_constant)?;
        self.chosen.spilled[def.value] = true;
        self.chosen.rematerialised[def.value] = true;
        Some(())
    }

    /// Has those constants of some values computed again whose instruction finds all their registers taken by the program.
    fn drop_constants_without_register(&mut self, order: &Order, pins: &PinLiveness, of: impl Fn(&Chosen, Value) -> bool) {
        for &block in order.blocks() {
            for inst in self.function.block_insts(block).filter(|&inst| self.function.insts[inst].is(InstFlags::REMATERIALISABLE))
            {
                let taken = pins.occupancy(self.function, block, inst).after;
                let defs = self.function.operands(inst).iter().filter(|o| o.is_def() && of(&self.chosen, o.value));
                if defs.into_iter().any(|o| self.function.allowed(o.value).is_subset(taken)) {
                    self.drop_constant(inst);
                }
            }
        }
    }

    /// Which of two values is spilled first: the lighter one, of equal ones the younger.
    fn lighter(&self, a: Value, b: Value) -> Ordering {
        let weights = self.problem.weights();
        weights[a].total_cmp(&weights[b]).then(b.cmp(&a))
    }

    /// Spills the live value of least weight that is confined to a register set, of equal ones the youngest; `None` if there
    /// is no candidate.
    fn spill_lightest(&mut self, set: usize, candidate: impl Fn(Value) -> bool) -> Option<()> {
        let confined = |&value: &Value| self.limits.is_confined(self.function.values[value].class, set);
        let lightest = self
            .live
            .values()
            .iter()
            .copied()
            .filter(confined)
            .filter(|&value| !self.unspillable.contains(value) && candidate(value))
            .min_by(|&a, &b| self.lighter(a, b))?;
        self.live.remove(lightest);
        self.spill(lightest);
        Some(())
    }
}

/// The values at a block's head, lightest first: tens of thousands of φs may have to go there.
#[derive(Default)]
struct Lightest {
    /// Empty until somebody asks.
    values: Vec<Value>,
    /// For each set of registers, how many of the values are gone, or not confined to it.
    passed: Vec<usize>,
}

impl Lightest {
    /// The lightest that is still live and confined to a set.
    fn next(&mut self, chooser: &Chooser, set: usize) -> Option<Value> {
        if self.passed.is_empty() {
            self.values = chooser.live.values().to_vec();
            self.values.retain(|&value| !chooser.unspillable.contains(value));
            self.values.sort_unstable_by(|&a, &b| chooser.lighter(a, b));
            self.passed = chooser.limits.sets().map(|_| 0).collect();
        }
        let is_candidate =
            |value: Value| chooser.live.contains(value) && chooser.limits.is_confined(chooser.function.values[value].class, set);
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
