//! Spilling as an integer program over decisions, of which each is 0 or 1.
//!
//! The live range of a value is cut into *segments*, from one access in a block, or the block's head, to the next access or the
//! block's end. A decision says whether the value is in a register throughout a segment; another one, of each stretch of its
//! life in which it makes little difference where it is stored ([`super::store_regions`]), whether its home in memory is not written
//! yet. Costs are those of single decisions and of pairs of which one is 1 and the other 0, so that without rows the cheapest
//! labelling is a minimum cut. A *row* says of how many decisions at most may be 1, since there are so many registers at some
//! point of an instruction, if so many callee-saved ones are bought. A *implication* says that a value is not loaded only as long as it
//! is in a register, or what it is computed from is. What no overfull row can change is no decision at all.
//!
//! Blocks are passed region by region: where values are at a block's head ([`heads`]), then what each instruction
//! accesses ([`accesses`]), with rows where not everything may fit ([`constraints`]). Edges and stores come last ([`edges`]), when it is
//! known where values are at the ends of all blocks.
//!
//! Requires: conventional SSA form, and what has been chosen to be in memory in any case.
//! Ensures: a plan that keeps to a labelling costs what the labelling does, or a little more where several operands of an
//! instruction could be read from memory, as one is. Where classes of registers overlap, keeping to the rows may not suffice.
//! What is decided beforehand: what crosses bundles in registers, and which operand of an instruction is folded if its value is
//! in memory. The bound is one for plans that agree with that.

mod accesses;
mod constraints;
mod edges;
mod heads;

use super::Priced;
use super::callee_saved::CalleeSaved;
use super::constraints::ConstraintBuilder;
use super::excess_pressure::ExcessPressure;
use super::live_out_index::LiveOutIndex;
use super::regions::{Region, similar};
use super::segment_merging::SegmentMerging;
use super::store_regions::StoreRegions;
use super::uncontended::Uncontended;
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Decisions, FORBIDDEN, MOST_BOUGHT};
use crate::allocate::pressure::demand::Left;
use crate::allocate::spill::crossing;
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::splitting::walk::Ahead;
use crate::analysis::grouped::{each, of_each};
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where a value is throughout a segment: in a register, in memory, or as a decision says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Residence(u32);

impl Residence {
    pub(super) const REGISTER: Residence = Residence(u32::MAX);
    pub(super) const MEMORY: Residence = Residence(u32::MAX - 1);

    /// In a register if the decision is 1.
    fn decided_by(decision: Decision) -> Self {
        Residence(decision.as_u32())
    }

    /// The decision that it depends on.
    pub(super) fn decision(self) -> Option<Decision> {
        (self.0 < Self::MEMORY.0).then(|| Decision::from_u32(self.0))
    }
}

/// What is known of where a value is before anything is decided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// In a register, wherever it lives: nothing there is scarce.
    Unaffected,
    /// In a register, since it cannot be in memory.
    Register,
    /// In memory, which it has been chosen for.
    Memory,
    /// That is to be decided.
    Open,
}

/// What is known of each value; `pressure` says where not everything fits.
fn known(problem: &Problem, chosen: &SpillSet, pressure: &ExcessPressure) -> SecondaryMap<Value, Known> {
    let values = &problem.conventional.function.values;
    let mut known = each(values.len(), Known::Unaffected);
    for value in values.keys() {
        if chosen.spilled[value] {
            known[value] = Known::Memory;
        } else if pressure.values.contains(value) {
            known[value] = if problem.unspillable.contains(value) { Known::Register } else { Known::Open };
        }
    }
    known
}

/// Where the home of a value has what the value holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Wherever the value is in memory.
    WhereInMemory,
    /// Where it is loaded: elsewhere, it is computed again from another value.
    WhereLoaded,
    /// Nowhere: it is a constant, which is computed again.
    Never,
}

fn stored(problem: &Problem, value: Value) -> Stored {
    match problem.refill(value) {
        Refill::Load if problem.recompute(value).is_none() => Stored::WhereInMemory,
        Refill::Load => Stored::WhereLoaded,
        _ => Stored::Never,
    }
}

/// Decisions, their costs, and rows.
#[derive(Default)]
pub(super) struct Model {
    pub(super) decisions: Decisions,
    /// What there is to pay in any case.
    pub(super) base: i64,
    /// So many callee-saved registers are to be bought in any case, for instructions that need them.
    pub(super) least_bought: usize,
    pub(super) residences: Residences,
}

/// What the decisions are about.
#[derive(Default)]
pub(super) struct Residences {
    /// Where values are at the heads of blocks: of each block, those that are live into it, then what its φs define.
    heads: Vec<Residence>,
    /// Where each block's begin.
    start: SecondaryMap<Block, u32>,
    /// Where values are, by operand, after the instructions that access them.
    after: Vec<Residence>,
}

impl Residences {
    fn new(problem: &Problem) -> Self {
        let Function { blocks, operands, .. } = &problem.conventional.function;
        let heads = problem.liveness.all_live_in() + blocks.values().map(|data| data.phis.len()).sum::<usize>();
        Residences {
            heads: Vec::with_capacity(heads),
            start: of_each(blocks.len()),
            after: vec![Residence::REGISTER; operands.len()],
        }
    }

    /// Where the values are that are live into a block, in the order of [`crate::analysis::Liveness::live_in`], and, after
    /// them, those that its φs define.
    pub(super) fn at_head(&self, block: Block) -> &[Residence] {
        &self.heads[self.start[block] as usize..]
    }

    /// Where a value is after the instruction that accesses it as the operand of this index.
    pub(super) fn after(&self, operand: usize) -> Residence {
        self.after[operand]
    }
}

impl Model {
    /// What it costs if the value is in memory.
    fn in_memory(&mut self, residence: Residence, cost: i64) {
        match residence.decision() {
            Some(decision) => self.decisions.charge(decision, false, cost),
            None if residence == Residence::MEMORY => self.base += cost,
            None => {}
        }
    }

    /// What it costs if the value is in a register.
    fn in_register(&mut self, residence: Residence, cost: i64) {
        match residence.decision() {
            Some(decision) => self.decisions.charge(decision, true, cost),
            None if residence == Residence::REGISTER => self.base += cost,
            None => {}
        }
    }

    /// What it costs if the value is in a register in one segment and not in another.
    fn only_in(&mut self, one: Residence, zero: Residence, cost: i64) {
        match (one.decision(), zero.decision()) {
            (Some(one), Some(zero)) => self.decisions.pair(one, zero, cost),
            (None, _) if one == Residence::REGISTER => self.in_memory(zero, cost),
            (_, None) if zero == Residence::MEMORY => self.in_register(one, cost),
            _ => {}
        }
    }
}

/// States the problem; `pressure` says where not everything fits without any callee-saved register.
pub(super) fn model(
    priced: &Priced,
    problem: &Problem,
    chosen: &SpillSet,
    ahead: &Ahead,
    callee_saved: &CalleeSaved,
    pressure: ExcessPressure,
) -> Model {
    let function = &problem.conventional.function;
    let mut builder = Builder {
        problem,
        chosen,
        callee_saved,
        function,
        store_regions: StoreRegions::new(problem, &pressure, similar(priced, problem)),
        known: known(problem, chosen, &pressure),
        stored: function.values.keys().map(|value| stored(problem, value)).collect(),
        merging: SegmentMerging::new(priced, problem, &pressure),
        pressure,
        uncontended: Uncontended::new(problem, ahead),
        model: Model { decisions: Decisions::new(problem.units), residences: Residences::new(problem), ..Model::default() },
        residence: each(function.values.len(), Residence::REGISTER),
        tails: vec![Residence::MEMORY; problem.liveness.all_live_out()],
        unsettled: Vec::new(),
        unsettled_of: of_each(function.blocks.len()),
        thrown: SecondaryMap::new(),
        constraints: problem.limits.sets().map(|_| ConstraintBuilder::new(function.values.len())).collect(),
        has_excess: false,
        copied: BTreeMap::new(),
        crowded: Vec::new(),
        gained: problem.limits.sets().map(|set| callee_saved.gained(&problem.limits, set)).collect(),
    };
    for region in builder.store_regions.regions.iter() {
        builder.region(region);
    }
    builder.edges();
    // Nobody asks for these any more, and they are as many as anything.
    builder.tails = Vec::new();
    for region in builder.store_regions.regions.iter().rev() {
        builder.stores_into(region);
    }
    builder.stores_of_definitions();
    let (mut model, constraints) = builder.stated();
    constraints.into_iter().for_each(|constraint| constraint.finish(&mut model.decisions));
    model
}

struct Builder<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a SpillSet,
    callee_saved: &'a CalleeSaved,
    function: &'a Function,
    pressure: ExcessPressure,
    known: SecondaryMap<Value, Known>,
    stored: PrimaryMap<Value, Stored>,
    merging: Option<SegmentMerging<'a>>,
    uncontended: Uncontended<'a>,
    model: Model,
    /// Of each live value, where it is in the current segment.
    residence: SecondaryMap<Value, Residence>,
    store_regions: StoreRegions<'a>,
    /// Where the values that are live at the ends of blocks are, in the order of [`crate::analysis::Liveness::live_out_row`];
    /// in memory as long as the block has not been passed.
    tails: Vec<Residence>,
    /// Of each block, the rows of what is live into it, and open, that there may be something to be done for on edges; and
    /// which of them are the block's.
    unsettled: Vec<u32>,
    unsettled_of: SecondaryMap<Block, Range<u32>>,
    /// Where values are that landing pads want when calls throw, by the block of the call, ascending.
    thrown: SecondaryMap<Block, Vec<(Value, Residence)>>,
    /// For each set of registers, what may be in them at the current point, if the current block has residences for rows.
    constraints: Vec<ConstraintBuilder>,
    has_excess: bool,
    /// Where what copies within stored copy is before them.
    copied: BTreeMap<Inst, Residence>,
    /// The sets that may not have enough registers for an instruction, and how many they have, by how many are bought.
    crowded: Vec<(usize, [Left; MOST_BOUGHT + 1])>,
    /// Of each set, [`CalleeSaved::gained`].
    gained: Vec<[i32; MOST_BOUGHT + 1]>,
}

impl<'a> Builder<'a> {
    /// What has been stated. Everything else goes: by then, there is as much as there ever is at once.
    fn stated(self) -> (Model, Vec<ConstraintBuilder>) {
        (self.model, self.constraints)
    }

    /// Passes the blocks of a region.
    fn region(&mut self, region: Region) {
        self.store_regions.enter_region(region);
        for index in 0..self.store_regions.regions.blocks(region).len() {
            let block = self.store_regions.regions.blocks(region)[index];
            let phis = self.function.blocks[block].phis.iter();
            phis.for_each(|phi| self.store_regions.define(block, phi.def));
            if !self.problem.is_passed(block) {
                self.block(block);
            }
            self.store_regions.leave(block);
        }
        self.store_regions.leave_region();
    }

    fn block(&mut self, block: Block) {
        let Problem { liveness, .. } = self.problem;
        let function = self.function;
        self.constraints.iter_mut().for_each(ConstraintBuilder::begin_block);
        self.has_excess = self.pressure.blocks.contains(block);
        if let Some(merging) = &mut self.merging {
            merging.enter(&self.pressure, block);
        }
        self.uncontended.enter(&self.pressure, block);
        let head = crossing::head(self.problem, block);
        let live_in = liveness.live_in(block);
        let phis = || function.blocks[block].phis.iter().map(|phi| phi.def);
        self.model.residences.start[block] = self.model.residences.heads.len() as u32;
        let first_unsettled = self.unsettled.len() as u32;
        let mut before: SmallVec<[LiveOutIndex; 4]> =
            function.blocks[block].preds.iter().map(|&pred| self.before(pred)).collect();
        let is_loop = self.merging.as_ref().is_some_and(|merging| merging.is_loop(block));
        for (index, &value) in live_in.iter().enumerate() {
            let known = self.known_at_head(head, value);
            let arriving = if known.is_none() { self.arriving_segment(block, index, value, &mut before) } else { None };
            let residence = known.or(arriving.map(|it| it.residence)).unwrap_or_else(|| self.segment(value));
            // What comes from everywhere as it is here has nothing to be done for it on any edge.
            let is_settled = arriving.is_some_and(|it| it.from_all) && self.stored[value] != Stored::WhereLoaded;
            if !is_settled && self.is_open(value) {
                self.unsettled.push(index as u32);
            }
            if let (true, Some(merging), Some(decision)) = (is_loop, &mut self.merging, residence.decision()) {
                merging.pass_loop(block, index, decision);
            }
            self.enter_block(value, residence);
        }
        self.unsettled_of[block] = first_unsettled..self.unsettled.len() as u32;
        for value in phis() {
            let needs_none = liveness.is_dead(value) && !self.problem.unspillable.contains(value);
            let known = if needs_none { Some(Residence::MEMORY) } else { self.known_at_head(head, value) };
            let residence = known.unwrap_or_else(|| self.segment(value));
            self.enter_block(value, residence);
        }
        if self.pressure.heads[block] > 0 {
            self.constrain_head(block);
        }
        for (index, inst) in (0..).zip(function.block_insts(block)) {
            if !self.chosen.drops(function.operands(inst)) {
                self.instruction(block, index, inst);
            } else {
                let defs = function.operands(inst).iter().filter(|operand| operand.is_def());
                defs.for_each(|operand| self.residence[operand.value] = Residence::MEMORY);
            }
            if function.blocks[block].throws == inst.into() {
                self.throw(block, inst);
            }
        }
        self.leave(block);
    }

    fn enter_block(&mut self, value: Value, residence: Residence) {
        self.model.residences.heads.push(residence);
        self.residence[value] = residence;
        self.change(value, Residence::MEMORY, residence);
    }

    /// From here on, a value is in another residence.
    fn change(&mut self, value: Value, from: Residence, to: Residence) {
        if from != to && self.has_excess {
            for set in self.problem.limits.sets_of(self.function.values[value].class) {
                self.constraints[set].leave(value, from);
                self.constraints[set].enter(value, to);
            }
        }
    }

    /// A segment in which a value cannot be in a register.
    fn in_memory(&mut self, value: Value) -> Residence {
        if self.has_home(value) {
            let unwritten = self.unwritten(value);
            self.model.only_in(Residence::decided_by(unwritten), Residence::MEMORY, FORBIDDEN);
        }
        Residence::MEMORY
    }

    /// Whether nothing is to be said about a value.
    fn is_unaffected(&self, value: Value) -> bool {
        self.known[value] == Known::Unaffected
    }

    /// Whether it is to be decided where a value is.
    fn is_open(&self, value: Value) -> bool {
        self.known[value] == Known::Open
    }

    /// A new segment of a value.
    fn segment(&mut self, value: Value) -> Residence {
        match self.known[value] {
            Known::Unaffected | Known::Register => Residence::REGISTER,
            Known::Memory => Residence::MEMORY,
            Known::Open => {
                let decision = self.model.decisions.decide();
                self.need_home_for(value, decision);
                Residence::decided_by(decision)
            }
        }
    }

    /// If a value is not in a register in this segment, it is in its home, and then also where the segment goes on.
    fn need_home_for(&mut self, value: Value, decision: Decision) {
        if self.has_home(value) {
            let unwritten = self.unwritten(value);
            self.model.only_in(Residence::decided_by(unwritten), Residence::decided_by(decision), FORBIDDEN);
        }
    }

    /// The decision that a value's home is not written yet in the current region.
    fn unwritten(&mut self, value: Value) -> Decision {
        self.store_regions.unwritten_here(value, &mut self.model.decisions)
    }

    /// The same at the end of a block, now that all have been passed.
    fn unwritten_in(&mut self, block: Block, value: Value) -> Decision {
        self.store_regions.unwritten_at_end(block, value, &mut self.model.decisions)
    }

    /// Whether a value is in its home where it is in memory.
    fn has_home(&self, value: Value) -> bool {
        self.stored[value] == Stored::WhereInMemory
    }

    /// What crosses a bundle of jumps is in a register from the terminators on.
    fn leave(&mut self, block: Block) {
        let Problem { liveness, bundles, .. } = self.problem;
        if self.has_excess {
            // What is in registers in any case needs not leave.
            for &value in liveness.live_out(block) {
                if self.is_open(value) {
                    self.change(value, self.residence[value], Residence::MEMORY);
                }
            }
        }
        if let Some(bundle) = bundles.exit(block) {
            let crossing = &bundles.meeting(bundle).crossing;
            let mut needed: SmallVec<[(Value, Residence); 8]> = SmallVec::new();
            for &value in liveness.live_out(block).iter().filter(|&&value| !self.chosen.spilled[value]) {
                if self.chosen.off_bundles[value] {
                    self.residence[value] = self.in_memory(value);
                } else if crossing.binary_search(&bundles.representative(value)).is_ok() {
                    needed.push((value, std::mem::replace(&mut self.residence[value], Residence::REGISTER)));
                }
            }
            for (value, residence) in needed {
                self.need_in_register(value, residence, None, self.function.blocks[block].frequency);
            }
        }
        for (index, &value) in liveness.live_out_row(block).zip(liveness.live_out(block)) {
            let residence = self.residence[value];
            if let (Some(merging), Some(decision)) = (&mut self.merging, residence.decision()) {
                merging.leave(block, value, decision);
            }
            self.tails[index] = residence;
            self.residence[value] = Residence::MEMORY;
        }
    }

    /// What may be in registers when control leaves a block.
    fn before(&self, block: Block) -> LiveOutIndex<'a> {
        LiveOutIndex::new(self.problem.liveness, self.problem.source(block))
    }

    /// What so many executions cost.
    fn cost(&self, executions: f64) -> i64 {
        self.problem.units.cost(executions)
    }

    /// What it costs to store a value.
    fn cost_of_store(&self, frequency: f64) -> i64 {
        self.cost(self.problem.cost(cost::STORE, frequency))
    }
}
