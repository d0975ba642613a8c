//! regalloc2's answer as an overlay.
//!
//! Requires: an answer to the program that the function became.
//! Ensures: an overlay that says the same. Operands are where regalloc2 put them. Its moves are loads, stores and moves of
//! the narrowest class that holds what they carry, and slots are as wide as their widest content. Moves that carry nothing
//! are left out: those of undefined arguments to φs.

use super::carried::{Carried, Transfer, carried};
use super::program::{Content, Program};
use super::registers::Registers;
use crate::allocate::failure::Unsupported;
use crate::analysis::Order;
use crate::machine::{Edit, Function, Location, Overlay, Point, RegClass, RegSet, Slot, SlotData, Value};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use regalloc2::{Allocation, Edit as Moved, Inst, InstPosition, Output, ProgPoint};
use std::collections::BTreeSet;

/// An overlay, and the number of values that are in memory somewhere.
pub(super) struct Answer {
    pub(super) overlay: Overlay,
    pub(super) spilled: u64,
}

/// Translates an answer.
///
/// # Errors
/// If regalloc2 moves something where no code can stand, or in registers that are in no class.
pub(super) fn answer(
    function: &Function,
    order: &Order,
    registers: &Registers,
    program: &Program,
    output: &Output,
) -> Result<Answer, Unsupported> {
    let reader = Reader { function, registers, output };
    let locations = reader.locations(program);
    let mut transfers = reader.transfers(program)?;
    transfers.sort_by_key(|transfer| transfer.at);
    let carried = carried(function, order, &locations, &transfers);
    let classes = function.values.values().map(|data| data.class).collect();
    let writer = Writer { function, carried: &carried, classes };
    writer.overlay(locations, &transfers)
}

struct Reader<'a> {
    function: &'a Function,
    registers: &'a Registers,
    output: &'a Output,
}

impl Reader<'_> {
    /// The slot of a home: homes are numbered after regalloc2's own slots.
    fn home(&self, home: Slot) -> Location {
        Location::Slot(Slot::new(self.output.num_spillslots + home.index()))
    }

    fn place(&self, allocation: Allocation) -> Location {
        match (allocation.as_reg(), allocation.as_stack()) {
            (Some(preg), _) => Location::Reg(self.registers.reg(preg)),
            (None, Some(slot)) => Location::Slot(Slot::new(slot.index())),
            (None, None) => unreachable!("regalloc2 leaves no operand out"),
        }
    }

    fn locations(&self, program: &Program) -> Vec<Location> {
        let mut locations = vec![None; self.function.operands.len()];
        for item in 0..program.items.len() {
            let allocations = self.output.inst_allocs(Inst::new(item));
            for (at, origin) in program.origins(item) {
                locations[origin as usize] = Some(self.place(allocations[at]));
            }
        }
        for &(operand, other) in &program.repeated {
            locations[operand as usize] = locations[other as usize];
        }
        for &(operand, home) in &program.in_homes {
            locations[operand as usize] = Some(self.home(home));
        }
        locations.into_iter().map(|location| location.expect("regalloc2 places every operand")).collect()
    }

    /// All moves, in the order of regalloc2's instructions.
    fn transfers(&self, program: &Program) -> Result<Vec<Transfer>, Unsupported> {
        let mut transfers = Vec::new();
        let mut moves = self.output.edits.iter().peekable();
        for (number, item) in program.items.iter().enumerate() {
            for position in [InstPosition::Before, InstPosition::After] {
                let point = ProgPoint::new(Inst::new(number), position);
                while let Some((_, Moved::Move { from, to })) = moves.next_if(|(at, _)| *at == point) {
                    let at = item.at.and_then(|at| self.point(at, item.content, position));
                    let at = at.ok_or_else(|| Unsupported("regalloc2 moves values where no code can stand".into()))?;
                    transfers.push(Transfer { at, from: self.place(*from), to: self.place(*to) });
                }
                if let (InstPosition::Before, Some(at)) = (position, item.at) {
                    transfers.extend(self.access(item.content, at, number));
                }
            }
        }
        Ok(transfers)
    }

    /// The point before or after an item, if code can stand there.
    fn point(&self, at: Point, content: Content, position: InstPosition) -> Option<Point> {
        let passed = match (content, position) {
            (Content::Instructions(count), InstPosition::After) => count,
            _ => 0,
        };
        let head = self.function.head(at.block).index;
        let tail = self.function.before_terminators(at.block).index;
        let index = (at.index + passed).max(head);
        (index <= tail).then_some(Point { block: at.block, index })
    }

    /// The transfer that an item is, if it accesses a home.
    fn access(&self, content: Content, at: Point, number: usize) -> Option<Transfer> {
        let register = || self.place(self.output.inst_allocs(Inst::new(number))[0]);
        match content {
            Content::Instructions(_) => None,
            Content::Load(home) => Some(Transfer { at, from: self.home(home), to: register() }),
            Content::Store(home) => Some(Transfer { at, from: register(), to: self.home(home) }),
        }
    }
}

struct Writer<'a> {
    function: &'a Function,
    carried: &'a Carried,
    /// The classes of the function's values. The file may have others that no code of the target can move.
    classes: BTreeSet<RegClass>,
}

impl Writer<'_> {
    fn overlay(&self, mut locations: Vec<Location>, transfers: &[Transfer]) -> Result<Answer, Unsupported> {
        let mut slots = Slots::default();
        let mut edits = Vec::new();
        for (transfer, values) in transfers.iter().zip(&self.carried.values).filter(|(_, values)| !values.is_empty()) {
            let class = self.class(transfer, values)?;
            edits.push((*transfer, class));
            for place in [transfer.from, transfer.to] {
                slots.widen(place, self.data(class), values);
            }
        }
        for (operand, place) in self.function.operands.iter().zip(&locations) {
            slots.widen(*place, self.function.slot_for(operand.value), &[operand.value]);
        }
        let (slots, numbers, spilled) = slots.finish();
        let number = |place: &mut Location| {
            if let Location::Slot(slot) = place {
                *slot = numbers[*slot].expect("every slot in use has a size");
            }
        };
        locations.iter_mut().for_each(number);
        let mut debug_locations = self.carried.debug.clone();
        debug_locations.iter_mut().flatten().for_each(number);
        let edits = edits.into_iter().map(|(Transfer { at, mut from, mut to }, class)| {
            [&mut from, &mut to].into_iter().for_each(number);
            (at, self.edit(from, to, class, &slots))
        });
        let edits = edits.collect();
        let locations = locations.into_iter().map(Some).collect();
        let overlay = Overlay { locations, edits, slots, debug_locations, ..Overlay::default() };
        Ok(Answer { overlay, spilled })
    }

    fn data(&self, class: RegClass) -> SlotData {
        let class = &self.function.file.classes[class];
        SlotData { size: class.slot_size, align: class.slot_align }
    }

    /// The narrowest class of the function that carries these values and has the registers.
    fn class(&self, transfer: &Transfer, values: &[Value]) -> Result<RegClass, Unsupported> {
        let file = &self.function.file;
        let classes = values.iter().map(|&value| self.function.values[value].class);
        let wanted = classes.reduce(|a, b| file.wider(a, b)).expect("the move carries something");
        let registers = [transfer.from, transfer.to].into_iter().filter_map(|place| match place {
            Location::Reg(reg) => Some(reg),
            Location::Slot(_) => None,
        });
        let registers: RegSet = registers.collect();
        let (bank, size) = (file.classes[wanted].bank, file.classes[wanted].slot_size);
        if registers.is_subset(file.classes[wanted].regs) {
            return Ok(wanted);
        }
        let fits = self.classes.iter().copied().filter(|&class| {
            let c = &file.classes[class];
            c.bank == bank && c.slot_size >= size && registers.is_subset(c.regs)
        });
        let narrowest = fits.min_by_key(|&class| (file.classes[class].slot_size, class));
        narrowest.ok_or_else(|| {
            Unsupported(format!("no class moves what {} holds between registers that regalloc2 chose", file.classes[wanted].name))
        })
    }

    /// A move as an edit. Where registers have another form in memory for each width, a slot is accessed in its full width.
    fn edit(&self, from: Location, to: Location, class: RegClass, slots: &PrimaryMap<Slot, SlotData>) -> Edit {
        let in_form = |slot: Slot| self.function.file.memory_form(class, slots[slot].size);
        match (from, to) {
            (Location::Reg(from), Location::Reg(to)) => Edit::Move { to, from, class },
            (Location::Slot(from), Location::Reg(to)) => Edit::Load { to, from, class: in_form(from) },
            (Location::Reg(from), Location::Slot(to)) => Edit::Store { from, to, class: in_form(to) },
            (Location::Slot(_), Location::Slot(_)) => unreachable!("regalloc2 moves no memory to memory"),
        }
    }
}

/// The slots in use, by the numbers of regalloc2's and of homes.
#[derive(Default)]
struct Slots {
    data: SecondaryMap<Slot, Option<SlotData>>,
    spilled: SecondaryMap<Value, bool>,
}

impl Slots {
    /// If the place is a slot, has it hold this much, and notes that these values are in memory.
    fn widen(&mut self, place: Location, data: SlotData, values: &[Value]) {
        let Location::Slot(slot) = place else { return };
        let so_far = self.data[slot].unwrap_or(data);
        self.data[slot] = Some(SlotData { size: so_far.size.max(data.size), align: so_far.align.max(data.align) });
        values.iter().for_each(|&value| self.spilled[value] = true);
    }

    /// The slots with consecutive numbers, the new numbers by the old ones, and how many values are in memory.
    fn finish(self) -> (PrimaryMap<Slot, SlotData>, SecondaryMap<Slot, PackedOption<Slot>>, u64) {
        let mut slots: PrimaryMap<Slot, SlotData> = PrimaryMap::new();
        let mut numbers: SecondaryMap<Slot, PackedOption<Slot>> = SecondaryMap::new();
        for (slot, data) in self.data.iter() {
            if let Some(data) = data {
                numbers[slot] = slots.push(*data).into();
            }
        }
        (slots, numbers, self.spilled.values().filter(|&&spilled| spilled).count() as u64)
    }
}
