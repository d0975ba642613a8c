//! The questions of the block walk: which values enter a block in registers, and which stay in one after an instruction.
//!
//! Belady's algorithm knows only where values are used next, and decides only at the heads of blocks ([`Nearest`],
//! [`Predecessors`]). A spiller that has decided about every value beforehand answers by [`Labels`], and the walk keeps to
//! them ([`Labelled`]).

use super::entry::{Candidate, Entries, HeadCandidates, Pressures, nearest_first};
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::spill::crossing::{self, Head};
use crate::analysis::{LEAVING, NEVER};
use crate::machine::Block;

/// Answers the walk's questions.
pub trait Guide {
    /// Chooses the values that are in registers at a block's head, from those that could be and as far as there is room. It
    /// adds them to `entering`, where those are already that have to be in registers. It may reorder the candidates.
    fn enter(&self, entries: &mut Entries, head: HeadCandidates, entering: &mut Vec<Candidate>);

    /// Whether only the block's φs and values that arrive in registers are candidates there.
    fn considers_only_arriving(&self, _entries: &Entries, _block: Block) -> bool {
        false
    }

    /// Whether a value that a block displaces before it reads it is taken back from the registers at the block's head.
    fn withdraws(&self) -> bool {
        true
    }

    /// The decisions that have been made beforehand, if there are any.
    fn labels(&self) -> Option<&dyn Labels> {
        None
    }
}

/// Decisions about every value at every place.
pub trait Labels {
    /// Whether a value is in a register at a block's head. `index` counts first the values that are live into the block,
    /// then those that its φs define.
    fn is_in_register_at_head(&self, block: Block, index: usize) -> bool;

    /// Whether a value is in a register after the instruction that accesses it as this operand, an index into all operands
    /// of the function.
    fn is_in_register_after(&self, operand: usize) -> bool;

    /// Whether a block has room for all values that live in it, apart from those that are in memory from end to end, of
    /// which there are as many as the counts say.
    fn has_room(&self, limits: &Limits, block: Block, in_memory: &Counts) -> bool;
}

/// Values used soonest enter first, wherever they come from [Hack, "Spilling with Belady's Algorithm"].
pub struct Nearest;

impl Guide for Nearest {
    fn enter(&self, _entries: &mut Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
        let HeadCandidates { candidates, mut room, .. } = head;
        entering.extend(room.take(nearest_first(candidates)));
    }
}

/// Values that are in registers at the ends of the predecessors enter [BH09, §4.2]; at loops, by the pressure in each loop.
pub struct Predecessors(pub Pressures);

impl Guide for Predecessors {
    fn enter(&self, entries: &mut Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
        nearest_first(head.candidates);
        match self.considers_only_arriving(entries, head.block) {
            true => where_ways_meet(entries, head, entering),
            false => self.at_loop(entries, head, entering),
        }
    }

    fn considers_only_arriving(&self, entries: &Entries, block: Block) -> bool {
        crossing::head(entries.problem, block) == Head::Anything && !entries.is_loop_head(block)
    }
}

impl Predecessors {
    /// Values used in the loop enter, and then, of those that only live through it, as many as the loop leaves room for.
    fn at_loop(&self, entries: &Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
        let HeadCandidates { block, candidates, mut room } = head;
        let (used, through): (Vec<Candidate>, Vec<Candidate>) = candidates.iter().partition(|it| it.next_use < LEAVING);
        entering.extend(room.take(&used));
        let mut left = self.0.left(entries.problem, block, &through);
        let arriving = through.iter().filter(|&&it| entries.comes_from(block, it).any(|comes| comes));
        let through = arriving.filter(|it| left.fits(it.value));
        entering.extend(room.take(through));
    }
}

/// Values that arrive in registers from all predecessors enter, then those that arrive from some.
fn where_ways_meet(entries: &Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
    let HeadCandidates { block, candidates, mut room } = head;
    let from_all = |it: &&Candidate| entries.comes_from(block, **it).all(|comes| comes);
    let from_some = |it: &&Candidate| !from_all(it) && entries.comes_from(block, **it).any(|comes| comes);
    entering.extend(room.take(candidates.iter().filter(from_all)));
    entering.extend(room.take(candidates.iter().filter(from_some)));
}

/// Values stay where they are at the end of the immediate dominator. φs take the registers that are left, or that of a value
/// used later [PP09, §7].
pub struct WhereDominated;

impl Guide for WhereDominated {
    fn enter(&self, entries: &mut Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
        let HeadCandidates { block, candidates, mut room } = head;
        candidates.retain(|it| it.row.is_some() || entries.stays_from_dominator(block, it.value));
        entering.extend(room.take(nearest_first(candidates)));
    }

    fn withdraws(&self) -> bool {
        false
    }
}

/// Answers as the labels say.
pub struct Labelled<'a>(pub &'a dyn Labels);

impl Guide for Labelled<'_> {
    /// Values enter as decided. Others that arrive in registers and find room beside them need not be in registers, but
    /// could be stored here.
    fn enter(&self, entries: &mut Entries, head: HeadCandidates, entering: &mut Vec<Candidate>) {
        let HeadCandidates { block, candidates, mut room } = head;
        candidates.retain(|it| it.next_use != NEVER);
        let mut count = 0;
        for index in 0..candidates.len() {
            if self.0.is_in_register_at_head(block, candidates[index].index) {
                candidates.swap(index, count);
                count += 1;
            }
        }
        let (decided, others) = candidates.split_at_mut(count);
        entering.extend(room.take_nearest(decided).copied());
        let comes = |it: &Candidate| it.row.is_none() && entries.comes_from(block, *it).any(|comes| comes);
        let mut coming: Vec<Candidate> = others.iter().copied().filter(comes).collect();
        entries.passing.add(block, room.take_nearest(&mut coming).map(|it| it.value));
    }

    fn labels(&self) -> Option<&dyn Labels> {
        Some(self.0)
    }
}
