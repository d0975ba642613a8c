//! Liveness of SSA values.
//!
//! Requires: strict SSA (a definition dominates its uses).
//! Ensures: a value is live from its definition to its uses in registers. A φ takes its arguments at the end of the
//! predecessors and defines its value at the head of its block. Debug uses count for
//! nothing. Values live into a landing pad count as live to the end of its predecessors, although
//! control leaves these earlier.
//! Relies on: Boissinot, Brandner, Darte, Dupont de Dinechin, Rastello, "Computing Liveness Sets for SSA-Form Programs"
//! (2011), section 5.2: from each use, walk the predecessors up to the definition. Values are taken one after the other,
//! so that "is it in this block's set already" is a look at the last one added. Time is linear in the sets' edges.

use super::grouped::Grouped;
use crate::machine::{Block, DebugUse, Function, Inst, Operand, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::ops::Range;

/// What is live at the blocks' borders, and where values die.
pub struct Liveness {
    live_in: Grouped<Block, Value>,
    live_out: Grouped<Block, Value>,
    /// Indexed by value: no use at all.
    unused: Vec<bool>,
    /// Indexed like [`Function::operands`].
    kills: Vec<bool>,
}

impl Liveness {
    pub fn new(function: &Function) -> Self {
        let Places { def_block, uses, unused } = Places::new(function);
        let mut walk = Walk::default();
        for value in function.values.keys() {
            for &site in uses.get(value) {
                walk.up_from(function, value, site, def_block[value]);
            }
            walk.live_in.end();
            walk.live_out.end();
        }
        let Walk { live_in, live_out, .. } = walk;
        let (live_out, live_in) = (live_out.by_block(function.blocks.len()), live_in.by_block(function.blocks.len()));
        let kills = kills(function, &live_out, &unused);
        Liveness { live_in, live_out, unused, kills }
    }

    /// The values live before the block's φs, ascending: these and the φs' definitions are live before its first
    /// instruction.
    pub fn live_in(&self, block: Block) -> &[Value] {
        self.live_in.get(block)
    }

    /// The values live at the block's end, ascending, with those that successors' φs take from it.
    pub fn live_out(&self, block: Block) -> &[Value] {
        self.live_out.get(block)
    }

    /// Where a block's [`Self::live_in`] is in a list of all blocks' values, in the order of the blocks' numbers.
    pub fn live_in_row(&self, block: Block) -> Range<usize> {
        self.live_in.range(block)
    }

    /// Likewise, of [`Self::live_out`].
    pub fn live_out_row(&self, block: Block) -> Range<usize> {
        self.live_out.range(block)
    }

    /// How many values all blocks' [`Self::live_in`] have together.
    pub fn all_live_in(&self) -> usize {
        self.live_in.len()
    }

    /// Likewise, of [`Self::live_out`].
    pub fn all_live_out(&self) -> usize {
        self.live_out.len()
    }

    /// Of a use, whether the value is not live after the instruction (every operand naming it says so); of a definition,
    /// whether it is dead.
    pub fn kills(&self, operand_index: usize) -> bool {
        self.kills[operand_index]
    }

    /// One a debug use of the function: whether its value is live there.
    pub fn at_debug_uses(&self, function: &Function) -> Vec<bool> {
        let mut live = vec![false; function.debug_uses.len()];
        // The block that is being scanned if the value is live at the current place in it.
        let mut seen: SecondaryMap<Value, PackedOption<Block>> = SecondaryMap::new();
        for range in chunks(&function.debug_uses) {
            let block = function.debug_uses[range.start].at.block;
            for &value in self.live_out(block) {
                seen[value] = block.into();
            }
            let mut index = function.blocks[block].insts.len() as u32;
            for number in range.rev() {
                let debug = function.debug_uses[number];
                while index > debug.at.index {
                    index -= 1;
                    let inst = Inst::from_u32(function.blocks[block].insts.start + index);
                    for operand in function.operands(inst).iter() {
                        seen[operand.value] = if operand.is_def() { None.into() } else { block.into() };
                    }
                }
                live[number] = seen[debug.value] == block.into();
            }
        }
        live
    }

    /// Whether the value is never used: a dead definition, by an instruction or a φ.
    pub fn is_dead(&self, value: Value) -> bool {
        self.unused[value.index()]
    }
}

/// The debug uses of each block, as ranges.
fn chunks(debug_uses: &[DebugUse]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut start = 0;
    debug_uses.chunk_by(|a, b| a.at.block == b.at.block).map(move |chunk| {
        let range = start..start + chunk.len();
        start = range.end;
        range
    })
}

/// Where a value is used.
#[derive(Clone, Copy)]
enum Site {
    /// By an instruction of this block.
    In(Block),
    /// By a φ of a successor, at the end of this block.
    EndOf(Block),
}

/// Where values are defined and used.
struct Places {
    def_block: SecondaryMap<Value, PackedOption<Block>>,
    /// But for uses by instructions behind the definition in its block, which keep nothing alive elsewhere.
    uses: Grouped<Value, Site>,
    /// Indexed by value: no use at all.
    unused: Vec<bool>,
}

impl Places {
    fn new(function: &Function) -> Self {
        let count = function.values.len();
        let mut def_block: SecondaryMap<Value, PackedOption<Block>> = SecondaryMap::with_capacity(count);
        def_block.resize(count);
        let mut unused = vec![true; count];
        let mut uses = Vec::new();
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                def_block[phi.def] = block.into();
                for (value, &pred) in phi.args.iter().zip(&data.preds).filter_map(|(arg, pred)| Some((arg.expand()?, pred))) {
                    unused[value.index()] = false;
                    uses.push((value, Site::EndOf(pred)));
                }
            }
            for operand in function.block_insts(block).flat_map(|inst| function.operands(inst)) {
                if operand.is_def() {
                    def_block[operand.value] = block.into();
                } else {
                    unused[operand.value.index()] = false;
                }
            }
            // Definitions of the block are known: they come before its uses of them.
            let operands = function.block_insts(block).flat_map(|inst| function.operands(inst));
            let from_before = operands.filter(|operand| !operand.is_def() && def_block[operand.value] != block.into());
            uses.extend(from_before.map(|operand| (operand.value, Site::In(block))));
        }
        Places { def_block, uses: Grouped::new(count, &uses), unused }
    }
}

/// The blocks of each value, one after the other: half of what pairs take, and where many values live long, nothing takes
/// more.
#[derive(Default)]
struct Blocks {
    blocks: Vec<Block>,
    /// Of each value that has been walked, where its blocks end.
    ends: Vec<u32>,
}

impl Blocks {
    /// The next value begins.
    fn end(&mut self) {
        self.ends.push(self.blocks.len() as u32);
    }

    /// The values of each block, ascending.
    fn by_block(self, blocks: usize) -> Grouped<Block, Value> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let values = starts.zip(&self.ends).enumerate();
        let of_value = |(value, (start, &end)): (usize, (u32, &u32))| {
            let blocks = &self.blocks[start as usize..end as usize];
            blocks.iter().map(move |&block| (block, Value::new(value)))
        };
        Grouped::from_pairs(blocks, values.flat_map(of_value))
    }
}

/// The sets under construction.
#[derive(Default)]
struct Walk {
    live_in: Blocks,
    live_out: Blocks,
    last_in: SecondaryMap<Block, PackedOption<Value>>,
    last_out: SecondaryMap<Block, PackedOption<Value>>,
    stack: Vec<Block>,
}

impl Walk {
    /// Makes the value live on all paths from its definition to this use.
    fn up_from(&mut self, function: &Function, value: Value, site: Site, def_block: PackedOption<Block>) {
        match site {
            Site::In(block) => self.enter(block, value, def_block),
            Site::EndOf(block) => self.leave(block, value, def_block),
        }
        while let Some(block) = self.stack.pop() {
            for &pred in &function.blocks[block].preds {
                self.leave(pred, value, def_block);
            }
        }
    }

    /// The value is live at the block's end.
    fn leave(&mut self, block: Block, value: Value, def_block: PackedOption<Block>) {
        if self.last_out[block] != value.into() {
            self.last_out[block] = value.into();
            self.live_out.blocks.push(block);
            self.enter(block, value, def_block);
        }
    }

    /// The value is live within the block, and so at its head unless it is defined there.
    fn enter(&mut self, block: Block, value: Value, def_block: PackedOption<Block>) {
        if def_block != block.into() && self.last_in[block] != value.into() {
            self.last_in[block] = value.into();
            self.live_in.blocks.push(block);
            self.stack.push(block);
        }
    }
}

/// Scans each block backwards, remembering which values were seen live.
fn kills(function: &Function, live_out: &Grouped<Block, Value>, unused: &[bool]) -> Vec<bool> {
    let mut kills = vec![false; function.operands.len()];
    // The block that is being scanned if the value is live at the current place in it.
    let mut live_in_scan: SecondaryMap<Value, PackedOption<Block>> = SecondaryMap::with_capacity(function.values.len());
    live_in_scan.resize(function.values.len());
    for block in function.blocks.keys() {
        for &value in live_out.get(block) {
            live_in_scan[value] = block.into();
        }
        for inst in function.block_insts(block).rev() {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            let killed = |o: &Operand| match o.is_def() {
                true => unused[o.value.index()],
                false => live_in_scan[o.value] != block.into(),
            };
            for (i, operand) in operands.iter().enumerate() {
                kills[first + i] = killed(operand);
            }
            for operand in operands.iter().filter(|o| !o.is_def()) {
                live_in_scan[operand.value] = block.into();
            }
        }
    }
    kills
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{append, block, def, graph, phi, usage, value, values};
    use crate::machine::{DebugUse, Point};

    fn numbers(values: &[Value]) -> Vec<u32> {
        values.iter().map(|v| v.as_u32()).collect()
    }

    fn live_in(liveness: &Liveness, b: usize) -> Vec<u32> {
        numbers(liveness.live_in(block(b)))
    }

    fn live_out(liveness: &Liveness, b: usize) -> Vec<u32> {
        numbers(liveness.live_out(block(b)))
    }

    fn kills(liveness: &Liveness, operands: std::ops::Range<usize>) -> Vec<bool> {
        operands.map(|i| liveness.kills(i)).collect()
    }

    #[test]
    fn a_value_lives_through_a_loop_that_does_not_use_it_last() {
        let mut f = graph(&[&[1], &[1, 2], &[]]);
        values(&mut f, 2);
        append(&mut f, 0, &[def(0), def(1)]);
        append(&mut f, 1, &[usage(0)]);
        append(&mut f, 2, &[usage(1)]);
        let l = Liveness::new(&f);
        assert_eq!((live_in(&l, 0), live_out(&l, 0)), (vec![], vec![0, 1]));
        assert_eq!((live_in(&l, 1), live_out(&l, 1)), (vec![0, 1], vec![0, 1]));
        assert_eq!((live_in(&l, 2), live_out(&l, 2)), (vec![1], vec![]));
        assert_eq!(kills(&l, 0..4), [false, false, false, true]);
    }

    #[test]
    fn phi_arguments_live_out_and_phi_definitions_not_in() {
        // 1: v1 = φ(v0, v2); v2 = op v1, in a loop.
        let mut f = graph(&[&[1], &[1, 2], &[]]);
        values(&mut f, 3);
        append(&mut f, 0, &[def(0)]);
        phi(&mut f, 1, 1, &[Some(0), Some(2)]);
        append(&mut f, 1, &[usage(1), def(2)]);
        let l = Liveness::new(&f);
        assert_eq!(live_out(&l, 0), [0]);
        assert_eq!((live_in(&l, 1), live_out(&l, 1)), (vec![], vec![2]));
        assert!(!l.is_dead(value(1)) && kills(&l, 1..3) == [true, false]);
    }

    #[test]
    fn a_phi_may_take_itself_around_its_loop() {
        let mut f = graph(&[&[1], &[2, 3], &[1], &[]]);
        values(&mut f, 2);
        append(&mut f, 0, &[def(0)]);
        phi(&mut f, 1, 1, &[Some(0), Some(1)]);
        let l = Liveness::new(&f);
        assert_eq!((live_in(&l, 1), live_out(&l, 1)), (vec![], vec![1]));
        assert_eq!((live_in(&l, 2), live_out(&l, 2)), (vec![1], vec![1]));
        assert_eq!(live_in(&l, 3), [0; 0]);
    }

    #[test]
    fn nested_loops_carry_what_the_inner_one_uses() {
        let mut f = graph(&[&[1], &[2, 5], &[3], &[2, 4], &[1], &[]]);
        values(&mut f, 1);
        append(&mut f, 0, &[def(0)]);
        append(&mut f, 3, &[usage(0)]);
        let l = Liveness::new(&f);
        for b in 1..5 {
            assert_eq!((live_in(&l, b), live_out(&l, b)), (vec![0], vec![0]), "block {b}");
        }
        assert_eq!(live_in(&l, 5), [0; 0]);
        assert!(!l.kills(1));
    }

    #[test]
    fn several_operands_may_kill_one_value() {
        let mut f = graph(&[&[]]);
        values(&mut f, 2);
        append(&mut f, 0, &[def(0), def(1)]);
        append(&mut f, 0, &[usage(0), usage(0)]);
        append(&mut f, 0, &[usage(0), usage(0)]);
        let l = Liveness::new(&f);
        assert_eq!(kills(&l, 0..6), [false, true, false, false, true, true]);
        assert!(l.is_dead(value(1)) && !l.is_dead(value(0)));
    }

    #[test]
    fn dead_and_undefined_phis() {
        let mut f = graph(&[&[1, 2], &[2], &[]]);
        values(&mut f, 2);
        append(&mut f, 0, &[def(0)]);
        phi(&mut f, 2, 1, &[Some(0), None]);
        let l = Liveness::new(&f);
        assert!(l.is_dead(value(1)) && !l.is_dead(value(0)));
        assert_eq!((live_out(&l, 0), live_out(&l, 1)), (vec![0], vec![]));
    }

    #[test]
    fn the_debugger_keeps_nothing_alive() {
        let mut f = graph(&[&[1], &[]]);
        values(&mut f, 1);
        append(&mut f, 0, &[def(0)]);
        f.debug_uses.push(DebugUse { value: value(0), at: Point { block: block(1), index: 0 } });
        let l = Liveness::new(&f);
        assert_eq!((live_out(&l, 0), live_in(&l, 1)), (vec![], vec![]));
        assert_eq!(kills(&l, 0..1), [true]);
    }
}
