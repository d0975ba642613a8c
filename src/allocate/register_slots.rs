//! Slots that become registers of another bank.
//!
//! A spilled value need not go to memory. A register of another bank can hold it, too, if one instruction moves it there
//! ([`BankInfo::beside`]) and the register is free from the first store to the last load. For example, a mask of AVX-512 can
//! wait in a general register. Two moves cost less than a store and a load. Callee-saved registers are not taken, since they
//! would have to be saved; so only slots that are not in use across calls become registers.
//!
//! ```text
//!    s0 = k1                         eax = k1        ; nothing is in eax from here
//!    ...                             ...
//!    k3 = s0                         k3 = eax        ; to here
//! ```
//!
//! Requires: a whole overlay of the imported function.
//! Ensures: an overlay that does the same, with fewer slots. All loads from and stores to the others are moves.
//! Relies on: nothing but the overlay: which registers it occupies follows from what it reads and writes.
//!
//! [`BankInfo::beside`]: crate::machine::BankInfo::beside

use crate::analysis::grouped::of_each;
use crate::analysis::{Order, PinLiveness};
use crate::machine::{Bank, Block, Edit, Function, Inst, Location, Overlay, Point, Reg, RegClass, RegSet, Slot};
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// As many slots as a word has bits. More of one function are hardly ever filled from a bank that has another beside it.
const MOST: usize = u64::BITS as usize;

/// Moves what is in slots to registers of other banks, where these are free.
pub(super) fn into_registers(function: &Function, overlay: &mut Overlay) {
    let slots = candidates(function, overlay);
    if slots.is_empty() {
        return;
    }
    let chosen = Occupied::new(function, overlay, &slots).choose(function, &slots);
    rewrite(overlay, &chosen);
}

/// A slot that may become a register.
struct Candidate {
    slot: Slot,
    /// The registers that can hold its content.
    regs: RegSet,
    /// How often it is accessed.
    accesses: f64,
}

/// Slots that are only loaded from and stored to, all by values of one bank that has another beside it; those that are
/// accessed most often.
fn candidates(function: &Function, overlay: &Overlay) -> Vec<Candidate> {
    let file = &function.file;
    let beside = |class: RegClass| file.banks[file.classes[class].bank].beside;
    if file.banks.values().all(|bank| bank.beside.is_none()) || overlay.slots.is_empty() {
        return Vec::new();
    }
    let mut accesses: SecondaryMap<Slot, Option<(Bank, f64)>> = of_each(overlay.slots.len());
    let mut excluded: SecondaryMap<Slot, bool> = of_each(overlay.slots.len());
    for &(point, edit) in &overlay.edits {
        let (slot, bank) = match edit {
            Edit::Load { from: slot, class, .. } | Edit::Store { to: slot, class, .. } => (slot, beside(class)),
            Edit::StoreConstant { to, .. } => (to, None),
            Edit::Move { .. } | Edit::Swap { .. } | Edit::Rematerialise { .. } | Edit::Perform { .. } => continue,
        };
        let so_far = accesses[slot].map_or(0.0, |(_, accesses)| accesses);
        excluded[slot] |= bank.is_none() || accesses[slot].is_some_and(|(other, _)| Some(other) != bank);
        accesses[slot] = bank.map(|bank| (bank, so_far + function.blocks[point.block].frequency));
    }
    for location in overlay.locations.iter().flatten() {
        if let Location::Slot(slot) = *location {
            excluded[slot] = true;
        }
    }
    let mut candidates: Vec<Candidate> = overlay
        .slots
        .keys()
        .filter(|&slot| !excluded[slot] && overlay.given[slot].is_none())
        .filter_map(|slot| Some((slot, accesses[slot]?)))
        .map(|(slot, (bank, accesses))| Candidate { slot, regs: as_wide(function, bank, overlay.slots[slot].size), accesses })
        .collect();
    candidates.sort_by(|a, b| b.accesses.total_cmp(&a.accesses).then(a.slot.cmp(&b.slot)));
    candidates.truncate(MOST);
    candidates
}

/// The registers of a bank that have this many bytes, and that nobody has to save.
fn as_wide(function: &Function, bank: Bank, size: u32) -> RegSet {
    let wide = function.file.classes.values().filter(|class| class.bank == bank && class.slot_size >= size);
    wide.fold(RegSet::EMPTY, |set, class| set | class.regs) - function.file.callee_saved
}

/// The registers and the candidate slots whose content is needed later than some point. Bit k of `slots` is the k-th candidate.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct InUse {
    regs: RegSet,
    slots: u64,
}

/// An instruction or edit, by what it reads and writes.
#[derive(Clone, Default)]
struct Step {
    reads: InUse,
    writes: InUse,
    /// The registers that the program itself uses after this step: a call's argument is waiting there, for example.
    pinned: RegSet,
    /// Whether control may leave for landing pads here.
    throws: bool,
}

/// For each candidate, what is in use together with it.
struct Occupied {
    together: Vec<InUse>,
}

impl Occupied {
    fn new(function: &Function, overlay: &Overlay, slots: &[Candidate]) -> Self {
        let steps = steps(function, overlay, slots);
        let live_in = live_in(function, &steps);
        let mut occupied = Occupied { together: vec![InUse::default(); slots.len()] };
        for (block, steps) in steps.iter() {
            let mut live = at_end(function, block, &live_in);
            for step in steps.iter().rev() {
                live = live.with_pads(function, block, step, &live_in);
                let written = InUse { regs: live.regs | step.writes.regs | step.pinned, slots: live.slots | step.writes.slots };
                occupied.add(written.slots, written);
                live = live.before(step);
            }
        }
        occupied
    }

    fn add(&mut self, slots: u64, in_use: InUse) {
        for (bit, together) in self.together.iter_mut().enumerate().filter(|(bit, _)| slots >> bit & 1 != 0) {
            together.regs |= in_use.regs;
            together.slots |= in_use.slots & !(1 << bit);
        }
    }

    /// The register that each slot becomes, if one is free; those of the slots accessed most often first.
    fn choose(&self, function: &Function, slots: &[Candidate]) -> SecondaryMap<Slot, Option<Reg>> {
        let mut chosen: SecondaryMap<Slot, Option<Reg>> = SecondaryMap::new();
        for (bit, candidate) in slots.iter().enumerate() {
            let others = slots[..bit].iter().enumerate().filter(|(other, _)| self.together[bit].slots >> other & 1 != 0);
            let taken: RegSet = others.filter_map(|(_, other)| chosen[other.slot]).collect();
            let free = candidate.regs - self.together[bit].regs - taken;
            chosen[candidate.slot] = free.iter().min_by_key(|&reg| (function.file.prefixed.contains(reg), reg));
        }
        chosen
    }
}

impl InUse {
    fn or(self, other: InUse) -> InUse {
        InUse { regs: self.regs | other.regs, slots: self.slots | other.slots }
    }

    fn before(self, step: &Step) -> InUse {
        let left = InUse { regs: self.regs - step.writes.regs, slots: self.slots & !step.writes.slots };
        left.or(step.reads)
    }

    /// What is needed after a step. If the step is a call that throws, that includes what the landing pads need.
    fn with_pads(self, function: &Function, block: Block, step: &Step, live_in: &SecondaryMap<Block, InUse>) -> InUse {
        let pads = function.blocks[block].succs.iter().filter(|&&succ| step.throws && function.blocks[succ].landing_pad);
        pads.fold(self, |live, &pad| live.or(live_in[pad]))
    }
}

/// What some successor of a block needs.
fn at_end(function: &Function, block: Block, live_in: &SecondaryMap<Block, InUse>) -> InUse {
    function.blocks[block].succs.iter().fold(InUse::default(), |live, &succ| live.or(live_in[succ]))
}

/// What is needed from each block's head on, by backward data flow.
fn live_in(function: &Function, steps: &SecondaryMap<Block, Vec<Step>>) -> SecondaryMap<Block, InUse> {
    let order = Order::new(function);
    let mut live_in: SecondaryMap<Block, InUse> = of_each(function.blocks.len());
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.blocks().iter().rev() {
            let mut live = at_end(function, block, &live_in);
            for step in steps[block].iter().rev() {
                live = live.with_pads(function, block, step, &live_in).before(step);
            }
            changed |= live != live_in[block];
            live_in[block] = live;
        }
    }
    live_in
}

/// The steps of each block, in order.
fn steps(function: &Function, overlay: &Overlay, slots: &[Candidate]) -> SecondaryMap<Block, Vec<Step>> {
    let pins = PinLiveness::new(function);
    let mut bits: SecondaryMap<Slot, u64> = SecondaryMap::new();
    slots.iter().enumerate().for_each(|(bit, candidate)| bits[candidate.slot] = 1 << bit);
    let reader = Reader { function, overlay, bits };
    let mut edits = overlay.edits.iter().peekable();
    let mut steps: SecondaryMap<Block, Vec<Step>> = of_each(function.blocks.len());
    for block in function.blocks.keys() {
        let insts = function.blocks[block].insts.clone();
        for index in 0..=insts.len() as u32 {
            let point = Point { block, index };
            steps[block].push(Step { pinned: pins.at(function, point), ..Step::default() });
            while let Some((_, edit)) = edits.next_if(|(at, _)| *at == point) {
                steps[block].push(Step { pinned: pins.at(function, point), ..reader.edit(edit) });
            }
            let inst = Inst::from_u32(insts.start + index);
            if insts.contains(&inst.as_u32()) && !overlay.is_dropped(inst) {
                let throws = function.blocks[block].throws == inst.into();
                let pinned = pins.at(function, Point { block, index: index + 1 });
                steps[block].push(Step { pinned, throws, ..reader.instruction(inst) });
            }
        }
    }
    steps
}

/// Reads what instructions and edits access.
struct Reader<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    /// The bits of the candidates.
    bits: SecondaryMap<Slot, u64>,
}

impl Reader<'_> {
    fn edit(&self, edit: &Edit) -> Step {
        let in_use = |regs: &[Reg], slot: Option<Slot>| InUse {
            regs: regs.iter().copied().collect(),
            slots: slot.map_or(0, |slot| self.bits[slot]),
        };
        let (reads, writes) = match *edit {
            Edit::Load { to, from, .. } => (in_use(&[], Some(from)), in_use(&[to], None)),
            Edit::Store { from, to, .. } => (in_use(&[from], None), in_use(&[], Some(to))),
            Edit::Move { to, from, .. } => (in_use(&[from], None), in_use(&[to], None)),
            Edit::Swap { a, b, .. } => (in_use(&[a, b], None), in_use(&[a, b], None)),
            Edit::Rematerialise { to, from, .. } => (in_use(from.as_slice(), None), in_use(&[to], None)),
            Edit::StoreConstant { .. } => (InUse::default(), InUse::default()),
            Edit::Perform { inst, .. } => return self.instruction(inst),
        };
        Step { reads, writes, ..Step::default() }
    }

    fn instruction(&self, inst: Inst) -> Step {
        let pins = self.function.pins(inst);
        let mut reads = InUse { regs: pins.uses, slots: 0 };
        let mut writes = InUse { regs: pins.defs | pins.early_defs | pins.clobbers, slots: 0 };
        for (operand, location) in self.function.operands(inst).iter().zip(self.overlay.operands(self.function, inst)) {
            if let Some(Location::Reg(reg)) = *location {
                let accessed = if operand.is_def() { &mut writes } else { &mut reads };
                accessed.regs.insert(reg);
            }
        }
        Step { reads, writes, ..Step::default() }
    }
}

/// Replaces the chosen slots by their registers.
fn rewrite(overlay: &mut Overlay, chosen: &SecondaryMap<Slot, Option<Reg>>) {
    let old = std::mem::take(&mut overlay.slots);
    let given = std::mem::take(&mut overlay.given);
    let mut places: PrimaryMap<Slot, Location> = PrimaryMap::with_capacity(old.len());
    for (slot, data) in &old {
        places.push(match chosen[slot] {
            Some(reg) => Location::Reg(reg),
            None => {
                let new = overlay.slots.push(*data);
                overlay.given[new] = given[slot];
                Location::Slot(new)
            }
        });
    }
    for (_, edit) in &mut overlay.edits {
        match *edit {
            Edit::Load { to, from, class } => {
                *edit = match places[from] {
                    Location::Reg(from) => Edit::Move { to, from, class },
                    Location::Slot(from) => Edit::Load { to, from, class },
                };
            }
            Edit::Store { from, to, class } => {
                *edit = match places[to] {
                    Location::Reg(to) => Edit::Move { to, from, class },
                    Location::Slot(to) => Edit::Store { from, to, class },
                };
            }
            Edit::StoreConstant { to, inst } => {
                if let Location::Slot(to) = places[to] {
                    *edit = Edit::StoreConstant { to, inst };
                }
            }
            Edit::Move { .. } | Edit::Swap { .. } | Edit::Rematerialise { .. } | Edit::Perform { .. } => {}
        }
    }
    for location in overlay.locations.iter_mut().chain(&mut overlay.debug_locations).flatten() {
        if let Location::Slot(slot) = *location {
            *location = places[slot];
        }
    }
}
