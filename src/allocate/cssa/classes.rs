//! Growing φ-webs: disjoint classes of values that do not interfere, and that are merged if that stays so.
//!
//! In SSA form two values interfere if one is live where the other is defined, so only a class's nearest member up the
//! dominator tree has to be tested \[Bud02\]. Here only the members of the smaller class are visited: each of them looks into
//! a search tree of the larger class's members, for the nearest one above and for those below at which it may be live. A
//! member is visited only when its class at least doubles. So a φ of many arguments, or a web of many φs, takes about as
//! long as many small ones.
//!
//! Requires: strict SSA form.
//! Ensures: no two members of a class interfere, and they are defined in different places.
//! Relies on: a value that is live at a point is live at every definition between its own and that point, on the path of the
//! dominator tree, and would interfere with the value defined there. So of the members of a class above a point, only the
//! nearest can be live at it.

use super::{Sharing, Web, Webs};
use crate::analysis::grouped::of_each;
use crate::analysis::{DefPoint, Dominators, Interference, Partition};
use crate::machine::{Block, Function, Point, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A member of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Value(Value),
    /// The copy of a φ's argument at this point, where control departs. It is live from there to the block's end.
    Tail(Point),
    /// The definition of a φ of this block, if that is copied at once.
    Head(Block),
}

/// The members of a class, by their definitions. Those are in different places, since two in one place would interfere.
type Class = BTreeMap<DefPoint, Member>;

/// Disjoint classes of values. No two values of a class interfere.
pub(super) struct Classes<'a> {
    partition: Partition<Value>,
    /// The members of each representative's class. Empty for a value that has not been asked about, and is alone.
    members: SecondaryMap<Value, Class>,
    dominators: &'a Dominators,
    interference: &'a Interference<'a>,
    sharing: Sharing,
    /// The values that [`Self::stand_in`] has made.
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

    /// Merges the classes of two values unless they interfere, and says whether the two are in one class now.
    pub(super) fn merge(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return true;
        }
        self.grow(a);
        self.grow(b);
        let (small, large) = self.by_size(a, b);
        if self.intersect(&self.members[small], &self.members[large]) {
            return false;
        }
        self.partition.attach(small, large);
        let small = std::mem::take(&mut self.members[small]);
        self.members[large].extend(small);
        true
    }

    /// Whether the classes of two values interfere.
    pub(super) fn interfere(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.grow(a);
        self.grow(b);
        let (small, large) = self.by_size(a, b);
        a != b && self.intersect(&self.members[small], &self.members[large])
    }

    /// The smaller class first.
    fn by_size(&self, a: Value, b: Value) -> (Value, Value) {
        if self.members[a].len() < self.members[b].len() { (a, b) } else { (b, a) }
    }

    /// A value that stands for the definition of a φ of the block, if that is copied to the program's name at once. Its
    /// number is beyond the function's values. The class that contains it is a web, even if no φ of the function defines a
    /// member.
    pub(super) fn stand_in(&mut self, block: Block) -> Value {
        let value = self.partition.add();
        let at = self.head_of(block);
        self.members[value].insert(at, Member::Head(block));
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

    /// Whether a member of the value's class is in the way of a copy where control departs.
    ///
    /// It is enough to test the nearest member that dominates the block's end. A farther one that were live after the copy
    /// would also be live after the definition of the nearest one, with which it does not interfere; unless the nearest is
    /// itself defined after the copy, and so is in the way.
    pub(super) fn collide_with_tail(&mut self, value: Value, departure: Point) -> bool {
        let root = self.find(value);
        self.grow(root);
        let above = self.above(&self.members[root], departure.block, self.end_of(departure.block));
        above.is_some_and(|member| self.live_after(member, Member::Tail(departure)))
    }

    /// Adds a copy where control departs to the value's class.
    pub(super) fn add_tail(&mut self, value: Value, departure: Point) {
        let root = self.find(value);
        self.grow(root);
        let at = self.end_of(departure.block);
        self.members[root].insert(at, Member::Tail(departure));
    }

    /// Enters a value that is alone as the only member of its class.
    fn grow(&mut self, root: Value) {
        if self.members[root].is_empty() {
            self.members[root].insert(self.interference.def_point(root), Member::Value(root));
        }
    }

    /// Where the φs of a block are defined.
    fn head_of(&self, block: Block) -> DefPoint {
        DefPoint::head_of(self.dominators.preorder(block))
    }

    /// After all definitions in a block.
    fn end_of(&self, block: Block) -> DefPoint {
        DefPoint::end_of(self.dominators.preorder(block))
    }

    /// The nearest member of a class whose definition is at this point of a block, or dominates it.
    ///
    /// The dominator tree is divided into paths along which preorder numbers are consecutive. On a path, the nearest member
    /// is the last one before the point.
    fn above(&self, class: &Class, block: Block, point: DefPoint) -> Option<Member> {
        let (mut block, mut point) = (block, point);
        loop {
            let first = self.dominators.path(block)[0];
            if let Some((_, &member)) = class.range(self.head_of(first)..=point).next_back() {
                return Some(member);
            }
            block = self.dominators.idom(first)?;
            point = self.end_of(block);
        }
    }

    /// Whether members of two classes interfere.
    ///
    /// For each member of the smaller class, it is enough to test the nearest member of the larger class above it, and the
    /// nearest ones below. A farther one above that were live here would also be live after the definition of the nearest
    /// one, and so interfere with it, but they are of one class. In the same way, a member that is live at a farther one
    /// below is also live at a nearest one.
    fn intersect(&self, small: &Class, large: &Class) -> bool {
        small.iter().any(|(&at, &member)| {
            let above = self.above(large, self.block_of(member), at);
            above.is_some_and(|above| self.live_after(above, member)) || self.lives_below(member, at, large)
        })
    }

    /// Whether a member that is defined at this point is live at one of the larger class that its definition dominates.
    ///
    /// The blocks in which a value is live are connected in the dominator tree. If it is dead in one, it is also dead in all
    /// blocks below the topmost dominator in which it is dead, so no member in these is tested. (Few members of a class have
    /// tests that end in the same block, since those that are live above it would interfere.)
    fn lives_below(&self, member: Member, at: DefPoint, large: &Class) -> bool {
        // Copies are live in one block only, at its head or at its end.
        let Member::Value(value) = member else { return false };
        let last = self.last_below(self.interference.def_block(value));
        let mut after = at;
        while let Some((_, &below)) = large.range((Bound::Excluded(after), Bound::Included(last))).next() {
            if self.live_after(member, below) {
                return true;
            }
            after = self.last_below(self.dead_from(value, self.block_of(below)));
        }
        false
    }

    /// The topmost dominator of a block in which a value is dead, or the block itself if the value is live there. The
    /// value's definition dominates the block.
    fn dead_from(&self, value: Value, block: Block) -> Block {
        let defined = self.interference.def_block(value);
        let is_live = |&block: &Block| self.dominators.dominates(block, defined) || self.interference.live_in(value, block);
        let (mut topmost, mut block) = (block, block);
        while !is_live(&block) {
            let path = self.dominators.path(block);
            topmost = path[path.partition_point(is_live)];
            block = self.dominators.idom(topmost).expect("the value's definition dominates it");
        }
        topmost
    }

    /// Where a member is defined.
    fn block_of(&self, member: Member) -> Block {
        match member {
            Member::Value(value) => self.interference.def_block(value),
            Member::Tail(departure) => departure.block,
            Member::Head(block) => block,
        }
    }

    /// After all definitions in the blocks that a block dominates.
    fn last_below(&self, block: Block) -> DefPoint {
        DefPoint::end_of(self.dominators.last_below(block))
    }

    /// Whether a φ of the block defines the value.
    fn is_phi_of(&self, value: Value, block: Block) -> bool {
        self.interference.def_point(value) == self.head_of(block)
    }

    /// Whether a member is live just after the definition of another one, which its own definition dominates.
    fn live_after(&self, member: Member, other: Member) -> bool {
        match (member, other) {
            (Member::Value(v), Member::Value(other)) => match self.sharing {
                Sharing::Memory => self.interference.live_after(v, other),
                Sharing::Register => self.interference.live_while_defining(v, other),
            },
            // Terminators read their operands after the copy.
            (Member::Value(v), Member::Tail(departure)) => self.interference.live_from(v, departure),
            (Member::Tail(a), Member::Tail(b)) => a.block == b.block,
            (Member::Head(a), Member::Head(b)) => a == b,
            // Definitions of other φs of the block live on, or are copied later.
            (Member::Value(v), Member::Head(block)) => self.is_phi_of(v, block) || self.interference.live_in(v, block),
            (Member::Head(block), Member::Value(other)) => self.is_phi_of(other, block),
            (Member::Tail(_), Member::Value(_) | Member::Head(_)) | (Member::Head(_), Member::Tail(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{append, block, def, phi, random_graph, usage, values};
    use crate::analysis::{Liveness, Order};

    const BLOCKS: usize = 14;
    const VALUES: u32 = 24;

    /// A function of random blocks, in which values are used only where their definitions dominate.
    fn random_function(rng: &mut fastrand::Rng) -> (Function, Dominators) {
        let mut function = random_graph(rng, BLOCKS);
        let dominators = Dominators::new(&function, &Order::new(&function));
        values(&mut function, VALUES as usize);
        let mut defined: Vec<(u32, usize)> = Vec::new();
        for b in 0..BLOCKS {
            let fresh = rng.usize(0..4).min(VALUES as usize - defined.len());
            let fresh = if b == BLOCKS - 1 { VALUES as usize - defined.len() } else { fresh };
            for nth in 0..fresh {
                let next = defined.len() as u32;
                let dominating = defined.iter().filter(|&&(_, at)| dominators.dominates(block(at), block(b)));
                let used: Option<u32> = rng.choice(dominating.map(|&(value, _)| value).collect::<Vec<_>>());
                defined.push((next, b));
                if b > 0 && nth == 0 && rng.bool() {
                    let undefined = vec![None; function.blocks[block(b)].preds.len()];
                    phi(&mut function, b, next, &undefined);
                } else {
                    append(&mut function, b, &used.map(usage).into_iter().chain([def(next)]).collect::<Vec<_>>());
                }
            }
        }
        (function, dominators)
    }

    impl Classes<'_> {
        fn class(&mut self, value: Value) -> &Class {
            let root = self.find(value);
            self.grow(root);
            &self.members[root]
        }

        fn point(&self, member: Member) -> DefPoint {
            match member {
                Member::Value(value) => self.interference.def_point(value),
                Member::Tail(departure) => self.end_of(departure.block),
                Member::Head(block) => self.head_of(block),
            }
        }

        /// The definition of interference: one is live just after the definition of the other, which it dominates.
        fn meet(&self, a: Member, b: Member) -> bool {
            let dominates = |a: Member, b: Member| {
                self.dominators.dominates(self.block_of(a), self.block_of(b)) && self.point(a) <= self.point(b)
            };
            dominates(a, b) && self.live_after(a, b) || dominates(b, a) && self.live_after(b, a)
        }

        fn any_meet(&self, a: &Class, b: &Class) -> bool {
            a.values().any(|&member| b.values().any(|&other| self.meet(member, other)))
        }
    }

    /// Classes grow by random values and copies, as far as no two members meet.
    #[test]
    fn classes_interfere_if_two_members_meet() {
        let (mut merged, mut added) = ([0; 2], [0; 2]);
        for seed in 0..400 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (function, dominators) = random_function(&mut rng);
            let liveness = Liveness::new(&function);
            let interference = Interference::new(&function, &dominators, &liveness);
            let mut classes = Classes::new(&function, &dominators, &interference, Sharing::Memory);
            let heads = [1, BLOCKS - 1].map(|last| classes.stand_in(block(rng.usize(1..=last))));
            let all: Vec<Value> = function.values.keys().chain(heads).collect();
            for _ in 0..60 {
                let (a, b) = (all[rng.usize(..all.len())], all[rng.usize(..all.len())]);
                if classes.find(a) != classes.find(b) {
                    let (of_a, of_b) = (classes.class(a).clone(), classes.class(b).clone());
                    let meet = classes.any_meet(&of_a, &of_b);
                    assert_eq!(classes.interfere(a, b), meet);
                    assert_eq!(classes.merge(a, b), !meet);
                    assert!(meet || classes.class(a).len() == of_a.len() + of_b.len());
                    merged[usize::from(meet)] += 1;
                }
                let block = block(rng.usize(..BLOCKS));
                let departure = Point { block, index: function.block_insts(block).len() as u32 };
                let class = classes.class(a).clone();
                let meet = class.values().any(|&member| classes.meet(member, Member::Tail(departure)));
                assert_eq!(classes.collide_with_tail(a, departure), meet);
                added[usize::from(meet)] += 1;
                if !meet {
                    classes.add_tail(a, departure);
                }
            }
        }
        assert!(merged.iter().chain(&added).all(|&count| count > 1_000), "{merged:?} {added:?}");
    }
}
