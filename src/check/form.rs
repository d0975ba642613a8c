//! Whether the overlay is well-formed. Only then may later checks index with its contents.

use super::complaint::{Complaint, Fault, Subject};
use crate::machine::{Block, Edit, Function, Inst, InstFlags, InstKind, Location, Overlay, Point, Reg, RegClass, Slot};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) fn check(function: &Function, overlay: &Overlay) -> Result<(), Vec<Complaint>> {
    let mut performed: BTreeMap<Inst, Vec<Point>> = BTreeMap::new();
    for &(point, edit) in &overlay.edits {
        if let Edit::Perform { inst, .. } = edit {
            performed.entry(inst).or_default().push(point);
        }
    }
    let form = Form { function, overlay, performed };
    let mut complaints: Vec<Complaint> = form.counts().into_iter().flatten().collect();
    if complaints.is_empty() {
        for block in function.blocks.keys() {
            form.block(block, &mut complaints);
        }
        form.debug_locations(&mut complaints);
        form.given(&mut complaints);
        form.edits(&mut complaints);
    }
    if complaints.is_empty()
        && let Some(inst) = overlay.displaced_record(function)
    {
        let mut blocks = function.blocks.iter().filter(|(_, data)| data.insts.contains(&inst.as_u32()));
        let at = blocks.next().map(|(block, data)| Point { block, index: inst.as_u32() - data.insts.start });
        complaints.push(Complaint::new(function, at, Subject::Operand(0), Fault::Displaced));
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

struct Form<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    /// The points of the edits that perform each instruction.
    performed: BTreeMap<Inst, Vec<Point>>,
}

impl Form<'_> {
    fn counts(&self) -> [Option<Complaint>; 2] {
        let count = |what, expected, found| {
            let fault = Fault::Count { what, expected, found };
            (expected != found).then(|| Complaint::new(self.function, None, Subject::Whole, fault))
        };
        [
            count("operands", self.function.operands.len(), self.overlay.locations.len()),
            count("debug uses", self.function.debug_uses.len(), self.overlay.debug_locations.len()),
        ]
    }

    fn block(&self, block: Block, complaints: &mut Vec<Complaint>) {
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let at = Some(Point { block, index: index as u32 });
            let mut complain = |subject, fault| complaints.push(Complaint::new(self.function, at, subject, fault));
            if matches!(self.function.insts[inst].kind, InstKind::Inserted(_)) {
                complain(Subject::Instruction, Fault::NotImported);
            }
            if self.overlay.is_performed(self.function, inst) && !self.is_performed_once(block, inst) {
                complain(Subject::Instruction, Fault::NotMovable { inst });
            } else if self.overlay.is_dropped(inst) {
                continue;
            }
            for (i, &location) in self.overlay.operands(self.function, inst).iter().enumerate() {
                match location {
                    None => complain(Subject::Operand(i), Fault::Nowhere),
                    Some(location) if !self.exists(location) => complain(Subject::Operand(i), Fault::Unknown),
                    Some(_) => {}
                }
            }
        }
    }

    fn debug_locations(&self, complaints: &mut Vec<Complaint>) {
        for (usage, location) in self.function.debug_uses.iter().zip(&self.overlay.debug_locations) {
            if location.is_some_and(|l| !self.exists(l)) {
                let subject = Subject::Variable(usage.value);
                complaints.push(Complaint::new(self.function, Some(usage.at), subject, Fault::Unknown));
            }
        }
    }

    fn given(&self, complaints: &mut Vec<Complaint>) {
        for (slot, inst) in self.overlay.given.iter().filter_map(|(slot, inst)| Some((slot, inst.expand()?))) {
            let exists = self.slot(slot) && self.function.insts.is_valid(inst);
            if !exists || !self.function.insts[inst].is(InstFlags::GIVEN) {
                let fault = if exists { Fault::NotGiven { inst } } else { Fault::Unknown };
                complaints.push(Complaint::new(self.function, None, Subject::Whole, fault));
            }
        }
    }

    fn edits(&self, complaints: &mut Vec<Complaint>) {
        let mut latest = None;
        for (point, edit) in &self.overlay.edits {
            let mut complain = |fault| complaints.push(Complaint::new(self.function, Some(*point), Subject::Edit(*edit), fault));
            if latest > Some(*point) {
                complain(Fault::Unsorted);
            }
            latest = latest.max(Some(*point));
            if !self.names_exist(edit) {
                complain(Fault::Unknown);
            }
            if let Some(fault) = self.misplaced(*point) {
                complain(fault);
            }
            if let Edit::Perform { inst, .. } = *edit
                && !self.overlay.is_performed(self.function, inst)
            {
                complain(Fault::NotMovable { inst });
            }
        }
    }

    fn misplaced(&self, point: Point) -> Option<Fault> {
        let function = self.function;
        if !function.blocks.is_valid(point.block) || point.index as usize > function.block_insts(point.block).len() {
            return Some(Fault::NoSuchPoint);
        }
        let first = function.blocks[point.block].insts.start;
        if point.index > 0 && function.insts[Inst::from_u32(first + point.index - 1)].is(InstFlags::TERMINATOR) {
            return Some(Fault::BehindTerminator);
        }
        (point < function.head(point.block)).then_some(Fault::BeforeLabels)
    }

    fn names_exist(&self, edit: &Edit) -> bool {
        match *edit {
            Edit::Load { to: reg, from: slot, class } | Edit::Store { from: reg, to: slot, class } => {
                self.reg(reg) && self.slot(slot) && self.class(class)
            }
            Edit::Move { to: a, from: b, class } | Edit::Swap { a, b, class, kind: _ } => {
                self.reg(a) && self.reg(b) && self.class(class)
            }
            Edit::StoreConstant { to, inst } => self.slot(to) && self.function.insts.is_valid(inst),
            Edit::Rematerialise { to, inst, from } => {
                self.reg(to) && self.function.insts.is_valid(inst) && from.is_none_or(|from| self.reg(from))
            }
            Edit::Perform { inst, .. } => self.function.insts.is_valid(inst),
        }
    }

    /// Whether exactly one edit performs a movable instruction, and in its block. If it reads memory, no instruction in between
    /// may write any.
    fn is_performed_once(&self, block: Block, inst: Inst) -> bool {
        let insts = &self.function.insts;
        let Range { start, end } = self.function.blocks[block].insts;
        let points = self.performed.get(&inst).map_or(&[][..], Vec::as_slice);
        let [point] = points else { return false };
        let at = end.min(start + point.index);
        let between = at.min(inst.as_u32())..at.max(inst.as_u32());
        let is_written = || between.map(Inst::from_u32).any(|other| insts[other].is(InstFlags::WRITES));
        insts[inst].is(InstFlags::MOVABLE) && point.block == block && !(insts[inst].is(InstFlags::READS) && is_written())
    }

    fn exists(&self, location: Location) -> bool {
        match location {
            Location::Reg(reg) => self.reg(reg),
            Location::Slot(slot) => self.slot(slot),
        }
    }

    fn reg(&self, reg: Reg) -> bool {
        reg.index() < self.function.file.regs.len()
    }

    fn slot(&self, slot: Slot) -> bool {
        self.overlay.slots.is_valid(slot)
    }

    fn class(&self, class: RegClass) -> bool {
        self.function.file.classes.is_valid(class)
    }
}
