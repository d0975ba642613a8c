//! What decisions cost: executions, times what one takes.
//!
//! Frequencies are those of blocks, relative to the entry. Whoever weighs one decision against another takes both from here.
//! (The papers' allocators weigh values by loop depth instead: [`super::spill`], `weights.rs`.)

use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Goal, InstData, InstFlags, Operand, Value};
use cranelift_entity::SecondaryMap;

/// Saving and restoring a callee-saved register, in copies executed as often as the function's entry.
pub const SAVE_AND_RESTORE: f32 = 2.0;

/// A register that a value cannot keep: more than any number of copies that it saves.
pub const CONTESTED: f32 = 1e6;

/// What allocation adds to the program: an instruction, or an operand in memory.
#[derive(Clone, Copy)]
pub struct Added {
    /// What it costs each time that it is executed: by the weights of LLVM's `RegAllocScore`, which all allocators are measured by.
    weight: f64,
    /// What else it costs then, if that counts, for there to be an instruction.
    instruction: f64,
    /// What it costs by being there, if that counts, for each time that the function is entered.
    size: f64,
}

/// What any instruction costs besides what it does. By the weights alone, a store for each turn of a loop would be as cheap as
/// a quarter of a reload, or of an operand in memory, which takes no instruction at all.
const INSTRUCTION: f64 = 0.5;

/// What an instruction with a memory operand, an address or an immediate costs by being there. It decides where blocks are hardly
/// ever executed, and nowhere else.
const LONG: f64 = 0.2;

/// Likewise, of one that only names a register.
const SHORT: f64 = 0.05;

pub const RELOAD: Added = Added { weight: 4.0, instruction: INSTRUCTION, size: LONG };

/// Reading a value's home in the instruction that uses it.
pub const FOLDED_RELOAD: Added = Added { instruction: 0.0, ..RELOAD };

/// A store to a value's home.
pub const STORE: Added = Added { weight: 1.0, instruction: INSTRUCTION, size: LONG };

/// Writing a value's home in the instruction that reads it from there and changes it.
pub const FOLDED_STORE: Added = Added { instruction: 0.0, size: 0.0, ..STORE };

/// Executing a constant's instruction again; one that is dearer than a move ([`InstFlags::DEAR`]) is of the second kind.
pub const REMATERIALISATION: Added = Added { weight: 0.2, instruction: INSTRUCTION, size: LONG };
pub const DEAR_REMATERIALISATION: Added = Added { weight: 1.0, ..REMATERIALISATION };

/// Reading what such a constant's instruction loads in the instruction that uses it.
pub const READ_IN_PLACE: Added = Added { instruction: 0.0, ..DEAR_REMATERIALISATION };

/// Copying one register to another.
pub const COPY: Added = Added { weight: 0.2, instruction: INSTRUCTION, size: SHORT };

/// Swapping two registers.
pub const EXCHANGE: Added = Added { weight: 0.6, ..COPY };

/// Jumping back from a block that an edge gets for the code on it: half an instruction, for layout makes some of these jumps fall
/// through.
pub const JUMP: Added = Added { weight: 0.5, instruction: 0.0, size: 0.1 };

/// Saving what the caller left in a register, and restoring it.
pub const SAVE: Added = Added { weight: 1.0, instruction: INSTRUCTION, size: SHORT };
pub const RESTORE: Added = Added { weight: 4.0, instruction: INSTRUCTION, size: SHORT };

/// The same, elsewhere than where the prologue and epilogues do it: by instructions several times as long, and perhaps a frame.
pub const SEPARATE_SAVE: Added = Added { size: 6.0 * LONG, ..SAVE };
pub const SEPARATE_RESTORE: Added = Added { size: 6.0 * LONG, ..RESTORE };

/// Of a block with more ways out, hardly one is taken often enough for its code to stand in front of the branch; and whoever
/// looks at each from each other takes too long.
pub const WAYS: usize = 8;

/// What [`weigh_size`] adds to frequencies.
const SIZE: f64 = 0.02;

/// Has every block's frequency say, to phases that only compare copies with each other, what instructions in it cost by their
/// size, too, and what executing them counts for beside that.
pub fn weigh_size(function: &mut Function) {
    let goal = function.goal;
    function.blocks.values_mut().for_each(|data| data.frequency = beside_size(data.frequency, goal) + SIZE);
}

/// So many executions, as they count for beside size.
pub fn beside_size(executions: f64, goal: Goal) -> f64 {
    executions
        * match goal {
            Goal::Speed => 1.0,
            Goal::Size => 0.1,
            Goal::LeastSize => 0.001,
        }
}

impl Added {
    /// What it costs in a block of this frequency, in which size is weighed or not ([`weigh_size`]), and instructions with it.
    pub fn cost(self, frequency: f64, weigh_size: bool) -> f64 {
        if weigh_size { self.with_size(frequency - SIZE) } else { self.weight * frequency }
    }

    /// What it costs in a block of this frequency, and by being there.
    pub fn with_size(self, frequency: f64) -> f64 {
        let Added { weight, instruction, size } = self;
        (weight + instruction) * frequency + size
    }
}

/// Executing a constant's instruction.
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

/// How often control takes an edge, at most: code for it stands at one of its ends.
pub fn edge(function: &Function, from: Block, to: Block) -> f64 {
    function.blocks[from].frequency.min(function.blocks[to].frequency)
}

/// How many copies one in this block counts as. On an edge that gets a block of its own for it, it mostly is the only code, so
/// that without it there would be no jump either.
pub fn copies(function: &Function, block: Block) -> f64 {
    if function.blocks[block].on_edge { 2.0 } else { 1.0 }
}

/// Of each value, the executions of instructions, once for each of these operands.
fn executions(function: &Function, counts: impl Fn(&Operand) -> bool) -> SecondaryMap<Value, f64> {
    let mut executions = of_each(function.values.len());
    for (block, data) in &function.blocks {
        let operands = function.block_operands(block).iter();
        operands.filter(|operand| counts(operand)).for_each(|operand| executions[operand.value] += data.frequency);
    }
    executions
}
