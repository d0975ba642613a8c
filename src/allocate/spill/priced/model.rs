//! Spilling as an integer program over decisions, of which each is 0 or 1.
//!
//! The live range of a value is cut into *segments*, from one access in a block, or the block's head, to the next access or the
//! block's end. A decision says whether the value is in a register throughout a segment; another one, of each stretch of its
//! life in which it makes little difference where it is stored ([`super::stretches`]), whether its home in memory is not written
//! yet. Costs are those of single decisions and of pairs of which one is 1 and the other 0, so that without rows the cheapest
//! labelling is a minimum cut. A *row* says of how many decisions at most may be 1, since there are so many registers at some
//! point of an instruction, if so many callee-saved ones are bought. What no overfull row
//! can change is no decision at all.
//!
//! Requires: conventional SSA form, and what has been chosen to be in memory in any case.
//! Ensures: a plan that keeps to a labelling costs what the labelling does. Where classes of registers overlap, keeping to the
//! rows may not suffice.
//! What is decided beforehand: what crosses bundles in registers, and which operand of an instruction is folded if its value is
//! in memory. The bound is one for plans that agree with that.

use super::callee_saved::CalleeSaved;
use super::passing::Passing;
use super::regions::{NONE_SIMILAR, Region, SIMILAR};
use super::stretches::Stretches;
use super::tight::Tight;
use crate::allocate::cost;
use crate::allocate::pressure::demand::{Demand, LastUse, first_reuse, foldable_operands, is_first_use};
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::choose::Chosen;
use crate::allocate::spill::crossing::{self, Head};
use crate::allocate::spill::cuts::{Decision, Decisions, FORBIDDEN, MOST_BOUGHT, Rooms, RowData, price};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::{Choice, Problem};
use crate::machine::{Block, EdgePlace, Function, Inst, Value};
use cranelift_entity::SecondaryMap;

/// Where a value is throughout a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Register,
    Memory,
    /// In a register if it is 1.
    Open(Decision),
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
    /// Where values are at the heads of blocks; those that are live there and not listed are in registers.
    heads: SecondaryMap<Block, Vec<(Value, Place)>>,
    /// Likewise, by operand, behind the instructions that access them.
    behind: Vec<Place>,
}

impl Places {
    /// Where a value that is live at a block's head, or defined there, is.
    pub(super) fn at_head(&self, block: Block, value: Value) -> Place {
        let found = self.heads[block].binary_search_by_key(&value, |&(value, _)| value);
        found.map_or(Place::Register, |index| self.heads[block][index].1)
    }

    /// Where a value is behind the instruction that accesses it as the operand of this index.
    pub(super) fn behind(&self, operand: usize) -> Place {
        self.behind[operand]
    }
}

impl Model {
    /// What it costs if the value is in memory.
    fn in_memory(&mut self, place: Place, cost: i64) {
        match place {
            Place::Register => {}
            Place::Memory => self.base += cost,
            Place::Open(decision) => self.decisions.charge(decision, false, cost),
        }
    }

    /// What it costs if the value is in a register.
    fn in_register(&mut self, place: Place, cost: i64) {
        match place {
            Place::Register => self.base += cost,
            Place::Memory => {}
            Place::Open(decision) => self.decisions.charge(decision, true, cost),
        }
    }

    /// What it costs if the value is in a register in one segment and not in another.
    fn only_in(&mut self, one: Place, zero: Place, cost: i64) {
        match (one, zero) {
            (Place::Memory, _) | (_, Place::Register) => {}
            (Place::Register, _) => self.in_memory(zero, cost),
            (_, Place::Memory) => self.in_register(one, cost),
            (Place::Open(one), Place::Open(zero)) => self.decisions.pair(one, zero, cost),
        }
    }
}

/// States the problem; `None` if everything fits without any callee-saved register.
pub(super) fn model(problem: &Problem, chosen: &Chosen, callee_saved: &CalleeSaved) -> Option<Model> {
    let keeping = problem.pins.clone().keeping(callee_saved.untouched(0));
    let tight = Tight::new(problem, chosen, &keeping);
    if tight.values.is_empty() {
        return None;
    }
    let function = &problem.conventional.function;
    let behind = vec![Place::Register; function.operands.len()];
    let similar = if problem.downstream.choice == Some(Choice::Optimal) { NONE_SIMILAR } else { SIMILAR };
    let mut builder = Builder {
        problem,
        chosen,
        callee_saved,
        function,
        stretches: Stretches::new(problem, &tight, similar),
        tight,
        passing: Passing::new(problem),
        model: Model { places: Places { heads: SecondaryMap::new(), behind }, ..Model::default() },
        place: SecondaryMap::with_default(Place::Register),
        live: LiveSet::new(function, &problem.limits),
        tails: SecondaryMap::new(),
        last_rows: Vec::new(),
        rivals: Rivals::default(),
    };
    for region in builder.stretches.regions.iter() {
        builder.region(region);
    }
    builder.edges();
    for region in builder.stretches.regions.iter().rev() {
        builder.stores_into(region);
    }
    builder.stores_of_definitions();
    Some(builder.model)
}

struct Builder<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a Chosen,
    callee_saved: &'a CalleeSaved,
    function: &'a Function,
    tight: Tight,
    passing: Option<Passing<'a>>,
    model: Model,
    /// Of each live value, where it is in the current segment.
    place: SecondaryMap<Value, Place>,
    live: LiveSet<'a>,
    stretches: Stretches<'a>,
    /// Where the values that are live at the end of each block are, in the order of [`crate::analysis::Liveness::live_out`].
    tails: SecondaryMap<Block, Vec<Place>>,
    /// The latest row of each set of registers in this block.
    last_rows: Vec<(usize, usize)>,
    rivals: Rivals,
}

/// A value that may be in a register at an instruction, and where it is.
type Rival = (Value, Place);

/// What may be in registers at an instruction.
#[derive(Default)]
struct Rivals {
    /// When operands are read.
    before: Vec<Rival>,
    /// All the while.
    passing: Vec<Rival>,
    /// When definitions are written, but not before.
    late: Vec<Rival>,
}

impl Builder<'_> {
    /// Passes the blocks of a region.
    fn region(&mut self, region: Region) {
        for index in 0..self.stretches.regions.blocks(region).len() {
            self.block(self.stretches.regions.blocks(region)[index]);
        }
        self.stretches.leave_region();
    }

    fn block(&mut self, block: Block) {
        let Problem { liveness, .. } = self.problem;
        self.live.clear();
        self.last_rows.clear();
        if let Some(passing) = &mut self.passing {
            passing.enter(&self.tight, block);
        }
        let head = crossing::head(self.problem, block);
        let phis = self.function.blocks[block].phis.iter().map(|phi| phi.def);
        let mut entering: Vec<Value> = liveness.live_in(block).iter().copied().chain(phis).collect();
        entering.sort_unstable();
        entering.iter().for_each(|&value| self.stretches.enter(block, value));
        for &value in &entering {
            self.place[value] = self.entering(block, head, value);
            if self.place[value] != Place::Memory {
                self.live.add(value);
            }
        }
        let places = entering.iter().map(|&value| (value, self.place[value]));
        let listed = || places.clone().filter(|&(_, place)| place != Place::Register);
        // Of all that is kept until the end, this takes the most memory.
        let mut heads = Vec::with_capacity(listed().count());
        heads.extend(listed());
        self.model.places.heads[block] = heads;
        let occupied = self.problem.pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        if self.tight.heads[block] > 0 {
            let limits = &self.problem.limits;
            let rivals: Vec<Rival> = self.live.values().iter().map(|&value| (value, self.place[value])).collect();
            for set in limits.sets() {
                let left = self.by_bought(|bought| limits.room(set, occupied | self.callee_saved.untouched(bought)));
                self.row(block, set, &[&rivals], left);
            }
        }
        for (index, inst) in (0..).zip(self.function.block_insts(block)) {
            if !self.chosen.drops(self.function.operands(inst)) {
                self.instruction(block, index, inst);
            }
        }
        self.leave(block);
    }

    /// Where a value is at a block's head.
    fn entering(&mut self, block: Block, head: Head, value: Value) -> Place {
        if self.problem.unspillable.contains(value) {
            Place::Register
        } else if self.chosen.spilled[value] || self.problem.liveness.is_dead(value) {
            Place::Memory
        } else if head == Head::Nothing || head == Head::Bundle && self.chosen.off_bundles[value] {
            self.in_memory(value)
        } else if head == Head::Bundle {
            Place::Register
        } else if let Some(decision) = self.arriving_segment(block, value) {
            Place::Open(decision)
        } else {
            self.segment(value)
        }
    }

    /// The segment that goes on into a block.
    fn arriving_segment(&self, block: Block, value: Value) -> Option<Decision> {
        let passing = self.passing.as_ref()?;
        let at_end = |&pred: &Block| {
            let live_out = self.problem.liveness.live_out(pred);
            // Where control comes back, it has not been passed.
            match self.tails[pred].get(live_out.binary_search(&value).ok()?) {
                Some(&Place::Open(decision)) => Some(decision),
                _ => None,
            }
        };
        let (first, others) = self.function.blocks[block].preds.split_first()?;
        let decision = at_end(first)?;
        let is_one = others.iter().all(|pred| at_end(pred) == Some(decision));
        (is_one && passing.goes_on(block, value, decision)).then_some(decision)
    }

    /// A segment in which a value cannot be in a register.
    fn in_memory(&mut self, value: Value) -> Place {
        if self.problem.refill(value) == Refill::Load {
            let homeless = self.homeless(value);
            self.model.only_in(Place::Open(homeless), Place::Memory, FORBIDDEN);
        }
        Place::Memory
    }

    /// A value is in its home in a block that has been passed.
    fn read_home(&mut self, block: Block, value: Value) {
        if self.problem.refill(value) == Refill::Load {
            let homeless = self.homeless_in(block, value);
            self.model.only_in(Place::Open(homeless), Place::Memory, FORBIDDEN);
        }
    }

    /// A new segment of a value.
    fn segment(&mut self, value: Value) -> Place {
        if self.chosen.spilled[value] {
            return Place::Memory;
        }
        if !self.tight.values.contains(value) || self.problem.unspillable.contains(value) {
            return Place::Register;
        }
        let decision = self.model.decisions.decide();
        self.need_home_for(value, decision);
        Place::Open(decision)
    }

    /// If a value is not in a register in this segment, it is in its home, and then also where the segment goes on.
    fn need_home_for(&mut self, value: Value, decision: Decision) {
        if self.problem.refill(value) == Refill::Load {
            let homeless = self.homeless(value);
            self.model.only_in(Place::Open(homeless), Place::Open(decision), FORBIDDEN);
        }
    }

    /// The decision that a value's home is not written yet in the current region.
    fn homeless(&mut self, value: Value) -> Decision {
        let stretch = self.stretches.here(value);
        self.stretches.homeless(stretch, &mut self.model.decisions)
    }

    /// The same in any block, now that all have been passed.
    fn homeless_in(&mut self, block: Block, value: Value) -> Decision {
        let stretch = self.stretches.at(block, value);
        self.stretches.homeless(stretch, &mut self.model.decisions)
    }

    /// What it costs to get a value into a register.
    fn refill(&self, value: Value, frequency: f64) -> i64 {
        price(self.problem.cost_of_refill(self.problem.refill(value), frequency))
    }

    fn refill_on_edge(&self, value: Value, from: Block, to: Block) -> i64 {
        price(self.problem.cost_on_edge(self.problem.refill(value), from, to))
    }

    fn instruction(&mut self, block: Block, index: u32, inst: Inst) {
        let Problem { liveness, .. } = self.problem;
        // Nothing is refilled between terminators.
        let too_late = index > self.function.before_terminators(block).index;
        let frequency = self.function.blocks[block].frequency;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() {
                self.stretches.enter(block, operand.value);
                self.model.places.behind[first + k] =
                    if liveness.kills(first + k) { Place::Memory } else { self.definition(operand.value, frequency) };
            } else if is_first_use(operands, k) {
                // What has been chosen to be in memory is refilled in any case, but how often is not known yet.
                if !self.chosen.spilled[operand.value] {
                    let refill = if too_late { FORBIDDEN } else { self.refill(operand.value, frequency) };
                    self.model.in_memory(self.place[operand.value], refill);
                }
                self.model.places.behind[first + k] =
                    if liveness.kills(first + k) { Place::Memory } else { self.segment(operand.value) };
            }
        }
        if self.tight.insts[inst] > 0 {
            self.rows(block, inst);
        }
        for (k, operand) in operands.iter().enumerate() {
            if operand.is_def() || is_first_use(operands, k) {
                self.live.remove(operand.value);
                self.place[operand.value] = self.model.places.behind[first + k];
                if self.model.places.behind[first + k] != Place::Memory {
                    self.live.add(operand.value);
                }
            }
        }
    }

    /// The segment behind a definition by an instruction. A constant that is not wanted there is not computed.
    fn definition(&mut self, value: Value, frequency: f64) -> Place {
        let place = self.segment(value);
        if self.problem.refill(value) != Refill::Load && !self.chosen.spilled[value] {
            let once = self.refill(value, frequency);
            self.model.in_register(place, once);
            self.model.base -= once;
        }
        place
    }

    /// What crosses a bundle is in a register from the terminators on.
    fn leave(&mut self, block: Block) {
        let Problem { liveness, bundles, .. } = self.problem;
        if let Some(bundle) = bundles.exit(block) {
            let crossing = &bundles.meeting(bundle).crossing;
            for &value in liveness.live_out(block).iter().filter(|&&value| !self.chosen.spilled[value]) {
                if self.chosen.off_bundles[value] {
                    self.place[value] = self.in_memory(value);
                } else if crossing.binary_search(&bundles.representative(value)).is_ok() {
                    let refill = self.refill(value, self.function.blocks[block].frequency);
                    self.model.in_memory(self.place[value], refill);
                    self.place[value] = Place::Register;
                }
            }
        }
        let passing = &mut self.passing;
        let tail = |&value: &Value| {
            if let (Some(passing), Place::Open(decision)) = (passing.as_mut(), self.place[value]) {
                passing.leave(block, value, decision);
            }
            self.place[value]
        };
        self.tails[block] = liveness.live_out(block).iter().map(tail).collect();
    }

    /// What is in a register at a block's head comes so from a predecessor, or is refilled on the edge. What φs in memory take
    /// is in its home.
    fn edges(&mut self) {
        let function = self.function;
        for (to, data) in &function.blocks {
            for (column, &from) in data.preds.iter().enumerate() {
                for &value in self.problem.liveness.live_in(to) {
                    let (head, tail) = (self.model.places.at_head(to, value), self.arriving(from, to, value));
                    self.model.only_in(head, tail, self.refill_on_edge(value, from, to));
                }
                for phi in data.phis.iter().filter(|phi| !self.problem.liveness.is_dead(phi.def)) {
                    let Some(arg) = phi.args[column].expand() else { continue };
                    let (head, tail) = (self.model.places.at_head(to, phi.def), self.arriving(from, to, arg));
                    self.model.only_in(head, tail, self.refill_on_edge(arg, from, to));
                    if head != Place::Register && !self.chosen.spilled[arg] && !self.problem.unspillable.contains(arg) {
                        let homeless = Place::Open(self.homeless_in(from, arg));
                        self.model.only_in(homeless, head, self.store(function.blocks[from].frequency));
                    }
                }
            }
        }
    }

    /// What it costs to store a value.
    fn store(&self, frequency: f64) -> i64 {
        price(self.problem.cost(cost::STORE, frequency))
    }

    /// Where stretches begin with a region, values are stored on its edges, or, where several meet, at its head. Anywhere else
    /// in the stretch, that costs hardly less. Where control comes back, what has been stored by then is.
    fn stores_into(&mut self, region: Region) {
        let function = self.function;
        let regions = &self.stretches.regions;
        let block = regions.blocks(region)[0];
        let from: Vec<Block> = function.blocks[block].preds.iter().copied().filter(|&from| regions.of(from) < region).collect();
        for &value in self.problem.liveness.live_in(block) {
            let Some((homeless, least)) = self.stretches.since_head(block, value) else { continue };
            let arriving = if from.len() == 1 { homeless } else { self.model.decisions.decide() };
            if from.len() > 1 {
                self.model.decisions.pair(arriving, homeless, self.store(least));
            }
            for &from in &from {
                let without_code = function.edge_place(from, block) == EdgePlace::Nowhere;
                let frequency = cost::edge(function, from, block).min(least);
                let store = if without_code { FORBIDDEN } else { self.store(frequency) };
                let leaving = self.homeless_in(from, value);
                self.model.decisions.pair(leaving, arriving, store);
            }
        }
    }

    /// What has a home is stored there: behind its definition, or at the head of its block if it is a φ in a register.
    fn stores_of_definitions(&mut self) {
        for (block, data) in &self.function.blocks {
            for phi in &data.phis {
                if let Some((homeless, least)) = self.stretches.since_definition(block, phi.def) {
                    let head = self.model.places.at_head(block, phi.def);
                    self.model.only_in(head, Place::Open(homeless), self.store(least));
                }
            }
            for operand in self.function.block_insts(block).flat_map(|inst| self.function.operands(inst)) {
                if operand.is_def()
                    && let Some((homeless, least)) = self.stretches.since_definition(block, operand.value)
                {
                    self.model.in_memory(Place::Open(homeless), self.store(least));
                }
            }
        }
    }

    /// Where a value is when control leaves `from` for `to`.
    fn arriving(&mut self, from: Block, to: Block, value: Value) -> Place {
        let target = &self.function.blocks[to];
        if self.problem.unspillable.contains(value) {
            Place::Register
        } else if self.chosen.spilled[value] {
            Place::Memory
        } else if target.landing_pad || target.jump_target {
            self.read_home(from, value);
            Place::Memory
        } else {
            let live_out = self.problem.liveness.live_out(from);
            let place = live_out.binary_search(&value).expect("what is live into a block is live out of its predecessors");
            self.tails[from][place]
        }
    }

    /// The rows of an instruction, at which not everything fits.
    fn rows(&mut self, block: Block, inst: Inst) {
        let Problem { limits, pins, liveness, .. } = self.problem;
        let first = self.function.insts[inst].operands.start as usize;
        let folded = self.folded(inst);
        let last_use = |k: usize| match self.model.places.behind[first + k] {
            _ if liveness.kills(first + k) => LastUse::OfValue,
            Place::Register => LastUse::No,
            _ => LastUse::OfRefill,
        };
        let demand = Demand::of(self.function, limits, inst, folded, last_use);
        let occupancy = pins.occupancy(self.function, block, inst);
        let mut rivals = std::mem::take(&mut self.rivals);
        self.find_rivals(&mut rivals, inst, folded);
        for set in limits.sets() {
            let with = |bought: usize| demand.left(limits, set, &occupancy.keeping(self.callee_saved.untouched(bought)));
            let most = usize::from(self.live.counts()[set]) + self.function.operands(inst).len();
            if most as i32 <= with(0).least() {
                continue;
            }
            let left = self.by_bought(with);
            if rivals.late.is_empty() {
                self.row(block, set, &[&rivals.passing], left.map(|left| left.passing.min(left.behind)));
            } else {
                self.row(block, set, &[&rivals.passing], left.map(|left| left.passing));
                self.row(block, set, &[&rivals.passing, &rivals.late], left.map(|left| left.behind));
            }
            self.row(block, set, &[&rivals.before], left.map(|left| left.before));
        }
        self.rivals = rivals;
    }

    /// Finds what may be in registers at an instruction.
    fn find_rivals(&mut self, rivals: &mut Rivals, inst: Inst, folded: Option<usize>) {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        let Rivals { before, passing, late } = rivals;
        [&mut *before, &mut *passing, &mut *late].into_iter().for_each(Vec::clear);
        let read = |value: Value| operands.iter().any(|o| o.value == value && !o.is_def());
        let held = |value: Value| self.problem.pins.holder(inst, value);
        for &value in self.live.values().iter().filter(|&&value| !read(value)) {
            match held(value) {
                None => passing.push((value, self.place[value])),
                Some(held) if !held.behind => late.push((value, self.place[value])),
                Some(_) => {}
            }
        }
        before.extend_from_slice(passing);
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| !operand.is_def() && is_first_use(operands, k)) {
            let behind = self.model.places.behind[first + k];
            if held(operand.value).is_none() {
                passing.push((operand.value, behind));
            }
            if Some(k) == folded {
                before.push((operand.value, self.in_register_for(operand.value, behind)));
            } else if behind == Place::Register || first_reuse(operands, operand.value).is_some() {
                before.push((operand.value, behind));
            }
        }
        let folded_definition = folded.filter(|&k| operands[k].is_def());
        late.extend(folded_definition.map(|k| (operands[k].value, self.model.places.behind[first + k])));
    }

    /// The operand that is accessed in memory if its value is there: one that dies, if there is one.
    fn folded(&self, inst: Inst) -> Option<usize> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let open = |place: Place| matches!(place, Place::Open(_));
        let is_open = |k: usize| match operands[k].is_def() {
            true => open(self.model.places.behind[first + k]) && self.problem.refill(operands[k].value) == Refill::Load,
            false => open(self.place[operands[k].value]) && self.problem.refill(operands[k].value) == Refill::Load,
        };
        foldable_operands(self.function, inst, self.problem.policy.fold)
            .filter(|&k| is_open(k))
            .max_by_key(|&k| self.problem.liveness.kills(first + k))
    }

    /// Whether a value that could be accessed in memory is in a register for an instruction: it is if it has been, or stays.
    fn in_register_for(&mut self, value: Value, behind: Place) -> Place {
        if behind == Place::Memory {
            return self.place[value];
        }
        let here = Place::Open(self.model.decisions.decide());
        self.model.only_in(self.place[value], here, FORBIDDEN);
        self.model.only_in(behind, here, FORBIDDEN);
        here
    }

    /// What there is with each number of callee-saved registers bought.
    fn by_bought<T>(&self, with: impl Fn(usize) -> T) -> [T; MOST_BOUGHT + 1] {
        std::array::from_fn(|bought| with(bought.min(self.callee_saved.count())))
    }

    /// A row of those rivals that are confined to a set of registers, of which so many are left for them, by how many have been
    /// bought.
    fn row(&mut self, block: Block, set: usize, rivals: &[&[Rival]], left: [i32; MOST_BOUGHT + 1]) {
        let limits = &self.problem.limits;
        let confined = |&&(value, _): &&Rival| limits.is_confined(self.function.values[value].class, set);
        let start = self.model.decisions.members.len();
        let mut fixed = 0;
        for &(_, place) in rivals.iter().copied().flatten().filter(confined) {
            match place {
                Place::Register => fixed += 1,
                Place::Memory => {}
                Place::Open(decision) => self.model.decisions.members.push(decision),
            }
        }
        let count = (self.model.decisions.members.len() - start) as i32;
        let nothing_to_place = fixed + count == 0;
        if nothing_to_place || left[0] - fixed >= count {
            self.model.decisions.members.truncate(start);
            return;
        }
        let rooms = self.rooms(fixed, left);
        self.model.decisions.members[start..].sort_unstable();
        self.keep(block, set, start, rooms);
    }

    /// Keeps the row of the members from `start` on, unless the last one of the block says as much; if it says more, in its
    /// place.
    fn keep(&mut self, block: Block, set: usize, start: usize, rooms: Rooms) {
        let Decisions { members, rows, .. } = &mut self.model.decisions;
        if let Some(&(_, last)) = self.last_rows.iter().find(|(other, _)| *other == set) {
            let row = &mut rows[last];
            let (old, new) = (&members[row.members.clone()], &members[start..]);
            if is_subset(new, old) && row.rooms.iter().zip(rooms).all(|(old, new)| *old <= new) {
                members.truncate(start);
                return;
            }
            if is_subset(old, new) && row.rooms.iter().zip(rooms).all(|(old, new)| new <= *old) {
                (row.members, row.rooms) = (start..members.len(), rooms);
                return;
            }
        }
        self.last_rows.retain(|(other, _)| *other != set);
        self.last_rows.push((set, rows.len()));
        let frequency = self.function.blocks[block].frequency;
        rows.push(RowData { members: start..members.len(), rooms, frequency });
    }

    /// The rooms of a row, of which `fixed` values take a part. What is too few for these has to be bought, if that helps.
    fn rooms(&mut self, fixed: i32, left: [i32; MOST_BOUGHT + 1]) -> Rooms {
        let exactly = left.map(|left| left - fixed);
        if let Some(enough) = exactly.iter().position(|&room| room >= 0) {
            self.model.least_bought = self.model.least_bought.max(enough);
        }
        exactly.map(|room| room.max(0) as u16)
    }
}

/// Whether all of some ascending decisions are among others.
fn is_subset(some: &[Decision], of: &[Decision]) -> bool {
    let mut rest = of.iter();
    some.len() <= of.len() && some.iter().all(|it| rest.any(|other| other == it))
}
