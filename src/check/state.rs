//! The lattice: which values each place holds.

use crate::machine::{Location, Reg, RegSet, Slot, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use smallvec::SmallVec;

/// A location as a dense index, or the pseudo-place [`Place::ANYWHERE`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    /// What is held here is held by every place. It sorts first.
    pub(super) const ANYWHERE: Place = Place(0);
    const FIRST_SLOT: usize = 1 + RegSet::CAPACITY;

    pub(super) fn as_reg(self) -> Option<Reg> {
        let index = self.0 as usize;
        (1..Self::FIRST_SLOT).contains(&index).then(|| Reg::new(index - 1))
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

/// A state as it is kept between blocks: sorted, each pair once; a value that is anywhere has that pair alone.
pub(super) type Boundary = Vec<(Value, Place)>;

/// Puts the intersection of two states into `met`.
pub(super) fn meet(a: &[(Value, Place)], b: &[(Value, Place)], met: &mut Boundary) {
    met.clear();
    let same_value = |x: &(Value, Place), y: &(Value, Place)| x.0 == y.0;
    let mut rest = b.chunk_by(same_value).peekable();
    for in_a in a.chunk_by(same_value) {
        let (value, first) = in_a[0];
        while rest.next_if(|g| g[0].0 < value).is_some() {}
        let Some(in_b) = rest.next_if(|g| g[0].0 == value) else { continue };
        if first == Place::ANYWHERE {
            met.extend_from_slice(in_b);
        } else if in_b[0].1 == Place::ANYWHERE {
            met.extend_from_slice(in_a);
        } else {
            met.extend(in_a.iter().filter(|pair| in_b.binary_search(pair).is_ok()));
        }
    }
}

/// A state as it is while walking a block: both directions of the relation.
pub(super) struct State {
    /// By place.
    contents: Vec<SmallVec<[Value; 2]>>,
    places: SecondaryMap<Value, SmallVec<[Place; 2]>>,
    /// Every place with contents, and maybe others: what has to be emptied before the next block.
    touched: Vec<Place>,
}

impl State {
    pub(super) fn new(slots: usize) -> Self {
        State { contents: vec![SmallVec::new(); Place::FIRST_SLOT + slots], places: SecondaryMap::new(), touched: Vec::new() }
    }

    /// Becomes this state.
    pub(super) fn load(&mut self, boundary: &Boundary) {
        while let Some(place) = self.touched.pop() {
            self.clear(place);
        }
        for &(value, place) in boundary {
            self.insert(place, value);
        }
    }

    pub(super) fn holds(&self, place: impl Into<Place>, value: Value) -> bool {
        let place = place.into();
        self.places[value].iter().any(|&p| p == place || p == Place::ANYWHERE)
    }

    pub(super) fn contents(&self, place: impl Into<Place>) -> &[Value] {
        &self.contents[place.into().0 as usize]
    }

    pub(super) fn places(&self, value: Value) -> &[Place] {
        &self.places[value]
    }

    /// The place holds this value too.
    pub(super) fn insert(&mut self, place: impl Into<Place>, value: Value) {
        let place = place.into();
        if !self.places[value].contains(&place) {
            self.places[value].push(place);
            let contents = &mut self.contents[place.0 as usize];
            if contents.is_empty() {
                self.touched.push(place);
            }
            contents.push(value);
        }
    }

    /// The place holds nothing.
    pub(super) fn clear(&mut self, place: impl Into<Place>) {
        let place = place.into();
        while let Some(value) = self.contents[place.0 as usize].pop() {
            self.places[value].retain(|p| *p != place);
        }
    }

    /// No place holds the value.
    pub(super) fn forget(&mut self, value: Value) {
        while let Some(place) = self.places[value].pop() {
            self.contents[place.0 as usize].retain(|v| *v != value);
        }
    }

    /// A value is wherever another one is, too.
    pub(super) fn alias(&mut self, value: Value, other: Value) {
        for place in self.places[other].clone() {
            self.insert(place, value);
        }
    }

    /// `to` holds what `from` holds, as far as it is carried, and nothing else.
    pub(super) fn copy(&mut self, to: impl Into<Place>, from: impl Into<Place>, carried: impl Fn(Value) -> bool) {
        let (to, from) = (to.into(), from.into());
        if to != from {
            let moved = self.contents[from.0 as usize].clone();
            self.put(to, &moved, carried);
        }
    }

    /// Exchanges what two places hold, as far as it is carried.
    pub(super) fn swap(&mut self, a: impl Into<Place>, b: impl Into<Place>, carried: impl Fn(Value) -> bool) {
        let (a, b) = (a.into(), b.into());
        let (from_a, from_b) = (self.contents[a.0 as usize].clone(), self.contents[b.0 as usize].clone());
        self.put(a, &from_b, &carried);
        self.put(b, &from_a, &carried);
    }

    fn put(&mut self, to: Place, values: &[Value], carried: impl Fn(Value) -> bool) {
        self.clear(to);
        for &value in values.iter().filter(|&&v| carried(v)) {
            self.insert(to, value);
        }
    }
}
