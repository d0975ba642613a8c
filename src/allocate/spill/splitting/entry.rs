//! The values in registers at the heads of blocks.
//!
//! Of the values that \[Hack\] would pass into a block in registers, those that are displaced before they are used are not. One
//! that stays until the block's end is, used or not: the slide says that only used ones are, but counts the others among
//! those that are in registers at the end.

use super::ascending::Ascending;
use super::guide::Guide;
use super::walk::Ahead;
use crate::allocate::pressure::limits::Counts;
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::crossing::{self, Head};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::analysis::grouped::Lists;
use crate::analysis::{Bundle, FirstUses, Loops, NEVER, PinLiveness};
use crate::machine::{Block, BlockData, RegClass, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// The values in registers at the borders of blocks. Those of a block are known once its predecessors in the order have been
/// left.
pub(in crate::allocate::spill) struct Entries<'a> {
    pub(super) problem: &'a Problem<'a>,
    ahead: &'a Ahead<'a>,
    /// Of the block that was entered last.
    first_uses: FirstUses,
    guide: &'a dyn Guide,
    pins: &'a PinLiveness,
    /// The values in registers at each block's head; ascending.
    heads: Lists<Block, Value>,
    /// Further values that find room at each block's head, but are displaced before they are read.
    pub(super) passing: Lists<Block, Value>,
    /// The values in registers at the end of each block that has been left; ascending.
    ends: Lists<Block, Value>,
    /// The values in registers where each block's call throws, as far as landing pads need them; ascending.
    throws: Lists<Block, Value>,
    /// The representatives of the values that cross bundles to landing pads in registers, as far as the pads have been
    /// entered.
    at_pads: SecondaryMap<Bundle, Vec<Value>>,
    /// The values that could be in registers at the current block's head, and those that are. The two lists are reused to
    /// save allocations.
    candidates: Vec<Candidate>,
    entering: Vec<Candidate>,
}

/// A value that could be in a register at a block's head.
#[derive(Clone, Copy)]
pub(in crate::allocate::spill) struct Candidate {
    pub(in crate::allocate::spill) value: Value,
    /// The distance from there, in instructions.
    pub(in crate::allocate::spill) next_use: u32,
    /// The φ that defines it, by its index in the block; `None` if the value is live into the block.
    pub(super) row: Option<usize>,
    /// Its index among the values that are live into the block and then those that its φs define.
    pub(super) index: usize,
}

impl<'a> Entries<'a> {
    pub(in crate::allocate::spill) fn new(
        problem: &'a Problem<'a>,
        ahead: &'a Ahead<'a>,
        guide: &'a dyn Guide,
        pins: &'a PinLiveness,
    ) -> Self {
        let function = &problem.conventional.function;
        let lists = || Lists::new(function.blocks.len());
        let (first_uses, (candidates, entering)) = (FirstUses::new(function), Default::default());
        let (heads, passing, ends, throws) = (lists(), lists(), lists(), lists());
        let at_pads = SecondaryMap::new();
        Entries { problem, ahead, first_uses, guide, pins, heads, passing, ends, throws, at_pads, candidates, entering }
    }

    /// Decides for a block whose predecessors have been left, except for those along back edges.
    pub(in crate::allocate::spill) fn enter(&mut self, block: Block, set: &SpillSet) {
        let problem = self.problem;
        let head = crossing::head(problem, block);
        let arriving = self.guide.considers_only_arriving(self, block);
        let crosses = |value: Value| head == Head::Bundle && !set.off_bundles[value];
        let mut room = HeadRoom::new(problem, self.pins, block);
        if self.ahead.borders.is_none() {
            self.first_uses.enter(&problem.conventional.function, block);
        }
        let (mut candidates, mut entering) = (std::mem::take(&mut self.candidates), std::mem::take(&mut self.entering));
        candidates.clear();
        entering.clear();
        for it in self.live_at_head(block, arriving).filter(|it| !set.spilled[it.value]) {
            if crosses(it.value) || problem.unspillable.contains(it.value) {
                room.add(it.value);
                entering.push(it);
            } else if head == Head::Anything || head == Head::Pads {
                candidates.push(it);
            }
        }
        if head == Head::Pads {
            candidates.retain(|&it| self.meets_at_pads(block, it));
        }
        let guide = self.guide;
        guide.enter(self, HeadCandidates { block, candidates: &mut candidates, room }, &mut entering);
        self.heads.add(block, entering.iter().map(|it| it.value)).sort_unstable();
        (self.candidates, self.entering) = (candidates, entering);
    }

    /// Passes a block in which there is room for all values that arrive in registers, for as long as they live. Some arrive
    /// in memory and stay there.
    pub(in crate::allocate::spill) fn pass(&mut self, block: Block, set: &SpillSet, is_in_memory: impl Fn(Value) -> bool) {
        let Problem { conventional, liveness, .. } = self.problem;
        let BlockData { phis, .. } = &conventional.function.blocks[block];
        let defined = phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
        let live = || liveness.live_in(block).iter().copied();
        self.heads.add(block, live().chain(defined).filter(|&value| !is_in_memory(value))).sort_unstable();
        self.ends.add(block, liveness.live_out(block).iter().copied().filter(|&value| !is_in_memory(value)));
        let mut coming: SmallVec<[Value; 16]> = SmallVec::new();
        coming.extend(live().filter(|&value| is_in_memory(value) && !set.spilled[value]));
        self.keep_coming(block, &mut coming);
        if !coming.is_empty() {
            let mut room = HeadRoom::new(self.problem, self.pins, block);
            self.heads.get(block).iter().for_each(|&value| room.add(value));
            // All of them are used equally far away.
            coming.retain(|&mut value| room.fits(value));
            self.passing.add(block, coming);
        }
    }

    /// Keeps those of ascending values that arrive in a register from some predecessor.
    fn keep_coming(&self, block: Block, values: &mut SmallVec<[Value; 16]>) {
        let preds = &self.problem.conventional.function.blocks[block].preds;
        let mut over: SmallVec<[Over; 4]> = preds.iter().map(|&pred| self.over(pred, block)).collect();
        values.retain(|&mut value| over.iter_mut().any(|over| over.contains(value)));
    }

    /// The values in registers at the head of the block that was entered last.
    pub(in crate::allocate::spill) fn entering(&self) -> &[Candidate] {
        &self.entering
    }

    /// The values that are live into a block and those that its φs define. If `arriving`, of the former only those that
    /// arrive in registers.
    fn live_at_head(&self, block: Block, arriving: bool) -> impl Iterator<Item = Candidate> {
        let Problem { conventional, liveness, .. } = self.problem;
        let function = &conventional.function;
        let live_in = liveness.live_in(block);
        let after_block = move |value: Value| match liveness.is_dead(value) {
            true => NEVER,
            false => self.ahead.after_block(function, block, value),
        };
        let candidate = move |index: usize, row: Option<usize>, value: Value| {
            let next_use = match (&self.ahead.borders, row) {
                (Some(borders), None) => borders.at_entry(block)[index],
                (Some(borders), Some(row)) => borders.from_phi(function, block, row),
                (None, _) => self.first_uses.of(value).unwrap_or_else(|| after_block(value)),
            };
            Candidate { value, next_use, row, index }
        };
        let live = live_in.iter().enumerate().map(move |(index, &value)| candidate(index, None, value));
        let phis = function.blocks[block].phis.iter().enumerate();
        let phis = phis.map(move |(row, phi)| candidate(live_in.len() + row, Some(row), phi.def));
        let those = arriving.then(|| self.arriving(block));
        live.filter(move |it| those.as_ref().is_none_or(|those| those.binary_search(&it.value).is_ok())).chain(phis)
    }

    /// Whether a value is in a register at a landing pad, where nothing can bring it to one. The labels have to say so, it
    /// has to be in a register wherever it comes from, and there has to be one register for it that is the same everywhere.
    fn meets_at_pads(&mut self, block: Block, candidate: Candidate) -> bool {
        let Problem { conventional, bundles, limits, unspillable, .. } = self.problem;
        let bundle = bundles.entry(block).expect("values meet in bundles");
        let is_wanted = self.guide.labels().is_some_and(|labels| labels.is_in_register_at_head(block, candidate.index));
        if !is_wanted || !self.comes_from(block, candidate).all(|comes| comes) {
            return false;
        }
        let value = bundles.representative(candidate.value);
        if self.at_pads[bundle].contains(&value) {
            return true;
        }
        let function = &conventional.function;
        let meeting = bundles.meeting(bundle);
        let mut room = crossing::BundleRoom::new(function, limits, meeting, self.pins.kept());
        let anyway = meeting.crossing.iter().filter(|&&value| unspillable.contains(value));
        let others = &self.at_pads[bundle];
        let fits = anyway.chain(others).chain([&value]).all(|&value| room.admit_crossing(function, bundles, value));
        if fits {
            self.at_pads[bundle].push(value);
        }
        fits
    }

    /// The values that are live into a block, and in a register at the end of a predecessor or never in memory; ascending.
    fn arriving(&self, block: Block) -> Vec<Value> {
        let live = self.problem.liveness.live_in(block);
        let preds = &self.problem.conventional.function.blocks[block].preds;
        let at_ends = preds.iter().flat_map(|&pred| self.ends.get(self.problem.source(pred))).copied();
        let arriving = at_ends.chain(self.problem.unspillable.iter()).filter(|value| live.binary_search(value).is_ok());
        let mut arriving: Vec<Value> = arriving.collect();
        arriving.sort_unstable();
        arriving.dedup();
        arriving
    }

    /// Whether control arrives from blocks that follow in the order.
    pub(super) fn is_loop_head(&self, block: Block) -> bool {
        self.problem.conventional.function.blocks[block]
            .preds
            .iter()
            .any(|&pred| !self.ends.is_written(self.problem.source(pred)))
    }

    /// For each predecessor, whether a value arrives from there in a register. A φ arrives as its argument.
    pub(super) fn comes_from(&self, block: Block, Candidate { value, row, .. }: Candidate) -> impl Iterator<Item = bool> {
        let data = &self.problem.conventional.function.blocks[block];
        data.preds.iter().enumerate().map(move |(column, &pred)| match row.map(|row| data.phis[row].args[column].expand()) {
            // An undefined argument may be anything.
            Some(None) => true,
            Some(Some(arg)) => self.comes_over(pred, block, arg),
            None => self.comes_over(pred, block, value),
        })
    }

    /// Whether a value that is live into a block is in a register at the end of the block's immediate dominator.
    pub(super) fn stays_from_dominator(&self, block: Block, value: Value) -> bool {
        self.problem.dominators.idom(block).is_some_and(|dominator| self.is_at_end(dominator, value))
    }

    /// Takes back a value at a block's head. It is displaced before it is read, so it need not be in a register there,
    /// unless it has crossed a bundle.
    pub(in crate::allocate::spill) fn withdraw(&mut self, block: Block, value: Value) {
        if self.problem.bundles.entry(block).is_none() {
            if let Ok(index) = self.heads.get(block).binary_search(&value) {
                self.heads.remove(block, index);
            }
            self.passing.add(block, [value]);
        }
    }

    /// Whether a value can be stored at the head of a block: it is in a register there, or could be because it arrives in
    /// one from everywhere.
    pub(in crate::allocate::spill) fn can_store_at_head(&self, block: Block, value: Value) -> bool {
        let preds = &self.problem.conventional.function.blocks[block].preds;
        let comes = || preds.iter().all(|&pred| self.comes_over(pred, block, value));
        self.is_in(block, value) || self.passing.get(block).contains(&value) && comes()
    }

    /// Leaves a block with these values in registers.
    pub(in crate::allocate::spill) fn leave(&mut self, block: Block, values: impl Iterator<Item = Value>) {
        self.ends.add(block, values).sort_unstable();
    }

    /// Notes the values that are in registers where a block's call throws, and needed in landing pads.
    pub(in crate::allocate::spill) fn throw(&mut self, block: Block, values: impl Iterator<Item = Value>) {
        self.throws.add(block, values).sort_unstable();
    }

    /// The values in registers at the head of a block, after its φs; ascending. Empty for a block that is passed.
    pub(in crate::allocate::spill) fn at_head(&self, block: Block) -> &[Value] {
        self.heads.get(block)
    }

    /// Whether a value that is live at a block's head is in a register there.
    pub(in crate::allocate::spill) fn is_in(&self, block: Block, value: Value) -> bool {
        match self.problem.is_passed(block) {
            true => self.is_at_end(block, value),
            false => self.heads.get(block).binary_search(&value).is_ok(),
        }
    }

    /// Whether a value that is live at a block's end is in a register there.
    pub(in crate::allocate::spill) fn is_at_end(&self, block: Block, value: Value) -> bool {
        self.ends.get(self.problem.source(block)).binary_search(&value).is_ok()
    }

    /// Whether a value that is needed in `to` is in a register when control leaves `from` for it.
    pub(in crate::allocate::spill) fn comes_over(&self, from: Block, to: Block, value: Value) -> bool {
        self.over(from, to).contains(value)
    }

    /// The values in registers when control leaves `from` for `to`.
    pub(in crate::allocate::spill) fn over(&self, from: Block, to: Block) -> Over<'_> {
        let values = match self.problem.conventional.function.blocks[to].landing_pad {
            true => self.throws.get(from),
            false => self.ends.get(self.problem.source(from)),
        };
        Over { unspillable: &self.problem.unspillable, values: Ascending::new(values) }
    }
}

/// Looks up values, each once and in ascending order, among those in registers when control passes an edge.
pub(in crate::allocate::spill) struct Over<'a> {
    unspillable: &'a EntitySet<Value>,
    values: Ascending<'a>,
}

impl Over<'_> {
    pub(in crate::allocate::spill) fn contains(&mut self, value: Value) -> bool {
        self.unspillable.contains(value) || self.values.contains(value)
    }
}

/// The candidates in the order in which they are used next.
pub(super) fn nearest_first(candidates: &mut [Candidate]) -> &[Candidate] {
    candidates.sort_unstable_by_key(|it| u64::from(it.next_use) << 32 | u64::from(it.value.as_u32()));
    candidates
}

/// The head of a block, the values that could be in registers there, and the registers that are left for them.
pub(in crate::allocate::spill) struct HeadCandidates<'c, 'a> {
    pub(super) block: Block,
    pub(super) candidates: &'c mut Vec<Candidate>,
    pub(super) room: HeadRoom<'a>,
}

/// The registers at a block's head.
pub(in crate::allocate::spill) struct HeadRoom<'a> {
    problem: &'a Problem<'a>,
    occupied: RegSet,
    taken: Counts,
}

impl<'a> HeadRoom<'a> {
    fn new(problem: &'a Problem<'a>, pins: &PinLiveness, block: Block) -> Self {
        let function = &problem.conventional.function;
        let occupied = pins.at(function, function.head(block)) | function.blocks[block].live_in_pins;
        HeadRoom { problem, occupied, taken: Counts::default() }
    }

    fn add(&mut self, value: Value) {
        let class = self.class(value);
        self.problem.limits.count(&mut self.taken, class, 1);
    }

    fn class(&self, value: Value) -> RegClass {
        self.problem.conventional.function.values[value].class
    }

    /// The candidates that find room, one after another.
    pub(super) fn take<'c>(&mut self, candidates: impl IntoIterator<Item = &'c Candidate>) -> impl Iterator<Item = Candidate> {
        candidates.into_iter().filter(|it| self.fits(it.value)).copied()
    }

    /// The candidates that find room, those used soonest first. Most of the time all do, and are not sorted.
    pub(super) fn take_nearest<'c>(&mut self, candidates: &'c mut [Candidate]) -> impl Iterator<Item = &'c Candidate> {
        let before = self.taken;
        let is_ample = candidates.iter().all(|it| self.fits(it.value));
        self.taken = before;
        if !is_ample {
            nearest_first(candidates);
        }
        candidates.iter().filter(|it| self.fits(it.value))
    }

    /// Takes a register for a value, if there is one.
    pub(super) fn fits(&mut self, value: Value) -> bool {
        let Problem { limits, .. } = self.problem;
        let is_full = |set: usize| limits.is_exceeded(set, self.taken[set] + 1, self.occupied, limits.spare());
        let fits = !limits.sets_of(self.class(value)).any(is_full);
        if fits {
            self.add(value);
        }
        fits
    }
}

/// For each loop, by its header: the largest number of values that are live at a time, for each of the sets of [`Limits`](crate::allocate::pressure::limits::Limits).
pub(in crate::allocate::spill) struct Pressures(SecondaryMap<Block, Counts>);

impl Pressures {
    pub(in crate::allocate::spill) fn new(problem: &Problem, loops: &Loops) -> Self {
        let Problem { conventional, liveness, limits, .. } = problem;
        let function = &conventional.function;
        let mut pressures: SecondaryMap<Block, Counts> = SecondaryMap::new();
        let mut live = LiveSet::new(function, limits);
        for (block, data) in &function.blocks {
            let Some(innermost) = loops.innermost(block) else { continue };
            live.clear();
            let phis = data.phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
            liveness.live_in(block).iter().copied().chain(phis).for_each(|value| live.add(value));
            let mut most = *live.counts();
            for inst in function.block_insts(block) {
                live.advance(liveness, inst, |_| true);
                raise(&mut most, live.counts());
            }
            for header in std::iter::successors(Some(innermost), |&header| loops.around(header)) {
                raise(&mut pressures[header], &most);
            }
        }
        Pressures(pressures)
    }

    /// The room that a loop leaves for the values that only live through it.
    pub(super) fn left<'a>(&self, problem: &'a Problem<'a>, header: Block, through: &[Candidate]) -> HeadRoom<'a> {
        let mut room = HeadRoom { problem, occupied: RegSet::EMPTY, taken: self.0[header] };
        for it in through {
            let class = room.class(it.value);
            problem.limits.count(&mut room.taken, class, -1);
        }
        room
    }
}

/// Raises each count to at least another one.
fn raise(counts: &mut Counts, to: &Counts) {
    counts.iter_mut().zip(to).for_each(|(count, &to)| *count = (*count).max(to));
}
