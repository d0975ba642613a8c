//! The number of registers that an instruction needs, and the number that there are.

use super::limits::{Counts, Limits};
use crate::analysis::{Held, Occupancy};
use crate::machine::{Function, Inst, InstKind, Operand, Reg, RegClass, RegSet, Role, Value};
use smallvec::SmallVec;

/// Whether the register that a use reads is free after the instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::allocate) enum LastUse {
    /// It is not, as the value stays in it.
    No,
    /// The value dies.
    OfValue,
    /// The value is in memory, and was refilled for this instruction if at all.
    OfRefill,
}

/// The registers that the operands of one instruction need, apart from values that live on past it.
#[derive(Default)]
pub(in crate::allocate) struct Demand {
    /// Values in registers that die here. They are among the live ones until then.
    pub(in crate::allocate) dying: Counts,
    /// Needed only while operands are read.
    before: Counts,
    /// Needed only when definitions are written.
    after: Counts,
    /// Needed throughout.
    both: Counts,
    /// The classes of values that take no register of their own, because the program holds them ([`Held`]). For each,
    /// whether this is so while operands are read, in between, and when definitions are written.
    held: SmallVec<[(RegClass, [bool; 3]); 2]>,
}

/// The capacity of a register set at an instruction: the registers that the program leaves.
pub(in crate::allocate) struct Rooms {
    before: i32,
    after: i32,
    /// For values that are read and written there, but do not have to survive in between.
    before_and_after: i32,
    /// For values that live on past the instruction.
    passing: i32,
}

impl Rooms {
    pub(in crate::allocate) fn new(limits: &Limits, set: usize, occupancy: &Occupancy) -> Self {
        let Occupancy { before, after, .. } = *occupancy;
        let room = |occupied: RegSet| limits.room(set, occupied);
        Rooms { before: room(before), after: room(after), before_and_after: room(before | after), passing: room(occupancy.all()) }
    }

    /// Notes that a register has become free, unless it is occupied otherwise.
    pub(in crate::allocate) fn free(&mut self, limits: &Limits, set: usize, occupancy: &Occupancy, reg: Reg) {
        let Occupancy { before, after, .. } = *occupancy;
        let more = |occupied: RegSet| i32::from(limits.contains(set, reg) && !occupied.contains(reg));
        self.before += more(before);
        self.after += more(after);
        self.before_and_after += more(before | after);
        self.passing += more(occupancy.all());
    }
}

/// How many registers of a set an instruction takes from values that live on past it.
#[derive(Clone, Copy)]
pub(in crate::allocate) struct Taken {
    before: i32,
    both: i32,
    /// How many of those values take none in between, until definitions are written.
    held: i32,
    after: i32,
}

impl Taken {
    /// The registers that are left of a capacity.
    pub(in crate::allocate) fn of(self, rooms: &Rooms) -> Left {
        Left {
            before: rooms.before - self.before,
            passing: rooms.passing.min(rooms.before_and_after - self.both) + self.held,
            after: rooms.after - self.after,
        }
    }
}

/// How many registers of a set an instruction leaves to values that live on past it. The number may be negative.
#[derive(Clone, Copy)]
pub(in crate::allocate) struct Left {
    /// While operands are read.
    pub(in crate::allocate) before: i32,
    /// Between reading and writing.
    pub(in crate::allocate) passing: i32,
    /// When definitions are written.
    pub(in crate::allocate) after: i32,
}

impl Left {
    /// The registers that are left if there are more of them.
    pub(in crate::allocate) fn and(self, more: i32) -> Left {
        Left { before: self.before + more, passing: self.passing + more, after: self.after + more }
    }

    /// Those at the point where they are fewest.
    pub(in crate::allocate) fn least(self) -> i32 {
        self.before.min(self.passing).min(self.after)
    }
}

/// An instruction that needs too many registers.
pub(in crate::allocate) struct Excess {
    /// The register set that does not suffice.
    pub(in crate::allocate) set: usize,
    /// The excess is there while operands are read: spilling a value that the instruction reads does not help, because it
    /// has to be in a register then anyway.
    pub(in crate::allocate) while_reading: bool,
}

impl Demand {
    /// The demand of an instruction. `last_use` says whether a use is its value's last one, and `folded` which operand is in
    /// memory.
    pub(in crate::allocate) fn of(
        function: &Function,
        limits: &Limits,
        inst: Inst,
        folded: Option<usize>,
        last_use: impl Fn(usize) -> LastUse,
    ) -> Self {
        let mut demand = Demand::default();
        let operands = function.operands(inst);
        let dies = |k: usize| last_use(k) != LastUse::No;
        for (k, operand) in operands.iter().enumerate() {
            if Some(k) == folded {
                continue;
            }
            let class = function.values[operand.value].class;
            match operand.role {
                Role::Use => {
                    if !is_first_use(operands, k) || !dies(k) {
                        continue;
                    }
                    match first_reuse(operands, operand.value) {
                        Some(def) => limits.count(&mut demand.both, tied_class(function, operands, def, class), 1),
                        None => limits.count(&mut demand.before, class, 1),
                    }
                    if last_use(k) == LastUse::OfValue {
                        limits.count(&mut demand.dying, class, 1);
                    }
                }
                Role::Def | Role::EarlyDef => {
                    if let Some(reused) = operand.reuse {
                        let reused = usize::from(reused);
                        let chained = first_reuse(operands, operands[reused].value) == Some(k) && dies(reused);
                        if !chained {
                            limits.count(&mut demand.both, tied_class(function, operands, k, class), 1);
                        }
                    } else if operand.role == Role::EarlyDef {
                        limits.count(&mut demand.both, class, 1);
                    } else {
                        limits.count(&mut demand.after, class, 1);
                    }
                }
            }
        }
        demand
    }

    /// Notes the values, of those in registers, that are in registers of the program: those that live on, and those that
    /// the instruction reads last.
    pub(in crate::allocate) fn hold(
        &mut self,
        function: &Function,
        inst: Inst,
        held: &[Held],
        in_register: impl Fn(Value) -> bool,
        dies: impl Fn(Value) -> bool,
    ) {
        let held = held.iter().filter(|it| in_register(it.value));
        let is_read = |value: Value| function.operands(inst).iter().any(|operand| operand.value == value && !operand.is_def());
        self.held.extend(held.filter_map(|it| {
            let class = function.values[it.value].class;
            match dies(it.value) {
                true => is_read(it.value).then_some((class, [it.before, false, false])),
                false => Some((class, [it.before, true, it.after])),
            }
        }));
    }

    /// An upper bound of the registers of a set that the demand takes at any point.
    pub(in crate::allocate) fn most(&self, set: usize) -> i32 {
        self.both[set] + self.before[set].max(self.after[set])
    }

    /// How many values take no register of their own in a set: while operands are read, in between, and when definitions are
    /// written.
    fn held(&self, limits: &Limits, set: usize) -> [i32; 3] {
        let confined = self.held.iter().filter(|&&(class, _)| limits.is_confined(class, set));
        confined.fold([0; 3], |sum, (_, held)| std::array::from_fn(|point| sum[point] + i32::from(held[point])))
    }

    /// The registers of a set that the demand leaves.
    pub(in crate::allocate) fn left(&self, limits: &Limits, set: usize, occupancy: &Occupancy) -> Left {
        self.taken(limits, set).of(&Rooms::new(limits, set, occupancy))
    }

    /// The registers of a set that the demand takes.
    pub(in crate::allocate) fn taken(&self, limits: &Limits, set: usize) -> Taken {
        let both = self.both[set];
        let [held_before, held, held_after] = self.held(limits, set);
        Taken { before: both + self.before[set] - held_before, both, held, after: both + self.after[set] - held_after }
    }

    /// The point at which the demand exceeds the registers there are. They also have to suffice for the values in `through`,
    /// which live on past the instruction, and for `spare` ones.
    pub(in crate::allocate) fn excess(
        &self,
        limits: &Limits,
        through: &Counts,
        occupancy: &Occupancy,
        spare: usize,
    ) -> Option<Excess> {
        let Occupancy { before, after, clobbers } = *occupancy;
        let most = |set: usize| through[set] + self.most(set);
        if !limits.sets().any(|set| limits.is_exceeded(set, most(set), occupancy.all(), spare)) {
            return None;
        }
        let at = |wanted: &dyn Fn(usize) -> i32, occupied| {
            let exceeded = limits.sets().find(|&set| limits.is_exceeded(set, wanted(set), occupied, spare));
            exceeded.map(|set| Excess { set, while_reading: false })
        };
        let at_point = |set: usize, point: usize| through[set] - self.held(limits, set)[point];
        at(&|set| at_point(set, 1), before | after | clobbers)
            .or_else(|| at(&|set| at_point(set, 1) + self.both[set], before | after))
            .or_else(|| at(&|set| at_point(set, 2) + self.both[set] + self.after[set], after))
            .or_else(|| self.excess_while_reading(limits, through, occupancy, spare))
    }

    /// The excess of the demand while operands are read, whatever it is later. Otherwise as [`Demand::excess`].
    pub(in crate::allocate) fn excess_while_reading(
        &self,
        limits: &Limits,
        through: &Counts,
        occupancy: &Occupancy,
        spare: usize,
    ) -> Option<Excess> {
        let wanted = |set: usize| through[set] - self.held(limits, set)[0] + self.both[set] + self.before[set];
        let exceeded = limits.sets().find(|&set| limits.is_exceeded(set, wanted(set), occupancy.before, spare));
        exceeded.map(|set| Excess { set, while_reading: true })
    }
}

/// The operand that the instruction accesses in memory itself: the first of [`foldable_operands`] that is `in_memory`.
pub(in crate::allocate) fn folded_operand(
    function: &Function,
    inst: Inst,
    folding: bool,
    in_memory: impl Fn(usize) -> bool,
) -> Option<usize> {
    foldable_operands(function, inst, folding).find(|&k| in_memory(k))
}

/// The operands of which the instruction can access one in memory itself: those of a copy and, with `folding`, others. If it
/// uses a value twice, the value is in a register for one operand, so that having the other in memory saves nothing. The
/// content of an x87 register may be in memory in the form of a wider class, which the instruction does not read.
pub(in crate::allocate) fn foldable_operands(function: &Function, inst: Inst, folding: bool) -> impl Iterator<Item = usize> {
    let operands = function.operands(inst);
    let kind = function.insts[inst].kind;
    let class = move |k: usize| &function.file.classes[function.values[operands[k].value].class];
    let one_form = move |k: usize| function.has_one_form(operands[k].value);
    let whole = kind != InstKind::Copy || class(0).slot_size == class(1).slot_size;
    let once = |k: usize| operands.iter().filter(|o| o.value == operands[k].value && !o.is_def()).count() == 1;
    let foldable = move |k: &usize| match kind.is_copy() {
        true => whole && one_form(*k),
        false => {
            let can_be_read = operands[*k].foldable && !operands[*k].is_def() && !is_overwritten(operands, *k);
            folding && can_be_read && one_form(*k) && once(*k)
        }
    };
    // A copy's source is its last operand, and is tried first.
    (0..operands.len()).rev().filter(foldable)
}

/// Whether no earlier operand uses the value.
pub(in crate::allocate) fn is_first_use(operands: &[Operand], k: usize) -> bool {
    !operands[..k].iter().any(|o| o.value == operands[k].value && !o.is_def())
}

/// The class that confines a definition more: its own, or that of the use whose register it takes over.
fn tied_class(function: &Function, operands: &[Operand], def: usize, class: RegClass) -> RegClass {
    let classes = [Some(def), operands[def].reuse.map(usize::from)].into_iter().flatten();
    let narrower = |a: RegClass, b: RegClass| {
        let regs = |class: RegClass| function.file.classes[class].regs.len();
        if regs(b) < regs(a) { b } else { a }
    };
    classes.map(|k| function.values[operands[k].value].class).fold(class, narrower)
}

/// Whether a definition of the instruction overwrites this use.
pub(in crate::allocate) fn is_overwritten(operands: &[Operand], use_: usize) -> bool {
    operands.iter().any(|o| o.reuse.map(usize::from) == Some(use_))
}

/// The first definition that takes over the register of a use of this value.
pub(in crate::allocate) fn first_reuse(operands: &[Operand], value: Value) -> Option<usize> {
    operands.iter().position(|o| o.reuse.is_some_and(|u| operands[usize::from(u)].value == value))
}
