//! How far away the next use of each value is, over all ways that control can take.
//!
//! Requires: every block is reachable from the entry.
//! Ensures: of each value that is live at a border of a block, the number of instructions to its nearest next use. What a φ
//! takes is used on the edge. Each loop that a way leaves is [`LEAVING`] instructions long: what is used behind a loop is
//! farther away than anything in it.
//! Relies on: `nextuse` of `ssa-allocation-lecture.txt`, "Spilling with Belady's Algorithm", as a least fixed point; Braun and
//! Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs" (CC 2009), section 4.1, for the lengths of edges.

use super::grouped::{Lists, each};
use super::{Liveness, Loops, Order};
use crate::machine::{Block, BlockData, Function, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::ops::Range;

/// What leaving a loop adds to a distance: more instructions than any way through a loop has.
pub const LEAVING: u32 = 100_000;

/// A distance to a value that is not live.
pub const NEVER: u32 = u32::MAX;

/// The distances to the next uses of what is live at the borders of blocks.
pub struct NextUses<'a> {
    liveness: &'a Liveness,
    /// Of each block, in the order of [`Liveness::live_in`].
    entry: Vec<u32>,
    /// Of each block, in the order of [`Liveness::live_out`].
    exit: Vec<u32>,
    /// Of each block's φs, to the first use in the block.
    phis: Lists<Block, u32>,
}

/// The first uses of values in the block that is being looked at.
pub struct FirstUses {
    /// Of each value, the first instruction to use it in the latest block that uses it.
    at: SecondaryMap<Value, u32>,
    insts: Range<u32>,
}

impl FirstUses {
    pub fn new(function: &Function) -> Self {
        FirstUses { at: each(function.values.len(), NEVER), insts: 0..0 }
    }

    /// Looks at the next block.
    pub fn enter(&mut self, function: &Function, block: Block) {
        self.insts = function.blocks[block].insts.clone();
        for inst in function.block_insts(block).rev() {
            for operand in function.operands(inst).iter().filter(|operand| !operand.is_def()) {
                self.at[operand.value] = inst.as_u32();
            }
        }
    }

    /// How many instructions of the block come before the first that uses a value, if any does.
    pub fn of(&self, value: Value) -> Option<u32> {
        let at = self.at[value];
        self.insts.contains(&at).then(|| at - self.insts.start)
    }
}

impl<'a> NextUses<'a> {
    pub fn new(function: &Function, order: &Order, liveness: &'a Liveness, loops: &Loops) -> Self {
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

    /// From the head of a block, behind its φs, to the next uses of the values that are live into it, in the order of
    /// [`Liveness::live_in`].
    pub fn at_entry(&self, block: Block) -> &[u32] {
        &self.entry[self.liveness.live_in_row(block)]
    }

    /// From the head of a block, behind its φs, to the next use of a value that is live into it; [`NEVER`] for others.
    pub fn from_entry(&self, block: Block, value: Value) -> u32 {
        self.liveness
            .live_in(block)
            .binary_search(&value)
            .map_or(NEVER, |index| self.entry[self.liveness.live_in_row(block)][index])
    }

    /// From the head of a block to the next use of what a φ there defines.
    pub fn from_phi(&self, function: &Function, block: Block, row: usize) -> u32 {
        let BlockData { phis, insts, .. } = &function.blocks[block];
        let length = insts.len() as u32;
        self.phis.get(block)[row].min(self.from_exit(block, phis[row].def).saturating_add(length))
    }

    /// From the end of a block.
    pub fn from_exit(&self, block: Block, value: Value) -> u32 {
        self.liveness
            .live_out(block)
            .binary_search(&value)
            .map_or(NEVER, |index| self.exit[self.liveness.live_out_row(block)][index])
    }

    /// Shortens a block's distances by those of its successors; whether any at its head became shorter.
    fn update(&mut self, function: &Function, loops: &Loops, block: Block) -> bool {
        let exit = &mut self.exit[self.liveness.live_out_row(block)];
        let live_out = self.liveness.live_out(block);
        for &succ in &function.blocks[block].succs {
            let leaving = loops.depth(block).saturating_sub(loops.depth(succ)) * LEAVING;
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
            // What is used in the block is nearer than anything behind it.
            if *distance >= length {
                let through = index.map_or(NEVER, |index| exit[index]).saturating_add(length);
                changed |= std::mem::replace(distance, through) != through;
            }
        }
        changed
    }
}

/// Where some values, which ascend, stand in a list that ascends too.
fn places<'l>(list: &'l [Value], values: &'l [Value]) -> impl Iterator<Item = Option<usize>> + 'l {
    let mut next = 0;
    values.iter().map(move |value| {
        while list.get(next).is_some_and(|other| other < value) {
            next += 1;
        }
        (list.get(next) == Some(value)).then_some(next)
    })
}

/// Appends the distances from a block's end to uses on its edges, of what is live out of it.
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
