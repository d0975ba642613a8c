//! Which kinds an instruction is counted as.
//!
//! The decoder's tables tell which memory an instruction reads and writes, by its operands, explicit or implicit (`push`,
//! string instructions). There is one exception: the return address, which a call pushes and a return pops, does not count.
//! Prefetches and fences access nothing. Masked and repeated accesses count, even though they may access nothing when
//! executed.

use crate::measure::stats::Static;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register};

/// The result of decoding an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Instruction(Traits),
    /// Does nothing: aligns the branch target that follows.
    Padding,
    /// Not an instruction that the decoder knows.
    Unknown,
}

/// The kinds that an instruction is counted as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traits {
    pub loads: bool,
    pub stores: bool,
    pub is_move: bool,
    pub is_xor: bool,
}

impl Traits {
    /// Counts the instruction in a sum.
    pub fn add_to(self, sum: &mut Static) {
        sum.instructions += 1;
        sum.loads += u64::from(self.loads);
        sum.stores += u64::from(self.stores);
        sum.moves += u64::from(self.is_move);
        sum.xors += u64::from(self.is_xor);
    }
}

/// Classifies instructions.
pub struct Classifier {
    /// Reused, since it allocates memory for its answers.
    info: InstructionInfoFactory,
}

impl Classifier {
    pub fn new() -> Self {
        Classifier { info: InstructionInfoFactory::new() }
    }

    /// Classifies an instruction. If it is `relocated`, a linker still has to put an address into it.
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

    /// Whether the instruction reads memory, and whether it writes any.
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

/// Whether the instruction is filler: `nop`s of any length and, for old i386 processors, `lea 0(%esi), %esi`.
fn is_padding(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop => true,
        Mnemonic::Lea => {
            // A displacement of zero that is encoded nonetheless shows that no compiler chose this instruction.
            instruction.op0_register() == instruction.memory_base()
                && instruction.memory_index() == Register::None
                && instruction.memory_displ_size() != 0
                && instruction.memory_displacement64() == 0
        }
        _ => false,
    }
}

/// Whether the instruction copies a whole register to another of the same bank, as compilers copy. One that extends, merges,
/// masks or converts does not count.
fn is_move(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let is_copy: fn(Register) -> bool = match instruction.mnemonic() {
        // Not segment, control or debug registers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn kind(bits: u32, code: &[u8], relocated: bool) -> Kind {
        let mut decoder = Decoder::new(bits, code, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert_eq!(instruction.len(), code.len(), "{code:02x?} is one instruction");
        Classifier::new().classify(&instruction, relocated)
    }

    /// The kinds of an instruction as letters: l(oad), s(tore), m(ove), x(or).
    fn letters(bits: u32, code: &[u8]) -> String {
        let Kind::Instruction(traits) = kind(bits, code, false) else { panic!("{code:02x?} is no instruction") };
        let Traits { loads, stores, is_move, is_xor } = traits;
        [(loads, 'l'), (stores, 's'), (is_move, 'm'), (is_xor, 'x')].iter().filter(|(is, _)| *is).map(|(_, c)| c).collect()
    }

    /// Checks rows of an encoding, its letters and, for the reader, its text.
    fn check(bits: u32, rows: &[(&[u8], &str, &str)]) {
        for (code, expected, text) in rows {
            assert_eq!(letters(bits, code), *expected, "{text}");
        }
    }

    #[test]
    fn instructions_of_both_widths() {
        for bits in [32, 64] {
            check(
                bits,
                &[
                    (&[0x8b, 0x03], "l", "mov (%rbx), %eax"),
                    (&[0x89, 0x03], "s", "mov %eax, (%rbx)"),
                    (&[0x01, 0x03], "ls", "add %eax, (%rbx)"),
                    (&[0x03, 0x03], "l", "add (%rbx), %eax"),
                    (&[0x8d, 0x43, 0x08], "", "lea 8(%rbx), %eax"),
                    (&[0x50], "s", "push %rax"),
                    (&[0x58], "l", "pop %rax"),
                    (&[0xff, 0x33], "ls", "push (%rbx)"),
                    (&[0xc9], "l", "leave"),
                    (&[0xe8, 0, 0, 0, 0], "", "call"),
                    (&[0xff, 0x13], "", "call *(%rbx)"),
                    (&[0xff, 0x23], "l", "jmp *(%rbx)"),
                    (&[0xc3], "", "ret"),
                    (&[0xf0, 0x0f, 0xb1, 0x0b], "ls", "lock cmpxchg %ecx, (%rbx)"),
                    (&[0xf3, 0xaa], "s", "rep stosb"),
                    (&[0xf3, 0xa4], "ls", "rep movsb"),
                    (&[0xdd, 0x03], "l", "fldl (%rbx)"),
                    (&[0xdd, 0x1b], "s", "fstpl (%rbx)"),
                    (&[0xd9, 0xc1], "", "fld %st(1)"),
                    (&[0x0f, 0x18, 0x0b], "", "prefetcht0 (%rbx)"),
                    (&[0x0f, 0xae, 0xf0], "", "mfence"),
                    (&[0x0f, 0x0b], "", "ud2"),
                ],
            );
        }
    }

    #[test]
    fn moves_copy_registers() {
        for bits in [32, 64] {
            check(
                bits,
                &[
                    (&[0x89, 0xd8], "m", "mov %ebx, %eax"),
                    (&[0x88, 0xd8], "m", "mov %bl, %al"),
                    (&[0x0f, 0x28, 0xc1], "m", "movaps %xmm1, %xmm0"),
                    (&[0x66, 0x0f, 0x6f, 0xc1], "m", "movdqa %xmm1, %xmm0"),
                    (&[0x0f, 0x6f, 0xc1], "m", "movq %mm1, %mm0"),
                    (&[0xc5, 0xf8, 0x90, 0xc9], "m", "kmovw %k1, %k1"),
                    (&[0xb8, 1, 0, 0, 0], "", "mov $1, %eax"),
                    (&[0x8e, 0xd8], "", "mov %eax, %ds"),
                    (&[0x0f, 0xb6, 0xc3], "", "movzbl %bl, %eax"),
                    (&[0xf3, 0x0f, 0x10, 0xc1], "", "movss %xmm1, %xmm0"),
                    (&[0xf3, 0x0f, 0x7e, 0xc1], "", "movq %xmm1, %xmm0"),
                    (&[0xc5, 0xf8, 0x92, 0xc8], "", "kmovw %eax, %k1"),
                    (&[0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1], "m", "vmovaps %zmm1, %zmm0"),
                    (&[0x62, 0xf1, 0x7c, 0x49, 0x28, 0xc1], "", "vmovaps %zmm1, %zmm0 {%k1}"),
                    (&[0x93], "", "xchg %eax, %ebx"),
                ],
            );
        }
        check(64, &[(&[0x48, 0x89, 0xd8], "m", "mov %rbx, %rax")]);
    }

    #[test]
    fn exclusive_ors_of_all_banks() {
        for bits in [32, 64] {
            check(
                bits,
                &[
                    (&[0x31, 0xc0], "x", "xor %eax, %eax"),
                    (&[0x33, 0x03], "lx", "xor (%rbx), %eax"),
                    (&[0xf0, 0x31, 0x03], "lsx", "lock xor %eax, (%rbx)"),
                    (&[0x0f, 0x57, 0xc0], "x", "xorps %xmm0, %xmm0"),
                    (&[0x66, 0x0f, 0xef, 0xc0], "x", "pxor %xmm0, %xmm0"),
                    (&[0xc5, 0xf8, 0x57, 0xc0], "x", "vxorps %xmm0, %xmm0, %xmm0"),
                    (&[0xc5, 0xf4, 0x47, 0xc9], "x", "kxorw %k1, %k1, %k1"),
                    (&[0x09, 0xc0], "", "or %eax, %eax"),
                ],
            );
        }
    }

    #[test]
    fn padding_is_no_instruction() {
        for bits in [32, 64] {
            for code in [&[0x90][..], &[0x66, 0x90], &[0x0f, 0x1f, 0x00], &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]] {
                assert_eq!(kind(bits, code, false), Kind::Padding, "{code:02x?}");
            }
        }
        assert_eq!(kind(32, &[0x8d, 0x74, 0x26, 0x00], false), Kind::Padding);
        assert_eq!(kind(32, &[0x8d, 0xb6, 0, 0, 0, 0], false), Kind::Padding);
        // `pause` is not padding: programs ask for it.
        assert_eq!(letters(64, &[0xf3, 0x90]), "");
    }

    #[test]
    fn addresses_to_be_filled_in_are_no_padding() {
        assert_eq!(kind(32, &[0x8d, 0xb6, 0, 0, 0, 0], true), Kind::Instruction(Traits::default()));
    }

    #[test]
    fn what_is_no_instruction_is_unknown() {
        assert_eq!(kind(64, &[0x06], false), Kind::Unknown);
        assert_eq!(letters(32, &[0x06]), "s");
    }
}
