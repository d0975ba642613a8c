//! The lattice: which values each place holds.

use super::boundary::{Boundary, GROUP, Pairs, group};
use crate::analysis::grouped::of_each;
use crate::machine::{Location, Reg, RegSet, Slot, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::SmallVec;
use std::rc::Rc;

/// A location as a dense index, or the pseudo-place [`Place::ANYWHERE`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// Values held here are held by every place. It sorts first.
    pub(super) const ANYWHERE: Place = Place(0);
    const FIRST_SLOT: usize = 1 + RegSet::CAPACITY;

    pub(super) fn as_reg(self) -> Option<Reg> {
        let index = self.0 as usize;
        (1..Self::FIRST_SLOT).contains(&index).then(|| Reg::new(index - 1))
    }

    pub(super) fn as_slot(self) -> Option<Slot> {
        (self.0 as usize).checked_sub(Self::FIRST_SLOT).map(Slot::new)
    }
}

impl From<Reg> for Place {
    fn from(reg: Reg) -> Self {
        Place(reg.index() as u32 + 1)
    }
}

impl From<Slot> for Place {
    fn from(slot: Slot) -> Self {
        Place((Self::FIRST_SLOT + slot.index()) as u32)
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        match location {
            Location::Reg(reg) => reg.into(),
            Location::Slot(slot) => slot.into(),
        }
    }
}

/// The meaning of the pairs in a state that walks a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// The place holds the value.
    Held,
    /// The place was thought to hold the value, but does not. A value that an instruction puts into a place is there all the
    /// same.
    Lost,
}

/// A state while a block is being walked: a relation of places and values, indexed both ways.
pub(super) struct State {
    /// By place.
    contents: Vec<SmallVec<[Value; 2]>>,
    places: SecondaryMap<Value, SmallVec<[Place; 2]>>,
    /// The registers that hold something, and possibly others. A call clears only these.
    registers: RegSet,
    /// For each group, the values that are somewhere, and possibly others; one bit each.
    present: Vec<u64>,
    /// The state that was last loaded. From one block to the next, most groups keep their pairs, so only the others have to
    /// be taken out and put in.
    loaded: Boundary,
    /// The groups whose pairs may have changed since, each once.
    changed: Vec<usize>,
    is_changed: Vec<bool>,
    direction: Direction,
}

impl State {
    /// A state into which nothing has been loaded.
    pub(super) fn new(values: usize, slots: usize, direction: Direction) -> Self {
        State {
            contents: vec![SmallVec::new(); Place::FIRST_SLOT + slots],
            places: of_each(values),
            registers: RegSet::EMPTY,
            present: vec![0; values.div_ceil(GROUP)],
            loaded: Boundary::default(),
            changed: Vec::new(),
            is_changed: vec![false; values.div_ceil(GROUP)],
            direction,
        }
    }

    /// Replaces the state by this one.
    pub(super) fn load(&mut self, boundary: &Boundary) {
        for index in 0..self.changed.len() {
            self.empty(self.changed[index]);
        }
        let mut loaded = std::mem::take(&mut self.loaded);
        for (group, old, new) in loaded.beside(boundary) {
            if let (Some(old), Some(new)) = (old, new)
                && Rc::ptr_eq(old, new)
                && !self.is_changed[group]
            {
                continue;
            }
            self.empty(group);
            new.into_iter().flat_map(|pairs| pairs.iter()).for_each(|&(value, place)| self.insert(place, value));
        }
        loaded.clone_from(boundary);
        self.loaded = loaded;
        self.changed.drain(..).for_each(|group| self.is_changed[group] = false);
    }

    /// Removes the group's values from all places.
    fn empty(&mut self, group: usize) {
        for value in values(group, std::mem::take(&mut self.present[group])) {
            forget(&mut self.contents, &mut self.places, value);
        }
    }

    /// Replaces the state by one with just these pairs, of which there are few.
    pub(super) fn load_pairs(&mut self, pairs: &[(Value, Place)]) {
        self.load(&Boundary::default());
        for &(value, place) in pairs {
            self.change(value);
            self.insert(place, value);
        }
    }

    pub(super) fn holds(&self, place: impl Into<Place>, value: Value) -> bool {
        let place = place.into();
        self.places[value].iter().any(|&p| p == place || p == Place::ANYWHERE)
    }

    /// The values that a place holds, ascending.
    pub(super) fn contents(&self, place: impl Into<Place>) -> Vec<Value> {
        let mut values = self.contents[place.into().0 as usize].to_vec();
        values.sort_unstable();
        values
    }

    /// Whether a place holds such a value.
    pub(super) fn holds_any(&self, place: impl Into<Place>, is_such: impl Fn(&Value) -> bool) -> bool {
        self.contents[place.into().0 as usize].iter().any(is_such)
    }

    pub(super) fn places(&self, value: Value) -> &[Place] {
        &self.places[value]
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// The groups, ascending, that still have the pairs with which they were loaded.
    pub(super) fn unchanged(&self) -> impl Iterator<Item = (usize, &Pairs)> {
        self.loaded.groups().filter(|&(group, _)| !self.is_changed[group])
    }

    /// The values that places hold and may not have held when the state was loaded: each once, in no order.
    pub(super) fn changed(&self) -> impl Iterator<Item = Value> {
        let values = self.changed.iter().flat_map(|&group| values(group, self.present[group]));
        values.filter(|&value| !self.places[value].is_empty())
    }

    fn change(&mut self, value: Value) {
        let group = group(value);
        if !std::mem::replace(&mut self.is_changed[group], true) {
            self.changed.push(group);
        }
    }

    /// From now on, the place holds this value, wherever it was before.
    pub(super) fn generate(&mut self, place: impl Into<Place>, value: Value) {
        let place = place.into();
        self.change(value);
        match self.direction {
            Direction::Held => self.insert(place, value),
            Direction::Lost => {
                self.places[value].retain(|p| *p != place);
                self.contents[place.0 as usize].retain(|v| *v != value);
            }
        }
    }

    /// Adds the value to the place. Its group must be marked as changed, or be loading.
    fn insert(&mut self, place: Place, value: Value) {
        if !self.places[value].contains(&place) {
            self.places[value].push(place);
            self.contents[place.0 as usize].push(value);
            place.as_reg().into_iter().for_each(|reg| self.registers.insert(reg));
            self.present[group(value)] |= 1 << (value.index() % GROUP);
        }
    }

    /// Makes these registers hold nothing.
    pub(super) fn clear_all(&mut self, registers: RegSet) {
        let holding = registers & self.registers;
        self.registers = self.registers - holding;
        holding.iter().for_each(|reg| self.clear(reg));
    }

    /// Makes the place hold nothing.
    pub(super) fn clear(&mut self, place: impl Into<Place>) {
        let place = place.into();
        while let Some(value) = self.contents[place.0 as usize].pop() {
            self.change(value);
            self.places[value].retain(|p| *p != place);
        }
    }

    /// Makes no place hold the value.
    pub(super) fn forget(&mut self, value: Value) {
        self.change(value);
        forget(&mut self.contents, &mut self.places, value);
    }

    /// Puts `value` into every place that holds `other` and that it fits into.
    pub(super) fn alias(&mut self, value: Value, other: Value, fits: impl Fn(Place) -> bool) {
        self.change(value);
        for place in self.places[other].clone().into_iter().filter(|&place| fits(place)) {
            self.insert(place, value);
        }
    }

    /// Makes `to` hold the values in `from` that are carried, and nothing else.
    pub(super) fn copy(&mut self, to: impl Into<Place>, from: impl Into<Place>, carried: impl Fn(Value) -> bool) {
        let (to, from) = (to.into(), from.into());
        if to != from {
            self.replace(to, from, carried);
        }
    }

    /// Makes `to` hold what `from` holds, as far as it is carried, and nothing else. Both may be one place.
    pub(super) fn replace(&mut self, to: impl Into<Place>, from: impl Into<Place>, carried: impl Fn(Value) -> bool) {
        let moved = self.contents[from.into().0 as usize].clone();
        self.put(to.into(), &moved, carried);
    }

    /// Makes `to` hold these values, if `from` holds `other`, from which they are computed, and what `from` holds as far as it is
    /// carried; nothing else.
    pub(super) fn compute(&mut self, to: Reg, values: &[Value], from: Reg, other: Value, carried: impl Fn(Value) -> bool) {
        let computed = if self.holds(from, other) { values } else { &[] };
        let moved = self.contents[Place::from(from).0 as usize].clone();
        let moved = moved.iter().filter(|&&value| carried(value) && !computed.contains(&value));
        self.clear(to);
        for &value in computed.iter().chain(moved) {
            self.change(value);
            self.insert(to.into(), value);
        }
    }

    /// Exchanges the contents of two places, as far as they are carried.
    pub(super) fn swap(&mut self, a: impl Into<Place>, b: impl Into<Place>, carried: impl Fn(Value) -> bool) {
        let (a, b) = (a.into(), b.into());
        let (from_a, from_b) = (self.contents[a.0 as usize].clone(), self.contents[b.0 as usize].clone());
        self.put(a, &from_b, &carried);
        self.put(b, &from_a, &carried);
    }

    fn put(&mut self, to: Place, values: &[Value], carried: impl Fn(Value) -> bool) {
        self.clear(to);
        for &value in values.iter().filter(|&&v| carried(v)) {
            self.change(value);
            self.insert(to, value);
        }
    }
}

fn forget(contents: &mut [SmallVec<[Value; 2]>], places: &mut SecondaryMap<Value, SmallVec<[Place; 2]>>, value: Value) {
    while let Some(place) = places[value].pop() {
        contents[place.0 as usize].retain(|v| *v != value);
    }
}

/// The values of a group whose bits are set.
fn values(group: usize, mut bits: u64) -> impl Iterator<Item = Value> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| Value::new(group * GROUP + bits.trailing_zeros() as usize));
        bits &= bits.wrapping_sub(1);
        lowest
    })
}
