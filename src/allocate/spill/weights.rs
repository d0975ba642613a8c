//! Spill weights: ComputeWeight of [PP05, §4.4].

use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Liveness, Loops};
use crate::machine::{Block, Function, Value};
use cranelift_entity::SecondaryMap;

/// The loop depth at which weights stop growing. A sum of powers of ten must stay below 10^308, where floating-point numbers
/// end.
const DEEPEST: u32 = 200;

/// The weight of each value: the accesses that spilling it costs, divided by the length of its live range. Light values are
/// spilled first.
///
/// An access in a block of loop depth d counts 1 + 10^d. The length is the number of instructions and control-flow edges
/// that the live range crosses.
pub(super) fn weights(function: &Function, loops: &Loops, liveness: &Liveness) -> SecondaryMap<Value, f64> {
    let mut weights = of_each(function.values.len());
    let access = |block: Block| access(loops, block);
    for (block, data) in &function.blocks {
        for phi in &data.phis {
            for (arg, &pred) in phi.args.iter().zip(&data.preds) {
                if arg.expand() == Some(phi.def) {
                    continue;
                }
                weights[phi.def] += access(pred);
                if let Some(value) = arg.expand() {
                    weights[value] += access(pred);
                }
            }
        }
        let here = access(block);
        for operand in function.block_operands(block) {
            weights[operand.value] += here;
        }
    }
    for (value, &size) in sizes(function, liveness).iter() {
        weights[value] /= f64::from(size.max(1));
    }
    weights
}

/// The cost of an access in a block.
fn access(loops: &Loops, block: Block) -> f64 {
    1.0 + 10f64.powi(loops.depth(block).min(DEEPEST) as i32)
}

/// Weights that change while values are spilled ([PP05, §4.4], "update the weight dynamically").
///
/// A φ in memory takes no code for an argument that is in memory too. So once an argument is spilled, what it contributes to
/// the φ's weight is deducted.
pub(super) struct CurrentWeights {
    weights: SecondaryMap<Value, f64>,
    /// For each value, the φs that take it, and what it contributes to the weight of each.
    contributions: Grouped<Value, (Value, f64)>,
    deducted: SecondaryMap<Value, bool>,
}

impl CurrentWeights {
    /// The weights before anything is spilled.
    pub(super) fn new(weights: SecondaryMap<Value, f64>, function: &Function, loops: &Loops, liveness: &Liveness) -> Self {
        let sizes = sizes(function, liveness);
        let mut contributions = Vec::new();
        for data in function.blocks.values() {
            for phi in &data.phis {
                let args = phi.args.iter().zip(&data.preds).filter_map(|(arg, &pred)| Some((arg.expand()?, pred)));
                let contribution = |pred: Block| access(loops, pred) / f64::from(sizes[phi.def].max(1));
                let others = args.filter(|&(arg, _)| arg != phi.def);
                contributions.extend(others.map(|(arg, pred)| (arg, (phi.def, contribution(pred)))));
            }
        }
        let count = function.values.len();
        CurrentWeights { weights, contributions: Grouped::new(count, &contributions), deducted: of_each(count) }
    }

    pub(super) fn all(&self) -> &SecondaryMap<Value, f64> {
        &self.weights
    }

    /// Notes that a value is in memory, and returns the φs that are lighter now, each with what was deducted.
    pub(super) fn deduct(&mut self, value: Value) -> &[(Value, f64)] {
        if std::mem::replace(&mut self.deducted[value], true) {
            return &[];
        }
        let lighter = self.contributions.get(value);
        for &(phi, contribution) in lighter {
            self.weights[phi] -= contribution;
        }
        lighter
    }
}

/// Whether all live ranges together cross more instructions and edges than `most`.
pub(super) fn cross_more_than(most: u64, function: &Function, liveness: &Liveness) -> bool {
    let into = |block: Block| (liveness.live_in(block).len() + function.blocks[block].phis.len()) as u64;
    let in_block = |block: Block| {
        let data = &function.blocks[block];
        let values = into(block) + function.block_operands(block).len() as u64;
        values * data.insts.len() as u64 + data.succs.iter().map(|&to| into(to)).sum::<u64>()
    };
    // An upper bound that is quickly computed, and decides for nearly all functions.
    function.blocks.keys().map(in_block).sum::<u64>() > most
        && sizes(function, liveness).values().map(|&size| u64::from(size)).sum::<u64>() > most
}

/// The number of instructions and edges that each live range crosses. Its definition and its end do not count.
fn sizes(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, u32> {
    let mut sizes: SecondaryMap<Value, u32> = of_each(function.values.len());
    // For each value that is live in the current block, the index of the instruction from which it is live.
    let mut since: SecondaryMap<Value, u32> = of_each(function.values.len());
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
                    since[operand.value] = index as u32 + 1;
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

/// Counts an edge for the values that cross it: those live into its target, and those that φs there take over it.
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
    let mut taken: Vec<Value> = phis.iter().filter_map(|phi| phi.args[column].expand()).collect();
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

    fn computed(text: &str) -> (Function, Loops, SecondaryMap<Value, f64>) {
        let function = parse(text).unwrap();
        let order = Order::new(&function);
        let loops = Loops::new(&function, &order, &Dominators::new(&function, &order));
        let weights = weights(&function, &loops, &Liveness::new(&function));
        (function, loops, weights)
    }

    #[test]
    fn a_small_loop_by_hand() {
        let weights = computed(include_str!("../../../testdata/functions/loop_weights.txt")).2;
        // Outside the loop an access costs 2, inside it 11.
        // v0: accessed at its definition, for the φ in b0, and in b3; it crosses the four edges, and 1 + 2 instructions.
        assert_eq!(weights[Value::from_u32(0)], (2.0 + 2.0 + 2.0) / 7.0);
        // v1: the φ's accesses in b0 and b2, and those in b1 and b2; it crosses the edge to b2 and the instruction of b1.
        assert_eq!(weights[Value::from_u32(1)], (2.0 + 11.0 + 11.0 + 11.0) / 2.0);
        // v2: accessed at its definition and for the φ; it crosses the back edge, and the last instruction of b2.
        assert_eq!(weights[Value::from_u32(2)], (11.0 + 11.0) / 2.0);
    }

    #[test]
    fn what_live_ranges_cross_is_counted() {
        let (function, ..) = computed(include_str!("../../../testdata/functions/loop_weights.txt"));
        let liveness = Liveness::new(&function);
        // As above: 7, 2 and 2.
        assert!(cross_more_than(10, &function, &liveness) && !cross_more_than(11, &function, &liveness));
    }

    /// The tables of [PP05, §4.4].
    #[test]
    fn the_worked_example_of_the_paper() {
        let (function, loops, weights) = computed(include_str!("../../../testdata/functions/papers/sra_figure5_weights.txt"));
        let depths: Vec<u32> = function.blocks.keys().skip(1).map(|block| loops.depth(block)).collect();
        assert_eq!(depths, [0, 1, 1, 0, 0, 0, 1, 1, 0]);
        let table = [
            (1, 6.0, 3.0),
            (2, 4.0, 2.0),
            (3, 26.0, 14.0),
            (4, 22.0, 2.0),
            (5, 22.0, 1.0),
            (6, 24.0, 1.0),
            (7, 22.0, 3.0),
            (8, 2.0, 6.0),
            (9, 24.0, 4.0),
            (10, 6.0, 2.0),
            (11, 13.0, 3.0),
            // The paper's table has 2 accesses, but the definition is in a loop and the use is not: 11 + 2.
            (12, 13.0, 1.0),
            (13, 24.0, 2.0),
            (14, 24.0, 3.0),
            (16, 4.0, 1.0),
            (22, 4.0, 1.0),
            (23, 4.0, 1.0),
        ];
        for (number, accesses, size) in table {
            let value = Value::from_u32(number);
            assert_eq!(weights[value], accesses / size, "{value}");
        }
    }

    /// v8's only contribution is that of v2, and each of v9 and v13 has two. What is spilled twice is deducted once.
    #[test]
    fn what_spilled_arguments_contribute_is_deducted() {
        let (function, loops, weights) = computed(include_str!("../../../testdata/functions/papers/sra_figure5_weights.txt"));
        let mut current = CurrentWeights::new(weights, &function, &loops, &Liveness::new(&function));
        let [v1, v2, v8, v9, v10, v13, v14] = [1, 2, 8, 9, 10, 13, 14].map(Value::from_u32);
        for spilled in [v1, v2, v14, v10, v2] {
            current.deduct(spilled);
        }
        assert_eq!([v2, v8].map(|value| current.all()[value]), [4.0 / 2.0, 0.0]);
        assert_eq!(current.all()[v9], (24.0 - 2.0) / 4.0, "its other argument is in a register");
        assert_eq!(current.all()[v13], (24.0 - 2.0 - 11.0) / 2.0, "its use is left");
    }
}
