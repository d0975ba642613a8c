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
            sizes[value] += data.insts.len() as u32 - since[value] + data.succs.len() as u32;
        }
    }
    sizes
}
