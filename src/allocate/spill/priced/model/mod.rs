//! Spilling as an integer program over decisions, of which each is 0 or 1.
//!
//! The live range of a value is cut into *segments*, from one access in a block, or the block's head, to the next access or the
//! block's end. A decision says whether the value is in a register throughout a segment; another one, of each stretch of its
//! life in which it makes little difference where it is stored ([`super::store_regions`]), whether its home in memory is not written
//! yet. Costs are those of single decisions and of pairs of which one is 1 and the other 0, so that without rows the cheapest
//! labelling is a minimum cut. A *row* says of how many decisions at most may be 1, since there are so many registers at some
//! point of an instruction, if so many callee-saved ones are bought. A *reliance* says that a value is not loaded only as long as it
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
use super::before::Before;
use super::callee_saved::CalleeSaved;
use super::constraints::Contest;
use super::excess_pressure::Tight;
use super::regions::{Region, similar};
use super::segment_merging::Passing;
use super::store_regions::Stretches;
use super::uncontended::Quiet;
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
pub(super) struct Place(u32);

impl Place {
    pub(super) const REGISTER: Place = Place(u32::MAX);
    pub(super) const MEMORY: Place = Place(u32::MAX - 1);

    /// In a register if the decision is 1.
    fn open(decision: Decision) -> Self {
        Place(decision.as_u32())
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
    Plain,
    /// In a register, since it cannot be in memory.
    Register,
    /// In memory, which it has been chosen for.
    Memory,
    /// That is to be decided.
    Open,
}

/// What is known of each value; `tight` says where not everything fits.
fn known(problem: &Problem, chosen: &SpillSet, tight: &Tight) -> SecondaryMap<Value, Known> {
    let values = &problem.conventional.function.values;
    let mut known = each(values.len(), Known::Plain);
    for value in values.keys() {
        if chosen.spilled[value] {
            known[value] = Known::Memory;
        } else if tight.values.contains(value) {
            known[value] = if problem.unspillable.contains(value) { Known::Register } else { Known::Open };
        }
    }
    known
}

/// Where the home of a value has what the value holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// Wherever the value is in memory.
    Everywhere,
    /// Where it is loaded: elsewhere, it is computed again from another value.
    WhereLoaded,
    /// Nowhere: it is a constant, which is computed again.
    Nowhere,
}

fn home(problem: &Problem, value: Value) -> Home {
    match problem.refill(value) {
        Refill::Load if problem.recompute(value).is_none() => Home::Everywhere,
        Refill::Load => Home::WhereLoaded,
        _ => Home::Nowhere,
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
    pub(super) places: Places,
}

/// What the decisions are about.
#[derive(Default)]
pub(super) struct Places {
    /// Where values are at the heads of blocks: of each block, those that are live into it, then what its φs define.
    heads: Vec<Place>,
    /// Where each block's begin.
    start: SecondaryMap<Block, u32>,
    /// Where values are, by operand, behind the instructions that access them.
    behind: Vec<Place>,
}

impl Places {
    fn new(problem: &Problem) -> Self {
        let Function { blocks, operands, .. } = &problem.conventional.function;
        let heads = problem.liveness.all_live_in() + blocks.values().map(|data| data.phis.len()).sum::<usize>();
        Places { heads: Vec::with_capacity(heads), start: of_each(blocks.len()), behind: vec![Place::REGISTER; operands.len()] }
    }

    /// Where the values are that are live into a block, in the order of [`crate::analysis::Liveness::live_in`], and, behind
    /// them, those that its φs define.
    pub(super) fn at_head(&self, block: Block) -> &[Place] {
        &self.heads[self.start[block] as usize..]
    }

    /// Where a value is behind the instruction that accesses it as the operand of this index.
    pub(super) fn behind(&self, operand: usize) -> Place {
        self.behind[operand]
    }
}

impl Model {
    /// What it costs if the value is in memory.
    fn in_memory(&mut self, place: Place, cost: i64) {
        match place.decision() {
            Some(decision) => self.decisions.charge(decision, false, cost),
            None if place == Place::MEMORY => self.base += cost,
            None => {}
        }
    }

    /// What it costs if the value is in a register.
    fn in_register(&mut self, place: Place, cost: i64) {
        match place.decision() {
            Some(decision) => self.decisions.charge(decision, true, cost),
            None if place == Place::REGISTER => self.base += cost,
            None => {}
        }
    }

    /// What it costs if the value is in a register in one segment and not in another.
    fn only_in(&mut self, one: Place, zero: Place, cost: i64) {
        match (one.decision(), zero.decision()) {
            (Some(one), Some(zero)) => self.decisions.pair(one, zero, cost),
            (None, _) if one == Place::REGISTER => self.in_memory(zero, cost),
            (_, None) if zero == Place::MEMORY => self.in_register(one, cost),
            _ => {}
        }
    }
}

/// States the problem; `tight` says where not everything fits without any callee-saved register.
pub(super) fn model(
    priced: &Priced,
    problem: &Problem,
    chosen: &SpillSet,
    ahead: &Ahead,
    callee_saved: &CalleeSaved,
    tight: Tight,
) -> Model {
    let function = &problem.conventional.function;
    let mut builder = Builder {
        problem,
        chosen,
        callee_saved,
        function,
        stretches: Stretches::new(problem, &tight, similar(priced, problem)),
        known: known(problem, chosen, &tight),
        homes: function.values.keys().map(|value| home(problem, value)).collect(),
        passing: Passing::new(priced, problem, &tight),
        tight,
        quiet: Quiet::new(problem, ahead),
        model: Model { decisions: Decisions::new(problem.units), places: Places::new(problem), ..Model::default() },
        place: each(function.values.len(), Place::REGISTER),
        tails: vec![Place::MEMORY; problem.liveness.all_live_out()],
        unsettled: Vec::new(),
        unsettled_of: of_each(function.blocks.len()),
        thrown: SecondaryMap::new(),
        contests: problem.limits.sets().map(|_| Contest::new(function.values.len())).collect(),
        is_crowded: false,
        copied: BTreeMap::new(),
        crowded: Vec::new(),
        made: problem.limits.sets().map(|set| callee_saved.made(&problem.limits, set)).collect(),
    };
    for region in builder.stretches.regions.iter() {
        builder.region(region);
    }
    builder.edges();
    // Nobody asks for these any more, and they are as many as anything.
    builder.tails = Vec::new();
    for region in builder.stretches.regions.iter().rev() {
        builder.stores_into(region);
    }
    builder.stores_of_definitions();
    let (mut model, contests) = builder.stated();
    contests.into_iter().for_each(|contest| contest.finish(&mut model.decisions));
    model
}

struct Builder<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a SpillSet,
    callee_saved: &'a CalleeSaved,
    function: &'a Function,
    tight: Tight,
    known: SecondaryMap<Value, Known>,
    homes: PrimaryMap<Value, Home>,
    passing: Option<Passing<'a>>,
    quiet: Quiet<'a>,
    model: Model,
    /// Of each live value, where it is in the current segment.
    place: SecondaryMap<Value, Place>,
    stretches: Stretches<'a>,
    /// Where the values that are live at the ends of blocks are, in the order of [`crate::analysis::Liveness::live_out_row`];
    /// in memory as long as the block has not been passed.
    tails: Vec<Place>,
    /// Of each block, the rows of what is live into it, and open, that there may be something to be done for on edges; and
    /// which of them are the block's.
    unsettled: Vec<u32>,
    unsettled_of: SecondaryMap<Block, Range<u32>>,
    /// Where values are that landing pads want when calls throw, by the block of the call, ascending.
    thrown: SecondaryMap<Block, Vec<(Value, Place)>>,
    /// For each set of registers, what may be in them at the current point, if the current block has places for rows.
    contests: Vec<Contest>,
    is_crowded: bool,
    /// Where what copies within homes copy is before them.
    copied: BTreeMap<Inst, Place>,
    /// The sets that may not have enough registers for an instruction, and how many they have, by how many are bought.
    crowded: Vec<(usize, [Left; MOST_BOUGHT + 1])>,
    /// Of each set, [`CalleeSaved::made`].
    made: Vec<[i32; MOST_BOUGHT + 1]>,
}

impl<'a> Builder<'a> {
    /// What has been stated. Everything else goes: by then, there is as much as there ever is at once.
    fn stated(self) -> (Model, Vec<Contest>) {
        (self.model, self.contests)
    }

    /// Passes the blocks of a region.
    fn region(&mut self, region: Region) {
        self.stretches.enter_region(region);
        for index in 0..self.stretches.regions.blocks(region).len() {
            let block = self.stretches.regions.blocks(region)[index];
            let phis = self.function.blocks[block].phis.iter();
            phis.for_each(|phi| self.stretches.define(block, phi.def));
            if !self.problem.is_passed(block) {
                self.block(block);
            }
            self.stretches.leave(block);
        }
        self.stretches.leave_region();
    }

    fn block(&mut self, block: Block) {
        let Problem { liveness, .. } = self.problem;
        let function = self.function;
        self.contests.iter_mut().for_each(Contest::begin);
        self.is_crowded = self.tight.blocks.contains(block);
        if let Some(passing) = &mut self.passing {
            passing.enter(&self.tight, block);
        }
        self.quiet.enter(&self.tight, block);
        let head = crossing::head(self.problem, block);
        let live_in = liveness.live_in(block);
        let phis = || function.blocks[block].phis.iter().map(|phi| phi.def);
        self.model.places.start[block] = self.model.places.heads.len() as u32;
        let first_unsettled = self.unsettled.len() as u32;
        let mut before: SmallVec<[Before; 4]> = function.blocks[block].preds.iter().map(|&pred| self.before(pred)).collect();
        let is_loop = self.passing.as_ref().is_some_and(|passing| passing.is_loop(block));
        for (row, &value) in live_in.iter().enumerate() {
            let known = self.known_at_head(head, value);
            let arriving = if known.is_none() { self.arriving_segment(block, row, value, &mut before) } else { None };
            let place = known.or(arriving.map(|it| it.place)).unwrap_or_else(|| self.segment(value));
            // What comes from everywhere as it is here has nothing to be done for it on any edge.
            let is_settled = arriving.is_some_and(|it| it.is_one) && self.homes[value] != Home::WhereLoaded;
            if !is_settled && self.is_open(value) {
                self.unsettled.push(row as u32);
            }
            if let (true, Some(passing), Some(decision)) = (is_loop, &mut self.passing, place.decision()) {
                passing.pass_loop(block, row, decision);
            }
            self.enter_block(value, place);
        }
        self.unsettled_of[block] = first_unsettled..self.unsettled.len() as u32;
        for value in phis() {
            let needs_none = liveness.is_dead(value) && !self.problem.unspillable.contains(value);
            let known = if needs_none { Some(Place::MEMORY) } else { self.known_at_head(head, value) };
            let place = known.unwrap_or_else(|| self.segment(value));
            self.enter_block(value, place);
        }
        if self.tight.heads[block] > 0 {
            self.head_rows(block);
        }
        for (index, inst) in (0..).zip(function.block_insts(block)) {
            if !self.chosen.drops(function.operands(inst)) {
                self.instruction(block, index, inst);
            } else {
                let defs = function.operands(inst).iter().filter(|operand| operand.is_def());
                defs.for_each(|operand| self.place[operand.value] = Place::MEMORY);
            }
            if function.blocks[block].throws == inst.into() {
                self.throw(block, inst);
            }
        }
        self.leave(block);
    }

    fn enter_block(&mut self, value: Value, place: Place) {
        self.model.places.heads.push(place);
        self.place[value] = place;
        self.change(value, Place::MEMORY, place);
    }

    /// From here on, a value is in another place.
    fn change(&mut self, value: Value, from: Place, to: Place) {
        if from != to && self.is_crowded {
            for set in self.problem.limits.sets_of(self.function.values[value].class) {
                self.contests[set].leave(value, from);
                self.contests[set].enter(value, to);
            }
        }
    }

    /// A segment in which a value cannot be in a register.
    fn in_memory(&mut self, value: Value) -> Place {
        if self.has_home(value) {
            let homeless = self.homeless(value);
            self.model.only_in(Place::open(homeless), Place::MEMORY, FORBIDDEN);
        }
        Place::MEMORY
    }

    /// Whether nothing is to be said about a value.
    fn is_plain(&self, value: Value) -> bool {
        self.known[value] == Known::Plain
    }

    /// Whether it is to be decided where a value is.
    fn is_open(&self, value: Value) -> bool {
        self.known[value] == Known::Open
    }

    /// A new segment of a value.
    fn segment(&mut self, value: Value) -> Place {
        match self.known[value] {
            Known::Plain | Known::Register => Place::REGISTER,
            Known::Memory => Place::MEMORY,
            Known::Open => {
                let decision = self.model.decisions.decide();
                self.need_home_for(value, decision);
                Place::open(decision)
            }
        }
    }

    /// If a value is not in a register in this segment, it is in its home, and then also where the segment goes on.
    fn need_home_for(&mut self, value: Value, decision: Decision) {
        if self.has_home(value) {
            let homeless = self.homeless(value);
            self.model.only_in(Place::open(homeless), Place::open(decision), FORBIDDEN);
        }
    }

    /// The decision that a value's home is not written yet in the current region.
    fn homeless(&mut self, value: Value) -> Decision {
        self.stretches.homeless_here(value, &mut self.model.decisions)
    }

    /// The same at the end of a block, now that all have been passed.
    fn homeless_in(&mut self, block: Block, value: Value) -> Decision {
        self.stretches.homeless_at_end(block, value, &mut self.model.decisions)
    }

    /// Whether a value is in its home where it is in memory.
    fn has_home(&self, value: Value) -> bool {
        self.homes[value] == Home::Everywhere
    }

    /// What crosses a bundle of jumps is in a register from the terminators on.
    fn leave(&mut self, block: Block) {
        let Problem { liveness, bundles, .. } = self.problem;
        if self.is_crowded {
            // What is in registers in any case needs not leave.
            for &value in liveness.live_out(block) {
                if self.is_open(value) {
                    self.change(value, self.place[value], Place::MEMORY);
                }
            }
        }
        if let Some(bundle) = bundles.exit(block) {
            let crossing = &bundles.meeting(bundle).crossing;
            let mut wanted: SmallVec<[(Value, Place); 8]> = SmallVec::new();
            for &value in liveness.live_out(block).iter().filter(|&&value| !self.chosen.spilled[value]) {
                if self.chosen.off_bundles[value] {
                    self.place[value] = self.in_memory(value);
                } else if crossing.binary_search(&bundles.representative(value)).is_ok() {
                    wanted.push((value, std::mem::replace(&mut self.place[value], Place::REGISTER)));
                }
            }
            for (value, place) in wanted {
                self.want(value, place, None, self.function.blocks[block].frequency);
            }
        }
        for (row, &value) in liveness.live_out_row(block).zip(liveness.live_out(block)) {
            let place = self.place[value];
            if let (Some(passing), Some(decision)) = (&mut self.passing, place.decision()) {
                passing.leave(block, value, decision);
            }
            self.tails[row] = place;
            self.place[value] = Place::MEMORY;
        }
    }

    /// What may be in registers when control leaves a block.
    fn before(&self, block: Block) -> Before<'a> {
        Before::new(self.problem.liveness, self.problem.source(block))
    }

    /// What so many executions cost.
    fn price(&self, executions: f64) -> i64 {
        self.problem.units.price(executions)
    }

    /// What it costs to store a value.
    fn store(&self, frequency: f64) -> i64 {
        self.price(self.problem.cost(cost::STORE, frequency))
    }
}
