//! Location transfer graphs of registers and memory, as sequences of instructions.
//!
//! Where allocation is not frugal, a φ's value may have to go from one slot to another, which no instruction does.
//! `sequence.rs` cannot name memory and never spills; this file is the machinery of its rivals.
//!
//! - Trees are implemented from their leaves. A transfer between slots is a load and a store through a register that is free
//!   at that moment. The order of the edges is chosen such that registers stay free for long.
//! - Where no register is free, one is *lent*: its content is stored to a scratch slot, and loaded back when something reads
//!   it, or at the end. In between it serves all transfers.
//! - Cycles of registers are implemented as in `sequence.rs`. Any other cycle is broken: the source of one of its edges is
//!   parked in a free register or a scratch slot, which leaves a path.
//!
//! So this file does not decide whether a register is kept spare or registers are lent on demand: where the caller keeps one
//! spare in each bank, no register is ever stored to free it.
//!
//! Relies on: [PP09, §1] (a spare register, or Brisk's spilling on demand), [PP09, §2, Figure 2(c)] (the code of spilling on
//! demand) and [PP09, §4] (the graphs are windmills; `graph.rs` finds their trees and cycles).

use super::graph::{Edge, Graph};
use super::sequence::{Surroundings, Transfer, cycle_steps};
use crate::machine::{Edit, Location, Reg, RegClass, RegSet, RegisterFile, Slot, SlotData, SwapSupport};
use cranelift_entity::PrimaryMap;

/// A transfer: the content of one location goes to another, at the same time as along all other transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocationTransfer {
    pub from: Location,
    pub to: Location,
    /// Wide enough for the content. Of a transfer between slots, it says how many bytes are moved, and through which bank.
    pub class: RegClass,
}

impl LocationTransfer {
    pub(super) fn is_in_memory(self) -> bool {
        matches!((self.from, self.to), (Location::Slot(_), Location::Slot(_)))
    }
}

impl Edge for LocationTransfer {
    type Place = Location;

    fn source(self) -> Location {
        self.from
    }

    fn target(self) -> Location {
        self.to
    }
}

/// The slots of a function. Its graphs use some of them, the scratch slots, in turn.
pub struct Scratch {
    slots: PrimaryMap<Slot, SlotData>,
    /// Scratch slots that hold nothing.
    idle: Vec<Slot>,
    /// All scratch slots.
    all: Vec<Slot>,
    /// The classes of the values that registers may hold.
    classes: Vec<RegClass>,
}

impl Scratch {
    /// Adds scratch slots after `slots`. The `classes` are those of the function's values. They say how much of a register
    /// has to be preserved; a class that no value has may have no legal load or store.
    pub fn new(slots: PrimaryMap<Slot, SlotData>, classes: impl IntoIterator<Item = RegClass>) -> Self {
        let mut classes: Vec<RegClass> = classes.into_iter().collect();
        classes.sort_unstable();
        classes.dedup();
        Scratch { slots, idle: Vec::new(), all: Vec::new(), classes }
    }

    /// All slots, with the scratch slots last.
    pub fn slots(&self) -> &PrimaryMap<Slot, SlotData> {
        &self.slots
    }

    /// All slots, with the scratch slots last.
    pub fn into_slots(self) -> PrimaryMap<Slot, SlotData> {
        self.slots
    }

    /// An idle slot that is exactly as large as a class requires.
    fn take(&mut self, data: SlotData) -> Slot {
        match self.idle.iter().position(|&slot| self.slots[slot] == data) {
            Some(index) => self.idle.swap_remove(index),
            None => {
                let slot = self.slots.push(data);
                self.all.push(slot);
                slot
            }
        }
    }

    fn give_back(&mut self, slot: Slot) {
        self.idle.push(slot);
    }
}

/// The code of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Implemented {
    pub edits: Vec<Edit>,
    /// How many registers were stored because none was free.
    pub spills: u32,
}

/// A transfer between slots has no register to go through: the program has all of this class.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no register of class {0} can take part")]
pub struct NoRegister(pub String);

/// Implements a graph: afterwards each `to` holds what its `from` held before. No other register has changed but `available`
/// ones, and no other slot but those of `scratch`. Besides these, only kept registers, sources and targets are ever written.
///
/// # Errors
/// If a transfer between slots finds no register at all: none of its bank is available, kept, a source or a target.
///
/// # Panics
/// If two transfers go to one location.
pub fn implement(
    transfers: &[LocationTransfer],
    around: &Surroundings,
    scratch: &mut Scratch,
) -> Result<Implemented, NoRegister> {
    scratch.idle.clone_from(&scratch.all);
    let mut windmill = Windmill::new(transfers, around, scratch);
    windmill.trees()?;
    windmill.cycles()?;
    windmill.restore_all();
    Ok(windmill.done)
}

struct Windmill<'a> {
    around: &'a Surroundings<'a>,
    scratch: &'a mut Scratch,
    graph: Graph<LocationTransfer>,
    ready: Ready,
    /// Registers that stay free once nothing reads them.
    spare: RegSet,
    /// Registers whose content nothing needs: spare ones that are read no more, targets that are ready, and lent ones.
    free: RegSet,
    /// Registers that may be lent while they are not free.
    lendable: RegSet,
    lent: Vec<Lent>,
    copies: Vec<Duplicate>,
    /// The registers of the cycle that is being implemented.
    cycle: RegSet,
    /// The registers of all cycles that are not implemented yet.
    waiting: RegSet,
    done: Implemented,
}

/// Locations whose edge is ready.
#[derive(Default)]
struct Ready {
    /// Slots that get the content of a register.
    stores: Vec<Location>,
    /// Slots that get the content of a slot.
    transfers: Vec<LocationTransfer>,
    registers: Vec<Location>,
}

/// A register whose content is in a scratch slot for a while.
struct Lent {
    reg: Reg,
    slot: Slot,
    class: RegClass,
}

/// A register that holds the old content of a location, or as much of it as a class holds.
struct Duplicate {
    reg: Reg,
    of: Location,
    class: RegClass,
}

impl<'a> Windmill<'a> {
    fn new(transfers: &[LocationTransfer], around: &'a Surroundings<'a>, scratch: &'a mut Scratch) -> Self {
        let targets: RegSet = transfers.iter().filter_map(|transfer| register(transfer.to)).collect();
        let sources: RegSet = transfers.iter().filter_map(|transfer| register(transfer.from)).collect();
        let graph = Graph::new(transfers);
        let spare = around.available - around.kept - targets;
        let mut windmill = Windmill {
            around,
            scratch,
            ready: Ready::default(),
            spare,
            free: spare.iter().filter(|&reg| graph.readers(Location::Reg(reg)) == 0).collect(),
            lendable: around.kept | sources | targets,
            lent: Vec::new(),
            copies: Vec::new(),
            cycle: RegSet::EMPTY,
            waiting: RegSet::EMPTY,
            graph,
            done: Implemented::default(),
        };
        for place in windmill.graph.ready() {
            windmill.note_ready(place);
        }
        windmill
    }

    /// Implements everything that is not on a cycle, and the trees that hang on cycles.
    fn trees(&mut self) -> Result<(), NoRegister> {
        while let Some(to) = self.next_ready() {
            let (edge, released) = self.graph.take(to);
            self.implement_edge(edge)?;
            if let Location::Reg(reg) = edge.to {
                self.free.remove(reg);
            }
            if let Location::Reg(reg) = edge.from
                && self.spare.contains(reg)
                && self.graph.readers(edge.from) == 0
            {
                self.free.insert(reg);
            }
            if let Some(place) = released {
                self.note_ready(place);
            }
        }
        Ok(())
    }

    /// Notes that a location's edge is ready. A register that nothing reads any more is free until it is written.
    fn note_ready(&mut self, place: Location) {
        let edge = self.graph.edge_into(place).expect("a ready place has an edge");
        match (edge.from, edge.to) {
            (_, Location::Reg(reg)) => {
                self.free.insert(reg);
                self.ready.registers.push(place);
            }
            (Location::Reg(_), Location::Slot(_)) => self.ready.stores.push(place),
            (Location::Slot(_), Location::Slot(_)) => self.ready.transfers.push(edge),
        }
    }

    /// The location to write next. Stores take no register and may free one, so they come first. Transfers between slots
    /// need a register only for a moment, and come when one is free. Edges that write a register come late: first those that
    /// free their source or make it ready, then the rest. If only transfers between slots are left, a register has to be
    /// lent.
    fn next_ready(&mut self) -> Option<Location> {
        if let Some(place) = self.ready.stores.pop() {
            return Some(place);
        }
        if let Some(index) = self.ready.transfers.iter().rposition(|&edge| self.needs_no_lending(edge)) {
            return Some(self.ready.transfers.swap_remove(index).to);
        }
        if let Some(index) = self.ready.registers.iter().rposition(|&place| self.releases_source(place)) {
            return Some(self.ready.registers.swap_remove(index));
        }
        self.ready.registers.pop().or_else(|| Some(self.ready.transfers.pop()?.to))
    }

    /// Whether a register is free for a transfer between slots, or holds its content already.
    fn needs_no_lending(&self, edge: LocationTransfer) -> bool {
        self.free.intersects(self.carriers(edge.class)) || !self.copies(edge).is_empty()
    }

    /// Whether the edge into a location is the last one out of its source, which then becomes ready or a free register.
    fn releases_source(&self, place: Location) -> bool {
        let edge = self.graph.edge_into(place).expect("a ready place has an edge");
        let is_spare = register(edge.from).is_some_and(|reg| self.spare.contains(reg));
        self.graph.readers(edge.from) == 1 && (is_spare || self.graph.edge_into(edge.from).is_some())
    }

    /// Implements what is left: cycles, in which each location is read once.
    fn cycles(&mut self) -> Result<(), NoRegister> {
        let registers = |cycle: &[LocationTransfer]| cycle.iter().filter_map(|edge| register(edge.to)).collect::<RegSet>();
        let mut cycles: Vec<_> = std::iter::from_fn(|| self.graph.next_cycle()).collect();
        self.waiting = cycles.iter().fold(RegSet::EMPTY, |set, cycle| set | registers(cycle));
        // Cycles that trees hung on come first: their copies in registers are good until the registers are lent.
        cycles.sort_by_key(|cycle| cycle.iter().all(|&edge| self.breaking_cost(edge) > 0));
        for cycle in cycles {
            self.cycle = registers(&cycle);
            match among_registers(&cycle, self.around.file) {
                Some(transfers) if self.can_turn(&transfers) => self.turn(&transfers),
                _ => self.break_cycle(cycle)?,
            }
            self.waiting = self.waiting - self.cycle;
        }
        Ok(())
    }

    /// Whether a cycle of registers can be implemented without memory.
    fn can_turn(&self, cycle: &[Transfer]) -> bool {
        let file = self.around.file;
        let bank = file.classes[cycle[0].class].bank;
        file.banks[bank].swap != SwapSupport::Never || self.free_beside(cycle).is_some()
    }

    /// Implements a cycle of registers [PP09, Theorem 5].
    fn turn(&mut self, cycle: &[Transfer]) {
        for transfer in cycle {
            self.restore(transfer.to);
        }
        let free = self.free_beside(cycle);
        self.copies.retain(|copy| !self.cycle.contains(copy.reg) && Some(copy.reg) != free);
        let mut steps = Vec::new();
        cycle_steps(cycle, free, self.around, &mut steps);
        self.done.edits.extend(steps.into_iter().map(Edit::from));
    }

    /// A free register by way of which a cycle of registers can be broken.
    fn free_beside(&self, cycle: &[Transfer]) -> Option<Reg> {
        let carried = cycle[cycle.len() - 1].class;
        ((self.free - self.cycle) & self.around.file.classes[carried].regs).first()
    }

    /// Implements a cycle as a path: the source of one edge is parked, and the edge comes last.
    fn break_cycle(&mut self, mut cycle: Vec<LocationTransfer>) -> Result<(), NoRegister> {
        let weakest = (0..cycle.len()).min_by_key(|&index| self.breaking_cost(cycle[index])).expect("a cycle has edges");
        cycle.rotate_left(weakest + 1);
        let broken = cycle.pop().expect("a cycle has edges");
        let parked = self.parking(broken, &cycle);
        // A register that holds a copy may be lent like any other; one that was free is reserved for the parked content.
        let reserved: RegSet = register(parked).into_iter().filter(|&reg| self.free.contains(reg)).collect();
        let lendable = self.lendable;
        self.lendable = lendable - reserved;
        self.free = self.free - reserved;
        self.implement_edge(LocationTransfer { to: parked, ..broken })?;
        for edge in cycle {
            self.implement_edge(edge)?;
        }
        match parked {
            Location::Reg(reg) if !reserved.contains(reg) => self.restore(reg),
            _ => {}
        }
        self.copy(parked, broken)?;
        self.lendable = lendable;
        self.free |= reserved;
        if let Location::Slot(slot) = parked {
            self.scratch.give_back(slot);
        }
        Ok(())
    }

    /// The cost of breaking a cycle at an edge, as a rank. It is 0 if a tree that hung on the cycle has brought the source
    /// to a register. A transfer between slots goes through a register anyway. A move can be broken with either memory or a
    /// register; other edges had better have a register.
    fn breaking_cost(&self, edge: LocationTransfer) -> u32 {
        let costs = if !(self.copies(edge) - self.cycle - self.free).is_empty() {
            return 0;
        } else if edge.is_in_memory() {
            1
        } else if register(edge.from).is_some() && register(edge.to).is_some() {
            3
        } else {
            5
        };
        costs + u32::from(!(self.free - self.cycle).intersects(self.carriers(edge.class)))
    }

    /// A place where the source of a cycle's broken edge waits while the rest of the cycle is implemented.
    fn parking(&mut self, broken: LocationTransfer, rest: &[LocationTransfer]) -> Location {
        // A register of the cycle itself is lent only until the rest of the cycle reads it.
        let free = self.free - self.cycle;
        let copies = self.copies(broken) - self.cycle;
        if let Some(reg) = (copies - free).first() {
            return Location::Reg(reg);
        }
        // The rest of the cycle may need a register as well.
        let suffices = |reg: &Reg| {
            let left = free - RegSet::only(*reg);
            rest.iter().all(|edge| !edge.is_in_memory() || left.intersects(self.carriers(edge.class)))
        };
        let candidates = (free & self.carriers(broken.class)).iter().filter(suffices);
        if let Some(reg) = candidates.min_by_key(|&reg| !copies.contains(reg)) {
            return Location::Reg(reg);
        }
        let is_move = register(broken.from).is_some() && register(broken.to).is_some();
        if !is_move
            && !rest.iter().any(|edge| edge.is_in_memory())
            && let Some(reg) = self.lend(broken.class, self.cycle)
        {
            return Location::Reg(reg);
        }
        self.done.spills += u32::from(register(broken.from).is_some());
        Location::Slot(self.scratch_slot(broken.class))
    }

    /// Implements an edge whose target can be written. It reads the source's own content.
    fn implement_edge(&mut self, edge: LocationTransfer) -> Result<(), NoRegister> {
        if let Location::Reg(reg) = edge.from {
            self.restore(reg);
        }
        self.copy(edge.from, edge)
    }

    /// Brings what an edge transfers to its target from where it is at the moment.
    fn copy(&mut self, at: Location, edge: LocationTransfer) -> Result<(), NoRegister> {
        let through = match (at, edge.to) {
            (_, Location::Reg(to)) => {
                self.fill(to, at, edge);
                return Ok(());
            }
            (Location::Reg(from), Location::Slot(_)) => from,
            (Location::Slot(_), Location::Slot(_)) => match self.copies(edge).first() {
                Some(reg) => reg,
                None => {
                    let reg = self.temporary(edge)?;
                    self.fill(reg, at, edge);
                    reg
                }
            },
        };
        if let Location::Slot(to) = edge.to {
            let class = self.around.file.carrier(edge.class, RegSet::only(through));
            self.done.edits.push(Edit::Store { from: through, to, class });
        }
        Ok(())
    }

    /// Brings the content that an edge transfers from where it is at the moment to a register, unless it is there already.
    fn fill(&mut self, to: Reg, at: Location, edge: LocationTransfer) {
        if self.copies(edge).contains(to) {
            return;
        }
        let class_of = |regs: &[Reg]| self.around.file.carrier(edge.class, regs.iter().copied().collect());
        self.done.edits.push(match at {
            Location::Reg(from) => Edit::Move { to, from, class: class_of(&[from, to]) },
            Location::Slot(from) => Edit::Load { to, from, class: class_of(&[to]) },
        });
        self.copies.retain(|copy| copy.reg != to);
        self.copies.push(Duplicate { reg: to, of: edge.from, class: edge.class });
    }

    /// The registers other than the edge's source that hold the content it transfers.
    fn copies(&self, edge: LocationTransfer) -> RegSet {
        let size = |class: RegClass| self.around.file.classes[class].slot_size;
        let same = self.copies.iter().filter(|copy| copy.of == edge.from && size(copy.class) == size(edge.class));
        same.map(|copy| copy.reg).collect::<RegSet>() & self.carriers(edge.class)
    }

    /// A register for a transfer between slots to go through: preferably one that is to get the same content anyway, or one
    /// of the class itself.
    fn temporary(&mut self, edge: LocationTransfer) -> Result<Reg, NoRegister> {
        let own = &self.around.file.classes[edge.class];
        let into = |reg: Reg| self.graph.edge_into(Location::Reg(reg));
        let gets_the_same = |reg: Reg| into(reg).is_some_and(|into| into.from == edge.from);
        let free = (self.free & self.carriers(edge.class)).iter();
        let best = free.min_by_key(|&reg| (!gets_the_same(reg), !own.regs.contains(reg)));
        let found = best.or_else(|| self.lend(edge.class, RegSet::EMPTY));
        found.ok_or_else(|| NoRegister(own.name.clone()))
    }

    /// The registers for which [`RegisterFile::carrier`] finds a class.
    fn carriers(&self, class: RegClass) -> RegSet {
        let classes = &self.around.file.classes;
        let alike = classes.values().filter(|c| c.bank == classes[class].bank && c.slot_size == classes[class].slot_size);
        alike.fold(RegSet::EMPTY, |set, class| set | class.regs)
    }

    /// Frees a register other than these by storing its content. Registers that are not read any more are preferred, since
    /// the others have to be restored earlier.
    fn lend(&mut self, class: RegClass, others: RegSet) -> Option<Reg> {
        let lendable = (self.lendable & self.carriers(class)) - self.free - others;
        let candidates = lendable.iter().filter_map(|reg| Some((reg, self.content_class(reg)?)));
        let is_read = |reg: Reg| self.waiting.contains(reg) || self.graph.readers(Location::Reg(reg)) > 0;
        let not_lent = candidates.filter(|(reg, _)| self.lent.iter().all(|lent| lent.reg != *reg));
        let (reg, class) = not_lent.min_by_key(|&(reg, _)| is_read(reg))?;
        let slot = self.scratch_slot(class);
        self.done.edits.push(Edit::Store { from: reg, to: slot, class });
        self.done.spills += 1;
        self.lent.push(Lent { reg, slot, class });
        self.free.insert(reg);
        Some(reg)
    }

    /// The widest class that the content of a register may have.
    fn content_class(&self, reg: Reg) -> Option<RegClass> {
        let file = self.around.file;
        let may_have = |class: &RegClass| file.classes[*class].regs.contains(reg);
        self.scratch.classes.iter().copied().filter(may_have).reduce(|a, b| file.wider(a, b))
    }

    fn scratch_slot(&mut self, class: RegClass) -> Slot {
        let class = &self.around.file.classes[class];
        self.scratch.take(SlotData { size: class.slot_size, align: class.slot_align })
    }

    /// Ends the lending of a register, if it is lent.
    fn restore(&mut self, reg: Reg) {
        if let Some(index) = self.lent.iter().position(|lent| lent.reg == reg) {
            let Lent { slot, class, .. } = self.lent.remove(index);
            self.done.edits.push(Edit::Load { to: reg, from: slot, class });
            self.scratch.give_back(slot);
            self.free.remove(reg);
            self.copies.retain(|copy| copy.reg != reg);
        }
    }

    fn restore_all(&mut self) {
        while let Some(Lent { reg, .. }) = self.lent.last() {
            self.restore(*reg);
        }
    }
}

fn register(location: Location) -> Option<Reg> {
    match location {
        Location::Reg(reg) => Some(reg),
        Location::Slot(_) => None,
    }
}

/// The cycle in the types of `sequence.rs`, if it does not lead through memory.
fn among_registers(cycle: &[LocationTransfer], file: &RegisterFile) -> Option<Vec<Transfer>> {
    let transfer = |edge: &LocationTransfer| {
        let (from, to) = (register(edge.from)?, register(edge.to)?);
        Some(Transfer { from, to, class: file.carrier(edge.class, RegSet::from_iter([from, to])) })
    };
    cycle.iter().map(transfer).collect()
}

#[cfg(test)]
mod tests;
