//! The rules that each edit, operand and debug use has to obey, given the state before it.
//!
//! - Edits: registers are in the edit's class. Slots are large enough and aligned for it. The bank has such a swap. Only a
//!   rematerialisable or recomputable instruction is executed again, and only the result of a storable one is written
//!   straight to memory. Nothing that the program keeps in a register, flags included, is overwritten.
//! - Every operand is in a register of its value's class. An operand of a copy may be in a fitting slot instead. So may one
//!   foldable use of an instruction, or a foldable definition together with the use that it overwrites.
//! - Slots outside the frame are only read, by foldable uses, of the value computed by the instruction that is said to load
//!   from there.
//! - A use finds its value, and nothing writes its register before all operands have been read.
//! - A definition is where the use is that it overwrites. It shares its register with no other definition, nor with a
//!   register that the instruction writes by itself, and overwrites nothing that the program keeps. An early definition also
//!   avoids the registers that the instruction reads or clobbers.
//! - Only these instructions are dropped: those performed elsewhere, rematerialisable ones that name no registers,
//!   recomputable ones, and copies as wide as their source or a part of it.
//! - An instruction that is performed elsewhere is movable. Besides its definitions, it writes only flags, and only where
//!   they are not live.
//! - A debug location holds its value. (For a dead value, this is known only from the block's head on.)

use super::complaint::{Complaint, Fault, Subject};
use super::state::State;
use super::transfer::{Visitor, copy_ends, is_same, located, relies_on_rest, written};
use crate::machine::{
    Block, ClassInfo, Edit, Function, Inst, InstFlags, InstKind, Location, Operand, Overlay, PinSets, Point, Reg, RegClass,
    RegSet, Role, Slot, SwapKind, SwapSupport, Value,
};
use cranelift_entity::SecondaryMap;

pub(super) struct Rules<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    /// The values in slots that are outside the frame.
    given: SecondaryMap<Slot, Vec<Value>>,
    /// For each point of the current block: the physical registers in which the program keeps something.
    pinned: Vec<RegSet>,
    /// The index of the next debug use in [`Function::debug_uses`].
    debug_use: usize,
    complaints: Vec<Complaint>,
}

/// An operand of an instruction, with its surroundings.
struct OperandSite<'a> {
    inst: Inst,
    /// The operand's index in `operands` and `locations`.
    index: usize,
    operands: &'a [Operand],
    locations: &'a [Option<Location>],
    pins: PinSets,
    /// The physical registers in which the program keeps something after the instruction.
    pinned_after: RegSet,
}

impl<'a> Rules<'a> {
    pub(super) fn new(function: &'a Function, overlay: &'a Overlay, given: SecondaryMap<Slot, Vec<Value>>) -> Self {
        Rules { function, overlay, given, pinned: Vec::new(), debug_use: 0, complaints: Vec::new() }
    }

    /// Prepares for walking a block. Blocks have to come in layout order.
    pub(super) fn enter(&mut self, block: Block) {
        let blocks = &self.function.blocks;
        let succs = blocks[block].succs.iter().map(|&s| &blocks[s]);
        let mut live = succs.filter(|s| !s.landing_pad).fold(RegSet::EMPTY, |live, s| live | s.live_in_pins);
        self.pinned.clear();
        self.pinned.push(live);
        for inst in self.function.block_insts(block).rev() {
            let pins = pins(self.function, inst);
            live = (live - written(&pins)) | pins.uses;
            self.pinned.push(live);
        }
        self.pinned.reverse();
    }

    pub(super) fn finish(self) -> Result<(), Vec<Complaint>> {
        if self.complaints.is_empty() { Ok(()) } else { Err(self.complaints) }
    }

    fn complain(&mut self, at: Point, subject: Subject, fault: Fault) {
        self.complaints.push(Complaint::new(self.function, Some(at), subject, fault));
    }

    fn debug_uses(&mut self, state: &State, point: Point) {
        while let Some(usage) = self.function.debug_uses.get(self.debug_use).filter(|usage| usage.at <= point) {
            let location = self.overlay.debug_locations[self.debug_use];
            self.debug_use += 1;
            if let Some(location) = location.filter(|&l| !state.holds(l, usage.value)) {
                let fault = Fault::Missing { value: usage.value, location, found: state.contents(location) };
                self.complain(usage.at, Subject::Variable(usage.value), fault);
            }
        }
    }

    /// Complains about the operands of an instruction that is executed at a point.
    fn operands(&mut self, state: &State, point: Point, inst: Inst, pinned_after: RegSet) {
        let mut site = OperandSite {
            inst,
            index: 0,
            operands: self.function.operands(inst),
            locations: self.overlay.operands(self.function, inst),
            pins: pins(self.function, inst),
            pinned_after,
        };
        for index in 0..site.operands.len() {
            site.index = index;
            for fault in self.operand_faults(state, &site) {
                self.complain(point, Subject::Operand(index), fault);
            }
        }
        if self.accesses(inst) > 1 && !self.function.insts[inst].kind.is_copy() {
            self.complain(point, Subject::Instruction, Fault::FoldedTwice);
        }
    }

    fn edit_faults(&self, point: Point, edit: &Edit, pinned: RegSet) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut overwritten = RegSet::EMPTY;
        match *edit {
            Edit::Load { to, from, class } => {
                faults.extend([self.may_write(point, to, class), self.slot_fits(from, class)].into_iter().flatten());
                overwritten.insert(to);
            }
            Edit::Store { from, to, class } => {
                faults.extend([self.may_read(from, class), self.slot_fits(to, class)].into_iter().flatten());
            }
            Edit::Move { to, from, class } => {
                faults.extend(self.moves(point, to, from, class).into_iter().flatten());
                overwritten.insert(to);
            }
            Edit::Swap { a, b, class, kind } => {
                faults.extend([self.in_class(a, class), self.in_class(b, class)].into_iter().flatten());
                let support = self.function.file.banks[self.function.file.classes[class].bank].swap;
                faults.extend((a == b || !supported(support, kind)).then_some(Fault::BadSwap));
                overwritten = [a, b].into_iter().collect();
                if support == SwapSupport::Exchange && kind == SwapKind::Xor {
                    overwritten |= self.function.file.status;
                }
            }
            Edit::Perform { inst, flagless } => {
                let flags = self.function.file.status;
                let pins = self.function.pins(inst);
                let mut defs = self.function.operands(inst).iter().filter(|operand| operand.is_def());
                let in_register = |location: &Option<Location>| matches!(location, Some(Location::Reg(_)));
                let in_registers = self.overlay.operands(self.function, inst).iter().all(in_register);
                let loose = defs.any(|def| def.reuse_none) && in_registers;
                let holds = written(pins).is_subset(flags) && pins.uses.is_empty() && (!flagless || loose);
                faults.extend((!holds).then_some(Fault::NotMovable { inst }));
                overwritten = if flagless { RegSet::EMPTY } else { written(pins) };
            }
            Edit::StoreConstant { to, inst } => match self.function.operands(inst) {
                [def] if self.function.insts[inst].is(InstFlags::STORABLE) => {
                    faults.extend(self.slot_fits(to, self.function.values[def.value].class));
                }
                _ => faults.push(Fault::NotStorable { inst }),
            },
            Edit::Rematerialise { to, inst, from: None } => {
                faults.extend(self.rematerialisable(point, to, inst));
                overwritten = written(self.function.pins(inst)) | RegSet::only(to);
            }
            Edit::Rematerialise { to, inst, from: Some(from) } => {
                faults.extend(self.recomputable(to, inst, from));
                overwritten = RegSet::only(to);
            }
        }
        faults.extend((overwritten & pinned).iter().map(|reg| Fault::OverwritesPin { reg }));
        faults
    }

    /// Right before a copy to a register of the program, a constant may be computed in that register, even if no value may
    /// live in it.
    fn rematerialisable(&self, point: Point, to: Reg, inst: Inst) -> Option<Fault> {
        let next = self.function.block_insts(point.block).nth(point.index as usize);
        let copied_to = next.is_some_and(|next| self.function.insts[next].kind == InstKind::CopyTo(to));
        match self.function.operands(inst) {
            [def] if copied_to && self.function.insts[inst].is(InstFlags::REMATERIALISABLE) => {
                let bank = self.function.file.classes[self.function.values[def.value].class].bank;
                let fits = def.is_def() && self.function.file.bank(to) == Some(bank);
                (!fits).then_some(Fault::NotRematerialisable { inst })
            }
            [def] if def.is_def() && self.function.insts[inst].is(InstFlags::REMATERIALISABLE) => {
                self.in_class(to, self.function.values[def.value].class)
            }
            _ => Some(Fault::NotRematerialisable { inst }),
        }
    }

    /// The result of an instruction depends only on what it reads. So it computes the same again if its definition and its
    /// use are both those of its last execution ([`super::transfer`] makes sure of that).
    fn recomputable(&self, to: Reg, inst: Inst, from: Reg) -> Vec<Fault> {
        match self.function.operands(inst) {
            [def, read] if self.function.insts[inst].is(InstFlags::RECOMPUTABLE) => {
                let class = |operand: &Operand| self.function.values[operand.value].class;
                [self.in_class(to, class(def)), self.in_class(from, class(read))].into_iter().flatten().collect()
            }
            _ => vec![Fault::NotRematerialisable { inst }],
        }
    }

    /// The number of slots that an instruction accesses. A slot that it changes counts once.
    fn accesses(&self, inst: Inst) -> usize {
        let (operands, locations) = (self.function.operands(inst), self.overlay.operands(self.function, inst));
        let in_memory = |k: usize| matches!(locations[k], Some(Location::Slot(_)));
        let changes = |def: usize, k: usize| {
            operands[def].overwritable().any(|use_| usize::from(use_) == k) && locations[def] == locations[k]
        };
        let changed = |k: usize| (0..operands.len()).any(|def| in_memory(def) && changes(def, k));
        (0..operands.len()).filter(|&k| in_memory(k) && !changed(k)).count()
    }

    /// An edit may read a register of the class, or an excluded one, in which the program must have put something.
    fn may_read(&self, reg: Reg, class: RegClass) -> Option<Fault> {
        if self.is_excluded(reg, class) { None } else { self.in_class(reg, class) }
    }

    /// An edit may write a register of the class. It may also write an excluded one, if the next instruction that accesses
    /// the register is the copy that the edit replaces.
    fn may_write(&self, point: Point, reg: Reg, class: RegClass) -> Option<Fault> {
        let names = |&inst: &Inst| {
            let pins = pins(self.function, inst);
            (written(&pins) | pins.uses).contains(reg)
        };
        let mut rest = self.function.block_insts(point.block).skip(point.index as usize);
        let mut awaited = || rest.find(names).is_some_and(|next| self.function.insts[next].kind == InstKind::CopyTo(reg));
        if self.is_excluded(reg, class) && awaited() { None } else { self.in_class(reg, class) }
    }

    fn is_excluded(&self, reg: Reg, class: RegClass) -> bool {
        let file = &self.function.file;
        file.excluded.contains(reg) && file.bank(reg) == Some(file.classes[class].bank)
    }

    fn in_class(&self, reg: Reg, class: RegClass) -> Option<Fault> {
        let fits = self.function.file.classes[class].regs.contains(reg);
        (!fits).then_some(Fault::OutsideClass { reg, class })
    }

    /// Whether the registers of an edit that moves are in its class. One of them may be in the bank beside the class's instead,
    /// in a class that is as wide.
    fn moves(&self, point: Point, to: Reg, from: Reg, class: RegClass) -> [Option<Fault>; 2] {
        let file = &self.function.file;
        let ClassInfo { bank, slot_size, .. } = file.classes[class];
        let holds =
            |c: &ClassInfo, reg: Reg| Some(c.bank) == file.banks[bank].beside && c.slot_size >= slot_size && c.regs.contains(reg);
        let is_beside = |reg: Reg| file.classes.values().any(|c| holds(c, reg));
        let reads = self.may_read(from, class);
        let writes = self.may_write(point, to, class);
        match (reads, writes) {
            (Some(_), None) if is_beside(from) => [None, None],
            (None, Some(_)) if is_beside(to) => [None, None],
            faults => faults.into(),
        }
    }

    /// Whether a slot fits the class and may be written.
    fn slot_fits(&self, slot: Slot, class: RegClass) -> Option<Fault> {
        if self.overlay.given[slot].is_some() { Some(Fault::NotOfFrame { slot }) } else { self.slot_suits(slot, class) }
    }

    /// The faults of an operand in a slot that already held its content when the function was entered.
    fn read_in_place(&self, site: &OperandSite, slot: Slot) -> Vec<Fault> {
        let Operand { value, role, foldable, .. } = *site.operand();
        let class = self.function.values[value].class;
        if role != Role::Use || !foldable {
            return vec![Fault::NotOfFrame { slot }];
        }
        let is_there = self.given[slot].contains(&value) && self.overlay.slots[slot].size >= self.function.slot_for(value).size;
        let found = || self.given[slot].clone();
        let missing = (!is_there).then(|| Fault::Missing { value, location: Location::Slot(slot), found: found() });
        self.slot_suits(slot, class).into_iter().chain(missing).collect()
    }

    fn slot_suits(&self, slot: Slot, class: RegClass) -> Option<Fault> {
        let (has, wants) = (self.overlay.slots[slot], &self.function.file.classes[class]);
        // A slot of another width would be for another form in memory of an x87 register's content.
        let exact = self.function.file.banks[wants.bank].swap == SwapSupport::Never;
        let fits = has.size >= wants.slot_size && has.align >= wants.slot_align && (!exact || has.size == wants.slot_size);
        (!fits).then_some(Fault::SlotUnfit { slot, class })
    }

    fn read_twice(site: &OperandSite, slot: Slot) -> Option<Fault> {
        let reads = |other: &&Operand| !other.is_def() && other.value == site.operand().value;
        (site.operands.iter().filter(reads).count() > 1).then_some(Fault::ReadTwice { slot })
    }

    fn operand_faults(&self, state: &State, site: &OperandSite) -> Vec<Fault> {
        let mut faults = Vec::new();
        let operand = site.operand();
        let class = self.function.values[operand.value].class;
        match site.location() {
            // The copy's value is computed right in the register of the program, or left there.
            Location::Reg(reg) if names(&self.function.insts[site.inst].kind, reg) => {}
            Location::Reg(reg) => faults.extend(self.in_class(reg, class)),
            Location::Slot(slot) if self.overlay.given[slot].is_some() => {
                faults.extend(self.read_in_place(site, slot));
                faults.extend(Self::read_twice(site, slot));
                return faults;
            }
            Location::Slot(slot) if site.may_be_in_memory() || self.function.insts[site.inst].kind.is_copy() => {
                faults.extend(self.slot_fits(slot, class));
                faults.extend(Self::read_twice(site, slot));
            }
            Location::Slot(slot) => faults.push(Fault::NotFoldable { slot }),
        }
        match operand.role {
            Role::Use => faults.extend(use_faults(state, site)),
            Role::Def | Role::EarlyDef => {
                let silent = copy_ends(self.function, self.overlay, site.inst).is_some_and(|(to, from)| to == from);
                faults.extend(definition_faults(site, silent));
            }
        }
        faults
    }
}

impl Visitor for Rules<'_> {
    fn edit(&mut self, state: &State, point: Point, edit: &Edit) {
        if let Edit::Perform { inst, .. } = *edit {
            self.operands(state, point, inst, self.pinned[point.index as usize]);
        }
        for fault in self.edit_faults(point, edit, self.pinned[point.index as usize]) {
            self.complain(point, Subject::Edit(*edit), fault);
        }
    }

    fn inst(&mut self, state: &State, point: Point, inst: Inst) {
        self.debug_uses(state, point);
        if self.overlay.is_performed(self.function, inst) {
            return;
        }
        if self.overlay.is_dropped(inst) {
            let data = &self.function.insts[inst];
            let repeated = data.is(InstFlags::REMATERIALISABLE) && pins(self.function, inst) == PinSets::default()
                || data.is(InstFlags::RECOMPUTABLE);
            if !repeated && !is_same(self.function, inst) {
                self.complain(point, Subject::Instruction, Fault::NotRematerialisable { inst });
            }
            return;
        }
        self.operands(state, point, inst, self.pinned[point.index as usize + 1]);
        if let Some((Location::Slot(to), Location::Slot(from))) = copy_ends(self.function, self.overlay, inst)
            && (to != from || relies_on_rest(self.function, inst))
        {
            self.complain(point, Subject::Instruction, Fault::MemoryToMemory);
        }
    }

    fn end(&mut self, state: &State, block: Block) {
        let index = self.function.block_insts(block).len() as u32;
        self.debug_uses(state, Point { block, index });
    }
}

impl OperandSite<'_> {
    fn operand(&self) -> &Operand {
        &self.operands[self.index]
    }

    fn location(&self) -> Location {
        located(self.locations[self.index])
    }

    /// Whether the instruction can access the operand in memory, or change it there together with the definition that
    /// overwrites it.
    fn may_be_in_memory(&self) -> bool {
        let updates = |(o, &l): (&Operand, &Option<Location>)| {
            o.foldable && o.overwritable().any(|use_| usize::from(use_) == self.index) && l == Some(self.location())
        };
        self.operand().foldable || self.operands.iter().zip(self.locations).any(updates)
    }

    /// Whether an early definition overwrites this use, other than the one tied to it.
    fn overwritten_early(&self) -> bool {
        let early = self.operands.iter().zip(self.locations).filter(|(o, _)| o.role == Role::EarlyDef);
        let tied = |o: &Operand| o.reuse.map(usize::from) == Some(self.index);
        early.filter(|(o, _)| !tied(o)).any(|(_, &l)| l == Some(self.location()))
    }

    /// Whether an earlier definition of the instruction is in the same place.
    fn shared(&self) -> bool {
        let mut earlier = self.operands[..self.index].iter().zip(self.locations).filter(|(o, _)| o.is_def());
        earlier.any(|(_, &l)| l == Some(self.location()))
    }
}

fn use_faults(state: &State, site: &OperandSite) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (value, location) = (site.operand().value, site.location());
    if !state.holds(location, value) {
        faults.push(Fault::Missing { value, location, found: state.contents(location) });
    }
    if let Location::Reg(reg) = location
        && (site.pins.early_defs.contains(reg) || site.overwritten_early())
    {
        faults.push(Fault::OverwrittenEarly { reg });
    }
    faults
}

/// `silent`: the definition writes nothing, as it is a copy whose source is in the same place.
fn definition_faults(site: &OperandSite, silent: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (operand, location) = (site.operand(), site.location());
    if let Some(partner) = operand.reuse {
        let at = |k: u8| located(site.locations[usize::from(k)]);
        let usage = at(partner);
        // The form of the instruction that overwrites no use accesses no memory.
        let in_registers = || site.locations.iter().all(|location| matches!(location, Some(Location::Reg(_))));
        let holds = operand.overwritable().any(|use_| at(use_) == location) || operand.reuse_none && in_registers();
        faults.extend((!holds).then_some(Fault::ReuseDiffers { definition: location, usage }));
    }
    let Location::Reg(reg) = location else { return faults };
    let mut own = site.pins.defs | site.pins.early_defs;
    if operand.role == Role::EarlyDef {
        own |= site.pins.uses | site.pins.clobbers;
    }
    if own.contains(reg) {
        faults.push(Fault::OverlapsPin { reg });
    } else if site.pinned_after.contains(reg) && !silent {
        faults.push(Fault::OverwritesPin { reg });
    }
    faults.extend(site.shared().then_some(Fault::SharedDefinition { reg }));
    faults
}

/// Whether an instruction of this kind is a copy to or from this register of the program.
fn names(kind: &InstKind, reg: Reg) -> bool {
    matches!(*kind, InstKind::CopyTo(it) | InstKind::CopyFrom(it) if it == reg)
}

fn supported(support: SwapSupport, kind: SwapKind) -> bool {
    match kind {
        SwapKind::Exchange => support == SwapSupport::Exchange,
        SwapKind::Xor => support != SwapSupport::Never,
    }
}

/// The instruction's pins, including the register that its kind names.
fn pins(function: &Function, inst: Inst) -> PinSets {
    let mut pins = *function.pins(inst);
    match function.insts[inst].kind {
        InstKind::CopyTo(reg) => pins.defs.insert(reg),
        InstKind::CopyFrom(reg) => pins.uses.insert(reg),
        _ => {}
    }
    pins
}
