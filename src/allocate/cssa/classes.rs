//! The growing φ-webs.
//!
//! Merging is Budimlić's walk in dominance order, but it visits the members of the smaller class only: each finds the nearest
//! members of the larger one above and below it in a search tree. So a member is visited once each time its class at least
//! doubles, and a φ of many arguments, or a web of many φs, takes no longer than the same number of small ones.

use super::{Sharing, Web, Webs};
use crate::analysis::grouped::of_each;
use crate::analysis::{DefPoint, Dominators, Interference, Partition};
use crate::machine::{Block, Function, Point, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A member of a web.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Value(Value),
    /// A copy at this point, where control departs for the φ: it is live from there to the block's end.
    Tail(Point),
    /// What a φ of this block defines only for it to be copied there at once.
    Head(Block),
}

/// A member among the others of its class.
#[derive(Clone, Copy)]
struct Entry {
    member: Member,
    /// The last point that its definition dominates: what lies between is all dominated.
    last: DefPoint,
    /// The nearest member whose definition dominates this one's.
    above: Option<DefPoint>,
}

/// The members of a class by their definitions, which are in different places or would interfere: a forest in preorder.
#[derive(Clone, Default)]
struct Class(BTreeMap<DefPoint, Entry>);

impl Class {
    /// The nearest member whose definition is at this point, or dominates it.
    fn above(&self, point: DefPoint) -> Option<DefPoint> {
        let before = self.0.range(..=point).next_back().map(|(&at, _)| at);
        std::iter::successors(before, |at| self.0[at].above).find(|at| self.0[at].last >= point)
    }

    /// The members that are dominated by a definition, but not by one another.
    fn below(&self, at: DefPoint, last: DefPoint) -> impl Iterator<Item = DefPoint> {
        let mut behind = at;
        std::iter::from_fn(move || {
            let (&at, entry) = self.0.range((Bound::Excluded(behind), Bound::Included(last))).next()?;
            behind = entry.last;
            Some(at)
        })
    }

    fn insert(&mut self, at: DefPoint, entry: Entry) {
        let below: Vec<DefPoint> = self.below(at, entry.last).collect();
        below.into_iter().for_each(|other| self.0.get_mut(&other).expect("it has been found").above = Some(at));
        self.0.insert(at, Entry { above: self.above(at), ..entry });
    }
}

/// Disjoint classes of values that do not interfere within a class.
pub(super) struct Classes<'a> {
    partition: Partition<Value>,
    /// Of each representative; empty for a value that nobody has asked about.
    members: SecondaryMap<Value, Class>,
    dominators: &'a Dominators,
    interference: &'a Interference<'a>,
    sharing: Sharing,
    /// Values beyond those of the function.
    stand_ins: Vec<Value>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(
        function: &Function,
        dominators: &'a Dominators,
        interference: &'a Interference<'a>,
        sharing: Sharing,
    ) -> Self {
        let partition = Partition::discrete(function.values.len());
        Classes { partition, members: of_each(function.values.len()), dominators, interference, sharing, stand_ins: Vec::new() }
    }

    /// The representative of a value's class.
    pub(super) fn find(&mut self, value: Value) -> Value {
        self.partition.find(value)
    }

    /// Merges the classes of two values unless they interfere; says whether they are one class now.
    pub(super) fn merge(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return true;
        }
        self.grow(a);
        self.grow(b);
        let (small, large) = self.by_size(a, b);
        if self.interfere(&self.members[small], &self.members[large]) {
            return false;
        }
        self.partition.attach(small, large);
        let small = std::mem::take(&mut self.members[small]);
        small.0.into_iter().for_each(|(at, entry)| self.members[large].insert(at, entry));
        true
    }

    /// Whether the classes of two values interfere.
    pub(super) fn are_apart(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.grow(a);
        self.grow(b);
        let (small, large) = self.by_size(a, b);
        a != b && self.interfere(&self.members[small], &self.members[large])
    }

    /// The smaller class first.
    fn by_size(&self, a: Value, b: Value) -> (Value, Value) {
        if self.members[a].0.len() < self.members[b].0.len() { (a, b) } else { (b, a) }
    }

    /// A value that stands for what a φ of the block defines if that is copied to the program's name at once. It is beyond the
    /// function's values, and as long as it is in a class, the web of that class is one.
    pub(super) fn stand_in(&mut self, block: Block) -> Value {
        let value = self.partition.add();
        let (at, last) = (self.head_of(block), self.last_below(block));
        self.members[value].insert(at, Entry { member: Member::Head(block), last, above: None });
        self.stand_ins.push(value);
        value
    }

    /// Numbers the classes that φs relate.
    pub(super) fn webs(&mut self, function: &Function) -> Webs {
        let count = function.values.len();
        let mut by_root: SecondaryMap<Value, PackedOption<Web>> = of_each(count);
        let mut webs = Webs { of: of_each(count), count: 0 };
        let stand_ins = self.stand_ins.clone();
        let defined = function.blocks.values().flat_map(|data| &data.phis).map(|phi| phi.def);
        for value in defined.chain(stand_ins.iter().copied()) {
            let web = &mut by_root[self.find(value)];
            if web.is_none() {
                *web = webs.fresh().into();
            }
        }
        for value in function.values.keys().chain(stand_ins) {
            webs.of[value] = by_root[self.find(value)];
        }
        webs
    }

    /// Whether a member of the value's class is in the way of a copy where control departs. Only the nearest one that dominates
    /// the block's end can be: were a farther one live behind the copy, it would be live behind that one's definition, too, unless
    /// that one is defined behind the copy, and is in the way itself.
    pub(super) fn collide_with_tail(&mut self, value: Value, departure: Point) -> bool {
        let root = self.find(value);
        self.grow(root);
        let class = &self.members[root];
        let above = class.above(self.end_of(departure.block)).map(|at| class.0[&at].member);
        above.is_some_and(|member| self.live_behind(member, Member::Tail(departure)))
    }

    /// Adds the copy where control departs to the value's class.
    pub(super) fn add_tail(&mut self, value: Value, departure: Point) {
        let root = self.find(value);
        self.grow(root);
        let (at, last) = (self.end_of(departure.block), self.last_below(departure.block));
        self.members[root].insert(at, Entry { member: Member::Tail(departure), last, above: None });
    }

    /// Gives a class of one value a member.
    fn grow(&mut self, root: Value) {
        if self.members[root].0.is_empty() {
            let last = self.last_below(self.interference.def_block(root));
            self.members[root]
                .insert(self.interference.def_point(root), Entry { member: Member::Value(root), last, above: None });
        }
    }

    /// Where the φs of a block are defined.
    fn head_of(&self, block: Block) -> DefPoint {
        DefPoint::head_of(self.dominators.preorder(block))
    }

    /// Behind all definitions in a block.
    fn end_of(&self, block: Block) -> DefPoint {
        DefPoint::end_of(self.dominators.preorder(block))
    }

    /// Behind all definitions in what a block dominates.
    fn last_below(&self, block: Block) -> DefPoint {
        DefPoint::end_of(self.dominators.last_below(block))
    }

    /// Whether members of two classes interfere.
    ///
    /// Of the larger class, it is enough to test the nearest member above each of the smaller one, and the nearest ones below.
    /// Were a farther one above live here, it would be live behind the nearest one's definition too, and interfere with it,
    /// which holds within no class; and so would a member of the smaller class that is live at one farther below.
    fn interfere(&self, small: &Class, large: &Class) -> bool {
        small.0.iter().any(|(&at, entry)| {
            let member = |at: DefPoint| large.0[&at].member;
            large.above(at).is_some_and(|above| self.live_behind(member(above), entry.member))
                || large.below(at, entry.last).any(|below| self.live_behind(entry.member, member(below)))
        })
    }

    /// Whether a φ of the block defines the value.
    fn is_phi_of(&self, value: Value, block: Block) -> bool {
        self.interference.def_point(value) == self.head_of(block)
    }

    /// Whether a member is live behind the definition of one that it dominates.
    fn live_behind(&self, member: Member, other: Member) -> bool {
        match (member, other) {
            (Member::Value(v), Member::Value(other)) => match self.sharing {
                Sharing::Memory => self.interference.live_behind(v, other),
                Sharing::Register => self.interference.live_while_defining(v, other),
            },
            // Terminators read their operands behind the copy.
            (Member::Value(v), Member::Tail(departure)) => self.interference.live_from(v, departure),
            (Member::Tail(a), Member::Tail(b)) => a.block == b.block,
            (Member::Head(a), Member::Head(b)) => a == b,
            // What is defined there as well lives on, or is copied later.
            (Member::Value(v), Member::Head(block)) => self.is_phi_of(v, block) || self.interference.live_in(v, block),
            (Member::Head(block), Member::Value(other)) => self.is_phi_of(other, block),
            (Member::Tail(_), Member::Value(_) | Member::Head(_)) | (Member::Head(_), Member::Tail(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last definition that each one dominates; definitions are numbered in preorder: 0 (1 (2 3) 4 (5)).
    const LAST: [u32; 6] = [5, 3, 2, 3, 5, 5];

    fn dominates(a: u32, b: u32) -> bool {
        (a..=LAST[a as usize]).contains(&b)
    }

    /// Some of the definitions as a class, in an order that this number says.
    fn class(members: &[u32], mut order: usize) -> Class {
        let mut left = members.to_vec();
        let mut class = Class::default();
        while !left.is_empty() {
            let number = left.remove(order % left.len());
            order /= left.len() + 1;
            let last = DefPoint::end_of(LAST[number as usize]);
            class.insert(DefPoint::end_of(number), Entry { member: Member::Head(Block::from_u32(number)), last, above: None });
        }
        class
    }

    /// All classes that there are, made in all orders.
    #[test]
    fn neighbours_are_the_nearest_by_dominance() {
        for which in 0..1 << LAST.len() {
            let members: Vec<u32> = (0..LAST.len() as u32).filter(|&number| which >> number & 1 == 1).collect();
            for order in 0..(1..=members.len()).product() {
                let class = class(&members, order);
                for number in 0..LAST.len() as u32 {
                    let above = members.iter().rfind(|&&other| dominates(other, number));
                    assert_eq!(class.above(DefPoint::end_of(number)), above.map(|&other| DefPoint::end_of(other)));
                    let dominated: Vec<u32> =
                        members.iter().copied().filter(|&other| other != number && dominates(number, other)).collect();
                    let nearest = |&other: &u32| !dominated.iter().any(|&between| between != other && dominates(between, other));
                    let below: Vec<DefPoint> = dominated.iter().copied().filter(nearest).map(DefPoint::end_of).collect();
                    let last = DefPoint::end_of(LAST[number as usize]);
                    assert_eq!(class.below(DefPoint::end_of(number), last).collect::<Vec<_>>(), below);
                }
            }
        }
    }
}
