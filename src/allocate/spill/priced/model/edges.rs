//! The costs of edges and of stores.

use super::{Builder, Residence, Stored};
use crate::allocate::cost;
use crate::allocate::cuts::FORBIDDEN;
use crate::allocate::spill::priced::live_out_index::LiveOutIndex;
use crate::allocate::spill::priced::recompute::Recomputation;
use crate::allocate::spill::priced::regions::Region;
use crate::allocate::spill::problem::Problem;
use crate::machine::{Block, BlockList, Value};
use smallvec::SmallVec;

impl Builder<'_> {
    /// A value that is in a register at a block's head comes from each predecessor in one, or is refilled on the edge. An
    /// argument of a φ that is in memory is in its home.
    pub(super) fn edges(&mut self) {
        let Problem { liveness, .. } = self.problem;
        let function = self.function;
        let recomputation = Recomputation::new(self.problem);
        for (to, data) in function.blocks.iter().filter(|&(to, _)| !self.problem.is_passed(to)) {
            let live_in = liveness.live_in(to);
            let unsettled = self.unsettled_of[to].clone();
            for (column, &from) in data.preds.iter().enumerate() {
                let mut before = self.before(from);
                let meets_at_pads = data.landing_pad && data.preds.len() > 1;
                for index in unsettled.clone() {
                    let index = self.unsettled[index as usize] as usize;
                    let value = live_in[index];
                    let head = self.model.residences.at_head(to)[index];
                    let tail = self.edge(from, to, head, value, &mut before);
                    if head != Residence::MEMORY
                        && tail != Residence::REGISTER
                        && !data.landing_pad
                        && !recomputation.is_possible_from(to, value)
                    {
                        self.store_by_end(from, value, tail);
                    }
                    if meets_at_pads && head != Residence::REGISTER && self.has_home(value) {
                        let unwritten = Residence::decided_by(self.unwritten_in(from, value));
                        self.model.only_in(unwritten, head, FORBIDDEN);
                    }
                }
                for (index, phi) in data.phis.iter().enumerate().filter(|(_, phi)| !liveness.is_dead(phi.def)) {
                    let Some(arg) = phi.args[column].expand() else { continue };
                    let head = self.model.residences.at_head(to)[live_in.len() + index];
                    let tail = self.edge(from, to, head, arg, &mut self.before(from));
                    if head != tail && tail != Residence::REGISTER {
                        self.store_by_end(from, arg, tail);
                    }
                    if head != Residence::REGISTER && !self.chosen.spilled[arg] && !self.problem.unspillable.contains(arg) {
                        let unwritten = Residence::decided_by(self.unwritten_in(from, arg));
                        self.model.only_in(unwritten, head, self.cost_of_store(function.blocks[from].frequency));
                    }
                }
            }
        }
    }

    /// States what an edge costs if the residence of `value` before it differs from that at the head of `to`, and answers
    /// the former (or the latter, if nothing depends on it).
    fn edge(&mut self, from: Block, to: Block, head: Residence, value: Value, before: &mut LiveOutIndex) -> Residence {
        let target = &self.function.blocks[to];
        let stays = head == Residence::REGISTER && self.is_unaffected(value);
        if (stays || head == Residence::MEMORY) && !target.landing_pad {
            return head;
        }
        let tail = self.arriving(from, to, value, before);
        if head != tail && head != Residence::MEMORY && tail != Residence::REGISTER {
            let meets_at_pads = target.landing_pad && target.preds.len() > 1;
            let refill = if meets_at_pads { FORBIDDEN } else { self.refill_on_edge(value, from, to) };
            self.model.only_in(head, tail, refill);
        }
        tail
    }

    /// The residence of a value when control leaves `from` for `to`.
    fn arriving(&mut self, from: Block, to: Block, value: Value, before: &mut LiveOutIndex) -> Residence {
        let target = &self.function.blocks[to];
        if self.problem.unspillable.contains(value) {
            Residence::REGISTER
        } else if self.chosen.spilled[value] {
            Residence::MEMORY
        } else if target.landing_pad
            && let Some(residence) = self.thrown(from, value)
        {
            residence
        } else if target.landing_pad {
            self.read_home(from, value);
            Residence::MEMORY
        } else {
            self.tails[before.index_of(value).expect("what is live into a block is live out of its predecessors")]
        }
    }

    /// A value is in its home in a block that has been visited.
    fn read_home(&mut self, block: Block, value: Value) {
        if self.has_home(value) {
            let unwritten = self.unwritten_in(block, value);
            self.model.only_in(Residence::decided_by(unwritten), Residence::MEMORY, FORBIDDEN);
        }
    }

    /// A value that could be recomputed earlier is in its home at the end of a block, if it is in no register there: from
    /// there on, nothing recomputes it.
    fn store_by_end(&mut self, block: Block, value: Value, tail: Residence) {
        // Most values are in their homes wherever they are in memory.
        let is_stored_late = self.stored[value] == Stored::WhereLoaded;
        if is_stored_late && !self.problem.unspillable.contains(value) && !self.chosen.spilled[value] {
            let unwritten = self.unwritten_in(self.problem.source(block), value);
            self.model.only_in(Residence::decided_by(unwritten), tail, FORBIDDEN);
        }
    }

    fn refill_on_edge(&self, value: Value, from: Block, to: Block) -> i64 {
        self.cost(self.problem.cost_on_edge(self.problem.refill(value), from, to))
    }

    /// Where store regions begin with a region, their values are stored on the region's edges, or at its head if several
    /// edges meet there or no code can stand on one. A store elsewhere in the store region costs hardly less. A value that
    /// comes back into a loop has been stored by then.
    pub(super) fn stores_into(&mut self, region: Region) {
        let function = self.function;
        let regions = &self.store_regions.regions;
        let block = regions.blocks(region)[0];
        let preds = function.blocks[block].preds.iter().copied();
        let from: BlockList = preds.filter(|&from| regions.of(from) < region).collect();
        let without_code = |from: Block| function.takes_no_code(from, block);
        let at_head = from.len() != 1 || without_code(from[0]);
        let live_in = self.problem.liveness.live_in(block);
        let arriving = self.store_regions.beginning_in(region).filter(|(value, ..)| live_in.binary_search(value).is_ok());
        for (value, unwritten, least) in arriving.collect::<SmallVec<[_; 8]>>() {
            let arriving = if at_head { self.model.decisions.decide() } else { unwritten };
            if at_head {
                self.model.decisions.pair(arriving, unwritten, self.cost_of_store(least));
            }
            for &from in &from {
                let frequency = cost::edge(function, from, block).min(least);
                let store = if without_code(from) { FORBIDDEN } else { self.cost_of_store(frequency) };
                let leaving = self.unwritten_in(from, value);
                self.model.decisions.pair(leaving, arriving, store);
            }
        }
    }

    /// A value with a home is stored after its definition; the value of a φ in a register, at the head of its block.
    pub(super) fn stores_of_definitions(&mut self) {
        for (block, data) in &self.function.blocks {
            let phis = self.problem.liveness.live_in(block).len();
            for (index, phi) in data.phis.iter().enumerate() {
                if let Some((unwritten, least)) = self.store_regions.since_definition(block, phi.def) {
                    let head = self.model.residences.at_head(block)[phis + index];
                    self.model.only_in(head, Residence::decided_by(unwritten), self.cost_of_store(least));
                }
            }
            for inst in self.function.block_insts(block) {
                for operand in self.function.operands(inst).iter().filter(|operand| operand.is_def()) {
                    if let Some((unwritten, least)) = self.store_regions.since_definition(block, operand.value) {
                        let in_register = self.copied.get(&inst).copied().unwrap_or(Residence::REGISTER);
                        self.model.only_in(in_register, Residence::decided_by(unwritten), self.cost_of_store(least));
                    }
                }
            }
        }
    }
}
