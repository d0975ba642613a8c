//! How far away the next use of each value is, over all ways that control can take.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: of each value that is live at a border of a block, the number of instructions to its nearest next use. What a φ
//! takes is used on the edge. Each loop that a way leaves is [`LEAVING`] instructions long: what is used behind a loop is
//! farther away than anything in it.
//! Relies on: `nextuse` of `ssa-allocation-lecture.txt`, "Spilling with Belady's Algorithm", as a least fixed point; Braun and
//! Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs" (CC 2009), section 4.1, for the lengths of edges.

use super::{Liveness, Loops, Order};
use crate::machine::{Block, BlockData, Function, Value};
use cranelift_entity::SecondaryMap;

/// What leaving a loop adds to a distance: more instructions than any way through a loop has.
pub const LEAVING: u32 = 100_000;

/// A distance to a value that is not live.
pub const NEVER: u32 = u32::MAX;

/// The distances to the next uses of what is live at the borders of blocks.
pub struct NextUses<'a> {
    liveness: &'a Liveness,
    /// In the order of [`Liveness::live_in`].
    entry: SecondaryMap<Block, Vec<u32>>,
    /// In the order of [`Liveness::live_out`].
    exit: SecondaryMap<Block, Vec<u32>>,
    /// Of each block's φs, to the first use in the block.
    phis: SecondaryMap<Block, Vec<u32>>,
}

impl<'a> NextUses<'a> {
    pub fn new(function: &Function, order: &Order, liveness: &'a Liveness, loops: &Loops) -> Self {
        let mut uses = NextUses { liveness, entry: SecondaryMap::new(), exit: SecondaryMap::new(), phis: SecondaryMap::new() };
        let mut first_use: SecondaryMap<Value, u32> = SecondaryMap::with_default(NEVER);
        for &block in order.blocks() {
            (uses.entry[block], uses.phis[block]) = within(function, liveness, block, &mut first_use);
            uses.exit[block] = on_edges(function, liveness, block);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.blocks().iter().rev() {
                changed |= uses.update(function, loops, block);
            }
        }
        uses
    }

    /// From the head of a block, behind its φs, to the next use of a value that is live into it; [`NEVER`] for others.
    pub fn from_entry(&self, block: Block, value: Value) -> u32 {
        self.liveness.live_in(block).binary_search(&value).map_or(NEVER, |index| self.entry[block][index])
    }

    /// From the head of a block to the next use of what a φ there defines.
    pub fn from_phi(&self, function: &Function, block: Block, row: usize) -> u32 {
        let BlockData { phis, insts, .. } = &function.blocks[block];
        let length = insts.len() as u32;
        self.phis[block][row].min(self.from_exit(block, phis[row].def).saturating_add(length))
    }

    /// From the end of a block.
    pub fn from_exit(&self, block: Block, value: Value) -> u32 {
        self.liveness.live_out(block).binary_search(&value).map_or(NEVER, |index| self.exit[block][index])
    }

    /// Shortens a block's distances by those of its successors; whether any became shorter.
    fn update(&mut self, function: &Function, loops: &Loops, block: Block) -> bool {
        let mut changed = false;
        for &succ in &function.blocks[block].succs {
            let leaving = loops.depth(block).saturating_sub(loops.depth(succ)) * LEAVING;
            for (index, &value) in self.liveness.live_out(block).iter().enumerate() {
                let over = self.from_entry(succ, value).saturating_add(leaving);
                changed |= over < self.exit[block][index];
                self.exit[block][index] = self.exit[block][index].min(over);
            }
        }
        let length = function.blocks[block].insts.len() as u32;
        for (index, &value) in self.liveness.live_in(block).iter().enumerate() {
            // What is used in the block is nearer than anything behind it.
            if self.entry[block][index] >= length {
                let through = self.from_exit(block, value).saturating_add(length);
                changed |= std::mem::replace(&mut self.entry[block][index], through) != through;
            }
        }
        changed
    }
}

/// The distances from a block's end to uses on its edges, of what is live out of it.
fn on_edges(function: &Function, liveness: &Liveness, block: Block) -> Vec<u32> {
    let live = liveness.live_out(block);
    let mut distances = vec![NEVER; live.len()];
    for &succ in &function.blocks[block].succs {
        let column = function.column(block, succ);
        for arg in function.blocks[succ].phis.iter().filter_map(|phi| phi.args[column].expand()) {
            distances[live.binary_search(&arg).expect("what a φ takes is live")] = 0;
        }
    }
    distances
}

/// The distances from a block's head to the first uses in it, of what is live into it and of what its φs define.
fn within(
    function: &Function,
    liveness: &Liveness,
    block: Block,
    first_use: &mut SecondaryMap<Value, u32>,
) -> (Vec<u32>, Vec<u32>) {
    let uses = || {
        let insts = function.block_insts(block).enumerate();
        insts.flat_map(|(index, inst)| {
            let read = function.operands(inst).iter().filter(|operand| !operand.is_def());
            read.map(move |operand| (operand.value, index as u32))
        })
    };
    for (value, index) in uses() {
        first_use[value] = first_use[value].min(index);
    }
    let distances = liveness.live_in(block).iter().map(|&value| first_use[value]).collect();
    let of_phis = function.blocks[block].phis.iter().map(|phi| first_use[phi.def]).collect();
    uses().for_each(|(value, _)| first_use[value] = NEVER);
    (distances, of_phis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Dominators;
    use crate::analysis::testing::{append, block, def, graph, phi, usage, value, values};

    /// `v0` and `v1` are defined in block 0; block 1 is a loop of three instructions that uses `v0` last; block 2, behind it,
    /// uses `v1`.
    fn around_a_loop() -> Function {
        let mut f = graph(&[&[1], &[1, 2], &[]]);
        values(&mut f, 2);
        append(&mut f, 0, &[def(0)]);
        append(&mut f, 0, &[def(1)]);
        append(&mut f, 1, &[]);
        append(&mut f, 1, &[]);
        append(&mut f, 1, &[usage(0)]);
        append(&mut f, 2, &[usage(1)]);
        f
    }

    fn with<T>(function: &Function, look: impl FnOnce(&NextUses) -> T) -> T {
        let order = Order::new(function);
        let loops = Loops::new(function, &order, &Dominators::new(function, &order));
        let liveness = Liveness::new(function);
        look(&NextUses::new(function, &order, &liveness, &loops))
    }

    #[test]
    fn what_is_behind_a_loop_is_farther_away_than_all_that_is_in_it() {
        with(&around_a_loop(), |uses| {
            assert_eq!(uses.from_exit(block(0), value(0)), 2);
            assert_eq!(uses.from_entry(block(1), value(1)), 3 + LEAVING);
            assert_eq!(uses.from_exit(block(0), value(1)), 3 + LEAVING);
            // Around the loop.
            assert_eq!(uses.from_exit(block(1), value(0)), 2);
            assert_eq!(uses.from_exit(block(1), value(1)), LEAVING);
            assert_eq!(uses.from_entry(block(2), value(0)), NEVER);
        });
    }

    #[test]
    fn what_a_phi_takes_is_used_on_the_edge() {
        let mut f = graph(&[&[1, 2], &[2], &[]]);
        values(&mut f, 3);
        append(&mut f, 0, &[def(0)]);
        append(&mut f, 1, &[]);
        append(&mut f, 1, &[]);
        append(&mut f, 2, &[usage(2)]);
        phi(&mut f, 2, 2, &[None, Some(0)]);
        with(&f, |uses| {
            assert_eq!(uses.from_exit(block(1), value(0)), 0);
            assert_eq!(uses.from_entry(block(1), value(0)), 2);
            assert_eq!(uses.from_exit(block(0), value(0)), 2);
            assert_eq!(uses.from_exit(block(1), value(2)), NEVER);
        });
    }
}
