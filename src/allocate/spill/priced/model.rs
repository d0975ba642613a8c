//! Spilling as an integer program over decisions, of which each is 0 or 1.
//!
//! The live range of a value is cut into *segments*, from one access in a block, or the block's head, to the next access or the
//! block's end. A decision says whether the value is in a register throughout a segment; another one, of each stretch of its
//! life in which it makes little difference where it is stored ([`super::stretches`]), whether its home in memory is not written
//! yet. Costs are those of single decisions and of pairs of which one is 1 and the other 0, so that without rows the cheapest
//! labelling is a minimum cut. A *row* says of how many decisions at most may be 1, since there are so many registers at some
//! point of an instruction, if so many callee-saved ones are bought. A *reliance* says that a value is not loaded only as long as it
//! is in a register, or what it is computed from is. What no overfull row
//! can change is no decision at all.
//!
//! Requires: conventional SSA form, and what has been chosen to be in memory in any case.
//! Ensures: a plan that keeps to a labelling costs what the labelling does, or a little more where several operands of an
//! instruction could be read from memory, as one is. Where classes of registers overlap, keeping to the rows may not suffice.
//! What is decided beforehand: what crosses bundles in registers, and which operand of an instruction is folded if its value is
//! in memory. The bound is one for plans that agree with that.

use super::again::Again;
use super::before::Before;
use super::callee_saved::CalleeSaved;
use super::contest::Contest;
use super::passing::{Passing, majority};
use super::quiet::Quiet;
use super::regions::{Region, similar};
use super::stretches::Stretches;
use super::tight::Tight;
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Decisions, FORBIDDEN, MOST_BOUGHT, Reliance};
use crate::allocate::pressure::demand::{Demand, LastUse, Left, Rooms, Taken, first_reuse, foldable_operands, is_first_use};
use crate::allocate::spill::Problem;
use crate::allocate::spill::choose::Chosen;
use crate::allocate::spill::crossing::{self, Head};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::residence::Ahead;
use crate::allocate::spill::update::{changes_home, saved};
use crate::analysis::Occupancy;
use crate::analysis::grouped::{each, of_each};
use crate::machine::{Block, BlockList, Function, Inst, Operand, Value};
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
fn known(problem: &Problem, chosen: &Chosen, tight: &Tight) -> SecondaryMap<Value, Known> {
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
pub(super) fn model(problem: &Problem, chosen: &Chosen, ahead: &Ahead, callee_saved: &CalleeSaved, tight: Tight) -> Model {
    let function = &problem.conventional.function;
    let mut builder = Builder {
        problem,
        chosen,
        callee_saved,
        function,
        stretches: Stretches::new(problem, &tight, similar(problem)),
        known: known(problem, chosen, &tight),
        homes: function.values.keys().map(|value| home(problem, value)).collect(),
        passing: Passing::new(problem, &tight),
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
    chosen: &'a Chosen,
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

    /// The rows of a block's head, where not everything fits.
    fn head_rows(&mut self, block: Block) {
        let Problem { pins, limits, .. } = self.problem;
        let occupied = pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        for set in limits.sets() {
            let left = std::array::from_fn(|bought| limits.room(set, occupied | self.callee_saved.untouched(bought)));
            self.row(block, set, left);
        }
    }

    /// Where a value is at a block's head, if that is not decided.
    fn known_at_head(&mut self, head: Head, value: Value) -> Option<Place> {
        match self.known[value] {
            Known::Plain | Known::Register => Some(Place::REGISTER),
            Known::Memory => Some(Place::MEMORY),
            Known::Open if head == Head::Nothing || head == Head::Bundle && self.chosen.off_bundles[value] => {
                Some(self.in_memory(value))
            }
            Known::Open => (head == Head::Bundle).then_some(Place::REGISTER),
        }
    }

    /// The segment that goes on into a block, if it comes `before` from all predecessors, or is the usual one. Where control comes
    /// back, these have not been passed; in a loop that does not access the value in this row, it comes back as it came.
    fn arriving_segment(&self, block: Block, row: usize, value: Value, before: &mut [Before]) -> Option<Arriving> {
        let data = &self.function.blocks[block];
        if let ([_], [before]) = (&data.preds[..], &mut *before)
            && !data.landing_pad
        {
            // No loop begins here.
            let place = before.row_of(value).map_or(Place::MEMORY, |row| self.tails[row]);
            return self.goes_on(block, value, place).then_some(Arriving { place, is_one: !data.jump_target });
        }
        let in_loop = self.passing.as_ref().and_then(|passing| passing.scarcity_in_passed_loop(block, row));
        let comes_back = |pred: Block| in_loop.is_some() && self.problem.dominators.dominates(block, pred);
        let mut tails: SmallVec<[(Block, Place); 8]> = SmallVec::new();
        for (&pred, before) in data.preds.iter().zip(before).filter(|&(&pred, _)| !comes_back(pred)) {
            let tail = match data.landing_pad {
                true => self.thrown(pred, value),
                false => before.row_of(value).map(|row| self.tails[row]),
            };
            tails.push((pred, tail.unwrap_or(Place::MEMORY)));
        }
        let &(_, first) = tails.first()?;
        let is_one = tails.iter().all(|&(_, other)| other == first);
        let arriving = if is_one { first } else { self.usual_segment(block, &tails)? };
        let goes_on = match (arriving.decision(), in_loop) {
            (Some(decision), Some(_)) => {
                let coming = tails.iter().map(|&(pred, _)| cost::edge(self.function, pred, block)).sum();
                self.passing.as_ref()?.goes_on_into_loop(decision, coming)
            }
            (None, Some(scarcity)) => arriving == Place::REGISTER && scarcity == 0 && self.quiet.is_to_first_use(block, value),
            (_, None) => self.goes_on(block, value, arriving),
        };
        let is_one = is_one && in_loop.is_none() && !data.landing_pad && !data.jump_target;
        goes_on.then_some(Arriving { place: arriving, is_one })
    }

    /// Whether a segment goes on into a block with which no loop begins that passes the value.
    fn goes_on(&self, block: Block, value: Value, arriving: Place) -> bool {
        match arriving.decision() {
            Some(decision) => self.passing.as_ref().is_some_and(|passing| passing.goes_on(block, value, decision)),
            None => arriving == Place::REGISTER && self.tight.heads[block] == 0 && self.quiet.is_to_first_use(block, value),
        }
    }

    /// Of the segments in which a value comes into a block outside of loops, that in which it comes at least every second time.
    fn usual_segment(&self, block: Block, tails: &[(Block, Place)]) -> Option<Place> {
        let is_hot = self.passing.as_ref()?.is_executed_often();
        // Where control comes back, what is in memory has not been passed.
        if self.function.blocks[block].landing_pad || is_hot || tails.iter().any(|&(_, tail)| tail == Place::MEMORY) {
            return None;
        }
        let weighted = tails.iter().map(|&(pred, tail)| (tail, cost::edge(self.function, pred, block)));
        let weighted: SmallVec<[(Place, f64); 4]> = weighted.collect();
        majority(&weighted).filter(|usual| usual.decision().is_some())
    }

    /// A segment in which a value cannot be in a register.
    fn in_memory(&mut self, value: Value) -> Place {
        if self.has_home(value) {
            let homeless = self.homeless(value);
            self.model.only_in(Place::open(homeless), Place::MEMORY, FORBIDDEN);
        }
        Place::MEMORY
    }

    /// A value is in its home in a block that has been passed.
    fn read_home(&mut self, block: Block, value: Value) {
        if self.has_home(value) {
            let homeless = self.homeless_in(block, value);
            self.model.only_in(Place::open(homeless), Place::MEMORY, FORBIDDEN);
        }
    }

    /// The segment of a value behind an instruction that accesses it as its k-th operand.
    fn segment_behind(&mut self, block: Block, inst: Inst, k: usize) -> Place {
        let value = self.function.operands(inst)[k].value;
        let is_quiet = || self.quiet.is_to_next_use(block, inst, k) && self.is_in_register_at(inst, k);
        if self.is_open(value) && is_quiet() { Place::REGISTER } else { self.segment(value) }
    }

    /// Whether an instruction accesses this operand in a register, or could as well: not if it does nothing where it copies within a
    /// home, nor if it changes what is in memory, or reads it from there at less than a reload.
    fn is_in_register_at(&self, inst: Inst, k: usize) -> bool {
        let operands = self.function.operands(inst);
        let is_before = |k: usize| self.place[operands[k].value] == Place::REGISTER;
        if self.problem.copies_within_home(inst) {
            return is_before(1);
        }
        if operands[k].is_def() {
            let changes = changes_home(self.problem, inst).filter(|&[_, written]| written == k);
            return changes.is_none_or(|[read, _]| is_before(read));
        }
        let may_read = || foldable_operands(self.function, inst, self.problem.policy.fold).any(|read| read == k);
        is_before(k) || !may_read()
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

    /// A value that need not be in its home elsewhere is loaded here, if it is not in a register.
    fn load_after_all(&mut self, value: Value, place: Place) {
        if self.homes[value] == Home::WhereLoaded {
            let homeless = self.homeless(value);
            self.model.only_in(Place::open(homeless), place, FORBIDDEN);
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

    /// How a value in memory gets into a register for an instruction: computed from another one if that may be in a register then.
    fn refill(&self, value: Value) -> Refill {
        let may_be = |again: &Refill| matches!(*again, Refill::Recompute { from, .. } if self.place[from] != Place::MEMORY);
        self.problem.recompute(value).filter(may_be).unwrap_or_else(|| self.problem.refill(value))
    }

    /// How a value is computed again for an instruction, or, if there is none, for a block's end, and where its source is, if that
    /// may be in a register then and behind.
    fn again(&self, value: Value, inst: Option<Inst>) -> Option<(Refill, Place)> {
        let again = self.problem.recompute(value)?;
        let Refill::Recompute { from, .. } = again else { return None };
        Some((again, self.through(from, inst))).filter(|&(_, source)| source != Place::MEMORY)
    }

    /// A value that has been in this place is wanted in a register at an instruction, or, if there is none, at a block's end. If it
    /// is in none, it is loaded from its home, or computed again if what it is computed from is in one.
    fn want(&mut self, value: Value, place: Place, inst: Option<Inst>, frequency: f64) {
        if place == Place::REGISTER {
            return;
        }
        let problem = self.problem;
        let load = problem.refill(value);
        let cost = |refill: Refill| problem.units.price(problem.cost_of_refill(refill, frequency));
        match self.again(value, inst) {
            Some((again, Place::REGISTER)) => self.model.in_memory(place, cost(again)),
            Some((again, source)) if let Some(on) = source.decision() => {
                self.model.in_memory(place, cost(again));
                let saved = (cost(load) - cost(again)).max(0);
                let unloaded = self.load_or_rely(value, place, on, saved);
                let behind = inst.and_then(|inst| self.behind_fold(inst, value));
                let saved = self.saved_by_fold(frequency);
                behind.into_iter().for_each(|behind| self.cheapen(unloaded, behind, saved));
            }
            _ => {
                self.model.in_memory(place, cost(load));
                self.load_after_all(value, place);
            }
        }
    }

    /// A value that is not in a register is loaded, or, which saves something, relies on the source that it is computed from: if
    /// it is not loaded, either it or that one is in a register. If it is loaded, it is in its home. Answers the decision that it
    /// is not loaded.
    fn load_or_rely(&mut self, value: Value, place: Place, on: Decision, saved: i64) -> Place {
        let unloaded = self.model.decisions.decide();
        self.model.decisions.charge(unloaded, false, saved);
        self.model.only_in(place, Place::open(unloaded), FORBIDDEN);
        let homeless = self.homeless(value);
        self.model.decisions.pair(homeless, unloaded, FORBIDDEN);
        self.model.decisions.rely(Reliance { one: unloaded, unless: place.decision(), on, saved });
        Place::open(unloaded)
    }

    /// Where a value is behind an instruction that can read it from memory.
    fn behind_fold(&self, inst: Inst, value: Value) -> Option<Place> {
        let first = self.function.insts[inst].operands.start as usize;
        let reads = |&k: &usize| self.function.operands(inst)[k].value == value && !self.function.operands(inst)[k].is_def();
        let k = foldable_operands(self.function, inst, self.problem.policy.fold).find(reads)?;
        Some(self.model.places.behind[first + k])
    }

    /// Where a value is in a register before an instruction and behind it. What the instruction reads is if it stays in one.
    fn through(&self, value: Value, inst: Option<Inst>) -> Place {
        let read = inst.and_then(|inst| {
            let k = self.function.operands(inst).iter().position(|operand| !operand.is_def() && operand.value == value)?;
            Some(self.function.insts[inst].operands.start as usize + k)
        });
        read.map_or(self.place[value], |operand| self.model.places.behind(operand))
    }

    fn refill_on_edge(&self, value: Value, from: Block, to: Block) -> i64 {
        self.price(self.problem.cost_on_edge(self.problem.refill(value), from, to))
    }

    fn instruction(&mut self, block: Block, index: u32, inst: Inst) {
        let Problem { liveness, .. } = self.problem;
        // Nothing is refilled between terminators.
        let too_late = index > self.function.before_terminators(block).index;
        let frequency = self.function.blocks[block].frequency;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        // Nothing is to be decided about most instructions.
        let is_plain = operands.iter().all(|operand| self.is_plain(operand.value));
        let within_home = !is_plain && self.problem.copies_within_home(inst);
        for (k, operand) in operands.iter().enumerate() {
            if is_plain {
                let is_last = liveness.kills(first + k);
                self.model.places.behind[first + k] = if is_last { Place::MEMORY } else { Place::REGISTER };
            } else if operand.is_def() {
                self.stretches.define(block, operand.value);
                self.model.places.behind[first + k] = if liveness.kills(first + k) {
                    Place::MEMORY
                } else {
                    // What has been chosen to be in memory is stored there, whatever is decided.
                    let is_stored = self.chosen.is_in_memory(operand.value) && !within_home;
                    self.model.base += if is_stored { self.store(frequency) } else { 0 };
                    self.definition(block, inst, k)
                };
            } else if is_first_use(operands, k) {
                self.model.places.behind[first + k] =
                    if liveness.kills(first + k) { Place::MEMORY } else { self.segment_behind(block, inst, k) };
            }
        }
        if within_home {
            self.copy_within_home(inst, frequency);
        } else if !is_plain {
            // What has been chosen to be in memory is refilled in any case, but how often is not known yet.
            let is_wanted =
                |&k: &usize| !operands[k].is_def() && is_first_use(operands, k) && !self.chosen.spilled[operands[k].value];
            for value in (0..operands.len()).filter(is_wanted).map(|k| operands[k].value) {
                let place = self.place[value];
                if too_late {
                    self.model.in_memory(place, FORBIDDEN);
                } else {
                    self.want(value, place, Some(inst), frequency);
                }
            }
            self.cheapen_folds(inst, frequency);
            self.cheapen_update(inst, frequency);
        }
        if self.tight.insts[inst] > 0 {
            self.rows(block, inst);
        }
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() || is_first_use(operands, k) {
                let behind = self.model.places.behind[first + k];
                let before = if operand.is_def() { Place::MEMORY } else { self.place[operand.value] };
                self.change(operand.value, before, behind);
                self.place[operand.value] = behind;
            }
        }
    }

    /// What a copy within a home costs: what is in memory is loaded if it is wanted in a register, and its copy is in its home.
    fn copy_within_home(&mut self, inst: Inst, frequency: f64) {
        let Function { insts, .. } = self.function;
        let [to, from] = [0, 1].map(|k| self.function.operands(inst)[k].value);
        let first = insts[inst].operands.start as usize;
        let before = self.place[from];
        let (wanted, load) = if self.problem.liveness.kills(first + 1) {
            (self.model.places.behind[first], self.price(self.problem.cost(cost::FOLDED_RELOAD, frequency)))
        } else {
            (self.model.places.behind[first + 1], self.price(self.problem.cost(cost::RELOAD, frequency)))
        };
        self.model.only_in(wanted, before, load);
        if self.chosen.spilled[to] {
            self.model.in_register(before, self.store(frequency));
        } else {
            self.copied.insert(inst, before);
        }
    }

    /// An operand that is read from memory costs less than a reload, unless its value is wanted in a register behind. Of several
    /// that could be, one is, whichever; so where all are in memory, this is less than what they cost.
    fn cheapen_folds(&mut self, inst: Inst, frequency: f64) {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for k in foldable_operands(self.function, inst, self.problem.policy.fold) {
            let Operand { value, .. } = operands[k];
            let place = self.place[value];
            if operands[k].is_def() || place == Place::REGISTER || self.chosen.spilled[value] {
                continue;
            }
            let saved = match self.problem.refill(value) {
                Refill::Load if self.again(value, Some(inst)).is_none() => self.saved_by_fold(frequency),
                again if self.problem.read_in_place(inst, k).is_some() => {
                    let cost_of_refill = self.price(self.problem.cost_of_refill(again, frequency));
                    cost_of_refill - self.price(self.problem.cost(cost::READ_IN_PLACE, frequency))
                }
                _ => continue,
            };
            self.cheapen(place, self.model.places.behind[first + k], saved.max(0));
        }
    }

    /// What is overwritten in memory costs less than a load and a store, unless it is in a register before the instruction or behind.
    /// (Where another operand is read from memory, only one of both is.)
    fn cheapen_update(&mut self, inst: Inst, frequency: f64) {
        let Some([read, written]) = changes_home(self.problem, inst) else { return };
        let [before, behind] = [read, written].map(|k| self.function.operands(inst)[k].value);
        if !self.chosen.spilled[before] && !self.chosen.spilled[behind] {
            let first = self.function.insts[inst].operands.start as usize;
            let saved = self.price(saved(self.problem, frequency));
            self.cheapen(self.place[before], self.model.places.behind[first + written], saved);
        }
    }

    /// What a read from memory costs less than a load and the instruction.
    fn saved_by_fold(&self, frequency: f64) -> i64 {
        let cost = |added: cost::Added| self.price(self.problem.cost(added, frequency));
        cost(cost::RELOAD) - cost(cost::FOLDED_RELOAD)
    }

    /// What is paid where a place is not in a register costs less, unless there is a value in one behind.
    fn cheapen(&mut self, place: Place, behind: Place, saved: i64) {
        self.model.in_memory(place, -saved);
        self.model.only_in(behind, place, saved);
    }

    /// The segment behind a definition by an instruction. A constant that is not wanted there is not computed. Neither is what is
    /// computed from another value, unless it is stored. (That it is computed for a store alone, is not counted.)
    fn definition(&mut self, block: Block, inst: Inst, k: usize) -> Place {
        let value = self.function.operands(inst)[k].value;
        if !self.is_open(value) || self.has_home(value) {
            return self.segment_behind(block, inst, k);
        }
        let place = self.segment(value);
        let again = self.problem.recompute(value);
        let frequency = self.function.blocks[block].frequency;
        let once = self.price(self.problem.cost_of_refill(again.unwrap_or_else(|| self.problem.refill(value)), frequency));
        self.model.in_register(place, once);
        self.model.base -= once;
        place
    }

    /// Notes where values are that landing pads want. What a register of the program holds at the call is in no other one.
    fn throw(&mut self, block: Block, call: Inst) {
        let Problem { pins, .. } = self.problem;
        let wanted = self.problem.wanted_in_pads(block).into_iter().filter(|&value| pins.holder(call, value).is_none());
        self.thrown[block] = wanted.map(|value| (value, self.place[value])).collect();
    }

    /// Where a value is when the call of a block throws, unless a register of the program holds it there.
    fn thrown(&self, block: Block, value: Value) -> Option<Place> {
        let thrown = &self.thrown[block];
        thrown.binary_search_by_key(&value, |&(thrown, _)| thrown).ok().map(|index| thrown[index].1)
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

    /// What is in a register at a block's head comes so from a predecessor, or is refilled on the edge. What φs in memory take
    /// is in its home.
    fn edges(&mut self) {
        let Problem { liveness, .. } = self.problem;
        let function = self.function;
        let again = Again::new(self.problem);
        for (to, data) in function.blocks.iter().filter(|&(to, _)| !self.problem.is_passed(to)) {
            let live_in = liveness.live_in(to);
            let unsettled = self.unsettled_of[to].clone();
            for (column, &from) in data.preds.iter().enumerate() {
                let mut before = self.before(from);
                let meets_at_pads = data.landing_pad && data.preds.len() > 1;
                for index in unsettled.clone() {
                    let row = self.unsettled[index as usize] as usize;
                    let value = live_in[row];
                    let head = self.model.places.at_head(to)[row];
                    let tail = self.edge(from, to, head, value, &mut before);
                    let takes_code = !data.landing_pad && !data.jump_target;
                    if head != Place::MEMORY && tail != Place::REGISTER && takes_code && !again.is_possible_from(to, value) {
                        self.store_by_end(from, value, tail);
                    }
                    if meets_at_pads && head != Place::REGISTER && self.has_home(value) {
                        let homeless = Place::open(self.homeless_in(from, value));
                        self.model.only_in(homeless, head, FORBIDDEN);
                    }
                }
                for (row, phi) in data.phis.iter().enumerate().filter(|(_, phi)| !liveness.is_dead(phi.def)) {
                    let Some(arg) = phi.args[column].expand() else { continue };
                    let head = self.model.places.at_head(to)[live_in.len() + row];
                    let tail = self.edge(from, to, head, arg, &mut self.before(from));
                    if head != tail && tail != Place::REGISTER {
                        self.store_by_end(from, arg, tail);
                    }
                    if head != Place::REGISTER && !self.chosen.spilled[arg] && !self.problem.unspillable.contains(arg) {
                        let homeless = Place::open(self.homeless_in(from, arg));
                        self.model.only_in(homeless, head, self.store(function.blocks[from].frequency));
                    }
                }
            }
        }
    }

    /// What may be in registers when control leaves a block.
    fn before(&self, block: Block) -> Before<'a> {
        Before::new(self.problem.liveness, self.problem.source(block))
    }

    /// What is at the head of `to` comes from a value on this edge. Answers where that is before the edge, or else at the head, if
    /// nothing depends on it.
    fn edge(&mut self, from: Block, to: Block, head: Place, value: Value, before: &mut Before) -> Place {
        let target = &self.function.blocks[to];
        let stays = head == Place::REGISTER && self.is_plain(value);
        if (stays || head == Place::MEMORY) && !target.landing_pad && !target.jump_target {
            return head;
        }
        let tail = self.arriving(from, to, value, before);
        if head != tail && head != Place::MEMORY && tail != Place::REGISTER {
            let meets_at_pads = target.landing_pad && target.preds.len() > 1;
            let refill = if meets_at_pads { FORBIDDEN } else { self.refill_on_edge(value, from, to) };
            self.model.only_in(head, tail, refill);
        }
        tail
    }

    /// A value that need not be in its home elsewhere is so at the end of a block, if it is in no register there: nothing computes
    /// it again from there on.
    fn store_by_end(&mut self, block: Block, value: Value, tail: Place) {
        // Most values have a home wherever they are in memory.
        let is_stored_late = self.homes[value] == Home::WhereLoaded;
        if is_stored_late && !self.problem.unspillable.contains(value) && !self.chosen.spilled[value] {
            let homeless = self.homeless_in(self.problem.source(block), value);
            self.model.only_in(Place::open(homeless), tail, FORBIDDEN);
        }
    }

    /// What so many executions cost.
    fn price(&self, executions: f64) -> i64 {
        self.problem.units.price(executions)
    }

    /// What it costs to store a value.
    fn store(&self, frequency: f64) -> i64 {
        self.price(self.problem.cost(cost::STORE, frequency))
    }

    /// Where stretches begin with a region, values are stored on its edges, or, where several meet or no code can stand there,
    /// at its head. Anywhere else in the stretch, that costs hardly less. Where control comes back, what has been stored by
    /// then is.
    fn stores_into(&mut self, region: Region) {
        let function = self.function;
        let regions = &self.stretches.regions;
        let block = regions.blocks(region)[0];
        let preds = function.blocks[block].preds.iter().copied();
        let from: BlockList = preds.filter(|&from| regions.of(from) < region).collect();
        let without_code = |from: Block| function.takes_no_code(from, block);
        let at_head = from.len() != 1 || without_code(from[0]);
        let live_in = self.problem.liveness.live_in(block);
        let arriving = self.stretches.beginning_in(region).filter(|(value, ..)| live_in.binary_search(value).is_ok());
        for (value, homeless, least) in arriving.collect::<SmallVec<[_; 8]>>() {
            let arriving = if at_head { self.model.decisions.decide() } else { homeless };
            if at_head {
                self.model.decisions.pair(arriving, homeless, self.store(least));
            }
            for &from in &from {
                let frequency = cost::edge(function, from, block).min(least);
                let store = if without_code(from) { FORBIDDEN } else { self.store(frequency) };
                let leaving = self.homeless_in(from, value);
                self.model.decisions.pair(leaving, arriving, store);
            }
        }
    }

    /// What has a home is stored there: behind its definition, or at the head of its block if it is a φ in a register.
    fn stores_of_definitions(&mut self) {
        for (block, data) in &self.function.blocks {
            let phis = self.problem.liveness.live_in(block).len();
            for (row, phi) in data.phis.iter().enumerate() {
                if let Some((homeless, least)) = self.stretches.since_definition(block, phi.def) {
                    let head = self.model.places.at_head(block)[phis + row];
                    self.model.only_in(head, Place::open(homeless), self.store(least));
                }
            }
            for inst in self.function.block_insts(block) {
                for operand in self.function.operands(inst).iter().filter(|operand| operand.is_def()) {
                    if let Some((homeless, least)) = self.stretches.since_definition(block, operand.value) {
                        let in_register = self.copied.get(&inst).copied().unwrap_or(Place::REGISTER);
                        self.model.only_in(in_register, Place::open(homeless), self.store(least));
                    }
                }
            }
        }
    }

    /// Where a value is when control leaves `from` for `to`.
    fn arriving(&mut self, from: Block, to: Block, value: Value, before: &mut Before) -> Place {
        let target = &self.function.blocks[to];
        if self.problem.unspillable.contains(value) {
            Place::REGISTER
        } else if self.chosen.spilled[value] {
            Place::MEMORY
        } else if target.landing_pad
            && let Some(place) = self.thrown(from, value)
        {
            place
        } else if target.landing_pad || target.jump_target {
            self.read_home(from, value);
            Place::MEMORY
        } else {
            self.tails[before.row_of(value).expect("what is live into a block is live out of its predecessors")]
        }
    }

    /// The rows of an instruction, at which not everything fits: when operands are read, and when definitions are written. In
    /// between, all is in registers that is both before and behind.
    fn rows(&mut self, block: Block, inst: Inst) {
        let Problem { pins, liveness, .. } = self.problem;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        let folded = self.folded(inst);
        let last_use = |k: usize| match self.model.places.behind[first + k] {
            _ if liveness.kills(first + k) => LastUse::OfValue,
            Place::REGISTER => LastUse::No,
            _ => LastUse::OfRefill,
        };
        let demand = Demand::of(self.function, &self.problem.limits, inst, folded, last_use);
        self.find_crowded(&demand, &pins.occupancy(self.function, block, inst), operands.len());
        let read = |value: Value| operands.iter().any(|operand| operand.value == value && !operand.is_def());
        let held = || pins.held(inst).iter().filter(|held| !read(held.value));
        held().for_each(|held| self.change(held.value, self.place[held.value], Place::MEMORY));
        let reads = self.reads(inst, folded);
        reads.iter().for_each(|read| self.change(read.value, self.place[read.value], read.before));
        self.crowded_rows(block, |left| left.before);
        reads.iter().for_each(|read| self.change(read.value, read.before, read.passing));
        let mut late: SmallVec<[(Value, Place); 4]> = SmallVec::new();
        late.extend(held().filter(|held| !held.behind).map(|held| (held.value, self.place[held.value])));
        let folded_definition = folded.filter(|&k| operands[k].is_def());
        late.extend(folded_definition.map(|k| (operands[k].value, self.model.places.behind[first + k])));
        if late.is_empty() {
            self.crowded_rows(block, |left| left.passing.min(left.behind));
        } else {
            self.crowded_rows(block, |left| left.passing);
            late.iter().for_each(|&(value, place)| self.change(value, Place::MEMORY, place));
            self.crowded_rows(block, |left| left.behind);
            late.iter().for_each(|&(value, place)| self.change(value, place, Place::MEMORY));
        }
        for read in reads {
            self.change(read.value, read.passing, read.behind);
            self.place[read.value] = read.behind;
        }
        held().for_each(|held| self.change(held.value, Place::MEMORY, self.place[held.value]));
    }

    /// Finds the sets that may not have enough registers for an instruction.
    fn find_crowded(&mut self, demand: &Demand, occupancy: &Occupancy, operands: usize) {
        let Problem { limits, .. } = self.problem;
        self.crowded.clear();
        let all = occupancy.all() | self.callee_saved.untouched(0);
        let competing = |set: usize| self.contests[set].count() + operands as i32;
        for set in limits.sets().filter(|&set| competing(set) + demand.most(set) > limits.room(set, all)) {
            let rooms = Rooms::new(limits, set, &occupancy.keeping(self.callee_saved.untouched(0)));
            let taken = demand.taken(limits, set);
            let left = taken.of(&rooms);
            if competing(set) > left.least() {
                // The program itself has hardly ever anything in those that can be bought.
                let by_bought = match occupancy.all().intersects(self.callee_saved.untouched(0)) {
                    true => self.left_by_bought(set, occupancy, taken, rooms),
                    false => self.made[set].map(|made| left.and(made)),
                };
                self.crowded.push((set, by_bought));
            }
        }
    }

    /// What an instruction leaves of a set's registers, by how many are bought, some of which the program may occupy there.
    fn left_by_bought(&self, set: usize, occupancy: &Occupancy, taken: Taken, mut rooms: Rooms) -> [Left; MOST_BOUGHT + 1] {
        let mut registers = self.callee_saved.registers().iter();
        let mut left = [taken.of(&rooms); MOST_BOUGHT + 1];
        for left in &mut left[1..] {
            registers.next().into_iter().for_each(|&reg| rooms.free(&self.problem.limits, set, occupancy, reg));
            *left = taken.of(&rooms);
        }
        left
    }

    /// A row for each crowded set.
    fn crowded_rows(&mut self, block: Block, left: impl Fn(Left) -> i32) {
        for index in 0..self.crowded.len() {
            let (set, by_bought) = self.crowded[index];
            self.row(block, set, by_bought.map(&left));
        }
    }

    /// What an instruction reads, and where that is.
    fn reads(&mut self, inst: Inst, folded: Option<usize>) -> SmallVec<[Read; 4]> {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        let mut reads = SmallVec::new();
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| !operand.is_def() && is_first_use(operands, k)) {
            let value = operand.value;
            let behind = self.model.places.behind[first + k];
            let before = if Some(k) == folded {
                self.in_register_for(value, behind)
            } else if behind == Place::REGISTER || first_reuse(operands, value).is_some() {
                behind
            } else {
                Place::MEMORY
            };
            let passing = if self.problem.pins.holder(inst, value).is_some() { Place::MEMORY } else { behind };
            reads.push(Read { value, before, passing, behind });
        }
        reads
    }

    /// The operand that is accessed in memory if its value is there: one that dies, if there is one.
    fn folded(&self, inst: Inst) -> Option<usize> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let open = |place: Place| place.decision().is_some();
        let is_open = |k: usize| match operands[k].is_def() {
            true => open(self.model.places.behind[first + k]) && self.has_home(operands[k].value),
            false => {
                let is_there = || self.refill(operands[k].value) == Refill::Load || self.problem.read_in_place(inst, k).is_some();
                open(self.place[operands[k].value]) && is_there()
            }
        };
        foldable_operands(self.function, inst, self.problem.policy.fold)
            .filter(|&k| is_open(k))
            .max_by_key(|&k| self.problem.liveness.kills(first + k))
    }

    /// Whether a value that could be accessed in memory is in a register for an instruction: it is if it has been, or stays.
    fn in_register_for(&mut self, value: Value, behind: Place) -> Place {
        if behind == Place::MEMORY {
            return self.place[value];
        }
        let here = Place::open(self.model.decisions.decide());
        self.model.only_in(self.place[value], here, FORBIDDEN);
        self.model.only_in(behind, here, FORBIDDEN);
        here
    }

    /// A row of what competes for a set of registers, of which so many are left, by how many have been bought.
    fn row(&mut self, block: Block, set: usize, left: [i32; MOST_BOUGHT + 1]) {
        let needed = self.contests[set].row(left, self.function.blocks[block].frequency);
        self.model.least_bought = self.model.least_bought.max(needed);
    }
}

/// The segment in which a value comes into a block.
#[derive(Clone, Copy)]
struct Arriving {
    place: Place,
    /// Whether the value comes in it from all predecessors, over edges that can take code.
    is_one: bool,
}

/// A value that an instruction reads, and where it competes for a register: not in memory if it is to be counted.
struct Read {
    value: Value,
    /// While operands are read.
    before: Place,
    /// From then on until definitions are written.
    passing: Place,
    behind: Place,
}
