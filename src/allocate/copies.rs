//! Copies that are only other names of their sources, and copies of constants to registers of the program.
//!
//! In SSA form neither a value nor its copy changes. So wherever the copy is read, the value can be, if its registers and
//! its memory will do: the copy is as wide as the value, or is its low part. Where the copy is allowed fewer registers, but
//! enough of them, so is the value from the beginning. Where the copy is the wider one, and undefined above the value, any
//! register that holds the value will do for it: the value takes the copy's class. If that leaves the value fewer registers,
//! if a φ reads or defines it, or if a copy relies on what a register has above the value ([`InstFlags::WIDENS`]), the value
//! is the low part of the copy from there on instead.
//! Two names that are live at once would take two registers; one takes one. (LLVM's register coalescer finds such copies by
//! comparing the contents of registers.)
//!
//! An extended number has the number in its low part. It is read in place of the number, too, if that then ends where it is
//! extended: the two took two registers before.
//!
//! A φ whose arguments are those of another φ of its block, where they are defined, is that φ: an undefined argument may be
//! anything. (Loops that LLVM unrolls have such pairs: a sum goes into the unrolled part, or is the result if that is skipped.)
//!
//! A constant that is as cheap as a move, or that nothing else reads, is computed in the program's register (most of the
//! time a call's argument) instead of being copied there. So it needs no other register, however many there are. (LLVM's
//! coalescer does this as well.)
//!
//! An argument of a φ is read in place of its copy only if it has the same class, or lives on. Otherwise both can be in one
//! register anyway, and webs of one class are better: constants among them can be rematerialised.
//!
//! Requires: SSA form.
//! Ensures: the same function without such copies, and without constants that only such copies read. The overlay drops them.
//! Relies on: SSA form, and dominance where the copy is the wider one.

use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Dominators, Liveness, Loops, Order};
use crate::machine::{
    Block, BlockData, ClassInfo, Function, Inst, InstFlags, InstKind, Operand, Phi, RegClass, RegSet, Rewriter, Role, Value,
};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Reads values in place of their copies. Answers also the copies in whose place constants are computed, if `rematerialise`
/// allows it.
pub(super) fn merge(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    rematerialise: bool,
) -> (Function, BTreeMap<Inst, Inst>) {
    let mut copies = Copies {
        function,
        order,
        dominators,
        arguments: EntitySet::new(),
        last_use: OnceCell::new(),
        readers: OnceCell::new(),
        defined: OnceCell::new(),
        loops: OnceCell::new(),
        of_one_class: OnceCell::new(),
        fixed: EntitySet::new(),
        extended: extended(function),
        apart: EntitySet::new(),
        value_of: SecondaryMap::new(),
        wider: SecondaryMap::new(),
        reclassed: SecondaryMap::new(),
        operands: function.operands.clone(),
        merged: EntitySet::new(),
        constants: if rematerialise { constants(function) } else { SecondaryMap::new() },
        computed: BTreeMap::new(),
    };
    let args = function.blocks.values().flat_map(|data| &data.phis).flat_map(|phi| &phi.args);
    copies.arguments.extend(args.filter_map(|arg| arg.expand()));
    copies.fixed.extend(function.blocks.keys().flat_map(|block| function.defined_by_terminators(block)));
    let overwrites_early = |operand: &Operand| operand.role == Role::EarlyDef && operand.reuse.is_some();
    // Few functions have such instructions.
    if function.operands.iter().any(overwrites_early) {
        let early = function.insts.keys().map(|inst| function.operands(inst)).filter(|it| it.iter().any(overwrites_early));
        copies.apart.extend(early.flatten().map(|operand| operand.value));
    }
    for &block in order.blocks() {
        copies.phis(block);
        for inst in function.block_insts(block) {
            copies.instruction(block, inst);
        }
    }
    copies.drop_constants();
    (copies.write(), copies.computed)
}

/// The constants to compute in place of copies, with their instructions: those that are as cheap to compute as to copy, and
/// those that only one copy to a register of the program reads, where control comes no more often.
fn constants(function: &Function) -> SecondaryMap<Value, PackedOption<Inst>> {
    let mut constants: SecondaryMap<Value, PackedOption<Inst>> = of_each(function.values.len());
    let once = copied_once(function);
    for data in function.blocks.values() {
        let insts = (data.insts.start..data.insts.end).map(Inst::from_u32);
        for inst in insts.filter(|&inst| function.insts[inst].is(InstFlags::REMATERIALISABLE)) {
            let def = function.operands(inst)[0].value;
            let pays =
                !function.insts[inst].is(InstFlags::DEAR) || once[def].is_some_and(|frequency| frequency <= data.frequency);
            if pays && !function.names_registers(inst) && function.has_one_form(def) {
                constants[def] = inst.into();
            }
        }
    }
    constants
}

/// For each value that is read only by one copy to a register of the program, how often the copy is executed.
fn copied_once(function: &Function) -> SecondaryMap<Value, Option<f64>> {
    let mut reads: SecondaryMap<Value, u32> = of_each(function.values.len());
    let mut copied: SecondaryMap<Value, Option<f64>> = of_each(function.values.len());
    let mut read = |value: Value, copy: Option<f64>| {
        reads[value] += 1;
        copied[value] = copy.filter(|_| reads[value] == 1);
    };
    for (block, data) in &function.blocks {
        data.phis.iter().flat_map(|phi| &phi.args).filter_map(|arg| arg.expand()).for_each(|arg| read(arg, None));
        for inst in function.block_insts(block) {
            let copy = matches!(function.insts[inst].kind, InstKind::CopyTo(_)).then_some(data.frequency);
            let uses = function.operands(inst).iter().filter(|operand| !operand.is_def());
            uses.for_each(|operand| read(operand.value, copy));
        }
    }
    copied
}

/// For each value, the end of its last use ([`Copies::last_use`]).
fn last_uses(function: &Function) -> SecondaryMap<Value, u32> {
    let mut last = of_each(function.values.len());
    let mut read = |value: Value, end: u32| last[value] = end.max(last[value]);
    for inst in function.insts.keys() {
        let uses = function.operands(inst).iter().filter(|operand| !operand.is_def());
        uses.for_each(|operand| read(operand.value, inst.as_u32() + 1));
    }
    for data in function.blocks.values() {
        for (column, &pred) in data.preds.iter().enumerate() {
            let taken = data.phis.iter().filter_map(|phi| phi.args[column].expand());
            taken.for_each(|arg| read(arg, function.blocks[pred].insts.end + 1));
        }
    }
    last
}

/// The instructions that read each value, with their blocks.
fn readers(function: &Function) -> Grouped<Value, (Block, Inst)> {
    let of_block = |block: Block| function.block_insts(block).map(move |inst| (block, inst));
    let read = function.blocks.keys().flat_map(of_block).flat_map(|(block, inst)| {
        let uses = function.operands(inst).iter().filter(|operand| !operand.is_def());
        uses.map(move |operand| (operand.value, (block, inst)))
    });
    Grouped::new(function.values.len(), &read.collect::<Vec<_>>())
}

/// The block in which each value is defined; none for constants.
fn defined_in(function: &Function) -> SecondaryMap<Value, PackedOption<Block>> {
    let mut defined = of_each(function.values.len());
    for (block, data) in &function.blocks {
        data.phis.iter().for_each(|phi| defined[phi.def] = block.into());
        for inst in function.block_insts(block).filter(|&inst| !function.insts[inst].is(InstFlags::REMATERIALISABLE)) {
            let defs = function.operands(inst).iter().filter(|operand| operand.is_def());
            defs.for_each(|operand| defined[operand.value] = block.into());
        }
    }
    defined
}

/// Whether a φ has the arguments of another one of its block, where it has any.
fn may_be(phi: &Phi, other: &Phi) -> bool {
    phi.args.iter().zip(&other.args).all(|(arg, of_other)| arg.is_none() || arg == of_other)
}

/// The sources of wider copies that rely on what is above these in a register.
fn extended(function: &Function) -> EntitySet<Value> {
    let size = |operand: &Operand| function.file.classes[function.values[operand.value].class].slot_size;
    let mut extended = EntitySet::with_capacity(function.values.len());
    let relies = |inst: &Inst| function.insts[*inst].kind == InstKind::Copy && !function.insts[*inst].is(InstFlags::WIDENS);
    for inst in function.insts.keys().filter(relies) {
        if let [def, read] = function.operands(inst)
            && size(def) > size(read)
        {
            extended.insert(read.value);
        }
    }
    extended
}

/// The values that φs define and read, and constants.
fn of_one_class(function: &Function) -> EntitySet<Value> {
    let phis = function.blocks.values().flat_map(|data| &data.phis);
    let of_phis = phis.flat_map(|phi| phi.args.iter().filter_map(|arg| arg.expand()).chain([phi.def]));
    let constants = function.insts.keys().filter(|&inst| function.insts[inst].is(InstFlags::REMATERIALISABLE));
    let mut all = EntitySet::with_capacity(function.values.len());
    all.extend(of_phis.chain(constants.map(|inst| function.operands(inst)[0].value)));
    all
}

struct Copies<'a> {
    function: &'a Function,
    order: &'a Order,
    dominators: &'a Dominators,
    /// The arguments of φs.
    arguments: EntitySet<Value>,
    /// For each value, the end of the last instruction that reads it, or of the last block that hands it to a φ. Made on
    /// demand: in few functions anything depends on it.
    last_use: OnceCell<SecondaryMap<Value, u32>>,
    /// For each value, the blocks and instructions that read it, and the block that defines it if it is no constant; the loops.
    /// Made on demand: many functions extend no number.
    readers: OnceCell<Grouped<Value, (Block, Inst)>>,
    defined: OnceCell<SecondaryMap<Value, PackedOption<Block>>>,
    loops: OnceCell<Loops>,
    /// The values of φs, and constants. Made on demand: many functions copy no value to a wider one.
    of_one_class: OnceCell<EntitySet<Value>>,
    /// Values that terminators define: they cannot be in memory, but their copies can.
    fixed: EntitySet<Value>,
    /// Values that copies extend which rely on what is above them in a register ([`InstFlags::WIDENS`]), so that no other
    /// value's register will do for them.
    extended: EntitySet<Value>,
    /// Values that are read by instructions which overwrite something before they have read everything. There, a value and
    /// its copy take two registers.
    apart: EntitySet<Value>,
    /// The value of which each merged copy is another name.
    value_of: SecondaryMap<Value, PackedOption<Value>>,
    /// A wider copy of each value, and the block from which on it exists.
    wider: SecondaryMap<Value, Option<(Value, Block)>>,
    /// The classes of values that have taken others, for copies to be read in their place.
    reclassed: SecondaryMap<Value, PackedOption<RegClass>>,
    /// The function's operands, in which values are read in place of copies.
    operands: Vec<Operand>,
    /// Copies and constants that are not needed any more.
    merged: EntitySet<Inst>,
    constants: SecondaryMap<Value, PackedOption<Inst>>,
    /// The copies in whose place constants are computed ([`super::changes::Changes::computed`]).
    computed: BTreeMap<Inst, Inst>,
}

impl Copies<'_> {
    /// Reads one φ in place of others that may be equal to it.
    fn phis(&mut self, block: Block) {
        /// Comparing more of them with each other would take too long.
        const MANY: usize = 100;
        let phis = &self.function.blocks[block].phis;
        if phis.len() > MANY {
            return;
        }
        for (row, phi) in phis.iter().enumerate() {
            let takes_over = |&(other_row, other): &(usize, &Phi)| {
                let is_first = || row < other_row && may_be(other, phi);
                row != other_row && self.has_class_of(phi.def, other.def) && may_be(phi, other) && !is_first()
            };
            // One with most arguments is itself no other φ.
            let arguments = |phi: &Phi| phi.args.iter().filter(|arg| arg.is_some()).count();
            let others = phis.iter().enumerate().filter(takes_over);
            let other = others.max_by_key(|&(row, phi)| (arguments(phi), Reverse(row)));
            let other = other.filter(|_| !self.apart.contains(phi.def)).map(|(_, phi)| phi.def);
            self.value_of[phi.def] = other.into();
        }
    }

    fn instruction(&mut self, block: Block, inst: Inst) {
        let range = self.function.insts[inst].operands.clone();
        for k in range.start as usize..range.end as usize {
            if !self.operands[k].is_def() {
                self.operands[k].value = self.name(self.operands[k].value, block);
            }
        }
        if let InstKind::CopyTo(_) = self.function.insts[inst].kind {
            let constant = self.constants[self.operands[range.start as usize].value];
            self.computed.extend(constant.expand().map(|constant| (inst, constant)));
        }
        if self.function.insts[inst].is(InstFlags::EXTENDS) {
            self.extension(block, inst);
        }
        if self.function.insts[inst].kind != InstKind::Copy || self.function.names_registers(inst) {
            return;
        }
        let operands = &self.operands[range.start as usize..range.end as usize];
        let end = |is_def: bool| operands.iter().find(|operand| operand.is_def() == is_def).map(|operand| operand.value);
        let (Some(copy), Some(value)) = (end(true), end(false)) else { return };
        if self.fixed.contains(value) || self.apart.contains(copy) || self.extended.contains(copy) {
            return;
        }
        // The value may have been replaced by a wider copy of the source, of which this copy is no part.
        let source = self.function.operands(inst).iter().find(|operand| !operand.is_def()).map(|operand| operand.value);
        let is_part = source.is_some_and(|source| self.is_part_of(copy, source)) && self.is_part_of(copy, value);
        if is_part && (self.has_class_of(copy, value) || !self.arguments.contains(copy) || self.lives_on(value, inst)) {
            self.value_of[copy] = value.into();
            self.merged.insert(inst);
        } else if self.size(value) <= self.size(copy)
            && !self.function.insts[inst].is(InstFlags::NARROWS)
            && source == Some(value)
        {
            self.wider_copy(value, copy, block, inst);
        } else if source == Some(value) && self.size(copy) <= self.size(value) && self.lives_on(value, inst) {
            self.confined_copy(value, copy, inst);
        }
    }

    /// Reads a value in place of a copy of which it is the low part, or the copy in place of the value from here on.
    fn wider_copy(&mut self, value: Value, copy: Value, block: Block, inst: Inst) {
        let widens = self.function.insts[inst].is(InstFlags::WIDENS);
        let are_alike = self.allowed(value) == self.allowed(copy) && self.function.has_one_form(copy);
        let class = if are_alike { Some(self.class(copy)) } else { self.of_both(copy, value) };
        if let Some(class) = class.filter(|_| widens && self.may_change_class(value)) {
            self.reclassed[value] = class.into();
            self.value_of[copy] = value.into();
            self.merged.insert(inst);
        } else if self.is_part_of(value, copy) && !self.follows_an_exit(block, inst) {
            self.wider[value] = Some((copy, block));
        }
    }

    /// Reads a value in place of a copy that allows fewer registers, if these are enough for the value.
    fn confined_copy(&mut self, value: Value, copy: Value, inst: Inst) {
        if let Some(class) = self.of_both(value, copy).filter(|_| self.may_change_class(value)) {
            self.reclassed[value] = class.into();
            self.value_of[copy] = value.into();
            self.merged.insert(inst);
        }
    }

    /// The class, as wide as that of the first of two values, that has the registers which both may be in, if these are enough
    /// for any value.
    fn of_both(&self, wide: Value, other: Value) -> Option<RegClass> {
        /// The half of the vector registers that most instructions accept. Of the general-purpose registers, fewer are accepted
        /// by some instructions; these are scarce.
        const ENOUGH: usize = 16;
        let regs = self.allowed(wide) & self.allowed(other);
        let classes = &self.function.file.classes;
        let of_wide = &classes[self.class(wide)];
        let fits = |class: &ClassInfo| (class.bank, class.slot_size, class.regs) == (of_wide.bank, of_wide.slot_size, regs);
        let found = classes.iter().find(|(_, class)| fits(class)).map(|(class, _)| class);
        found.filter(|_| regs.len() >= ENOUGH && self.function.has_one_form(wide))
    }

    /// Whether a value may take another class. A φ-web had better have one, and a constant is computed in its own.
    fn may_change_class(&self, value: Value) -> bool {
        let of_one_class = self.of_one_class.get_or_init(|| of_one_class(self.function));
        !of_one_class.contains(value) && !self.extended.contains(value)
    }

    /// Reads an extended number in place of the number from here on, if that need not live any longer then.
    fn extension(&mut self, block: Block, inst: Inst) {
        let [def, read] = self.function.operands(inst) else { return };
        let (wide, narrow) = (def.value, read.value);
        let is_itself = self.operands[self.function.insts[inst].operands.start as usize + 1].value == narrow;
        let may_end = is_itself && !self.extended.contains(narrow);
        if may_end && self.is_part_of(narrow, wide) && !self.arguments.contains(narrow) && self.ends_at(narrow, block, inst) {
            self.wider[narrow] = Some((wide, block));
        }
    }

    /// Whether a value that is no constant ends at an instruction which reads it, if from there on what the instruction defines
    /// is read in its place: each other reader either always comes after the instruction, or always before. A later reader must
    /// not overwrite the value, which would have been in the right register for that.
    fn ends_at(&self, value: Value, block: Block, inst: Inst) -> bool {
        /// Looking at more readers would take too long, for each of their extensions.
        const MANY: usize = 1000;
        let readers = self.readers.get_or_init(|| readers(self.function)).get(value);
        let comes_after = |&(there, reader): &(Block, Inst)| match there == block {
            true => reader > inst,
            false => self.dominators.dominates(block, there),
        };
        let (after, before): (Vec<_>, Vec<_>) =
            readers.iter().take(MANY).filter(|&&(_, reader)| reader != inst).partition(|reader| comes_after(reader));
        let comes_before = |&&(there, _): &&(Block, Inst)| self.dominators.dominates(there, block);
        let overwrites = |&&(_, reader): &&(Block, Inst)| {
            let operands = self.function.operands(reader);
            operands.iter().flat_map(Operand::overwritable).any(|use_| operands[usize::from(use_)].value == value)
        };
        let defined = self.defined.get_or_init(|| defined_in(self.function))[value].expand();
        readers.len() <= MANY
            && !after.is_empty()
            && before.iter().all(comes_before)
            && !after.iter().any(overwrites)
            && defined.is_some_and(|defined| self.loops().innermost(defined) == self.loops().innermost(block))
            && !self.follows_an_exit(block, inst)
    }

    fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::new(self.function, self.order, self.dominators))
    }

    /// Whether control may have left the block before the instruction: if so, not everything that the block dominates comes
    /// after it.
    fn follows_an_exit(&self, block: Block, inst: Inst) -> bool {
        self.function.blocks[block].throws.expand().is_some_and(|call| call < inst)
    }

    /// The name that is read in place of a value.
    fn name(&self, value: Value, block: Block) -> Value {
        let mut value = self.value_of[value].expand().unwrap_or(value);
        while let Some((wider, from)) = self.wider[value]
            && self.dominators.dominates(from, block)
        {
            value = wider;
        }
        value
    }

    /// Whether `whole` can be read wherever `part` is: it is at least as wide, and in no other registers.
    fn is_part_of(&self, part: Value, whole: Value) -> bool {
        self.function.has_one_form(whole)
            && self.size(part) <= self.size(whole)
            && self.allowed(whole).is_subset(self.allowed(part))
    }

    fn class(&self, value: Value) -> RegClass {
        self.reclassed[value].expand().unwrap_or(self.function.values[value].class)
    }

    fn size(&self, value: Value) -> u32 {
        self.function.file.classes[self.class(value)].slot_size
    }

    fn allowed(&self, value: Value) -> RegSet {
        self.function.file.classes[self.class(value)].regs
    }

    /// Whether a value is read after an instruction, as far as the order of blocks tells.
    fn lives_on(&self, value: Value, inst: Inst) -> bool {
        self.last_use.get_or_init(|| last_uses(self.function))[value] > inst.as_u32() + 1
    }

    fn has_class_of(&self, a: Value, b: Value) -> bool {
        self.class(a) == self.class(b)
    }

    /// Whether a constant is computed in place of a copy.
    fn is_computed(&self, inst: Inst) -> bool {
        matches!(self.function.insts[inst].kind, InstKind::CopyTo(_)) && self.computed.contains_key(&inst)
    }

    /// Drops constants that nothing reads any more.
    fn drop_constants(&mut self) {
        let mut read: EntitySet<Value> = EntitySet::with_capacity(self.function.values.len());
        read.extend(self.arguments.iter().map(|arg| self.value_of[arg].expand().unwrap_or(arg)));
        for (inst, data) in self.function.insts.iter().filter(|&(inst, _)| !self.merged.contains(inst)) {
            if !self.is_computed(inst) {
                let operands = &self.operands[data.operands.start as usize..data.operands.end as usize];
                read.extend(operands.iter().filter(|operand| !operand.is_def()).map(|operand| operand.value));
            }
        }
        for &constant in self.computed.values() {
            if !read.contains(self.function.operands(constant)[0].value) {
                self.merged.insert(constant);
            }
        }
    }

    /// The function with its operands replaced and without the merged instructions.
    fn write(&self) -> Function {
        let mut rewriter = Rewriter::new(self.function);
        for (block, data) in &self.function.blocks {
            let [start, end] = [data.insts.start, data.insts.end].map(Inst::from_u32);
            // A block from which nothing is dropped and in which nothing is computed stays as it is, except for its
            // operands.
            let is_computed = self.computed.range(start..end).next().is_some();
            if !is_computed && !self.function.block_insts(block).any(|inst| self.merged.contains(inst)) {
                let mut operands = self.operands[self.function.block_operand_range(block)].iter();
                rewriter.copy_block(block, |_| *operands.next().expect("there are as many as before"));
                continue;
            }
            rewriter.begin(block);
            for inst in self.function.block_insts(block).filter(|&inst| !self.merged.contains(inst)) {
                if self.is_computed(inst) {
                    let new = rewriter.copy(inst, &[]);
                    rewriter.new.insts[new].kind = InstKind::Op;
                    continue;
                }
                let range = &self.function.insts[inst].operands;
                rewriter.copy(inst, &self.operands[range.start as usize..range.end as usize]);
            }
            rewriter.end();
        }
        let mut new = rewriter.new;
        for (value, class) in self.reclassed.iter().filter_map(|(value, class)| Some((value, class.expand()?))) {
            new.values[value].class = class;
        }
        let value_of = |value: Value| self.value_of[value].expand().unwrap_or(value);
        for BlockData { phis, preds, .. } in new.blocks.values_mut() {
            phis.retain(|phi| self.value_of[phi.def].is_none());
            for (arg, &pred) in phis.iter_mut().flat_map(|phi| phi.args.iter_mut().zip(&*preds)) {
                *arg = arg.expand().map(|value| self.name(value, pred)).into();
            }
        }
        if !new.debug_uses.is_empty() {
            // A value that is read in place of others lives for longer than the program knows.
            let nowhere = new.values.push(new.values[new.debug_uses[0].value].class.into());
            let live = Liveness::new(self.function).at_debug_uses(self.function);
            for (debug, is_live) in new.debug_uses.iter_mut().zip(live) {
                debug.value = if is_live { value_of(debug.value) } else { nowhere };
            }
        }
        new
    }
}
