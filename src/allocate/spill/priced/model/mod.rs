//! The integer program that spilling solves.
//!
//! The live range of a value is cut into *segments*: from one access, or the head of a block, to the next access or the end
//! of the block. For each segment there is a decision xᵢ: 1 if the value is in a register throughout, 0 if it is in memory.
//! For each *store region* ([`super::store_regions`]) there is another one: 1 if the value's home is not written yet. Then
//!
//! ```text
//!     minimise     Σ cᵢ(xᵢ)  +  Σ wᵢⱼ · xᵢ · (1 − xⱼ)
//!     subject to   Σ xᵢ ≤ K          at each point, over the segments there
//! ```
//!
//! where K is the number of registers that are free at that point. Without the constraints, this is a minimum cut
//! ([`crate::allocate::cuts`]). With them, each constraint gets a price λ ≥ 0, its *multiplier*, which every segment under
//! it pays for being in a register, and is dropped: that is Lagrange's relaxation, and its cost, less λ·K for each
//! constraint, is a lower bound ([`super::multipliers`]). Labels that violate constraints are rounded to ones that do not
//! ([`super::rounding`]).
//!
//! # An example
//!
//! One register is free in a loop. p is read in each of ten turns. q is read twice, in an arm that is executed two times.
//!
//! ```text
//!             p = …   q = …               executed 1
//!       +-->  use p                       10      p + q1 <= 1
//!       |       |    \
//!       |       |     use q ; use q        2      q1: up to the first use
//!       |       |    /                            q2: between the uses
//!       +-------+
//! ```
//!
//! A reload costs 4 and a store 1, for each execution. So p costs 41 as 0 (a store and ten reloads); q1 and q2 cost 8 each
//! as 0 (two reloads); m, "q's home is not written", costs 1 as 0 (a store). m = 1 with q1 = 0 or q2 = 0 is forbidden:
//! nothing can be reloaded from a home that was not written.
//!
//! ```text
//!             41                         λ
//!       S ----------> p  ----------------------> T
//!              8                         λ
//!       S ----------> q1 ----------------------> T
//!                      ^
//!                      | ∞
//!              1       |
//!       S ----------> m
//!                      | ∞
//!              8       v
//!       S ----------> q2
//! ```
//!
//! Without λ, all are 1 at no cost, and p + q1 is 2. With it, there are two components, {p} and {q1, q2, m}, and the bound
//! is min(41, λ) + min(9, λ) − λ, which is greatest at any λ from 9 to 41: there q1 and m are 0, p stays 1, and the bound is
//! 9. The plan stores q once and reloads it when the arm is entered. It costs 1 + 8 = 9, so nothing is cheaper.
//!
//! # How it is stated
//!
//! Blocks are visited region by region: the segments at a block's head ([`heads`]), then the accesses of each instruction
//! ([`accesses`]), with constraints where pressure may be excessive ([`constraints`]). Edges and stores come last
//! ([`edges`]), when the segments at the ends of all blocks are known. Where a value crosses a bundle of jumps, one decision
//! is about all of its ends ([`bundles`]). Where a value can be recomputed, an
//! [implication](crate::allocate::cuts::Implication) says that it need not be loaded as long as it or its source is in a
//! register. A value that meets no excess pressure takes no decision.
//!
//! Requires: conventional SSA form, and the values that have been chosen to be in memory in any case.
//! Ensures: a plan that follows a labelling costs as much as the labelling, or a little more where several operands of one
//! instruction could be read from memory, since one is. Where classes of registers overlap, satisfying the constraints may
//! not suffice for a plan to fit. The bound is one of plans that agree about what is decided beforehand: which operand of an
//! instruction is folded if its value is in memory, which blocks are decided about together ([`Model::is_grouped`]), and,
//! where values live beside bundles of jumps, which values cross them in registers.

mod accesses;
mod bundles;
mod constraint_builder;
mod constraints;
mod edges;
mod heads;

use super::callee_saved::CalleeSaved;
use super::excess_pressure::ExcessPressure;
use super::grouping::Grouping;
use super::live_out_index::LiveOutIndex;
use super::regions::{Region, similar};
use super::segment_merging::SegmentMerging;
use super::store_regions::StoreRegions;
use super::thoroughness::Thoroughness;
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
use constraint_builder::ConstraintBuilder;
pub(super) use constraint_builder::Site;
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where a value is throughout a segment: in a register, in memory, or as a decision says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Residence(u32);

impl Residence {
    pub(super) const REGISTER: Residence = Residence(u32::MAX);
    pub(super) const MEMORY: Residence = Residence(u32::MAX - 1);

    /// In a register if the decision is 1, else in memory.
    fn decided_by(decision: Decision) -> Self {
        Residence(decision.as_u32())
    }

    /// The decision, if there is one.
    pub(super) fn decision(self) -> Option<Decision> {
        (self.0 < Self::MEMORY.0).then(|| Decision::from_u32(self.0))
    }
}

/// Where a value is, as far as that is known beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// In a register, wherever it lives: it meets no excess pressure.
    Unaffected,
    /// In a register, since it cannot be in memory.
    Register,
    /// In memory, as has been chosen.
    Memory,
    /// To be decided.
    Open,
}

/// The knowledge of each value, given the points with excess pressure.
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

/// Where the home of a value has been written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Wherever the value is in memory.
    WhereInMemory,
    /// Where it is loaded. Elsewhere, it is recomputed from another value.
    WhereLoaded,
    /// Nowhere: the value is a constant, and every reload of it is a rematerialisation.
    Never,
}

fn stored(problem: &Problem, value: Value) -> Stored {
    match problem.refill(value) {
        Refill::Load if problem.recompute(value).is_none() => Stored::WhereInMemory,
        Refill::Load => Stored::WhereLoaded,
        _ => Stored::Never,
    }
}

/// The program, and the residences that its decisions are about.
#[derive(Default)]
pub(super) struct Model {
    pub(super) decisions: Decisions,
    /// A cost that is paid in any case.
    pub(super) base: i64,
    /// The number of callee-saved registers that have to be bought, since some instruction needs them.
    pub(super) least_bought: usize,
    /// Whether some decision is about several blocks, so that plans are left out.
    pub(super) is_grouped: bool,
    pub(super) residences: Residences,
    /// Of each constraint, the set of registers and where it is stated, if prices are kept.
    pub(super) sites: Vec<(usize, Site)>,
}

/// Where values are, at the heads of blocks and after accesses.
#[derive(Default)]
pub(super) struct Residences {
    /// At the heads of blocks: for each block, the values that are live into it, then those that its φs define.
    heads: Vec<Residence>,
    /// The first entry of each block in `heads`.
    start: SecondaryMap<Block, u32>,
    /// After the instructions that access them, by operand.
    after: Vec<Residence>,
    /// Where they cross bundles of jumps, by their representatives, if that is to be decided.
    at_bundles: SecondaryMap<Value, PackedOption<Decision>>,
}

impl Residences {
    fn new(problem: &Problem) -> Self {
        let Function { blocks, operands, .. } = &problem.conventional.function;
        let heads = problem.liveness.all_live_in() + blocks.values().map(|data| data.phis.len()).sum::<usize>();
        Residences {
            heads: Vec::with_capacity(heads),
            start: of_each(blocks.len()),
            after: vec![Residence::REGISTER; operands.len()],
            at_bundles: SecondaryMap::new(),
        }
    }

    /// The residences of the values that are live into a block, in the order of [`crate::analysis::Liveness::live_in`],
    /// followed by those of the values that its φs define.
    pub(super) fn at_head(&self, block: Block) -> &[Residence] {
        &self.heads[self.start[block] as usize..]
    }

    /// The residence of a value after the instruction that accesses it as this operand.
    pub(super) fn after(&self, operand: usize) -> Residence {
        self.after[operand]
    }

    /// The residence where the values that a representative stands for cross bundles of jumps, unless they are in memory
    /// there in any case.
    pub(super) fn at_bundles(&self, representative: Value) -> Residence {
        self.at_bundles[representative].expand().map_or(Residence::REGISTER, Residence::decided_by)
    }
}

impl Model {
    /// Adds a cost that is paid if the value is in memory.
    fn in_memory(&mut self, residence: Residence, cost: i64) {
        match residence.decision() {
            Some(decision) => self.decisions.charge(decision, false, cost),
            None if residence == Residence::MEMORY => self.base += cost,
            None => {}
        }
    }

    /// Adds a cost that is paid if the value is in a register.
    fn in_register(&mut self, residence: Residence, cost: i64) {
        match residence.decision() {
            Some(decision) => self.decisions.charge(decision, true, cost),
            None if residence == Residence::REGISTER => self.base += cost,
            None => {}
        }
    }

    /// Adds a cost that is paid if the value is in a register in the first segment and in memory in the second.
    fn only_in(&mut self, one: Residence, zero: Residence, cost: i64) {
        match (one.decision(), zero.decision()) {
            (Some(one), Some(zero)) => self.decisions.pair(one, zero, cost),
            (None, _) if one == Residence::REGISTER => self.in_memory(zero, cost),
            (_, None) if zero == Residence::MEMORY => self.in_register(one, cost),
            _ => {}
        }
    }
}

/// States the program; `pressure` says where values are too many, if no callee-saved register is bought.
pub(super) fn model(
    thoroughness: Thoroughness,
    problem: &Problem,
    chosen: &SpillSet,
    ahead: &Ahead,
    callee_saved: &CalleeSaved,
    pressure: ExcessPressure,
) -> Model {
    let function = &problem.conventional.function;
    let grouping = Grouping::new(thoroughness, problem, &pressure);
    let of_sets = problem.limits.sets();
    let mut builder = Builder {
        problem,
        chosen,
        callee_saved,
        function,
        store_regions: StoreRegions::new(problem, &pressure, similar(thoroughness, problem, &grouping)),
        known: known(problem, chosen, &pressure),
        stored: function.values.keys().map(|value| stored(problem, value)).collect(),
        merging: SegmentMerging::new(grouping, problem, &pressure),
        pressure,
        uncontended: Uncontended::new(problem, ahead),
        model: Model { decisions: Decisions::new(problem.units), residences: Residences::new(problem), ..Model::default() },
        residence: each(function.values.len(), Residence::REGISTER),
        tails: vec![Residence::MEMORY; problem.liveness.all_live_out()],
        unsettled: Vec::new(),
        unsettled_of: of_each(function.blocks.len()),
        thrown: SecondaryMap::new(),
        constraints: of_sets.map(|_| ConstraintBuilder::new(function.values.len(), problem.policy.keep_prices)).collect(),
        has_excess: false,
        copied: BTreeMap::new(),
        crowded: Vec::new(),
        gained: problem.limits.sets().map(|set| callee_saved.gained(&problem.limits, set)).collect(),
    };
    for region in builder.store_regions.regions.iter() {
        builder.region(region);
    }
    builder.constrain_bundles();
    builder.edges();
    // These are not used any more, and they take as much memory as anything.
    builder.tails = Vec::new();
    for region in builder.store_regions.regions.iter().rev() {
        builder.stores_into(region);
    }
    builder.stores_of_definitions();
    let (mut model, constraints) = builder.stated();
    for (set, constraint) in constraints.into_iter().enumerate() {
        let sites = constraint.finish(&mut model.decisions);
        model.sites.extend(sites.into_iter().map(|site| (set, site)));
    }
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
    /// Of each live value, its residence in the current segment.
    residence: SecondaryMap<Value, Residence>,
    store_regions: StoreRegions<'a>,
    /// The residences of the values that are live at the ends of blocks, in the order of
    /// [`crate::analysis::Liveness::live_out_row`]; memory as long as the block has not been visited.
    tails: Vec<Residence>,
    /// For each block, the indices of open values in its `live_in` that edges to the block may have to move; and the range
    /// of each block's.
    unsettled: Vec<u32>,
    unsettled_of: SecondaryMap<Block, Range<u32>>,
    /// The residences of values that landing pads need when calls throw, by the block of the call, ascending by value.
    thrown: SecondaryMap<Block, Vec<(Value, Residence)>>,
    /// For each set of registers, its constraints. Values are entered only in blocks with excess pressure.
    constraints: Vec<ConstraintBuilder>,
    has_excess: bool,
    /// The residence of the source of each copy within a home, before the copy.
    copied: BTreeMap<Inst, Residence>,
    /// The sets that may not have enough registers for the current instruction, and what is left of them, by the number
    /// bought.
    crowded: Vec<(usize, [Left; MOST_BOUGHT + 1])>,
    /// [`CalleeSaved::gained`] for each set.
    gained: Vec<[i32; MOST_BOUGHT + 1]>,
}

impl<'a> Builder<'a> {
    /// The program and its constraints. Everything else is dropped: memory is at its peak.
    fn stated(self) -> (Model, Vec<ConstraintBuilder>) {
        (self.model, self.constraints)
    }

    /// Visits the blocks of a region.
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
        let function = self.function;
        self.constraints.iter_mut().for_each(ConstraintBuilder::begin_block);
        self.has_excess = self.pressure.blocks.contains(block);
        if let Some(merging) = &mut self.merging {
            merging.enter(&self.pressure, block);
        }
        self.uncontended.enter(&self.pressure, block);
        self.head(block);
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

    /// Finds the residences of values at the head of a block.
    fn head(&mut self, block: Block) {
        let Problem { liveness, .. } = self.problem;
        let function = self.function;
        let head = crossing::head(self.problem, block);
        self.model.residences.start[block] = self.model.residences.heads.len() as u32;
        let first_unsettled = self.unsettled.len() as u32;
        let mut before: SmallVec<[LiveOutIndex; 4]> =
            function.blocks[block].preds.iter().map(|&pred| self.before(pred)).collect();
        let is_loop = self.merging.as_ref().is_some_and(|merging| merging.is_loop(block));
        for (index, &value) in liveness.live_in(block).iter().enumerate() {
            let known = self.known_at_head(block, head, value);
            let arriving = if known.is_none() { self.arriving_segment(block, index, value, &mut before) } else { None };
            let residence = known.or(arriving.map(|it| it.residence)).unwrap_or_else(|| self.segment(value));
            self.model.is_grouped |= arriving.is_some_and(|it| it.residence.decision().is_some());
            // A value that comes over all edges as it is at the head needs nothing on any of them.
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
        for value in function.blocks[block].phis.iter().map(|phi| phi.def) {
            let needs_none = liveness.is_dead(value) && !self.problem.unspillable.contains(value);
            let known = if needs_none { Some(Residence::MEMORY) } else { self.known_at_head(block, head, value) };
            let residence = known.unwrap_or_else(|| self.segment(value));
            self.enter_block(value, residence);
        }
    }

    fn enter_block(&mut self, value: Value, residence: Residence) {
        self.model.residences.heads.push(residence);
        self.residence[value] = residence;
        self.change(value, Residence::MEMORY, residence);
    }

    /// Notes that a value's residence changes here.
    fn change(&mut self, value: Value, from: Residence, to: Residence) {
        if from != to && self.has_excess {
            for set in self.problem.limits.sets_of(self.function.values[value].class) {
                self.constraints[set].leave(value, from);
                self.constraints[set].enter(value, to);
            }
        }
    }

    /// Says that a value is in memory here, whatever is decided.
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

    /// Whether a value's residence is to be decided.
    fn is_open(&self, value: Value) -> bool {
        self.known[value] == Known::Open
    }

    /// Begins a new segment of a value.
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

    /// A value that is in memory in this segment is in its home, there and wherever the segment goes on.
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

    /// [`Self::unwritten`] at the end of any block, once all have been visited.
    fn unwritten_in(&mut self, block: Block, value: Value) -> Decision {
        self.store_regions.unwritten_at_end(block, value, &mut self.model.decisions)
    }

    /// Whether a value is in its home wherever it is in memory.
    fn has_home(&self, value: Value) -> bool {
        self.stored[value] == Stored::WhereInMemory
    }

    /// Ends a block. Values that cross a bundle of jumps are in registers from the terminators on.
    fn leave(&mut self, block: Block) {
        let Problem { liveness, bundles, .. } = self.problem;
        if self.has_excess {
            // Values that are in registers in any case need not leave: the next block begins with none.
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
                    let crosses = if self.is_open(value) { self.cross(bundle, value) } else { Residence::REGISTER };
                    needed.push((value, std::mem::replace(&mut self.residence[value], crosses)));
                }
            }
            for (value, residence) in needed {
                self.need_to_cross(block, value, residence);
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

    /// Finds values in the list of those that are live when control leaves a block.
    fn before(&self, block: Block) -> LiveOutIndex<'a> {
        LiveOutIndex::new(self.problem.liveness, self.problem.source(block))
    }

    /// The cost of a number of executions, in units.
    fn cost(&self, executions: f64) -> i64 {
        self.problem.units.cost(executions)
    }

    /// The cost of storing a value.
    fn cost_of_store(&self, frequency: f64) -> i64 {
        self.cost(self.problem.cost(cost::STORE, frequency))
    }
}
