//! What an instruction is counted as.
//!
//! Which memory an instruction reads and writes is what the decoder's tables say of its operands, explicit and implicit
//! (`push`, string instructions), with one exception: the return address of a call, which it pushes and a return pops.
//! Prefetches and fences access nothing. Masked and repeated accesses count, though they may turn out to be none.

use crate::stats::Static;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register};

/// What a piece of code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Instruction(Traits),
    /// Does nothing: stands before the target of a branch for its alignment.
    Padding,
    /// No instruction that the decoder knows.
    Unknown,
}

/// The kinds of instructions that one belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traits {
    pub loads: bool,
    pub stores: bool,
    pub is_move: bool,
    pub is_xor: bool,
}

impl Traits {
    /// Counts the instruction.
    pub fn add_to(self, sum: &mut Static) {
        sum.instructions += 1;
        sum.loads += u64::from(self.loads);
        sum.stores += u64::from(self.stores);
        sum.moves += u64::from(self.is_move);
        sum.xors += u64::from(self.is_xor);
    }
}

/// Tells what instructions are.
pub struct Classifier {
    /// Keeps its memory from instruction to instruction.
    info: InstructionInfoFactory,
}

impl Classifier {
    pub fn new() -> Self {
        Classifier { info: InstructionInfoFactory::new() }
    }

    /// What an instruction is. If it is `relocated`, a linker has still to put an address into it.
    pub fn classify(&mut self, instruction: &Instruction, relocated: bool) -> Kind {
        if instruction.is_invalid() {
            return Kind::Unknown;
        }
        if is_padding(instruction) && !relocated {
            return Kind::Padding;
        }
        let (loads, stores) = self.accesses(instruction);
        Kind::Instruction(Traits { loads, stores, is_move: is_move(instruction), is_xor: is_xor(instruction.mnemonic()) })
    }

    /// Whether the instruction reads memory, and whether it writes memory.
    fn accesses(&mut self, instruction: &Instruction) -> (bool, bool) {
        if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return) {
            return (false, false);
        }
        let info = self.info.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
        let any = |wanted: fn(OpAccess) -> bool| info.used_memory().iter().any(|memory| wanted(memory.access()));
        (any(reads), any(writes))
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Assemblers fill with `nop`s of any length and, for old i386 processors, with `lea 0(%esi), %esi`.
fn is_padding(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop => true,
        Mnemonic::Lea => {
            // A displacement of zero that is encoded all the same says that no compiler chose the instruction.
            instruction.op0_register() == instruction.memory_base()
                && instruction.memory_index() == Register::None
                && instruction.memory_displ_size() != 0
                && instruction.memory_displacement64() == 0
        }
        _ => false,
    }
}

/// Copies of a whole register to another of the same bank, as compilers make them. An instruction that extends, merges,
/// masks or converts is none.
fn is_move(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let is_copy: fn(Register) -> bool = match instruction.mnemonic() {
        // Not from and to segment, control and debug registers.
        Mov => Register::is_gpr,
        Movq => Register::is_mm,
        Kmovb | Kmovw | Kmovd | Kmovq => Register::is_k,
        Movaps | Movapd | Movups | Movupd | Movdqa | Movdqu | Vmovaps | Vmovapd | Vmovups | Vmovupd | Vmovdqa | Vmovdqu
        | Vmovdqa32 | Vmovdqa64 | Vmovdqu8 | Vmovdqu16 | Vmovdqu32 | Vmovdqu64 => Register::is_vector_register,
        _ => return false,
    };
    let registers = (0..instruction.op_count())
        .all(|operand| instruction.op_kind(operand) == OpKind::Register && is_copy(instruction.op_register(operand)));
    registers && instruction.op_mask() == Register::None
}

fn is_xor(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(mnemonic, Xor | Xorps | Xorpd | Vxorps | Vxorpd | Pxor | Vpxor | Vpxord | Vpxorq | Kxorb | Kxorw | Kxord | Kxorq)
}
