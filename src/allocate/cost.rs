//! The costs of decisions: executions, times the cost of one.
//!
//! Frequencies are those of blocks, relative to the entry. Every phase that weighs one decision against another takes both
//! from this file. (The papers' allocators weigh values by loop depth instead: [`super::spill`], `weights.rs`.)

use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Goal, InstData, InstFlags, Operand, Value};
use cranelift_entity::SecondaryMap;

/// The cost of saving and restoring a callee-saved register, in copies that are executed as often as the function's entry.
pub const SAVE_AND_RESTORE: f32 = 2.0;

/// The cost of a register that a value cannot keep: more than copies could ever save.
pub const CONTESTED: f32 = 1e6;

/// An addition that allocation makes to the program: an instruction, or an operand in memory.
#[derive(Clone, Copy)]
pub struct Added {
    /// The cost of each execution, by the weights of LLVM's `RegAllocScore`, with which all allocators are measured.
    weight: f64,
    /// The additional cost of each execution for there being an instruction, where that counts.
    instruction: f64,
    /// The cost of its size, where that counts, for each time that the function is entered.
    size: f64,
}

/// The cost of executing any instruction, besides that of its effect. By the weights alone, a store in each turn of a loop
/// would cost only a quarter of a reload, or of an operand in memory, which takes no instruction at all.
const INSTRUCTION: f64 = 0.5;

/// The cost of the size of an instruction with a memory operand, an address or an immediate. It decides where blocks are
/// hardly ever executed, and nowhere else.
const LONG: f64 = 0.2;

/// The cost of the size of an instruction that names only registers.
const SHORT: f64 = 0.05;

pub const RELOAD: Added = Added { weight: 4.0, instruction: INSTRUCTION, size: LONG };

/// Reading a value's home in the instruction that uses the value.
pub const FOLDED_RELOAD: Added = Added { instruction: 0.0, ..RELOAD };

/// A store to a value's home.
pub const STORE: Added = Added { weight: 1.0, instruction: INSTRUCTION, size: LONG };

/// Writing a value's home in the instruction that reads it from there and changes it.
pub const FOLDED_STORE: Added = Added { instruction: 0.0, size: 0.0, ..STORE };

/// Executing a constant's instruction again; one that is dearer than a move ([`InstFlags::DEAR`]) is of the second kind.
pub const REMATERIALISATION: Added = Added { weight: 0.2, instruction: INSTRUCTION, size: LONG };
pub const DEAR_REMATERIALISATION: Added = Added { weight: 1.0, ..REMATERIALISATION };

/// Reading, in the instruction that uses it, the value that such a constant's instruction loads.
pub const READ_IN_PLACE: Added = Added { instruction: 0.0, ..DEAR_REMATERIALISATION };

/// Copying one register to another.
pub const COPY: Added = Added { weight: 0.2, instruction: INSTRUCTION, size: SHORT };

/// Swapping two registers.
pub const EXCHANGE: Added = Added { weight: 0.6, ..COPY };

/// The jump at the end of a block that an edge gets for its code. It counts as half an instruction, since layout makes some
/// of these jumps fall through.
pub const JUMP: Added = Added { weight: 0.5, instruction: 0.0, size: 0.1 };

/// Saving the caller's value of a register, and restoring it.
pub const SAVE: Added = Added { weight: 1.0, instruction: INSTRUCTION, size: SHORT };
pub const RESTORE: Added = Added { weight: 4.0, instruction: INSTRUCTION, size: SHORT };

/// Saving and restoring it elsewhere than in the prologue and epilogues: by instructions several times as long, and perhaps
/// with a frame.
pub const SEPARATE_SAVE: Added = Added { size: 6.0 * LONG, ..SAVE };
pub const SEPARATE_RESTORE: Added = Added { size: 6.0 * LONG, ..RESTORE };

/// Code is not hoisted to blocks with more successors than this: hardly any of them is entered often enough, and comparing
/// each with all others would take too long.
pub const WAYS: usize = 8;

/// The amount that [`weigh_size`] adds to frequencies.
const SIZE: f64 = 0.02;

/// Changes the frequency of every block so that it accounts for the size of instructions there, too, and for what executing
/// them counts beside size. This is for phases that only compare copies with one another.
pub fn weigh_size(function: &mut Function) {
    let goal = function.goal;
    function.blocks.values_mut().for_each(|data| data.frequency = beside_size(data.frequency, goal) + SIZE);
}

/// The weight of executions beside size.
pub fn beside_size(executions: f64, goal: Goal) -> f64 {
    executions
        * match goal {
            Goal::Speed => 1.0,
            Goal::Size => 0.1,
            Goal::LeastSize => 0.001,
        }
}

impl Added {
    /// Its cost in a block of this frequency. If `weigh_size`, the frequency is one that [`weigh_size`] has changed, and the
    /// cost includes those of size and of there being an instruction.
    pub fn cost(self, frequency: f64, weigh_size: bool) -> f64 {
        if weigh_size { self.with_size(frequency - SIZE) } else { self.weight * frequency }
    }

    /// Its cost in a block of this frequency, including that of its size.
    pub fn with_size(self, frequency: f64) -> f64 {
        let Added { weight, instruction, size } = self;
        (weight + instruction) * frequency + size
    }
}

/// The cost of executing a constant's instruction.
pub fn rematerialisation(constant: &InstData) -> Added {
    if constant.is(InstFlags::DEAR) { DEAR_REMATERIALISATION } else { REMATERIALISATION }
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

/// An upper bound of how often control takes an edge. Code for the edge stands at one of its ends.
pub fn edge(function: &Function, from: Block, to: Block) -> f64 {
    function.blocks[from].frequency.min(function.blocks[to].frequency)
}

/// The number of copies that a copy in this block counts as. A copy on an edge with a block of its own mostly is the only
/// code there, so that without it there would be no jump either.
pub fn copies(function: &Function, block: Block) -> f64 {
    if function.blocks[block].on_edge { 2.0 } else { 1.0 }
}

/// For each value, the executions of instructions, once for each of these operands.
fn executions(function: &Function, counts: impl Fn(&Operand) -> bool) -> SecondaryMap<Value, f64> {
    let mut executions = of_each(function.values.len());
    for (block, data) in &function.blocks {
        let operands = function.block_operands(block).iter();
        operands.filter(|operand| counts(operand)).for_each(|operand| executions[operand.value] += data.frequency);
    }
    executions
}
