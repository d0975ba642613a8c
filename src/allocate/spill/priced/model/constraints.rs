//! Pressure constraints, at the heads of blocks and at each instruction.

use super::constraint_builder::Site;
use super::{Builder, Residence};
use crate::allocate::cuts::{FORBIDDEN, MOST_BOUGHT};
use crate::allocate::pressure::demand::{Demand, LastUse, Left, Rooms, Taken, first_reuse, foldable_operands, is_first_use};
use crate::allocate::spill::plan::Refill;
use crate::allocate::spill::problem::Problem;
use crate::analysis::Occupancy;
use crate::machine::{Block, Inst, Value};
use smallvec::SmallVec;

/// A value that an instruction reads, with its residences as far as they count for constraints: where it is memory, no
/// register is counted.
struct Read {
    value: Value,
    /// While operands are read.
    before: Residence,
    /// From then on until definitions are written.
    during: Residence,
    after: Residence,
}

impl Builder<'_> {
    /// States the constraints of a block's head with excess pressure.
    pub(super) fn constrain_head(&mut self, block: Block) {
        let Problem { pins, limits, .. } = self.problem;
        let occupied = pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        for set in limits.sets() {
            let left = std::array::from_fn(|bought| limits.room(set, occupied | self.callee_saved.untouched(bought)));
            self.constrain((block, None), set, left);
        }
    }

    /// States the constraints of an instruction with excess pressure: while operands are read, and when definitions are
    /// written. In between, only values that are in registers before and after are in registers.
    pub(super) fn constrain_instruction(&mut self, block: Block, inst: Inst) {
        let Problem { pins, liveness, .. } = self.problem;
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        let folded = self.folded(inst);
        let last_use = |k: usize| match self.model.residences.after[first + k] {
            _ if liveness.kills(first + k) => LastUse::OfValue,
            Residence::REGISTER => LastUse::No,
            _ => LastUse::OfRefill,
        };
        let mut demand = Demand::of(self.function, &self.problem.limits, inst, folded, last_use);
        // A value that the instruction reads last may be in memory before; then it needs a register of its own here.
        let ends = |value: Value| operands.iter().enumerate().any(|(k, o)| o.value == value && liveness.kills(first + k));
        let in_register = |value: Value| self.residence[value] == Residence::REGISTER && ends(value);
        demand.hold(self.function, inst, pins.held(inst), in_register, ends);
        self.find_crowded(&demand, &pins.occupancy(self.function, block, inst), operands.len());
        let read = |value: Value| operands.iter().any(|operand| operand.value == value && !operand.is_def());
        let held = || pins.held(inst).iter().filter(|held| !read(held.value));
        held().for_each(|held| self.change(held.value, self.residence[held.value], Residence::MEMORY));
        let reads = self.reads(inst, folded);
        reads.iter().for_each(|read| self.change(read.value, self.residence[read.value], read.before));
        self.constrain_crowded((block, Some(inst)), |left| left.before);
        reads.iter().for_each(|read| self.change(read.value, read.before, read.during));
        let mut late: SmallVec<[(Value, Residence); 4]> = SmallVec::new();
        late.extend(held().filter(|held| !held.after).map(|held| (held.value, self.residence[held.value])));
        let folded_definition = folded.filter(|&k| operands[k].is_def());
        late.extend(folded_definition.map(|k| (operands[k].value, self.model.residences.after[first + k])));
        if late.is_empty() {
            self.constrain_crowded((block, Some(inst)), |left| left.passing.min(left.after));
        } else {
            self.constrain_crowded((block, Some(inst)), |left| left.passing);
            late.iter().for_each(|&(value, residence)| self.change(value, Residence::MEMORY, residence));
            self.constrain_crowded((block, Some(inst)), |left| left.after);
            late.iter().for_each(|&(value, residence)| self.change(value, residence, Residence::MEMORY));
        }
        for read in reads {
            self.change(read.value, read.during, read.after);
            self.residence[read.value] = read.after;
        }
        held().for_each(|held| self.change(held.value, Residence::MEMORY, self.residence[held.value]));
    }

    /// Finds the sets that may not have enough registers for an instruction.
    fn find_crowded(&mut self, demand: &Demand, occupancy: &Occupancy, operands: usize) {
        let Problem { limits, .. } = self.problem;
        self.crowded.clear();
        let all = occupancy.all() | self.callee_saved.untouched(0);
        let competing = |set: usize| self.constraints[set].count() + operands as i32;
        for set in limits.sets().filter(|&set| competing(set) + demand.most(set) > limits.room(set, all)) {
            let rooms = Rooms::new(limits, set, &occupancy.keeping(self.callee_saved.untouched(0)));
            let taken = demand.taken(limits, set);
            let left = taken.of(&rooms);
            if competing(set) > left.least() {
                // The program itself hardly ever has anything in the registers that can be bought.
                let by_bought = match occupancy.all().intersects(self.callee_saved.untouched(0)) {
                    true => self.left_by_bought(set, occupancy, taken, rooms),
                    false => self.gained[set].map(|gained| left.and(gained)),
                };
                self.crowded.push((set, by_bought));
            }
        }
    }

    /// The registers of a set that an instruction leaves, by the number bought, some of which the program may occupy.
    fn left_by_bought(&self, set: usize, occupancy: &Occupancy, taken: Taken, mut rooms: Rooms) -> [Left; MOST_BOUGHT + 1] {
        let mut registers = self.callee_saved.registers().iter();
        let mut left = [taken.of(&rooms); MOST_BOUGHT + 1];
        for left in &mut left[1..] {
            registers.next().into_iter().for_each(|&reg| rooms.free(&self.problem.limits, set, occupancy, reg));
            *left = taken.of(&rooms);
        }
        left
    }

    /// States a constraint for each crowded set.
    fn constrain_crowded(&mut self, site: Site, left: impl Fn(Left) -> i32) {
        for index in 0..self.crowded.len() {
            let (set, by_bought) = self.crowded[index];
            self.constrain(site, set, by_bought.map(&left));
        }
    }

    /// The values that an instruction reads.
    fn reads(&mut self, inst: Inst, folded: Option<usize>) -> SmallVec<[Read; 4]> {
        let operands = self.function.operands(inst);
        let first = self.function.insts[inst].operands.start as usize;
        let mut reads = SmallVec::new();
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| !operand.is_def() && is_first_use(operands, k)) {
            let value = operand.value;
            let after = self.model.residences.after[first + k];
            let is_held = self.problem.pins.holder(inst, value).is_some_and(|held| held.before);
            let before = if Some(k) == folded && is_held {
                Residence::MEMORY
            } else if Some(k) == folded {
                self.in_register_for(value, after)
            } else if after == Residence::REGISTER || first_reuse(operands, value).is_some() {
                after
            } else {
                Residence::MEMORY
            };
            let during = if self.problem.pins.holder(inst, value).is_some() { Residence::MEMORY } else { after };
            reads.push(Read { value, before, during, after });
        }
        reads
    }

    /// The operand that the instruction accesses in memory if its value is there. One that dies is preferred.
    fn folded(&self, inst: Inst) -> Option<usize> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let open = |residence: Residence| residence.decision().is_some();
        let is_open = |k: usize| match operands[k].is_def() {
            true => open(self.model.residences.after[first + k]) && self.has_home(operands[k].value),
            false => {
                let is_there = || self.refill(operands[k].value) == Refill::Load || self.problem.read_in_place(inst, k).is_some();
                open(self.residence[operands[k].value]) && is_there()
            }
        };
        foldable_operands(self.function, inst, self.problem.policy.fold)
            .filter(|&k| is_open(k))
            .max_by_key(|&k| self.problem.liveness.kills(first + k))
    }

    /// A new decision: whether a value that could be read from memory is in a register for the instruction. It is if it was,
    /// or if it stays.
    fn in_register_for(&mut self, value: Value, after: Residence) -> Residence {
        if after == Residence::MEMORY {
            return self.residence[value];
        }
        let here = Residence::decided_by(self.model.decisions.decide());
        self.model.only_in(self.residence[value], here, FORBIDDEN);
        self.model.only_in(after, here, FORBIDDEN);
        here
    }

    /// States the constraint that values competing for a set of registers fit into those that are left, by the number
    /// bought.
    fn constrain(&mut self, site: Site, set: usize, left: [i32; MOST_BOUGHT + 1]) {
        let needed = self.constraints[set].constrain(left, self.function.blocks[site.0].frequency, site);
        self.model.least_bought = self.model.least_bought.max(needed);
    }
}
