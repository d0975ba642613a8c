//! Liveness of SSA values.
//!
//! Requires: strict SSA form (each definition dominates its uses).
//! Ensures: a value is live from its definition to its uses by operands and φs. A φ uses its arguments at the end of the
//! predecessors, and defines its value at the head of its block. Debug uses keep nothing alive. Values that are live into a
//! landing pad count as live to the end of its predecessors, although control leaves these earlier.
//! Relies on: [Boi11, §5.2]: from each use, walk the predecessors up to the definition. Values are taken in groups of 64,
//! with one bit each ([`super::live_sets`]), so that values that live in the same blocks are walked together, and the state
//! of a block is one word. The time is at most linear in the number of edges that the live ranges cover, summed over all
//! values.

use super::grouped::{Grouped, of_each};
use super::live_sets::{Bits, GROUP, LiveLists, Sets, bit};
use crate::machine::{Block, DebugUse, Function, Inst, Operand, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::ops::Range;

/// Which values are live at the borders of blocks, and which operands are last uses.
#[derive(PartialEq, Debug)]
pub struct Liveness {
    live_in: LiveLists,
    live_out: LiveLists,
    /// By value: whether it has no use at all.
    unused: Vec<bool>,
    /// Indexed like [`Function::operands`]: see [`Liveness::kills`].
    kills: Vec<bool>,
}

impl Liveness {
    pub fn new(function: &Function) -> Self {
        let Places { def_block, uses, unused } = Places::new(function);
        let mut walk = LiveSetBuilder::new(function);
        let values: Vec<Value> = function.values.keys().collect();
        for group in values.chunks(GROUP) {
            walk.define(group, &def_block);
            for &value in group {
                uses.get(value).iter().for_each(|&site| walk.up_from(value, site));
            }
            walk.end(group, &def_block);
        }
        let LiveSetBuilder { live_in, live_out, .. } = walk;
        let (live_out, live_in) = (live_out.by_block(function.blocks.len()), live_in.by_block(function.blocks.len()));
        let kills = kills(function, &live_out, &unused, |_| None);
        Liveness { live_in, live_out, unused, kills }
    }

    /// The liveness of a program that differs from this one only in the order of instructions within their blocks.
    pub fn reordered(self, function: &Function) -> Self {
        self.at_borders(function, |_| None)
    }

    /// The liveness of `function`: this program, `before`, after φs have been isolated.
    ///
    /// Isolation adds copies of the φs' arguments at the ends of predecessors, and of the φs' definitions in their own
    /// blocks. So the values live at the borders of blocks differ only at the ends of these predecessors.
    pub fn isolated(mut self, before: &Function, function: &Function) -> Self {
        self.unused.resize(function.values.len(), true);
        for phi in function.blocks.values().flat_map(|data| &data.phis) {
            // A new name is either an argument of a φ, or defined by a φ and read by a copy.
            let defines = Some(phi.def).filter(|def| def.index() >= before.values.len());
            let named = phi.args.iter().filter_map(|arg| arg.expand()).chain(defines);
            named.for_each(|value| self.unused[value.index()] = false);
        }
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let mut own: Vec<Value> = Vec::new();
        for block in ends_that_differ(before, function) {
            own.clear();
            own.extend(self.leaving(function, block));
            own.sort_unstable();
            own.dedup();
            values.extend_from_slice(&own);
            ends.push((block, values.len()));
        }
        self.live_out.replace(&values, &ends);
        let is_end = |block: Block| ends.binary_search_by_key(&block, |&(end, _)| end).is_ok();
        let same = |block: Block| {
            let operands = before.block_operand_range(block);
            Some(operands).filter(|it| it.len() == function.block_operands(block).len() && !is_end(block))
        };
        self.at_borders(function, same)
    }

    /// The values that are live into a block's successors or taken by their φs.
    fn leaving(&self, function: &Function, block: Block) -> impl Iterator<Item = Value> {
        function.blocks[block].succs.iter().flat_map(move |&next| {
            let column = function.column(block, next);
            let taken = function.blocks[next].phis.iter().filter_map(move |phi| phi.args[column].expand());
            self.live_in(next).iter().copied().chain(taken)
        })
    }

    /// Recomputes where values die, for a function that has the same values live at the borders of blocks.
    ///
    /// `same` gives the old range of operands of a block in which nothing has changed.
    fn at_borders(mut self, function: &Function, same: impl Fn(Block) -> Option<Range<usize>>) -> Self {
        self.kills = kills(function, &self.live_out, &self.unused, |block| Some(&self.kills[same(block)?]));
        debug_assert!(self == Liveness::new(function));
        self
    }

    /// The values live before the block's φs, ascending. These and the φs' definitions are live before its first
    /// instruction.
    pub fn live_in(&self, block: Block) -> &[Value] {
        self.live_in.get(block)
    }

    /// The values live at the block's end, ascending. They include those that φs of successors take from it.
    pub fn live_out(&self, block: Block) -> &[Value] {
        self.live_out.get(block)
    }

    /// Where the block's [`Self::live_in`] would be in one list for all blocks, in the order of their numbers.
    pub fn live_in_row(&self, block: Block) -> Range<usize> {
        self.live_in.range(block)
    }

    /// Where the block's [`Self::live_out`] would be in one list for all blocks, in the order of their numbers.
    pub fn live_out_row(&self, block: Block) -> Range<usize> {
        self.live_out.range(block)
    }

    /// The number of values in all blocks' [`Self::live_in`] together.
    pub fn all_live_in(&self) -> usize {
        self.live_in.len()
    }

    /// The number of values in all blocks' [`Self::live_out`] together.
    pub fn all_live_out(&self) -> usize {
        self.live_out.len()
    }

    /// For a use: whether the value is dead after the instruction (if so, for every operand that reads it). For a
    /// definition: whether it is never used.
    pub fn kills(&self, operand_index: usize) -> bool {
        self.kills[operand_index]
    }

    /// For each debug use of the function, whether its value is live there.
    pub fn at_debug_uses(&self, function: &Function) -> Vec<bool> {
        let mut live = vec![false; function.debug_uses.len()];
        // For each value, the block in whose scan it was last found live. It is live at the current place if that is this
        // block.
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

    /// Whether the value, defined by an instruction or a φ, is never used.
    pub fn is_dead(&self, value: Value) -> bool {
        self.unused[value.index()]
    }
}

/// The blocks from which φs take other values than before, ascending.
fn ends_that_differ(before: &Function, function: &Function) -> Vec<Block> {
    let mut ends = Vec::new();
    for (block, data) in &function.blocks {
        for (old, new) in before.blocks[block].phis.iter().zip(&data.phis) {
            let args = old.args.iter().zip(&new.args).zip(&data.preds);
            ends.extend(args.filter(|((old, new), _)| old != new).map(|(_, &pred)| pred));
        }
    }
    ends.sort_unstable();
    ends.dedup();
    ends
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

#[derive(Clone, Copy)]
enum UseSite {
    /// By an instruction of this block.
    In(Block),
    /// By a φ of a successor, at the end of this block.
    EndOf(Block),
}

struct Places {
    def_block: SecondaryMap<Value, PackedOption<Block>>,
    /// Without uses by instructions in the defining block, which make the value live in no other block.
    uses: Grouped<Value, UseSite>,
    /// By value: whether it has no use at all.
    unused: Vec<bool>,
}

impl Places {
    fn new(function: &Function) -> Self {
        let count = function.values.len();
        let mut def_block: SecondaryMap<Value, PackedOption<Block>> = of_each(count);
        let mut unused = vec![true; count];
        let mut uses = Vec::with_capacity(function.operands.len());
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                def_block[phi.def] = block.into();
                for (value, &pred) in phi.args.iter().zip(&data.preds).filter_map(|(arg, pred)| Some((arg.expand()?, pred))) {
                    unused[value.index()] = false;
                    uses.push((value, UseSite::EndOf(pred)));
                }
            }
            // In SSA form, a block's definitions come before its uses of them.
            for operand in function.block_operands(block) {
                if operand.is_def() {
                    def_block[operand.value] = block.into();
                    continue;
                }
                unused[operand.value.index()] = false;
                if def_block[operand.value] != block.into() {
                    uses.push((operand.value, UseSite::In(block)));
                }
            }
        }
        Places { def_block, uses: Grouped::new(count, &uses), unused }
    }
}

/// The sets under construction.
struct LiveSetBuilder<'a> {
    function: &'a Function,
    live_in: Sets,
    live_out: Sets,
    /// For each block, the values of the current group that it defines.
    defined: SecondaryMap<Block, Bits>,
    /// For each block on the stack, the values that are live into it and still have to be carried on to its predecessors.
    pending: SecondaryMap<Block, Bits>,
    stack: Vec<Block>,
}

impl<'a> LiveSetBuilder<'a> {
    fn new(function: &'a Function) -> Self {
        let blocks = function.blocks.len();
        let [live_in, live_out] = [(); 2].map(|()| Sets::new(blocks));
        let [defined, pending] = [(); 2].map(|()| of_each(blocks));
        LiveSetBuilder { function, live_in, live_out, defined, pending, stack: Vec::new() }
    }

    /// Begins the walk of a group.
    fn define(&mut self, group: &[Value], def_block: &SecondaryMap<Value, PackedOption<Block>>) {
        for &value in group {
            def_block[value].expand().into_iter().for_each(|block| self.defined[block] |= bit(value));
        }
    }

    /// Makes the value live at this use. [`Self::end`] carries it on to the definition.
    fn up_from(&mut self, value: Value, site: UseSite) {
        match site {
            UseSite::In(block) => self.enter(block, bit(value)),
            UseSite::EndOf(block) => self.leave(block, bit(value)),
        }
    }

    /// Ends the walk of a group: carries all its uses up to the definitions.
    fn end(&mut self, group: &[Value], def_block: &SecondaryMap<Value, PackedOption<Block>>) {
        while let Some(block) = self.stack.pop() {
            let bits = std::mem::take(&mut self.pending[block]);
            for &pred in &self.function.blocks[block].preds {
                self.leave(pred, bits);
            }
        }
        for &value in group {
            def_block[value].expand().into_iter().for_each(|block| self.defined[block] = 0);
        }
        self.live_in.end();
        self.live_out.end();
    }

    /// The values are live at the block's end.
    fn leave(&mut self, block: Block, bits: Bits) {
        let new = self.live_out.add(block, bits);
        if new != 0 {
            self.enter(block, new);
        }
    }

    /// The values are live within the block, and so at its head unless they are defined there.
    fn enter(&mut self, block: Block, bits: Bits) {
        let new = self.live_in.add(block, bits & !self.defined[block]);
        let pending = &mut self.pending[block];
        if *pending == 0 && new != 0 {
            self.stack.push(block);
        }
        *pending |= new;
    }
}

/// Finds the operands that kill: scans each block backwards, remembering which values were seen live. `known` gives the
/// answer for blocks where it is known already.
fn kills<'k>(
    function: &Function,
    live_out: &LiveLists,
    unused: &[bool],
    known: impl Fn(Block) -> Option<&'k [bool]>,
) -> Vec<bool> {
    let mut kills = vec![false; function.operands.len()];
    // For each value, the block in whose scan it was last found live. It is live at the current place if that is this block.
    let mut live_in_scan: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
    for block in function.blocks.keys() {
        let operands = function.block_operand_range(block);
        if operands.is_empty() {
            continue;
        }
        if let Some(known) = known(block) {
            kills[operands].copy_from_slice(known);
            continue;
        }
        let live_out = live_out.get(block);
        if is_long(function, block, live_out) {
            let values = function.block_operands(block).iter().map(|operand| operand.value);
            let live = values.filter(|value| live_out.binary_search(value).is_ok());
            live.for_each(|value| live_in_scan[value] = block.into());
        } else {
            live_out.iter().for_each(|&value| live_in_scan[value] = block.into());
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

/// Whether the list of values live at a block's end is so long that looking up the block's operands in it is quicker than
/// walking it.
fn is_long(function: &Function, block: Block, live_out: &[Value]) -> bool {
    // A search counts as 16 steps.
    live_out.len() > GROUP && live_out.len() / 16 > function.block_operands(block).len()
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
        // b1, a loop: v1 = φ(v0, v2); v2 = op v1.
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

    /// Both φs' arguments are copied at the end of a block, and one of them lives on.
    #[test]
    fn isolated_phis_change_what_lives_at_ends_only() {
        let build = |is_isolated: bool| {
            let mut f = graph(&[&[1, 2], &[3], &[3], &[]]);
            values(&mut f, if is_isolated { 7 } else { 4 });
            append(&mut f, 0, &[def(0), def(1)]);
            if is_isolated {
                append(&mut f, 1, &[def(4), usage(0)]);
                append(&mut f, 1, &[def(5), usage(1)]);
                append(&mut f, 3, &[def(2), usage(6)]);
            }
            append(&mut f, 3, &[usage(0), usage(2)]);
            let [first, second, defined] = if is_isolated { [4, 5, 6] } else { [0, 1, 2] };
            phi(&mut f, 3, defined, &[Some(first), Some(1)]);
            phi(&mut f, 3, 3, &[Some(second), None]);
            f
        };
        let [before, after] = [false, true].map(build);
        let l = Liveness::new(&before).isolated(&before, &after);
        assert_eq!((live_out(&l, 1), live_out(&l, 2)), (vec![0, 4, 5], vec![0, 1]));
        assert_eq!(l, Liveness::new(&after));
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
