//! How many values fit into registers: at the heads of blocks, and at each instruction.

use super::{Builder, Place};
use crate::allocate::cuts::{FORBIDDEN, MOST_BOUGHT};
use crate::allocate::pressure::demand::{Demand, LastUse, Left, Rooms, Taken, first_reuse, foldable_operands, is_first_use};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::problem::Problem;
use crate::analysis::Occupancy;
use crate::machine::{Block, Inst, Value};
use smallvec::SmallVec;

/// A value that an instruction reads, and where it competes for a register: not in memory if it is to be counted.
struct Read {
    value: Value,
    /// While operands are read.
    before: Place,
    /// From then on until definitions are written.
    passing: Place,
    behind: Place,
}

impl Builder<'_> {
    /// The rows of a block's head, where not everything fits.
    pub(super) fn head_rows(&mut self, block: Block) {
        let Problem { pins, limits, .. } = self.problem;
        let occupied = pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        for set in limits.sets() {
            let left = std::array::from_fn(|bought| limits.room(set, occupied | self.callee_saved.untouched(bought)));
            self.row(block, set, left);
        }
    }

    /// The rows of an instruction, at which not everything fits: when operands are read, and when definitions are written. In
    /// between, all is in registers that is both before and behind.
    pub(super) fn rows(&mut self, block: Block, inst: Inst) {
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
