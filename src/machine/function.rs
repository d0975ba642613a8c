//! A function in SSA machine form.

use super::overlay::SlotData;
use super::registers::{Reg, RegClass, RegSet, RegisterFile, SwapSupport};
use bitflags::bitflags;
use cranelift_entity::{PrimaryMap, entity_impl, packed_option::PackedOption};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::Arc;

/// A basic block. Blocks are numbered in layout order; blocks on split critical edges come after all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "b");

/// An instruction. Instructions are numbered in layout order, those of one block consecutively.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "i");

/// An SSA virtual register: one definition, which dominates every use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// A spill slot in the stack frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);
entity_impl!(Slot, "s");

/// The physical registers of one instruction, interned in [`Function::pins`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pins(u32);
entity_impl!(Pins, "pins");

impl Pins {
    /// None: the first entry.
    pub const NOTHING: Pins = Pins(0);
}

/// Whether an operand reads or writes its value, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Read when the instruction starts.
    Use,
    /// Written when the instruction ends: the register may be that of a value that dies here.
    Def,
    /// Written while other operands are still being read (early clobber): the register is none of theirs, and what it
    /// overwrites is read by no other operand.
    EarlyDef,
}

/// Some of an instruction's operands, by index. Only the first sixteen can be in it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OperandSet(u16);

impl OperandSet {
    pub const EMPTY: OperandSet = OperandSet(0);

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, index: u8) -> bool {
        index < 16 && self.0 & 1 << index != 0
    }

    /// # Panics
    /// If the index is not below sixteen.
    pub fn insert(&mut self, index: u8) {
        assert!(index < 16, "only the first sixteen operands can be in the set");
        self.0 |= 1 << index;
    }

    pub fn remove(&mut self, index: u8) {
        self.0 &= !(1 << index);
    }

    /// In ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..16).filter(move |&index| self.contains(index))
    }
}

impl From<u16> for OperandSet {
    /// A set bit for each operand.
    fn from(bits: u16) -> Self {
        OperandSet(bits)
    }
}

impl FromIterator<u8> for OperandSet {
    fn from_iter<I: IntoIterator<Item = u8>>(indices: I) -> Self {
        let mut set = OperandSet::EMPTY;
        indices.into_iter().for_each(|index| set.insert(index));
        set
    }
}

/// One operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub value: Value,
    pub role: Role,
    /// For a definition: the index, among the instruction's operands, of the use whose register it overwrites
    /// (two-address code).
    pub reuse: Option<u8>,
    /// For a definition that overwrites a use: other uses whose registers it can overwrite instead. (The instruction commutes, or
    /// there is one like it that overwrites them: of three uses, a fused multiplication and addition can overwrite any.)
    pub reuse_instead: OperandSet,
    /// For a definition that overwrites a use: it can be in any register instead, if no operand is in memory. (The instruction
    /// has a form with three addresses.)
    pub reuse_none: bool,
    /// A use that is not overwritten can be read by the instruction straight from its spill slot, if no other operand reads the
    /// value too; of one instruction at most one operand is. Of a definition that overwrites a use: if both are in one slot, and
    /// the use's value is read by no other operand, the instruction can change it there. Both hold whichever use is overwritten.
    pub foldable: bool,
}

impl Operand {
    pub fn is_def(&self) -> bool {
        self.role != Role::Use
    }

    /// The uses that a definition can overwrite, the one that it does overwrite first.
    pub fn overwritable(&self) -> impl Iterator<Item = u8> + use<> {
        self.reuse.into_iter().chain(self.reuse_instead.iter())
    }
}

/// The kind of an instruction, as far as allocation cares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstKind {
    /// An instruction of the program that has to be executed.
    Op,
    /// `def = copy use` within one bank: disappears when both operands get one register.
    Copy,
    /// `pinned register = copy use`: disappears when the use is in that register.
    CopyTo(Reg),
    /// `def = copy pinned register`: disappears when the definition is in that register.
    CopyFrom(Reg),
    /// Not of the imported function: a phase has inserted it.
    Inserted(Inserted),
}

/// An instruction that allocation adds. The imported function has none of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The defined value comes from a slot.
    Load(Slot),
    /// The used value goes to a slot.
    Store(Slot),
    /// A slot gets what this instruction of the imported function computes. No operands.
    StoreConstant(Slot, Inst),
    /// The defined value is computed again as this instruction of the imported function computed it, from the used value if that
    /// is recomputable.
    Rematerialise(Inst),
    /// Operands are (definition, use) pairs: values get new names, and registers, at the same time.
    Parallel,
}

impl InstKind {
    /// Whether it is a copy of the program, of any kind.
    pub fn is_copy(self) -> bool {
        matches!(self, InstKind::Copy | InstKind::CopyTo(_) | InstKind::CopyFrom(_))
    }
}

bitflags! {
    /// Properties of an instruction, beside its kind. The text form writes their names in small letters, in this order.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct InstFlags: u16 {
        /// It is one of those at a block's end that choose a successor, or leave the function. Inline assembly that jumps
        /// (`asm goto`) is one, and may define values.
        const TERMINATOR = 1 << 0;
        /// A position marker at the head of a block: code that is inserted at the head comes after it.
        const LABEL = 1 << 1;
        /// The instruction can be executed again anywhere to produce its one definition (constants, addresses).
        const REMATERIALISABLE = 1 << 2;
        /// The instruction can be executed again to produce its one definition, wherever its one use's value is in a register
        /// (an address computed from another: `leaq 16(%rdi), %rax`). In that form it is not tied, and writes no flags.
        const RECOMPUTABLE = 1 << 3;
        /// It takes longer than a move.
        const DEAR = 1 << 4;
        /// Its result can be written to memory directly, without a register ([`Inserted::StoreConstant`]).
        const STORABLE = 1 << 5;
        /// Its result is in memory already, unchanged for as long as the function runs, in the form of a spill slot for it:
        /// foldable operands can be read from there. (An argument on the stack, a constant next to the code.)
        const GIVEN = 1 << 6;
        /// It only computes its definitions from its uses, and from memory if it [`READS`](Self::READS). It writes no physical
        /// register, except status registers that are dead afterwards.
        const MOVABLE = 1 << 7;
        /// It reads memory that may be written while the function runs: it does not move past an instruction that
        /// [`WRITES`](Self::WRITES).
        const READS = 1 << 8;
        /// It may write memory, or stays for another reason in order with the instructions that read memory. An instruction
        /// that is executed again, or elsewhere, does not.
        const WRITES = 1 << 9;
        /// A copy for instructions that accept fewer registers than the value, which has a reason to be in others: it crosses
        /// calls, or there are hardly any.
        const NARROWS = 1 << 10;
        /// It extends a number: the low bytes of its result are the number that it reads, whatever is above them.
        const EXTENDS = 1 << 11;
        /// A copy to a wider class that leaves undefined what its source does not have. (A wider copy without this property is
        /// of a value whose register has zeros there since it was written, and relies on them.)
        const WIDENS = 1 << 12;
        /// It stands for an operand of the next instruction that is none of these, which does nothing with the value but record
        /// where it is: in a register, or in memory. So nothing may be written to that place in between.
        const RECORDED = 1 << 13;
    }
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    pub kind: InstKind,
    /// The instruction of the imported function that this is; `None` if a phase inserted it.
    pub origin: PackedOption<Inst>,
    /// Indices into [`Function::operands`]. Uses come in any order; a value may be used more than once.
    pub operands: Range<u32>,
    pub pins: Pins,
    pub flags: InstFlags,
}

impl InstData {
    /// An instruction without a property or a physical register, which no function has imported.
    pub fn new(kind: InstKind, operands: Range<u32>) -> Self {
        InstData { kind, origin: None.into(), operands, pins: Pins::NOTHING, flags: InstFlags::empty() }
    }

    /// Whether it has a property.
    pub fn is(&self, flag: InstFlags) -> bool {
        self.flags.contains(flag)
    }

    /// Whether it can be executed again where its result is needed.
    pub fn is_repeatable(&self) -> bool {
        self.flags.intersects(InstFlags::REMATERIALISABLE | InstFlags::RECOMPUTABLE)
    }
}

/// The physical registers that an instruction names itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PinSets {
    /// Read.
    pub uses: RegSet,
    /// Written when the instruction ends (dead or not).
    pub defs: RegSet,
    /// Written while operands are still being read.
    pub early_defs: RegSet,
    /// Destroyed between reading and writing (calls). A definition may be in one, a value that lives on may not.
    pub clobbers: RegSet,
}

/// One row of the φ-matrix at a block's head.
#[derive(Debug)]
pub struct Phi {
    pub def: Value,
    /// One argument a predecessor, in the order of [`BlockData::preds`]; `None` if any content will do (the argument is
    /// undefined).
    pub args: SmallVec<[PackedOption<Value>; 4]>,
}

/// The predecessors or successors of a block. They are few, and functions are copied often, so they are not on the heap.
pub type BlockList = SmallVec<[Block; 4]>;

// A derived clone of a short list would copy item by item.
impl Clone for Phi {
    fn clone(&self) -> Self {
        Phi { def: self.def, args: SmallVec::from_slice(&self.args) }
    }
}

/// A basic block.
#[derive(Debug)]
pub struct BlockData {
    pub phis: Vec<Phi>,
    /// Consecutive instructions, by index.
    pub insts: Range<u32>,
    /// Distinct blocks.
    pub preds: BlockList,
    /// Distinct blocks.
    pub succs: BlockList,
    /// Executions per execution of the function, estimated; not negative.
    pub frequency: f64,
    /// Physical registers (status registers included) that are live at the head.
    pub live_in_pins: RegSet,
    /// An exception landing pad: control comes from the middle of its predecessors, from their [`BlockData::throws`].
    pub landing_pad: bool,
    /// The call whose exceptional exit leads to this block's landing pads.
    pub throws: PackedOption<Inst>,
    /// A block that exists only because its edge may need code; it is left out of the output if it gets none.
    pub on_edge: bool,
}

impl Clone for BlockData {
    fn clone(&self) -> Self {
        let BlockData { ref phis, ref insts, ref preds, ref succs, frequency, live_in_pins, .. } = *self;
        let BlockData { landing_pad, throws, on_edge, .. } = *self;
        let [preds, succs] = [preds, succs].map(|blocks| SmallVec::from_slice(blocks));
        let (phis, insts) = (phis.clone(), insts.clone());
        BlockData { phis, insts, preds, succs, frequency, live_in_pins, landing_pad, throws, on_edge }
    }
}

impl BlockData {
    /// A block without φs, pins and special edges.
    pub fn new(insts: Range<u32>, preds: BlockList, succs: BlockList, frequency: f64) -> Self {
        BlockData {
            phis: Vec::new(),
            insts,
            preds,
            succs,
            frequency,
            live_in_pins: RegSet::EMPTY,
            landing_pad: false,
            throws: None.into(),
            on_edge: false,
        }
    }

    /// A block on an edge; `end` is where the function's instructions end.
    pub fn on_edge(end: u32, from: Block, to: Block, live_in_pins: RegSet, frequency: f64) -> Self {
        BlockData { live_in_pins, on_edge: true, ..BlockData::new(end..end, smallvec![from], smallvec![to], frequency) }
    }
}

/// A virtual register, or, where allocation has split one's live range, the name of a piece of it.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    pub class: RegClass,
    /// The value of which this is a piece that allocation has split off. All names of one value hold the same content.
    pub of: PackedOption<Value>,
}

impl From<RegClass> for ValueData {
    /// A value of its own.
    fn from(class: RegClass) -> Self {
        ValueData { class, of: None.into() }
    }
}

/// A place where the debugger needs the location of a variable. Such a use keeps nothing alive.
#[derive(Clone, Copy, Debug)]
pub struct DebugUse {
    pub value: Value,
    /// Where: before instruction `at.index` of the block.
    pub at: Point,
}

/// A position between instructions: before the `index`-th instruction of the block, or at its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    pub block: Block,
    pub index: u32,
}

/// Where code for a control-flow edge can stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgePlace {
    /// At the head of the target, which has no other predecessor.
    Head(Point),
    /// At the end of the source (before its terminators), which has no other successor.
    Tail(Point),
    /// Nowhere: values cross this edge where they are.
    Nowhere,
}

/// The goal of a function's code, as the program states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    Speed,
    /// Small, unless that makes it much slower (`optsize`, and `cold`, since it hardly ever runs).
    Size,
    /// As small as it can be (`minsize`).
    LeastSize,
}

/// A function in SSA machine form.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// A call may return a second time (`setjmp`): what is live across it may be wanted where no path of the function leads
    /// from a later store.
    pub returns_twice: bool,
    pub goal: Goal,
    pub file: Arc<RegisterFile>,
    /// The first block is the entry, which has no predecessors.
    pub blocks: PrimaryMap<Block, BlockData>,
    pub insts: PrimaryMap<Inst, InstData>,
    pub operands: Vec<Operand>,
    pub values: PrimaryMap<Value, ValueData>,
    /// Interned; the first entry is the empty one.
    pub pins: Arc<PrimaryMap<Pins, PinSets>>,
    /// In program order.
    pub debug_uses: Vec<DebugUse>,
}

impl Function {
    /// The entry block.
    pub fn entry(&self) -> Block {
        Block::from_u32(0)
    }

    /// The instructions of a block in order.
    pub fn block_insts(&self, block: Block) -> impl DoubleEndedIterator<Item = Inst> + ExactSizeIterator + use<> {
        self.blocks[block].insts.clone().map(Inst::from_u32)
    }

    /// The operands of an instruction.
    pub fn operands(&self, inst: Inst) -> &[Operand] {
        let range = &self.insts[inst].operands;
        &self.operands[range.start as usize..range.end as usize]
    }

    /// The operands of all instructions of a block.
    pub fn block_operands(&self, block: Block) -> &[Operand] {
        &self.operands[self.block_operand_range(block)]
    }

    /// Where these are in [`Self::operands`].
    pub fn block_operand_range(&self, block: Block) -> Range<usize> {
        let insts = &self.blocks[block].insts;
        let of = |inst: u32| &self.insts[Inst::from_u32(inst)].operands;
        if insts.is_empty() { 0..0 } else { of(insts.start).start as usize..of(insts.end - 1).end as usize }
    }

    /// The physical registers of an instruction.
    pub fn pins(&self, inst: Inst) -> &PinSets {
        &self.pins[self.insts[inst].pins]
    }

    /// Whether an instruction has any physical registers, flags included.
    pub fn names_registers(&self, inst: Inst) -> bool {
        self.insts[inst].pins != Pins::NOTHING
    }

    /// Whether a value is the same in memory as in a register, so that any part of it can be accessed
    /// ([`RegisterFile::memory_form`](super::RegisterFile::memory_form)).
    pub fn has_one_form(&self, value: Value) -> bool {
        let bank = self.file.classes[self.values[value].class].bank;
        self.file.banks[bank].swap != SwapSupport::Never
    }

    /// The registers that a value may live in.
    pub fn allowed(&self, value: Value) -> RegSet {
        self.file.classes[self.values[value].class].regs
    }

    /// The value that a name is a piece of: itself, unless it has been split off.
    pub fn original(&self, name: Value) -> Value {
        self.values[name].of.expand().unwrap_or(name)
    }

    /// The slot that a value takes in memory.
    pub fn slot_for(&self, value: Value) -> SlotData {
        let class = &self.file.classes[self.values[value].class];
        SlotData { size: class.slot_size, align: class.slot_align }
    }

    /// The terminators of a block, from the last to the first.
    pub fn terminators(&self, block: Block) -> impl Iterator<Item = Inst> {
        self.block_insts(block).rev().take_while(|&inst| self.insts[inst].is(InstFlags::TERMINATOR))
    }

    /// Before the first terminator of a block, or at its end if there is none.
    pub fn before_terminators(&self, block: Block) -> Point {
        let total = self.blocks[block].insts.len();
        Point { block, index: (total - self.terminators(block).count()) as u32 }
    }

    /// Behind the φs and the leading labels of a block.
    pub fn head(&self, block: Block) -> Point {
        let labels = self.block_insts(block).take_while(|&i| self.insts[i].is(InstFlags::LABEL)).count();
        Point { block, index: labels as u32 }
    }

    /// Where code for the edge can stand. Every other edge of the function keeps its meaning when code is put there.
    pub fn edge_place(&self, from: Block, to: Block) -> EdgePlace {
        if self.blocks[to].preds.len() == 1 {
            EdgePlace::Head(self.head(to))
        } else if self.takes_no_code(from, to) {
            EdgePlace::Nowhere
        } else {
            EdgePlace::Tail(self.before_terminators(from))
        }
    }

    /// Whether there is no such place.
    pub fn takes_no_code(&self, from: Block, to: Block) -> bool {
        let target = &self.blocks[to];
        let takes_at_tail = || {
            let mut terminators = self.terminators(from);
            self.blocks[from].succs.len() == 1 && !target.landing_pad && terminators.all(|inst| self.operands(inst).is_empty())
        };
        target.preds.len() != 1 && !takes_at_tail()
    }

    /// The last point of `from` that control passes on its way to `to`: before the terminators, or before the call that
    /// throws to a landing pad.
    pub fn departure(&self, from: Block, to: Block) -> Point {
        match self.blocks[from].throws.expand() {
            Some(call) if self.blocks[to].landing_pad => {
                Point { block: from, index: call.as_u32() - self.blocks[from].insts.start }
            }
            _ => self.before_terminators(from),
        }
    }

    /// The values that the terminators of a block define. Code that moves them can stand at successors' heads only.
    pub fn defined_by_terminators(&self, block: Block) -> impl Iterator<Item = Value> {
        let operands = self.terminators(block).flat_map(|inst| self.operands(inst));
        operands.filter(|operand| operand.is_def()).map(|operand| operand.value)
    }

    /// The column of `to`'s φ-matrix that belongs to `from`.
    ///
    /// # Panics
    /// If `from` is not a predecessor of `to`.
    pub fn column(&self, from: Block, to: Block) -> usize {
        let preds = &self.blocks[to].preds;
        // They ascend, most of the time, and there may be tens of thousands.
        let found = preds.binary_search(&from).ok().or_else(|| preds.iter().position(|&pred| pred == from));
        found.expect("an edge's source is a predecessor of its target")
    }
}
