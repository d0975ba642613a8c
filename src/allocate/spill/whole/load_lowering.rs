//! Load lowering: a φ is put into memory if most of its arguments are there [PP09, §6.2 and §7].
//!
//! A φ in a register loads each argument in memory at the end of the block that the argument comes from. A φ in memory takes
//! no code (frugality), and is loaded before its uses instead.

use crate::allocate::cost;
use crate::allocate::spill::config::LoadLowering;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::Grouped;
use crate::machine::{Block, Function, Phi, Value};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Counts of load lowering.
#[derive(Default)]
pub(in crate::allocate::spill) struct Lowered {
    /// φs that have been put into memory.
    pub(in crate::allocate::spill) values: u64,
    /// The loads of their arguments, which are saved.
    pub(in crate::allocate::spill) loads: u64,
}

/// Adds to the spilled values the φs that are better in memory.
pub(in crate::allocate::spill) fn lower(problem: &Problem, spilled: &mut SecondaryMap<Value, bool>) -> Lowered {
    let mut lowered = Lowered::default();
    if problem.policy.load_lower == LoadLowering::Off {
        return lowered;
    }
    let function = &problem.conventional.function;
    let uses = Uses::new(function);
    let phis = |&block: &Block| (0..function.blocks[block].phis.len()).map(move |row| (block, row as u32));
    let mut pending: Vec<(Block, u32)> = problem.order.blocks().iter().flat_map(phis).collect();
    pending.reverse();
    while let Some((block, row)) = pending.pop() {
        let phi = &function.blocks[block].phis[row as usize];
        let loads = loads(phi, spilled).count() as u64;
        // Whether φs on edges without code are in memory has been decided for all their arguments together.
        let decided = !problem.bundles.related(phi.def).is_empty();
        if spilled[phi.def] || loads == 0 || decided || !pays(problem.policy.load_lower, function, &uses, block, phi, spilled) {
            continue;
        }
        spilled[phi.def] = true;
        lowered.values += 1;
        lowered.loads += loads;
        // φs that take this one have another argument in memory now.
        pending.extend_from_slice(uses.by_phis.get(phi.def));
    }
    lowered
}

/// The columns of a φ's arguments that are in memory.
fn loads<'a>(phi: &'a Phi, spilled: &'a SecondaryMap<Value, bool>) -> impl Iterator<Item = usize> + 'a {
    let in_memory = |&column: &usize| phi.args[column].expand().is_some_and(|arg| spilled[arg]);
    (0..phi.args.len()).filter(in_memory)
}

/// Whether fewer accesses, or less frequent ones, are left if the φ is in memory.
fn pays(
    lowering: LoadLowering,
    function: &Function,
    uses: &Uses,
    block: Block,
    phi: &Phi,
    spilled: &SecondaryMap<Value, bool>,
) -> bool {
    let in_register = |&column: &usize| phi.args[column].expand().is_some_and(|arg| arg != phi.def && !spilled[arg]);
    let stores = (0..phi.args.len()).filter(in_register);
    if lowering == LoadLowering::Counted {
        // The paper counts no stores, since its allocator has stored a variable before it is reloaded. Here an argument in a
        // register has not been stored.
        return loads(phi, spilled).count() > uses.count[phi.def.index()] as usize + stores.count();
    }
    let pred = |column: usize| function.blocks[function.blocks[block].preds[column]].frequency;
    let mut saved: f64 = loads(phi, spilled).map(pred).sum();
    let mut spent: f64 = uses.frequency[phi.def] + stores.map(pred).sum::<f64>();
    for &(user, row) in uses.by_phis.get(phi.def) {
        let taker = &function.blocks[user].phis[row as usize];
        let columns = (0..taker.args.len()).filter(|&column| taker.args[column].expand() == Some(phi.def));
        let taken: f64 = columns.map(|column| function.blocks[function.blocks[user].preds[column]].frequency).sum();
        // If that φ is in memory, its argument no longer has to be stored for it. If it is in a register, the argument has
        // to be loaded.
        *if spilled[taker.def] { &mut saved } else { &mut spent } += taken;
    }
    saved > spent
}

/// The uses of each value.
struct Uses {
    /// The number of operands and φ arguments.
    count: Vec<u32>,
    /// The executions of the instructions that use it.
    frequency: SecondaryMap<Value, f64>,
    by_phis: Grouped<Value, (Block, u32)>,
}

impl Uses {
    fn new(function: &Function) -> Self {
        let values = function.values.len();
        let mut uses = Uses { count: vec![0; values], frequency: cost::uses(function), by_phis: Grouped::new(values, &[]) };
        let mut by_phis = Vec::new();
        for (block, data) in &function.blocks {
            for (row, phi) in data.phis.iter().enumerate() {
                for value in phi.args.iter().filter_map(|arg| arg.expand()).filter(|&value| value != phi.def) {
                    uses.count[value.index()] += 1;
                    by_phis.push((value, (block, row as u32)));
                }
            }
            for inst in function.block_insts(block) {
                for operand in function.operands(inst).iter().filter(|operand| !operand.is_def()) {
                    uses.count[operand.value.index()] += 1;
                }
            }
        }
        by_phis.dedup();
        uses.by_phis = Grouped::new(values, &by_phis);
        uses
    }
}
