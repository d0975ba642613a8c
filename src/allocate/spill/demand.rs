//! How many registers an instruction demands, and how many there are.

use crate::analysis::Occupancy;
use crate::machine::{Function, Inst, InstKind, Operand, RegClass, RegSet, Role, SwapSupport, Value};
use cranelift_entity::SecondaryMap;

/// A count for each register set of [`Limits`].
pub(super) type Counts = [u16; Limits::MAX];

/// The register sets whose registers have to suffice for the values that are restricted to them.
///
/// These are the sets that the function's classes allow, and the unions of those that overlap; by Hall's theorem there is a
/// register for each of a set of values if for every such union there are as many registers as values confined to it.
pub(super) struct Limits {
    sets: Vec<RegSet>,
    /// Registers of the set that have to stay free: one in a bank whose registers cannot be swapped without.
    reserve: Vec<usize>,
    /// Registers of each set that are to stay free besides, wherever that is possible.
    spare: usize,
    nested: bool,
    /// For each class, the sets that contain its registers, one bit each.
    confined: SecondaryMap<RegClass, u32>,
}

impl Limits {
    const MAX: usize = 24;

    pub(super) fn new(function: &Function, spare: bool) -> Self {
        let file = &function.file;
        let mut used: SecondaryMap<RegClass, bool> = SecondaryMap::new();
        for value in function.values.values() {
            used[value.class] = true;
        }
        let classes: Vec<RegClass> = used.iter().filter(|&(_, &used)| used).map(|(class, _)| class).collect();
        let mut sets: Vec<RegSet> = Vec::new();
        for &class in &classes {
            add(&mut sets, file.classes[class].regs);
        }
        let mut next = 0;
        while next < sets.len() {
            for earlier in 0..next {
                if sets[earlier].intersects(sets[next]) {
                    let union = sets[earlier] | sets[next];
                    add(&mut sets, union);
                }
            }
            next += 1;
        }
        assert!(sets.len() <= Self::MAX, "{} distinct register sets in one function", sets.len());
        let never = |set: &RegSet| {
            let bank = set.first().and_then(|reg| file.bank(reg));
            usize::from(bank.is_some_and(|bank| file.banks[bank].swap == SwapSupport::Never))
        };
        let reserve = sets.iter().map(never).collect();
        let mut confined = SecondaryMap::new();
        for &class in &classes {
            let within = |(index, set): (usize, &RegSet)| u32::from(file.classes[class].regs.is_subset(*set)) << index;
            confined[class] = sets.iter().enumerate().map(within).sum();
        }
        let nested = sets.iter().enumerate().any(|(i, a)| sets[..i].iter().any(|b| a.intersects(*b)));
        Limits { sets, reserve, spare: usize::from(spare), nested, confined }
    }

    /// Whether some values are confined to a part of the registers that others may have. Then there may be no way to satisfy
    /// an instruction although there are registers enough before it, after it and in between.
    pub(super) fn are_nested(&self) -> bool {
        self.nested
    }

    /// The largest set that contains another.
    pub(super) fn widest(&self, set: usize) -> usize {
        let contains = |&other: &usize| self.sets[set].is_subset(self.sets[other]);
        (0..self.sets.len()).filter(contains).max_by_key(|&other| self.sets[other].len()).unwrap_or(set)
    }

    /// Counts a value of this class (with `delta` 1) or takes it back (-1).
    pub(super) fn count(&self, counts: &mut Counts, class: RegClass, delta: i16) {
        let mut sets = self.confined[class];
        while sets != 0 {
            let set = sets.trailing_zeros() as usize;
            counts[set] = counts[set].wrapping_add_signed(delta);
            sets &= sets - 1;
        }
    }

    /// The first set that a class is confined to.
    pub(super) fn set_of(&self, class: RegClass) -> usize {
        self.confined[class].trailing_zeros() as usize
    }

    /// Whether a class is confined to the set.
    pub(super) fn is_confined(&self, class: RegClass, set: usize) -> bool {
        self.confined[class] >> set & 1 != 0
    }

    /// How many registers of each set are to stay free where that is possible.
    pub(super) fn spare(&self) -> usize {
        self.spare
    }

    /// The first set that has fewer registers outside of `occupied` than the sum of the counts, beyond those in reserve and
    /// `spare` ones.
    pub(super) fn exceeded(&self, counts: &[&Counts], occupied: RegSet, spare: usize) -> Option<usize> {
        (0..self.sets.len()).find(|&set| {
            let wanted: usize = counts.iter().map(|c| usize::from(c[set])).sum();
            wanted > 0 && wanted + self.reserve[set] + spare > (self.sets[set] - occupied).len()
        })
    }
}

fn add(sets: &mut Vec<RegSet>, set: RegSet) {
    if !sets.contains(&set) {
        sets.push(set);
    }
}

/// Where the value of a use is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Residence {
    /// In a register beyond the instruction.
    LivesOn,
    /// In a register until the instruction.
    Dies,
    /// In memory; it is loaded for the instruction.
    Loaded,
}

/// The registers that one instruction's operands demand, values that live on past it apart.
#[derive(Default)]
pub(super) struct Demand {
    /// Values in registers that die here, as counted among the live.
    pub(super) dying: Counts,
    /// Wanted only while operands are read.
    before: Counts,
    /// Wanted only when definitions are written.
    after: Counts,
    /// Wanted all the time.
    both: Counts,
}

/// Where an instruction demands too much.
pub(super) struct Excess {
    /// The register set that does not suffice.
    pub(super) set: usize,
    /// Spilling a value that the instruction reads does not help, because it has to be in a register then anyway.
    pub(super) while_reading: bool,
}

impl Demand {
    /// The demand of an instruction: `residence` says where the value of each use is, and `folded` which operand is in
    /// memory.
    pub(super) fn of(
        function: &Function,
        limits: &Limits,
        inst: Inst,
        folded: Option<usize>,
        residence: impl Fn(usize) -> Residence,
    ) -> Self {
        let mut demand = Demand::default();
        let operands = function.operands(inst);
        let dies = |k: usize| residence(k) != Residence::LivesOn;
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
                    if residence(k) == Residence::Dies {
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

    /// Where the demand exceeds what there is besides the values in `through`, which live on past the instruction, and
    /// `spare` registers.
    pub(super) fn excess(&self, limits: &Limits, through: &Counts, occupancy: &Occupancy, spare: usize) -> Option<Excess> {
        let Occupancy { before, after, clobbers } = *occupancy;
        let at = |counts: &[&Counts], occupied, while_reading| {
            limits.exceeded(counts, occupied, spare).map(|set| Excess { set, while_reading })
        };
        at(&[through], before | after | clobbers, false)
            .or_else(|| at(&[through, &self.both], before | after, false))
            .or_else(|| at(&[through, &self.both, &self.after], after, false))
            .or_else(|| at(&[through, &self.both, &self.before], before, true))
    }
}

/// The operand that the instruction accesses in memory itself, if one of those that `in_memory` names is: the first of
/// [`foldable_operands`].
pub(super) fn folded_operand(function: &Function, inst: Inst, folding: bool, in_memory: impl Fn(usize) -> bool) -> Option<usize> {
    foldable_operands(function, inst, folding).find(|&k| in_memory(k))
}

/// The operands of which the instruction can access one in memory itself: those of a copy, and, with `folding`, others.
/// Where it uses a value twice, that is in a register for one operand, so that the other saves nothing in memory. What x87
/// registers hold may be in memory in the form of a wider class, which the instruction does not read.
pub(super) fn foldable_operands(function: &Function, inst: Inst, folding: bool) -> impl Iterator<Item = usize> {
    let operands = function.operands(inst);
    let kind = function.insts[inst].kind;
    let class = move |k: usize| &function.file.classes[function.values[operands[k].value].class];
    let one_form = move |k: usize| function.file.banks[class(k).bank].swap != SwapSupport::Never;
    let whole = kind != InstKind::Copy || class(0).slot_size == class(1).slot_size;
    let once = |k: usize| operands.iter().filter(|o| o.value == operands[k].value && !o.is_def()).count() == 1;
    let foldable =
        move |k: &usize| one_form(*k) && if kind.is_copy() { whole } else { folding && operands[*k].foldable && once(*k) };
    // A copy's source comes first: it is last.
    (0..operands.len()).rev().filter(foldable)
}

/// Whether no earlier operand uses the value.
pub(super) fn is_first_use(operands: &[Operand], k: usize) -> bool {
    !operands[..k].iter().any(|o| o.value == operands[k].value && !o.is_def())
}

/// The class that confines a definition more: its own or that of the use whose register it reuses.
fn tied_class(function: &Function, operands: &[Operand], def: usize, class: RegClass) -> RegClass {
    let classes = [Some(def), operands[def].reuse.map(usize::from)].into_iter().flatten();
    let narrower = |a: RegClass, b: RegClass| {
        let regs = |class: RegClass| function.file.classes[class].regs.len();
        if regs(b) < regs(a) { b } else { a }
    };
    classes.map(|k| function.values[operands[k].value].class).fold(class, narrower)
}

/// The first definition that reuses the register of a use of this value.
pub(super) fn first_reuse(operands: &[Operand], value: Value) -> Option<usize> {
    operands.iter().position(|o| o.reuse.is_some_and(|u| operands[usize::from(u)].value == value))
}
