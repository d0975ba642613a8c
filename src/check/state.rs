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

/// How a state at a block's head changed.
#[derive(Clone, Default)]
pub(super) enum Change {
    #[default]
    Nothing,
    /// These pairs are gone, in no order.
    Lost(Boundary),
    /// It is another one: there was none before, or what was anywhere is in some places only.
    Unknown,
}

/// Puts the intersection of a state and another one into `met`, and says how it differs from the former.
pub(super) fn meet(state: &[(Value, Place)], other: &[(Value, Place)], met: &mut Boundary) -> Change {
    met.clear();
    let (mut lost, mut refined) = (Boundary::new(), false);
    let same_value = |x: &(Value, Place), y: &(Value, Place)| x.0 == y.0;
    let mut others = other.chunk_by(same_value).peekable();
    for pairs in state.chunk_by(same_value) {
        let (value, first) = pairs[0];
        while others.next_if(|g| g[0].0 < value).is_some() {}
        let other = others.next_if(|g| g[0].0 == value).unwrap_or_default();
        let other_is_anywhere = other.first().is_some_and(|&(_, place)| place == Place::ANYWHERE);
        if first == Place::ANYWHERE {
            met.extend_from_slice(other);
            refined |= !other_is_anywhere;
        } else if other_is_anywhere {
            met.extend_from_slice(pairs);
        } else {
            for pair in pairs {
                if other.binary_search(pair).is_ok() { &mut *met } else { &mut lost }.push(*pair);
            }
        }
    }
    if refined { Change::Unknown } else { Change::lost(lost) }
}

/// Removes what is listed from a state, and says what of it was there.
pub(super) fn lose(state: &mut Boundary, listed: &[(Value, Place)]) -> Change {
    let lost: Boundary = listed.iter().copied().filter(|pair| state.binary_search(pair).is_ok()).collect();
    if !lost.is_empty() {
        state.retain(|pair| lost.binary_search(pair).is_err());
    }
    Change::lost(lost)
}

impl Change {
    fn lost(lost: Boundary) -> Self {
        if lost.is_empty() { Change::Nothing } else { Change::Lost(lost) }
    }
}

/// What the pairs of a state that walks a block are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// What places hold.
    Held,
    /// What places were thought to hold, and do not. Whatever an instruction puts into a place is there all the same.
    Lost,
}

/// A state as it is while walking a block: both directions of the relation.
pub(super) struct State {
    /// By place.
    contents: Vec<SmallVec<[Value; 2]>>,
    places: SecondaryMap<Value, SmallVec<[Place; 2]>>,
    /// Every place with contents, and maybe others: what has to be emptied before the next block.
    touched: Vec<Place>,
    direction: Direction,
}

impl State {
    pub(super) fn new(slots: usize) -> Self {
        let contents = vec![SmallVec::new(); Place::FIRST_SLOT + slots];
        State { contents, places: SecondaryMap::new(), touched: Vec::new(), direction: Direction::Held }
    }

    /// Becomes this state.
    pub(super) fn load(&mut self, boundary: &Boundary, direction: Direction) {
        while let Some(place) = self.touched.pop() {
            self.clear(place);
        }
        self.direction = direction;
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

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// The values that places hold, each once for each of them.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.touched.iter().flat_map(|place| self.contents[place.0 as usize].iter().copied())
    }

    /// The place holds this value from now on, whatever was where.
    pub(super) fn generate(&mut self, place: impl Into<Place>, value: Value) {
        let place = place.into();
        match self.direction {
            Direction::Held => self.insert(place, value),
            Direction::Lost => {
                self.places[value].retain(|p| *p != place);
                self.contents[place.0 as usize].retain(|v| *v != value);
            }
        }
    }

    /// The place holds this value too.
    fn insert(&mut self, place: impl Into<Place>, value: Value) {
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
