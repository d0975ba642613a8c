//! Which values live through which loops without being accessed in them, and how scarce registers are there. What crosses an edge
//! that can take no code within the loop is in a register there, or in memory, whatever it was before; so it counts as accessed.
//!
//! Ensures: what passes a loop passes the loops in it, too.
//! Relies on: what is live into a loop, and accessed in one within it, is live into that one, since headers dominate their loops.
//! So time is linear in what is live into headers, and at the ends of edges without code, apart from searches in it.

use super::excess_pressure::Tight;
use crate::analysis::grouped::of_each;
use crate::analysis::{Liveness, Loops, Order};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// What is known of loops, by their headers.
pub(super) struct PassedLoops {
    /// Where what is live into a header begins in `accessed`.
    start: SecondaryMap<Block, Option<u32>>,
    /// Whether a value that is live into a header is accessed in its loop.
    accessed: Vec<bool>,
    /// How many values too many there are in a loop at most.
    scarcest: SecondaryMap<Block, i32>,
}

impl PassedLoops {
    /// Looks at the values of which it is to be decided where they are.
    pub(super) fn new(function: &Function, order: &Order, loops: &Loops, liveness: &Liveness, tight: &Tight) -> Self {
        let count = function.blocks.len();
        let mut passed = PassedLoops { start: of_each(count), accessed: Vec::new(), scarcest: of_each(count) };
        let mut rows = 0;
        for &header in order.blocks().iter().filter(|&&block| loops.innermost(block) == Some(block)) {
            passed.start[header] = Some(rows as u32);
            rows += liveness.live_in(header).len();
        }
        if rows == 0 {
            return passed;
        }
        passed.accessed.resize(rows, false);
        // The innermost loop in which each value has been found to be accessed last.
        let mut last: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        // Backwards, the blocks of a loop come before its header.
        for &block in order.blocks().iter().rev() {
            let Some(header) = loops.innermost(block) else { continue };
            let forced = forced(function, liveness, block).into_iter().flatten().copied();
            for value in accessed(function, block).chain(forced).filter(|&value| tight.values.contains(value)) {
                if std::mem::replace(&mut last[value], header.into()) != header.into() {
                    passed.access(loops, liveness, header, value);
                }
            }
            let insts = function.block_insts(block).filter(|_| tight.blocks.contains(block));
            let scarcity = insts.map(|inst| tight.insts[inst]).fold(tight.heads[block], i32::max);
            passed.scarcest[header] = passed.scarcest[header].max(scarcity);
            if let Some(around) = loops.around(header).filter(|_| block == header) {
                passed.scarcest[around] = passed.scarcest[around].max(passed.scarcest[header]);
            }
        }
        passed
    }

    /// A value is accessed in a loop, and so in those around it.
    fn access(&mut self, loops: &Loops, liveness: &Liveness, header: Block, value: Value) {
        for header in std::iter::successors(Some(header), |&header| loops.around(header)) {
            // What is defined in a loop is live into none around it.
            let Ok(row) = liveness.live_in(header).binary_search(&value) else { return };
            let start = self.start[header].expect("a loop begins there") as usize;
            if std::mem::replace(&mut self.accessed[start + row], true) {
                return;
            }
        }
    }

    /// Whether a loop begins with a block.
    pub(super) fn begins(&self, block: Block) -> bool {
        self.start[block].is_some()
    }

    /// How many values too many there are at most in the loop that begins with a block, if one does, and the value that is in this
    /// row of what is live into it is not accessed there.
    pub(super) fn scarcity(&self, block: Block, row: usize) -> Option<i32> {
        let start = self.start[block]? as usize;
        (!self.accessed[start + row]).then_some(self.scarcest[block])
    }
}

/// What a block's instructions access, and what φs take at its end.
fn accessed(function: &Function, block: Block) -> impl Iterator<Item = Value> {
    let operands = function.block_operands(block).iter().map(|operand| operand.value);
    let taken =
        function.blocks[block].succs.iter().filter(|&&next| !function.blocks[next].phis.is_empty()).flat_map(move |&next| {
            let column = function.column(block, next);
            function.blocks[next].phis.iter().filter_map(move |phi| phi.args[column].expand())
        });
    operands.chain(taken)
}

/// What is live where control comes to a block, or leaves it, over edges that can take no code, for which it has to be where it
/// crosses them. (Where a call throws, it has not to be elsewhere for what follows if none is thrown.)
fn forced<'a>(function: &Function, liveness: &'a Liveness, block: Block) -> [&'a [Value]; 2] {
    let data = &function.blocks[block];
    let comes = data.preds.iter().any(|&pred| function.takes_no_code(pred, block));
    let leaves = data.succs.iter().any(|&next| function.takes_no_code(block, next) && !function.blocks[next].landing_pad);
    [if comes { liveness.live_in(block) } else { &[] }, if leaves { liveness.live_out(block) } else { &[] }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Dominators;
    use crate::analysis::testing::{append, block, def, graph, phi, usage, value, values};

    /// One loop in another, of which the inner one is scarce: what is used behind both, in the outer one, in the inner one; and
    /// what a φ of the outer one takes.
    #[test]
    fn loops_pass_what_they_do_not_access() {
        let mut f = graph(&[&[1], &[7, 5], &[3], &[6, 4], &[1], &[], &[2], &[2]]);
        values(&mut f, 5);
        append(&mut f, 0, &[def(0), def(1), def(2), def(3)]);
        phi(&mut f, 1, 4, &[None, Some(3)]);
        append(&mut f, 3, &[usage(2)]);
        append(&mut f, 4, &[usage(1)]);
        append(&mut f, 5, &[usage(0), usage(4)]);
        let mut tight = all_open(&f);
        tight.blocks.insert(block(3));
        tight.heads[block(3)] = 1;
        tight.insts[f.block_insts(block(3)).next().unwrap()] = 2;
        let scarcity = |header: usize, number: u32| scarcity(&f, &tight, header, number);
        assert_eq!([0, 1, 2, 3].map(|number| scarcity(1, number)), [Some(2), None, None, None]);
        assert_eq!([0, 1, 2, 3].map(|number| scarcity(2, number)), [Some(2), Some(2), None, Some(2)]);
        assert_eq!(scarcity(5, 0), None, "no loop begins there");
    }

    /// What is used behind a loop that comes back over an edge of its own, or over one that can take no code.
    #[test]
    fn what_crosses_an_edge_without_code_passes_no_loop_there() {
        let of_loop = |succs: &[&[usize]]| {
            let mut f = graph(succs);
            values(&mut f, 1);
            append(&mut f, 0, &[def(0)]);
            append(&mut f, 2, &[usage(0)]);
            scarcity(&f, &all_open(&f), 1, 0)
        };
        assert_eq!(of_loop(&[&[1], &[3, 2], &[], &[1]]), Some(0));
        assert_eq!(of_loop(&[&[1], &[1, 2], &[]]), None);
    }

    /// Nothing is scarce, and all is to be decided.
    fn all_open(f: &Function) -> Tight {
        let mut tight = Tight {
            insts: of_each(f.insts.len()),
            heads: of_each(f.blocks.len()),
            blocks: Default::default(),
            tightness: Default::default(),
            values: Default::default(),
        };
        tight.values.extend(f.values.keys());
        tight
    }

    /// How scarce registers are in the loop of a header, if it passes a value that is live into it.
    fn scarcity(f: &Function, tight: &Tight, header: usize, number: u32) -> Option<i32> {
        let order = Order::new(f);
        let loops = Loops::new(f, &order, &Dominators::new(f, &order));
        let liveness = Liveness::new(f);
        let row = liveness.live_in(block(header)).binary_search(&value(number)).unwrap();
        PassedLoops::new(f, &order, &loops, &liveness, tight).scarcity(block(header), row)
    }
}
