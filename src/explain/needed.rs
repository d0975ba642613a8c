//! The places whose content is read later: a register may still hold a value that nobody reads from it.
//!
//! Requires: an overlay that the checker accepts.
//! Ensures: a place is needed at a point if, on some path from there, it is read before it is written.

use crate::analysis::Order;
use crate::machine::{Block, Edit, Function, Inst, Location, Overlay, RegSet, Slot};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// Some places.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Places {
    registers: RegSet,
    slots: EntitySet<Slot>,
}

impl Places {
    pub(super) fn contains(&self, place: Location) -> bool {
        match place {
            Location::Reg(reg) => self.registers.contains(reg),
            Location::Slot(slot) => self.slots.contains(slot),
        }
    }

    fn insert(&mut self, place: Location) {
        match place {
            Location::Reg(reg) => self.registers.insert(reg),
            Location::Slot(slot) => _ = self.slots.insert(slot),
        }
    }

    fn remove(&mut self, place: Location) {
        match place {
            Location::Reg(reg) => self.registers.remove(reg),
            Location::Slot(slot) => _ = self.slots.remove(slot),
        }
    }

    /// Adds places. Answers whether any is new.
    fn extend(&mut self, other: &Places) -> bool {
        let before = self.registers;
        self.registers |= other.registers;
        let mut is_new = self.registers != before;
        for slot in other.slots.iter() {
            is_new |= self.slots.insert(slot);
        }
        is_new
    }
}

/// What is executed at one place in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// An edit, by its index.
    Edit(usize),
    Inst(Inst),
}

/// The steps of a block, in order.
pub(super) fn steps(function: &Function, overlay: &Overlay, block: Block) -> Vec<Step> {
    let mut edits = overlay.edits.partition_point(|(at, _)| at.block < block);
    let mut steps = Vec::new();
    let mut until = |index: u32, steps: &mut Vec<Step>| {
        while overlay.edits.get(edits).is_some_and(|(at, _)| at.block == block && at.index <= index) {
            steps.push(Step::Edit(edits));
            edits += 1;
        }
    };
    for (index, inst) in function.block_insts(block).enumerate() {
        until(index as u32, &mut steps);
        steps.push(Step::Inst(inst));
    }
    until(u32::MAX, &mut steps);
    steps
}

/// The places that are needed, by block.
pub(super) struct Needed<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    at_head: SecondaryMap<Block, Places>,
}

impl<'a> Needed<'a> {
    pub(super) fn new(function: &'a Function, overlay: &'a Overlay) -> Self {
        let mut needed = Needed { function, overlay, at_head: SecondaryMap::with_capacity(function.blocks.len()) };
        let order = Order::new(function);
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &block in order.blocks().iter().rev() {
                let at_head = needed.before_each(block).into_iter().next().unwrap_or_default();
                has_changed |= needed.at_head[block].extend(&at_head);
            }
        }
        needed
    }

    /// The places that are needed before each step of a block, and at its end.
    pub(super) fn before_each(&self, block: Block) -> Vec<Places> {
        let blocks = &self.function.blocks;
        let mut now = Places::default();
        let entered = |now: &mut Places, by_throw: bool| {
            let succs = blocks[block].succs.iter().filter(|&&succ| blocks[succ].landing_pad == by_throw);
            succs.for_each(|&succ| _ = now.extend(&self.at_head[succ]));
        };
        entered(&mut now, false);
        let mut before = vec![now.clone()];
        for step in steps(self.function, self.overlay, block).into_iter().rev() {
            let (reads, writes) = self.accesses(step);
            writes.into_iter().for_each(|place| now.remove(place));
            if let Step::Inst(inst) = step {
                let pins = self.function.pins(inst);
                now.registers = now.registers - (pins.defs | pins.early_defs | pins.clobbers);
                if blocks[block].throws == inst.into() {
                    entered(&mut now, true);
                }
            }
            reads.into_iter().for_each(|place| now.insert(place));
            before.push(now.clone());
        }
        before.reverse();
        before
    }

    /// The places that a step reads, and those that it writes.
    fn accesses(&self, step: Step) -> (SmallVec<[Location; 4]>, SmallVec<[Location; 4]>) {
        let (mut reads, mut writes) = (SmallVec::new(), SmallVec::new());
        let mut of_inst = |inst: Inst| {
            for (operand, place) in self.function.operands(inst).iter().zip(self.overlay.operands(self.function, inst)) {
                if let Some(place) = *place {
                    if operand.is_def() { &mut writes } else { &mut reads }.push(place);
                }
            }
        };
        match step {
            Step::Inst(inst) if !self.overlay.is_dropped(inst) => of_inst(inst),
            Step::Inst(_) => {}
            Step::Edit(index) => match self.overlay.edits[index].1 {
                Edit::Perform { inst, .. } => of_inst(inst),
                Edit::Load { to, from, .. } => {
                    reads.push(Location::Slot(from));
                    writes.push(Location::Reg(to));
                }
                Edit::Store { from, to, .. } => {
                    reads.push(Location::Reg(from));
                    writes.push(Location::Slot(to));
                }
                Edit::Move { to, from, .. } => {
                    reads.push(Location::Reg(from));
                    writes.push(Location::Reg(to));
                }
                // What one register holds is needed in the other one afterwards, if at all; both count as needed.
                Edit::Swap { a, b, .. } => reads.extend([a, b].map(Location::Reg)),
                Edit::Rematerialise { to, from, .. } => {
                    reads.extend(from.map(Location::Reg));
                    writes.push(Location::Reg(to));
                }
                Edit::StoreConstant { to, .. } => writes.push(Location::Slot(to)),
            },
        }
        (reads, writes)
    }
}
