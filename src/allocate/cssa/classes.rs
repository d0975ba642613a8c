//! The growing φ-webs.

use crate::analysis::{DefPoint, Dominators, Interference, Partition};
use crate::machine::{Block, Function, Value};
use cranelift_entity::SecondaryMap;

/// A member of a web.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Value(Value),
    /// A copy at the end of this block, live from there into the φ.
    Tail(Block),
}

/// What the members of a class are to share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// A memory location.
    Memory,
    /// A register.
    Register,
}

/// Disjoint classes of values that do not interfere within a class.
pub(super) struct Classes<'a> {
    partition: Partition<Value>,
    /// Of each representative, the members in the order of their definitions; empty for a class of one value.
    members: SecondaryMap<Value, Vec<(DefPoint, Member)>>,
    dominators: &'a Dominators,
    interference: &'a Interference<'a>,
    sharing: Sharing,
}

impl<'a> Classes<'a> {
    pub(super) fn new(
        function: &Function,
        dominators: &'a Dominators,
        interference: &'a Interference<'a>,
        sharing: Sharing,
    ) -> Self {
        let partition = Partition::discrete(function.values.len());
        Classes { partition, members: SecondaryMap::new(), dominators, interference, sharing }
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
        let Some(merged) = self.merged(&self.members_of(a), &self.members_of(b)) else { return false };
        self.partition.attach(b, a);
        self.members[a] = merged;
        self.members[b] = Vec::new();
        true
    }

    /// Whether a member of the value's class is live at the end of the block.
    pub(super) fn lives_out(&mut self, value: Value, block: Block, interference: &Interference) -> bool {
        let root = self.find(value);
        self.members_of(root).iter().any(|&(_, member)| match member {
            Member::Value(v) => interference.live_out(v, block),
            Member::Tail(b) => b == block,
        })
    }

    /// Adds the copy at the end of a block to the value's class.
    pub(super) fn add_tail(&mut self, value: Value, block: Block) {
        let root = self.find(value);
        let mut members = self.members_of(root);
        let point = DefPoint::end_of(self.dominators.preorder(block));
        let at = members.partition_point(|&(p, _)| p <= point);
        members.insert(at, (point, Member::Tail(block)));
        self.members[root] = members;
    }

    fn members_of(&self, root: Value) -> Vec<(DefPoint, Member)> {
        let members = &self.members[root];
        if members.is_empty() { vec![(self.interference.def_point(root), Member::Value(root))] } else { members.clone() }
    }

    /// The union of two classes, or nothing if they interfere.
    ///
    /// The definitions are visited in dominance order with a stack of those that dominate the current one. It is enough to
    /// test against the nearest of them: were a farther one of the other class live here, it would be live behind the
    /// nearest one's definition too, and interfere with it, which was tested or holds within neither class.
    fn merged(&self, a: &[(DefPoint, Member)], b: &[(DefPoint, Member)]) -> Option<Vec<(DefPoint, Member)>> {
        let mut union: Vec<(DefPoint, Member)> = Vec::with_capacity(a.len() + b.len());
        let mut dominating: Vec<(Block, Member, bool)> = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let from_a = j == b.len() || (i < a.len() && a[i].0 <= b[j].0);
            let (point, member) = if from_a { a[i] } else { b[j] };
            if from_a {
                i += 1
            } else {
                j += 1
            }
            let block = self.block_of(member);
            while let Some(&(above, ..)) = dominating.last()
                && !self.dominators.dominates(above, block)
            {
                dominating.pop();
            }
            if let Some(&(_, nearest, nearest_in_a)) = dominating.last()
                && nearest_in_a != from_a
                && self.live_behind(nearest, member)
            {
                return None;
            }
            dominating.push((block, member, from_a));
            union.push((point, member));
        }
        Some(union)
    }

    fn block_of(&self, member: Member) -> Block {
        match member {
            Member::Value(value) => self.interference.def_block(value),
            Member::Tail(block) => block,
        }
    }

    /// Whether a member is live behind the definition of one that it dominates.
    fn live_behind(&self, member: Member, other: Member) -> bool {
        match (member, other) {
            (Member::Value(v), Member::Value(other)) => match self.sharing {
                Sharing::Memory => self.interference.live_behind(v, other),
                Sharing::Register => self.interference.live_while_defining(v, other),
            },
            (Member::Value(v), Member::Tail(block)) => self.interference.live_out(v, block),
            (Member::Tail(a), Member::Tail(b)) => a == b,
            (Member::Tail(_), Member::Value(_)) => false,
        }
    }
}
