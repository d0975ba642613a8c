//! States as they are kept between blocks.
//!
//! If many values live long, what flows into a block differs little from what flows into its neighbours. So a state consists
//! of pieces, one for each [`GROUP`] of values with consecutive numbers. States share a piece as long as nothing in it
//! changes. A shared piece takes no additional memory, and is neither compared nor loaded again.

use super::state::Place;
use crate::machine::Value;
use cranelift_entity::EntityRef;
use std::rc::Rc;

/// The number of values that are kept together: as many as a word has bits.
pub(super) const GROUP: usize = u64::BITS as usize;

/// The group of a value.
pub(super) fn group(value: Value) -> usize {
    value.index() / GROUP
}

/// The pairs of one group in a state: sorted, distinct, never empty. A value that is anywhere has that pair alone.
pub(super) type Pairs = Rc<[(Value, Place)]>;

/// A state at a block's head, or on an edge: its groups, ascending.
#[derive(Default)]
pub(super) struct Boundary(Vec<Pairs>);

impl Clone for Boundary {
    fn clone(&self) -> Self {
        Boundary(self.0.clone())
    }

    // The derived one would not reuse the memory.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

/// How the state at a block's head changed.
#[derive(Clone, Default)]
pub(super) enum Change {
    #[default]
    Nothing,
    /// These pairs are gone; they are in no order.
    Lost(Vec<(Value, Place)>),
    /// The state may be entirely different: there was none before, or a value that was anywhere is in some places only.
    Unknown,
}

impl Boundary {
    /// Adds the pairs of a group that comes after all others.
    pub(super) fn push(&mut self, pairs: Pairs) {
        self.0.push(pairs);
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, &Pairs)> {
        self.0.iter().map(|pairs| (group_of(pairs), pairs))
    }

    /// The groups that either state has, with the pairs of each in both.
    pub(super) fn beside<'a>(
        &'a self,
        other: &'a Boundary,
    ) -> impl Iterator<Item = (usize, Option<&'a Pairs>, Option<&'a Pairs>)> {
        let (mut these, mut others) = (self.groups().peekable(), other.groups().peekable());
        std::iter::from_fn(move || {
            let first = [these.peek(), others.peek()].into_iter().flatten().map(|&(group, _)| group).min()?;
            let of = |pairs: Option<(usize, &'a Pairs)>| pairs.map(|(_, pairs)| pairs);
            Some((first, of(these.next_if(|it| it.0 == first)), of(others.next_if(|it| it.0 == first))))
        })
    }

    /// Becomes the intersection with another state. Returns how it changed.
    pub(super) fn meet(&mut self, other: &Boundary) -> Change {
        let mut met = Meeting::default();
        let mut result = Vec::with_capacity(self.0.len());
        for (_, mine, other) in self.beside(other) {
            let Some(mine) = mine else { continue };
            match other {
                Some(other) if Rc::ptr_eq(mine, other) => result.push(mine.clone()),
                _ => result.extend(met.of(mine, other)),
            }
        }
        self.0 = result;
        if met.refined { Change::Unknown } else { Change::lost(met.lost) }
    }

    /// Removes the listed pairs, which are sorted. Returns which of them were there.
    pub(super) fn lose(&mut self, listed: &[(Value, Place)]) -> Change {
        let mut all_lost = Vec::new();
        for listed in listed.chunk_by(|a, b| group(a.0) == group(b.0)) {
            let Ok(index) = self.0.binary_search_by_key(&group(listed[0].0), group_of) else { continue };
            let pairs = &self.0[index];
            let lost = listed.iter().copied().filter(|pair| pairs.binary_search(pair).is_ok());
            let known = all_lost.len();
            all_lost.extend(lost);
            let lost = &all_lost[known..];
            if lost.len() == pairs.len() {
                self.0.remove(index);
            } else if !lost.is_empty() {
                self.0[index] = pairs.iter().copied().filter(|pair| lost.binary_search(pair).is_err()).collect();
            }
        }
        Change::lost(all_lost)
    }
}

impl Change {
    fn lost(lost: Vec<(Value, Place)>) -> Self {
        if lost.is_empty() { Change::Nothing } else { Change::Lost(lost) }
    }
}

fn group_of(pairs: &Pairs) -> usize {
    group(pairs[0].0)
}

/// The result of meeting another state, one group at a time.
#[derive(Default)]
struct Meeting {
    /// Of the current group.
    pairs: Vec<(Value, Place)>,
    lost: Vec<(Value, Place)>,
    /// Whether a value that was anywhere is in some places only.
    refined: bool,
}

impl Meeting {
    /// The rest of a group; `None` if nothing is left.
    fn of(&mut self, mine: &Pairs, other: Option<&Pairs>) -> Option<Pairs> {
        self.meet(mine, other.map_or(&[], |pairs| &pairs[..]));
        match other {
            _ if self.pairs.is_empty() => None,
            _ if self.pairs[..] == mine[..] => Some(mine.clone()),
            Some(other) if self.pairs[..] == other[..] => Some(other.clone()),
            _ => Some(self.pairs[..].into()),
        }
    }

    fn meet(&mut self, mine: &[(Value, Place)], other: &[(Value, Place)]) {
        self.pairs.clear();
        let same_value = |x: &(Value, Place), y: &(Value, Place)| x.0 == y.0;
        let mut others = other.chunk_by(same_value).peekable();
        for pairs in mine.chunk_by(same_value) {
            let (value, first) = pairs[0];
            while others.next_if(|g| g[0].0 < value).is_some() {}
            let other = others.next_if(|g| g[0].0 == value).unwrap_or_default();
            let other_is_anywhere = other.first().is_some_and(|&(_, place)| place == Place::ANYWHERE);
            if first == Place::ANYWHERE {
                self.pairs.extend_from_slice(other);
                self.refined |= !other_is_anywhere;
            } else if other_is_anywhere {
                self.pairs.extend_from_slice(pairs);
            } else {
                for pair in pairs {
                    if other.binary_search(pair).is_ok() { &mut self.pairs } else { &mut self.lost }.push(*pair);
                }
            }
        }
    }
}
