//! Finds the values that live through loops without being accessed there, and the excess pressure of those loops.
//!
//! A value that crosses an edge without code within a loop counts as accessed: it has to be in a register there, or in
//! memory, wherever it was before.
//!
//! Ensures: a value that passes a loop also passes the loops in it.
//! Relies on: a value that is live into a loop, and accessed in an inner one, is live into the inner one, since headers
//! dominate their loops. So time is linear in the values that are live into headers and across edges without code, apart
//! from binary searches.

use super::excess_pressure::ExcessPressure;
use crate::analysis::grouped::of_each;
use crate::analysis::{Liveness, Loops, Order};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Loops by their headers, with the values that live through them.
pub(super) struct PassedLoops {
    /// Where the values that are live into each header begin in `accessed`.
    start: SecondaryMap<Block, Option<u32>>,
    /// Whether a value that is live into a header is accessed in its loop.
    accessed: Vec<bool>,
    /// The highest excess pressure in each loop.
    most_excess: SecondaryMap<Block, i32>,
}

impl PassedLoops {
    /// Looks at the values whose residence is to be decided.
    pub(super) fn new(function: &Function, order: &Order, loops: &Loops, liveness: &Liveness, pressure: &ExcessPressure) -> Self {
        let count = function.blocks.len();
        let mut passed = PassedLoops { start: of_each(count), accessed: Vec::new(), most_excess: of_each(count) };
        let mut count_live_in = 0;
        for &header in order.blocks().iter().filter(|&&block| loops.innermost(block) == Some(block)) {
            passed.start[header] = Some(count_live_in as u32);
            count_live_in += liveness.live_in(header).len();
        }
        if count_live_in == 0 {
            return passed;
        }
        passed.accessed.resize(count_live_in, false);
        // Of each value, the innermost loop of the access that was last found.
        let mut last: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        // Backwards, the blocks of a loop come before its header.
        for &block in order.blocks().iter().rev() {
            let Some(header) = loops.innermost(block) else { continue };
            let forced = forced(function, liveness, block).into_iter().flatten().copied();
            for value in accessed(function, block).chain(forced).filter(|&value| pressure.values.contains(value)) {
                if std::mem::replace(&mut last[value], header.into()) != header.into() {
                    passed.access(loops, liveness, header, value);
                }
            }
            let insts = function.block_insts(block).filter(|_| pressure.blocks.contains(block));
            let excess = insts.map(|inst| pressure.insts[inst]).fold(pressure.heads[block], i32::max);
            passed.most_excess[header] = passed.most_excess[header].max(excess);
            if let Some(around) = loops.around(header).filter(|_| block == header) {
                passed.most_excess[around] = passed.most_excess[around].max(passed.most_excess[header]);
            }
        }
        passed
    }

    /// Notes an access in a loop, and so in those around it.
    fn access(&mut self, loops: &Loops, liveness: &Liveness, header: Block, value: Value) {
        for header in std::iter::successors(Some(header), |&header| loops.around(header)) {
            // A value that is defined in a loop is live into none around it.
            let Ok(index) = liveness.live_in(header).binary_search(&value) else { return };
            let start = self.start[header].expect("a loop begins there") as usize;
            if std::mem::replace(&mut self.accessed[start + index], true) {
                return;
            }
        }
    }

    /// Whether a loop begins with a block.
    pub(super) fn begins(&self, block: Block) -> bool {
        self.start[block].is_some()
    }

    /// The highest excess pressure in the loop that begins with a block, if one does that does not access the value with
    /// this index in `live_in`.
    pub(super) fn excess(&self, block: Block, index: usize) -> Option<i32> {
        let start = self.start[block]? as usize;
        (!self.accessed[start + index]).then_some(self.most_excess[block])
    }
}

/// The values that a block's instructions access, and the arguments that φs take at its end.
fn accessed(function: &Function, block: Block) -> impl Iterator<Item = Value> {
    let operands = function.block_operands(block).iter().map(|operand| operand.value);
    let taken =
        function.blocks[block].succs.iter().filter(|&&next| !function.blocks[next].phis.is_empty()).flat_map(move |&next| {
            let column = function.column(block, next);
            function.blocks[next].phis.iter().filter_map(move |phi| phi.args[column].expand())
        });
    operands.chain(taken)
}

/// Values that cross edges without code at a block's head or end, and so have to be where the edge needs them. (After a call
/// that throws, this is not so if it does not throw.)
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

    /// A loop in another, with excess pressure. Values are used after both, in the outer one, in the inner one, and by a φ
    /// of the outer one.
    #[test]
    fn loops_pass_what_they_do_not_access() {
        let mut f = graph(&[&[1], &[7, 5], &[3], &[6, 4], &[1], &[], &[2], &[2]]);
        values(&mut f, 5);
        append(&mut f, 0, &[def(0), def(1), def(2), def(3)]);
        phi(&mut f, 1, 4, &[None, Some(3)]);
        append(&mut f, 3, &[usage(2)]);
        append(&mut f, 4, &[usage(1)]);
        append(&mut f, 5, &[usage(0), usage(4)]);
        let mut pressure = all_open(&f);
        pressure.blocks.insert(block(3));
        pressure.heads[block(3)] = 1;
        pressure.insts[f.block_insts(block(3)).next().unwrap()] = 2;
        let excess = |header: usize, number: u32| excess(&f, &pressure, header, number);
        assert_eq!([0, 1, 2, 3].map(|number| excess(1, number)), [Some(2), None, None, None]);
        assert_eq!([0, 1, 2, 3].map(|number| excess(2, number)), [Some(2), Some(2), None, Some(2)]);
        assert_eq!(excess(5, 0), None, "no loop begins there");
    }

    /// A value is used after a loop that control comes back to over an edge of its own, or over an edge without code.
    #[test]
    fn values_that_cross_edges_without_code_pass_no_loop_there() {
        let of_loop = |succs: &[&[usize]]| {
            let mut f = graph(succs);
            values(&mut f, 1);
            append(&mut f, 0, &[def(0)]);
            append(&mut f, 2, &[usage(0)]);
            excess(&f, &all_open(&f), 1, 0)
        };
        assert_eq!(of_loop(&[&[1], &[3, 2], &[], &[1]]), Some(0));
        assert_eq!(of_loop(&[&[1], &[1, 2], &[]]), None);
    }

    /// No excess pressure, and everything to be decided.
    fn all_open(f: &Function) -> ExcessPressure {
        let mut pressure = ExcessPressure {
            insts: of_each(f.insts.len()),
            heads: of_each(f.blocks.len()),
            blocks: Default::default(),
            of_block: Default::default(),
            values: Default::default(),
        };
        pressure.values.extend(f.values.keys());
        pressure
    }

    /// The excess pressure in the loop of a header, if it does not access a value that is live into it.
    fn excess(f: &Function, pressure: &ExcessPressure, header: usize, number: u32) -> Option<i32> {
        let order = Order::new(f);
        let loops = Loops::new(f, &order, &Dominators::new(f, &order));
        let liveness = Liveness::new(f);
        let index = liveness.live_in(block(header)).binary_search(&value(number)).unwrap();
        PassedLoops::new(f, &order, &loops, &liveness, pressure).excess(block(header), index)
    }
}
