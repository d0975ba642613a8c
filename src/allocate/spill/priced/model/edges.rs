//! What edges cost, and stores.

use super::{Builder, Home, Place};
use crate::allocate::cost;
use crate::allocate::cuts::FORBIDDEN;
use crate::allocate::spill::priced::before::Before;
use crate::allocate::spill::priced::recompute::Again;
use crate::allocate::spill::priced::regions::Region;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, BlockList, Value};
use smallvec::SmallVec;

impl Builder<'_> {
    /// What is in a register at a block's head comes so from a predecessor, or is refilled on the edge. What φs in memory take
    /// is in its home.
    pub(super) fn edges(&mut self) {
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

    /// A value is in its home in a block that has been passed.
    fn read_home(&mut self, block: Block, value: Value) {
        if self.has_home(value) {
            let homeless = self.homeless_in(block, value);
            self.model.only_in(Place::open(homeless), Place::MEMORY, FORBIDDEN);
        }
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

    fn refill_on_edge(&self, value: Value, from: Block, to: Block) -> i64 {
        self.price(self.problem.cost_on_edge(self.problem.refill(value), from, to))
    }

    /// Where stretches begin with a region, values are stored on its edges, or, where several meet or no code can stand there,
    /// at its head. Anywhere else in the stretch, that costs hardly less. Where control comes back, what has been stored by
    /// then is.
    pub(super) fn stores_into(&mut self, region: Region) {
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
    pub(super) fn stores_of_definitions(&mut self) {
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
}
