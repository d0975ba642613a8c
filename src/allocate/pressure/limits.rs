//! The register sets that values compete for.

use crate::allocate::failure::Unsupported;
use crate::analysis::grouped::of_each;
use crate::machine::{Function, Reg, RegClass, RegSet, SwapSupport};
use cranelift_entity::SecondaryMap;

/// A count for each register set of [`Limits`].
pub(in crate::allocate) type Counts = [i32; Limits::MAX];

/// The register sets whose registers have to suffice for the values that are confined to them.
///
/// These are the sets that the function's classes allow, and the unions of those that overlap. By Hall's theorem, there is a
/// register for each of some values if each such union has as many registers as there are values confined to it.
pub(in crate::allocate) struct Limits {
    sets: Vec<RegSet>,
    /// The size of each set, without the one register that has to stay free in a bank without swaps.
    sizes: Vec<i32>,
    /// How many registers of each set should stay free besides, wherever possible.
    spare: usize,
    nested: bool,
    laminar: bool,
    /// For each class, the sets that contain its registers, a bit for each.
    confined: SecondaryMap<RegClass, u32>,
}

impl Limits {
    const MAX: usize = 24;

    /// # Errors
    /// If the function has values of more classes than there are counts for.
    pub(in crate::allocate) fn new(function: &Function, spare: bool) -> Result<Self, Unsupported> {
        let file = &function.file;
        let mut used: SecondaryMap<RegClass, bool> = of_each(file.classes.len());
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
        if sets.len() > Self::MAX {
            return Err(Unsupported(format!("{} distinct register sets in one function", sets.len())));
        }
        let never = |set: &RegSet| {
            let bank = set.first().and_then(|reg| file.bank(reg));
            i32::from(bank.is_some_and(|bank| file.banks[bank].swap == SwapSupport::Never))
        };
        let sizes = sets.iter().map(|set| set.len() as i32 - never(set)).collect();
        let mut confined = of_each(file.classes.len());
        for &class in &classes {
            let within = |(index, set): (usize, &RegSet)| u32::from(file.classes[class].regs.is_subset(*set)) << index;
            confined[class] = sets.iter().enumerate().map(within).sum();
        }
        let are_some =
            |related: fn(RegSet, RegSet) -> bool| sets.iter().enumerate().any(|(i, &a)| sets[..i].iter().any(|&b| related(a, b)));
        let nested = are_some(RegSet::intersects);
        let laminar = !are_some(|a, b| a.intersects(b) && !a.is_subset(b) && !b.is_subset(a));
        Ok(Limits { sets, sizes, spare: usize::from(spare), nested, laminar, confined })
    }

    /// Whether some values are confined to a part of the registers that others may have. Then there may be no way to satisfy
    /// an instruction although there are registers enough before it, after it and in between.
    pub(in crate::allocate) fn are_nested(&self) -> bool {
        self.nested
    }

    /// Whether one of two classes that share registers always contains the other. If so, and if there is [ample
    /// capacity](Self::are_ample) for all values and operands of an instruction at once, there is a way to satisfy it. For
    /// by Hall's theorem, all of them could have registers of their own that nothing occupies, and of a definition and a use
    /// that share one, the one that is confined more gives the other its own. (If classes overlap otherwise, that register
    /// might not be in both.)
    pub(in crate::allocate) fn are_laminar(&self) -> bool {
        self.laminar
    }

    /// The largest set that contains another.
    pub(in crate::allocate) fn widest(&self, set: usize) -> usize {
        let contains = |&other: &usize| self.sets[set].is_subset(self.sets[other]);
        (0..self.sets.len()).filter(contains).max_by_key(|&other| self.sets[other].len()).unwrap_or(set)
    }

    /// Counts a value of this class (with `delta` 1) or takes it back (-1).
    pub(in crate::allocate) fn count(&self, counts: &mut Counts, class: RegClass, delta: i32) {
        self.sets_of(class).for_each(|set| counts[set] += delta);
    }

    /// The sets that a class is confined to.
    pub(in crate::allocate) fn sets_of(&self, class: RegClass) -> impl Iterator<Item = usize> + use<> {
        let mut sets = self.confined[class];
        std::iter::from_fn(move || {
            let set = (sets != 0).then(|| sets.trailing_zeros() as usize);
            sets &= sets.wrapping_sub(1);
            set
        })
    }

    /// The first set that a class is confined to.
    pub(in crate::allocate) fn set_of(&self, class: RegClass) -> usize {
        self.confined[class].trailing_zeros() as usize
    }

    /// Whether a class is confined to the set.
    pub(in crate::allocate) fn is_confined(&self, class: RegClass, set: usize) -> bool {
        self.confined[class] >> set & 1 != 0
    }

    /// How many registers of each set should stay free where that is possible.
    pub(in crate::allocate) fn spare(&self) -> usize {
        self.spare
    }

    /// All sets.
    pub(in crate::allocate) fn sets(&self) -> std::ops::Range<usize> {
        0..self.sets.len()
    }

    /// Whether a register is in a set.
    pub(in crate::allocate) fn contains(&self, set: usize, reg: Reg) -> bool {
        self.sets[set].contains(reg)
    }

    /// The registers of a set.
    pub(in crate::allocate) fn registers(&self, set: usize) -> RegSet {
        self.sets[set]
    }

    /// How many of the sets a register is in.
    pub(in crate::allocate) fn sets_with(&self, reg: Reg) -> usize {
        self.sets.iter().filter(|set| set.contains(reg)).count()
    }

    /// The capacity of a set: how many values can be in its registers if these are `occupied`.
    pub(in crate::allocate) fn room(&self, set: usize, occupied: RegSet) -> i32 {
        let taken = self.sets[set] & occupied;
        // Skips counting bits, which would take as long as everything else that is asked about an instruction.
        if taken.is_empty() { self.sizes[set] } else { self.sizes[set] - taken.len() as i32 }
    }

    /// Whether `wanted` values of a set, if there are any, exceed its capacity beside these `occupied` registers, of which
    /// `spare` have to stay free.
    pub(in crate::allocate) fn is_exceeded(&self, set: usize, wanted: i32, occupied: RegSet, spare: usize) -> bool {
        wanted > 0 && wanted + spare as i32 > self.room(set, occupied)
    }

    /// Whether all sets have capacity for `more` values than are counted.
    pub(in crate::allocate) fn are_ample(&self, counts: &Counts, more: i32, occupied: RegSet, spare: usize) -> bool {
        self.sets().all(|set| !self.is_exceeded(set, counts[set] + more, occupied, spare))
    }

    /// The first set that has too few registers for what is counted.
    pub(in crate::allocate) fn exceeded(&self, counts: &Counts, occupied: RegSet, spare: usize) -> Option<usize> {
        self.sets().find(|&set| self.is_exceeded(set, counts[set], occupied, spare))
    }
}

fn add(sets: &mut Vec<RegSet>, set: RegSet) {
    if !sets.contains(&set) {
        sets.push(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::parse;

    /// Counts are larger than register numbers can be.
    #[test]
    fn tens_of_thousands_of_values_are_counted() {
        let function = parse("target wide\nfunction f\nb0:\n  v0:w = op\n").unwrap();
        let limits = Limits::new(&function, false).unwrap();
        let mut counts = Counts::default();
        for _ in 0..(1 << 16) + 10 {
            limits.count(&mut counts, function.values.values().next().unwrap().class, 1);
        }
        assert_eq!(limits.exceeded(&counts, RegSet::EMPTY, 0), Some(0));
    }
}
