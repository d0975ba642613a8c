//! What decisions cost: executions, times what one takes.
//!
//! Frequencies are those of blocks, relative to the entry. Whoever weighs one decision against another takes both from here.
//! (The papers' allocators weigh values by loop depth instead: [`super::spill`], `weights.rs`.)

use crate::machine::{Block, Function, InstData, Operand, Value};
use cranelift_entity::SecondaryMap;

/// Saving and restoring a callee-saved register, in copies at the function's entry.
pub const SAVE_AND_RESTORE: f32 = 2.0;

/// A register that a value cannot keep: more than any number of copies that it saves.
pub const CONTESTED: f32 = 1e6;

/// A reload, by the weights of LLVM's `RegAllocScore`, which all allocators are measured by.
pub const RELOAD: f64 = 4.0;

/// A store to a value's home, likewise.
pub const STORE: f64 = 1.0;

/// Executing a constant's instruction again, likewise; one that is dearer than a move ([`InstData::dear`]) costs the second.
pub const REMATERIALISATION: f64 = 0.2;
pub const DEAR_REMATERIALISATION: f64 = 1.0;

/// What an instruction costs by being there: as if its block was executed so many times more for each time that the function is
/// entered. It decides where blocks are hardly ever executed, and nowhere else.
pub const SIZE: f64 = 0.02;

/// Has every block's frequency say what instructions in it cost by their size, too.
pub fn weigh_size(function: &mut Function) {
    function.blocks.values_mut().for_each(|data| data.frequency += SIZE);
}

/// Executing a constant's instruction.
pub fn rematerialisation(constant: &InstData) -> f64 {
    if constant.dear { DEAR_REMATERIALISATION } else { REMATERIALISATION }
}

/// How often each value is accessed by instructions.
pub fn accesses(function: &Function) -> SecondaryMap<Value, f64> {
    executions(function, |_| true)
}

/// How often each value is read by instructions.
pub fn uses(function: &Function) -> SecondaryMap<Value, f64> {
    executions(function, |operand| !operand.is_def())
}

/// How often each value is defined.
pub fn definitions(function: &Function) -> SecondaryMap<Value, f64> {
    let mut definitions = executions(function, |operand| operand.is_def());
    for data in function.blocks.values() {
        data.phis.iter().for_each(|phi| definitions[phi.def] = data.frequency);
    }
    definitions
}

/// How often control takes an edge, at most: code for it stands at one of its ends.
pub fn edge(function: &Function, from: Block, to: Block) -> f64 {
    function.blocks[from].frequency.min(function.blocks[to].frequency)
}

/// Of each value, the executions of instructions, once for each of these operands.
fn executions(function: &Function, counts: impl Fn(&Operand) -> bool) -> SecondaryMap<Value, f64> {
    let mut executions = SecondaryMap::with_capacity(function.values.len());
    for (block, data) in &function.blocks {
        let operands = function.block_insts(block).flat_map(|inst| function.operands(inst));
        operands.filter(|operand| counts(operand)).for_each(|operand| executions[operand.value] += data.frequency);
    }
    executions
}
