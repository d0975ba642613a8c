//! Spill weights: ComputeWeight of `ssa-register-allocator.txt`, section 4.4.

use crate::analysis::{Liveness, Loops};
use crate::machine::{Block, Function, Value};
use cranelift_entity::SecondaryMap;

/// The weight of each value: the accesses that spilling it costs, ten times as many for each loop around them, by the
/// number of instructions and control-flow edges that its live range crosses. Light values are spilled first.
pub(super) fn weights(function: &Function, loops: &Loops, liveness: &Liveness) -> SecondaryMap<Value, f64> {
    let mut weights = SecondaryMap::with_capacity(function.values.len());
    let access = |block: Block| 1.0 + 10f64.powi(loops.depth(block) as i32);
    for (block, data) in &function.blocks {
        for phi in &data.phis {
            for (arg, &pred) in phi.args.iter().zip(&data.preds) {
                if arg.value.expand() == Some(phi.def) {
                    continue;
                }
                weights[phi.def] += access(pred);
                if let Some(value) = arg.value.expand() {
                    weights[value] += access(pred);
                }
            }
        }
        for inst in function.block_insts(block) {
            for operand in function.operands(inst) {
                weights[operand.value] += access(block);
            }
        }
    }
    for (value, size) in sizes(function, liveness).iter() {
        weights[value] /= f64::from((*size).max(1));
    }
    weights
}

/// The number of instructions and edges that each live range crosses.
fn sizes(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, u32> {
    let mut sizes: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(function.values.len());
    sizes.resize(function.values.len());
    // Of a value that is live in the current block: the index of the instruction from which on it is.
    let mut since: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(function.values.len());
    for (block, data) in &function.blocks {
        for &value in liveness.live_in(block) {
            since[value] = 0;
        }
        for phi in &data.phis {
            since[phi.def] = 0;
        }
        for (index, inst) in function.block_insts(block).enumerate() {
            let first = function.insts[inst].operands.start as usize;
            for (k, operand) in function.operands(inst).iter().enumerate() {
                if operand.is_def() {
                    since[operand.value] = index as u32;
                } else if liveness.kills(first + k) {
                    sizes[operand.value] += index as u32 - since[operand.value];
                    since[operand.value] = index as u32;
                }
            }
        }
        for &value in liveness.live_out(block) {
            sizes[value] += data.insts.len() as u32 - since[value];
        }
        for &succ in &data.succs {
            count_edge(function, liveness, block, succ, &mut sizes);
        }
    }
    sizes
}

/// Counts an edge for the values that cross it: those live into its target, and those that φs take from it.
fn count_edge(function: &Function, liveness: &Liveness, from: Block, to: Block, sizes: &mut SecondaryMap<Value, u32>) {
    let live_in = liveness.live_in(to);
    for &value in live_in {
        sizes[value] += 1;
    }
    let phis = &function.blocks[to].phis;
    if phis.is_empty() {
        return;
    }
    let column = function.column(from, to);
    let mut taken: Vec<Value> = phis.iter().filter_map(|phi| phi.args[column].value.expand()).collect();
    taken.sort_unstable();
    taken.dedup();
    for value in taken.into_iter().filter(|value| live_in.binary_search(value).is_err()) {
        sizes[value] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Dominators, Order};
    use crate::machine::parse;

    #[test]
    fn a_small_loop_by_hand() {
        let function = parse(include_str!("../../testdata/functions/loop_weights.txt")).unwrap();
        let order = Order::new(&function);
        let loops = Loops::new(&function, &order, &Dominators::new(&function, &order));
        let weights = weights(&function, &loops, &Liveness::new(&function));
        // Outside of the loop an access costs 2, inside 11.
        // v0: accessed at its definition, for the φ in b0, and in b3; it crosses the four edges, and 1 + 1 + 2 instructions.
        assert_eq!(weights[Value::from_u32(0)], (2.0 + 2.0 + 2.0) / 8.0);
        // v1: the φ's accesses in b0 and b2, and those in b1 and b2; it crosses the edge to b2 and the instruction of b1.
        assert_eq!(weights[Value::from_u32(1)], (2.0 + 11.0 + 11.0 + 11.0) / 2.0);
        // v2: accessed at its definition and for the φ; it crosses the edge back, and the two instructions of b2.
        assert_eq!(weights[Value::from_u32(2)], (11.0 + 11.0) / 3.0);
    }
}
