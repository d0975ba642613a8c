//! Flattens overlays into the arrays that the bridge applies.

use super::ffi::{self, EditKind};
use crate::machine::{Edit, Function, Inst, Location, Overlay, Point, RegSet, SlotData, SwapKind};
use cranelift_entity::EntityRef;

/// The arrays of one allocation. An [`ffi::Answer`] made from them is valid as long as they are neither moved nor dropped.
#[derive(Default)]
pub struct Arrays {
    locations: Vec<i32>,
    edits: Vec<ffi::Edit>,
    slots: Vec<ffi::Slot>,
    debug_locations: Vec<i32>,
    usable: RegSet,
}

impl Arrays {
    /// Flattens an overlay over a function.
    pub fn new(overlay: &Overlay, function: &Function) -> Self {
        let known = |at: &Option<Location>| at.map_or(ffi::NO_LOCATION, location);
        Arrays {
            locations: overlay.locations.iter().map(known).collect(),
            edits: overlay.edits.iter().map(|(point, change)| edit(*point, *change)).collect(),
            slots: overlay.slots.iter().map(|(slot, data)| flat_slot(*data, overlay.given[slot].expand())).collect(),
            debug_locations: overlay.debug_locations.iter().map(known).collect(),
            usable: function.file.classes.values().fold(RegSet::EMPTY, |set, class| set | class.regs),
        }
    }

    /// No allocation: the outcome, and why the function is left to LLVM, if it is.
    pub fn none(outcome: ffi::Outcome, reason: &str) -> ffi::Answer {
        ffi::Answer { outcome: outcome as u32, reason: ffi::Str::new(reason.as_bytes()), ..Arrays::default().answer() }
    }

    /// The bridge's view of the arrays.
    pub fn answer(&self) -> ffi::Answer {
        ffi::Answer {
            outcome: ffi::Outcome::Allocated as u32,
            reason: ffi::Str::new(b""),
            locations: self.locations.as_ptr(),
            edits: self.edits.as_ptr(),
            num_edits: self.edits.len(),
            slots: self.slots.as_ptr(),
            num_slots: self.slots.len(),
            debug_locations: self.debug_locations.as_ptr(),
            usable: self.usable.into(),
        }
    }
}

fn flat_slot(data: SlotData, given: Option<Inst>) -> ffi::Slot {
    ffi::Slot { size: data.size, align: data.align, given: given.map_or(ffi::NONE, Inst::as_u32) }
}

/// Encodes a register as its index, a slot as the complement of its index.
fn location(at: Location) -> i32 {
    match at {
        Location::Reg(reg) => reg.index() as i32,
        Location::Slot(slot) => !(slot.index() as i32),
    }
}

fn edit(point: Point, edit: Edit) -> ffi::Edit {
    let at = ffi::Edit {
        block: point.block.as_u32(),
        index: point.index,
        kind: EditKind::Load as u8,
        to: 0,
        from: 0,
        object: 0,
        class: 0,
    };
    match edit {
        Edit::Load { to, from, class } => {
            ffi::Edit { kind: EditKind::Load as u8, to: to.index() as u8, object: from.as_u32(), class: class.as_u32(), ..at }
        }
        Edit::Store { from, to, class } => {
            ffi::Edit { kind: EditKind::Store as u8, from: from.index() as u8, object: to.as_u32(), class: class.as_u32(), ..at }
        }
        Edit::Move { to, from, class } => {
            ffi::Edit { kind: EditKind::Move as u8, to: to.index() as u8, from: from.index() as u8, class: class.as_u32(), ..at }
        }
        Edit::Swap { a, b, class, kind } => {
            let kind = if kind == SwapKind::Exchange { EditKind::Exchange } else { EditKind::Xor };
            ffi::Edit { kind: kind as u8, to: a.index() as u8, from: b.index() as u8, class: class.as_u32(), ..at }
        }
        Edit::Perform { inst, flagless } => {
            ffi::Edit { kind: EditKind::Perform as u8, object: inst.as_u32(), class: flagless.into(), ..at }
        }
        Edit::StoreConstant { to, inst } => {
            ffi::Edit { kind: EditKind::StoreConstant as u8, object: to.as_u32(), class: inst.as_u32(), ..at }
        }
        Edit::Rematerialise { to, inst, from } => {
            let from = from.map_or(0, |from| from.index() as u8);
            ffi::Edit { kind: EditKind::Rematerialise as u8, to: to.index() as u8, from, object: inst.as_u32(), ..at }
        }
    }
}
