//! Load lowering: a φ's definition is put into memory too where most of what it takes is there
//! (`spill-free-ssa-elimination.txt`, section 6.2 and 7).
//!
//! A φ in a register loads each argument that is in memory at the end of the block that it comes from. In memory it takes no
//! code (frugality), and is loaded before its uses instead.

use crate::allocate::cost;
use crate::allocate::spill::config::LoadLowering;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::Grouped;
use crate::machine::{Block, Function, Phi, Value};
use cranelift_entity::{EntityRef, SecondaryMap};

/// What lowering came to.
#[derive(Default)]
pub(in crate::allocate::spill) struct Lowered {
    /// φs put into memory.
    pub(in crate::allocate::spill) values: u64,
    /// Their arguments' loads.
    pub(in crate::allocate::spill) loads: u64,
}

/// Adds the φs' definitions to lower to the spilled values.
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
        // Whether φs on edges that can take no code are in memory has been decided for all that they take.
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

/// The columns of arguments in memory.
fn loads<'a>(phi: &'a Phi, spilled: &'a SecondaryMap<Value, bool>) -> impl Iterator<Item = usize> + 'a {
    let in_memory = |&column: &usize| phi.args[column].expand().is_some_and(|arg| spilled[arg]);
    (0..phi.args.len()).filter(in_memory)
}

/// Whether fewer, or less frequent, accesses are left if the φ's definition is in memory.
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
        // The paper counts no stores: where a variable is reloaded, its allocator has stored it before. Here an argument in a
        // register has not been.
        return loads(phi, spilled).count() > uses.count[phi.def.index()] as usize + stores.count();
    }
    let pred = |column: usize| function.blocks[function.blocks[block].preds[column]].frequency;
    let mut saved: f64 = loads(phi, spilled).map(pred).sum();
    let mut spent: f64 = uses.frequency[phi.def] + stores.map(pred).sum::<f64>();
    for &(user, row) in uses.by_phis.get(phi.def) {
        let taker = &function.blocks[user].phis[row as usize];
        let columns = (0..taker.args.len()).filter(|&column| taker.args[column].expand() == Some(phi.def));
        let taken: f64 = columns.map(|column| function.blocks[function.blocks[user].preds[column]].frequency).sum();
        // A φ in memory has it stored now, one in a register would have to load it.
        *if spilled[taker.def] { &mut saved } else { &mut spent } += taken;
    }
    saved > spent
}

/// Where each value is used.
struct Uses {
    /// Operands and φ arguments.
    count: Vec<u32>,
    /// Executions of the instructions that use it.
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
