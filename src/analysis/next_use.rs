//! The distance from the borders of blocks to the next use of each value, over all paths.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: for each value that is live at a border of a block, the least number of instructions to a use. A φ uses its
//! argument on the edge. If asked for, leaving a loop counts as [`LEAVING`] instructions for each loop left, so that a use
//! after a loop is farther away than any within it.
//! Relies on: `nextuse` of [Hack, "Spilling with Belady's Algorithm"], as a least fixed point; [BH09, §4.1] for the length
//! of edges that leave loops. The slide has "0 if v not used at ℓ", which is read as "0 if v is used at ℓ": what an
//! instruction uses is nearest there.

use super::grouped::{Lists, each};
use super::{Liveness, Loops, Order};
use crate::machine::{Block, BlockData, Function, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::ops::Range;

/// The distance that leaving a loop adds, if loops count: more than the number of instructions on any path through a loop.
pub const LEAVING: u32 = 100_000;

/// The distance to the next use of a value that is not live.
pub const NEVER: u32 = u32::MAX;

/// The distances from the borders of blocks to the next uses of the values that are live there.
pub struct NextUses<'a> {
    liveness: &'a Liveness,
    /// For each block, in the order of [`Liveness::live_in`].
    entry: Vec<u32>,
    /// For each block, in the order of [`Liveness::live_out`].
    exit: Vec<u32>,
    /// For the definition of each φ of a block: the distance to its first use within the block.
    phis: Lists<Block, u32>,
}

/// The first use of each value within the block that was entered last.
pub struct FirstUses {
    /// For each value, the first instruction that uses it in the latest block entered that uses it at all.
    at: SecondaryMap<Value, u32>,
    insts: Range<u32>,
}

impl FirstUses {
    pub fn new(function: &Function) -> Self {
        FirstUses { at: each(function.values.len(), NEVER), insts: 0..0 }
    }

    /// Makes this the current block.
    pub fn enter(&mut self, function: &Function, block: Block) {
        self.insts = function.blocks[block].insts.clone();
        for inst in function.block_insts(block).rev() {
            for operand in function.operands(inst).iter().filter(|operand| !operand.is_def()) {
                self.at[operand.value] = inst.as_u32();
            }
        }
    }

    /// The number of instructions of the block before the first that uses the value; `None` if none does.
    pub fn of(&self, value: Value) -> Option<u32> {
        let at = self.at[value];
        self.insts.contains(&at).then(|| at - self.insts.start)
    }
}

impl<'a> NextUses<'a> {
    /// If `loops` are given, edges that leave them are longer.
    pub fn new(function: &Function, order: &Order, liveness: &'a Liveness, loops: Option<&Loops>) -> Self {
        let [entry, exit] = [liveness.all_live_in(), liveness.all_live_out()].map(Vec::with_capacity);
        let mut uses = NextUses { liveness, entry, exit, phis: Lists::new(function.blocks.len()) };
        let mut first_uses = FirstUses::new(function);
        // The rows of both lists are in the order of the blocks' numbers.
        for (block, data) in &function.blocks {
            first_uses.enter(function, block);
            let first_use = |value: Value| first_uses.of(value).unwrap_or(NEVER);
            uses.entry.extend(liveness.live_in(block).iter().map(|&value| first_use(value)));
            uses.phis.add(block, data.phis.iter().map(|phi| first_use(phi.def)));
            on_edges(function, liveness, block, &mut uses.exit);
        }
        let mut stale = EntitySet::with_capacity(function.blocks.len());
        stale.extend(function.blocks.keys());
        while !stale.is_empty() {
            for &block in order.blocks().iter().rev() {
                if stale.remove(block) && uses.update(function, loops, block) {
                    stale.extend(function.blocks[block].preds.iter().copied());
                }
            }
        }
        uses
    }

    /// The distances from the head of a block, after its φs, for the values of [`Liveness::live_in`] in their order.
    pub fn at_entry(&self, block: Block) -> &[u32] {
        &self.entry[self.liveness.live_in_row(block)]
    }

    /// The distance from the head of a block, after its φs, for a value that is live into it; [`NEVER`] for other values.
    pub fn from_entry(&self, block: Block, value: Value) -> u32 {
        self.liveness
            .live_in(block)
            .binary_search(&value)
            .map_or(NEVER, |index| self.entry[self.liveness.live_in_row(block)][index])
    }

    /// The distance from the head of a block to the next use of the definition of its φ number `row`.
    pub fn from_phi(&self, function: &Function, block: Block, row: usize) -> u32 {
        let BlockData { phis, insts, .. } = &function.blocks[block];
        let length = insts.len() as u32;
        self.phis.get(block)[row].min(self.from_exit(block, phis[row].def).saturating_add(length))
    }

    /// The distance from the end of a block; [`NEVER`] for values that are not live there.
    pub fn from_exit(&self, block: Block, value: Value) -> u32 {
        self.liveness
            .live_out(block)
            .binary_search(&value)
            .map_or(NEVER, |index| self.exit[self.liveness.live_out_row(block)][index])
    }

    /// Shortens a block's distances using those of its successors. Returns whether any at its head changed.
    fn update(&mut self, function: &Function, loops: Option<&Loops>, block: Block) -> bool {
        let exit = &mut self.exit[self.liveness.live_out_row(block)];
        let live_out = self.liveness.live_out(block);
        for &succ in &function.blocks[block].succs {
            let leaving = loops.map_or(0, |loops| loops.depth(block).saturating_sub(loops.depth(succ)) * LEAVING);
            let ahead = &self.entry[self.liveness.live_in_row(succ)];
            for (index, &distance) in places(live_out, self.liveness.live_in(succ)).zip(ahead) {
                let index = index.expect("what is live into a successor is live out of the block");
                exit[index] = exit[index].min(distance.saturating_add(leaving));
            }
        }
        let length = function.blocks[block].insts.len() as u32;
        let entry = &mut self.entry[self.liveness.live_in_row(block)];
        let mut changed = false;
        for (distance, index) in entry.iter_mut().zip(places(live_out, self.liveness.live_in(block))) {
            // A use within the block is nearer than any beyond its end.
            if *distance >= length {
                let through = index.map_or(NEVER, |index| exit[index]).saturating_add(length);
                changed |= std::mem::replace(distance, through) != through;
            }
        }
        changed
    }
}

/// The positions of some values in a list; both ascend.
fn places<'l>(list: &'l [Value], values: &'l [Value]) -> impl Iterator<Item = Option<usize>> + 'l {
    let mut next = 0;
    values.iter().map(move |value| {
        while list.get(next).is_some_and(|other| other < value) {
            next += 1;
        }
        (list.get(next) == Some(value)).then_some(next)
    })
}

/// Appends the distances from a block's end, as far as φs use values on its edges.
fn on_edges(function: &Function, liveness: &Liveness, block: Block, exit: &mut Vec<u32>) {
    let live = liveness.live_out(block);
    let first = exit.len();
    exit.resize(first + live.len(), NEVER);
    for &succ in function.blocks[block].succs.iter().filter(|&&succ| !function.blocks[succ].phis.is_empty()) {
        let column = function.column(block, succ);
        for arg in function.blocks[succ].phis.iter().filter_map(|phi| phi.args[column].expand()) {
            exit[first + live.binary_search(&arg).expect("what a φ takes is live")] = 0;
        }
    }
}

/// For each operand, the next instruction of its block that uses the value, or [`NEVER`] if there is none.
pub fn next_uses_in_blocks(function: &Function) -> Vec<u32> {
    let mut next_use = vec![NEVER; function.operands.len()];
    // The nearest use after the current instruction, if it is in the block that is being scanned.
    let mut nearest: SecondaryMap<Value, u32> = each(function.values.len(), NEVER);
    for (block, data) in &function.blocks {
        for inst in function.block_insts(block).rev() {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            for (k, operand) in operands.iter().enumerate() {
                let next = nearest[operand.value];
                next_use[first + k] = if data.insts.contains(&next) { next } else { NEVER };
            }
            for operand in operands.iter().filter(|o| !o.is_def()) {
                nearest[operand.value] = inst.as_u32();
            }
        }
    }
    next_use
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Dominators;
    use crate::analysis::testing::{append, block, def, graph, phi, usage, value, values};

    /// `v0` and `v1` are defined in block 0. Block 1 is a loop of three instructions, the last of which uses `v0`. Block 2,
    /// after the loop, uses `v1`.
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

    /// The next uses, by distances in which loops count or do not.
    fn with<T>(function: &Function, loops_count: bool, look: impl FnOnce(&NextUses) -> T) -> T {
        let order = Order::new(function);
        let loops = loops_count.then(|| Loops::new(function, &order, &Dominators::new(function, &order)));
        let liveness = Liveness::new(function);
        look(&NextUses::new(function, &order, &liveness, loops.as_ref()))
    }

    #[test]
    fn a_use_after_a_loop_is_farther_away_than_any_in_it_if_loops_count() {
        for (loops_count, leaving) in [(true, LEAVING), (false, 0)] {
            with(&around_a_loop(), loops_count, |uses| {
                assert_eq!(uses.from_exit(block(0), value(0)), 2);
                assert_eq!(uses.from_entry(block(1), value(1)), 3 + leaving);
                assert_eq!(uses.from_exit(block(0), value(1)), 3 + leaving);
                // Around the loop.
                assert_eq!(uses.from_exit(block(1), value(0)), 2);
                assert_eq!(uses.from_exit(block(1), value(1)), leaving);
                assert_eq!(uses.from_entry(block(2), value(0)), NEVER);
            });
        }
    }

    #[test]
    fn a_phi_uses_its_argument_on_the_edge() {
        let mut f = graph(&[&[1, 2], &[2], &[]]);
        values(&mut f, 3);
        append(&mut f, 0, &[def(0)]);
        append(&mut f, 1, &[]);
        append(&mut f, 1, &[]);
        append(&mut f, 2, &[usage(2)]);
        phi(&mut f, 2, 2, &[None, Some(0)]);
        with(&f, false, |uses| {
            assert_eq!(uses.from_exit(block(1), value(0)), 0);
            assert_eq!(uses.from_entry(block(1), value(0)), 2);
            assert_eq!(uses.from_exit(block(0), value(0)), 2);
            assert_eq!(uses.from_exit(block(1), value(2)), NEVER);
        });
    }
}
