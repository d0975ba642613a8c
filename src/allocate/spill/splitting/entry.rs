//! What is in registers at the heads of blocks.

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

/// The values in registers at the borders of blocks; those of a block are known when its predecessors in the order have been
/// left.
pub(in crate::allocate::spill) struct Entries<'a> {
    pub(super) problem: &'a Problem<'a>,
    ahead: &'a Ahead<'a>,
    /// Of the block that was entered last.
    first_uses: FirstUses,
    guide: &'a dyn Guide,
    pins: &'a PinLiveness,
    /// Ascending.
    heads: Lists<Block, Value>,
    /// What finds room at a block's head beside these, but is not read in a register before it leaves.
    pub(super) passing: Lists<Block, Value>,
    /// Ascending; of blocks that have been left.
    ends: Lists<Block, Value>,
    /// Likewise where their calls throw, of what landing pads want.
    throws: Lists<Block, Value>,
    /// The representatives of what crosses bundles of edges to landing pads in registers, as far as the pads have been entered.
    at_pads: SecondaryMap<Bundle, Vec<Value>>,
    /// What could be in registers at the current block's head, and what is: kept for their memory.
    candidates: Vec<Candidate>,
    entering: Vec<Candidate>,
}

/// A value that could be in a register at a block's head.
#[derive(Clone, Copy)]
pub(in crate::allocate::spill) struct Candidate {
    pub(in crate::allocate::spill) value: Value,
    /// From there, in instructions.
    pub(in crate::allocate::spill) next_use: u32,
    /// The φ that defines it, by its index in the block; values that are live into the block have none.
    pub(super) row: Option<usize>,
    /// Its index among those that are live into the block and, behind them, those that φs define.
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

    /// Decides for a block whose predecessors have been left, those along back edges apart.
    pub(in crate::allocate::spill) fn enter(&mut self, block: Block, set: &SpillSet) {
        let problem = self.problem;
        let head = crossing::head(problem, block);
        let arriving = self.guide.considers_only_arriving(self, block);
        let crosses = |value: Value| head == Head::Bundle && !set.off_bundles[value];
        let mut room = Room::new(problem, self.pins, block);
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
        guide.enter(self, block, &mut candidates, room, &mut entering);
        self.heads.add(block, entering.iter().map(|it| it.value)).sort_unstable();
        (self.candidates, self.entering) = (candidates, entering);
    }

    /// Passes a block in which what comes in registers, all but some that comes in memory, has room for as long as it lives.
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
            let mut room = Room::new(self.problem, self.pins, block);
            self.heads.get(block).iter().for_each(|&value| room.add(value));
            // All of it is used equally far away.
            coming.retain(|&mut value| room.fits(value));
            self.passing.add(block, coming);
        }
    }

    /// Leaves of ascending values those that come to a block from some predecessor in a register.
    fn keep_coming(&self, block: Block, values: &mut SmallVec<[Value; 16]>) {
        let preds = &self.problem.conventional.function.blocks[block].preds;
        let mut over: SmallVec<[Over; 4]> = preds.iter().map(|&pred| self.over(pred, block)).collect();
        values.retain(|&mut value| over.iter_mut().any(|over| over.contains(value)));
    }

    /// What is in registers at the head of the block that was entered last.
    pub(in crate::allocate::spill) fn entering(&self) -> &[Candidate] {
        &self.entering
    }

    /// What is live into a block, of which nothing but what is `arriving` if that is asked for, and what its φs define.
    fn live_at_head(&self, block: Block, arriving: bool) -> impl Iterator<Item = Candidate> {
        let Problem { conventional, liveness, .. } = self.problem;
        let function = &conventional.function;
        let live_in = liveness.live_in(block);
        let behind = move |value: Value| match liveness.is_dead(value) {
            true => NEVER,
            false => self.ahead.behind(function, block, value),
        };
        let candidate = move |index: usize, row: Option<usize>, value: Value| {
            let next_use = match (&self.ahead.borders, row) {
                (Some(borders), None) => borders.at_entry(block)[index],
                (Some(borders), Some(row)) => borders.from_phi(function, block, row),
                (None, _) => self.first_uses.of(value).unwrap_or_else(|| behind(value)),
            };
            Candidate { value, next_use, row, index }
        };
        let live = live_in.iter().enumerate().map(move |(index, &value)| candidate(index, None, value));
        let phis = function.blocks[block].phis.iter().enumerate();
        let phis = phis.map(move |(row, phi)| candidate(live_in.len() + row, Some(row), phi.def));
        let those = arriving.then(|| self.arriving(block));
        live.filter(move |it| those.as_ref().is_none_or(|those| those.binary_search(&it.value).is_ok())).chain(phis)
    }

    /// Whether a value is to be in a register at a landing pad where nothing can bring it to one, and can be: wherever it comes
    /// from it is in one, and there is one for it that is the same everywhere.
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
        let mut room = crossing::Room::new(function, limits, meeting, self.pins.kept());
        let anyway = meeting.crossing.iter().filter(|&&value| unspillable.contains(value));
        let others = &self.at_pads[bundle];
        let fits = anyway.chain(others).chain([&value]).all(|&value| room.admit_crossing(function, bundles, value));
        if fits {
            self.at_pads[bundle].push(value);
        }
        fits
    }

    /// What is live into a block and in a register at the end of a predecessor, or cannot be anywhere else; ascending.
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

    /// Whether control comes from blocks that follow in the order.
    pub(super) fn is_loop_head(&self, block: Block) -> bool {
        self.problem.conventional.function.blocks[block]
            .preds
            .iter()
            .any(|&pred| !self.ends.is_written(self.problem.source(pred)))
    }

    /// Of each predecessor, whether a value comes from there in a register; what a φ takes comes as the φ.
    pub(super) fn comes_from(&self, block: Block, Candidate { value, row, .. }: Candidate) -> impl Iterator<Item = bool> {
        let data = &self.problem.conventional.function.blocks[block];
        data.preds.iter().enumerate().map(move |(column, &pred)| match row.map(|row| data.phis[row].args[column].expand()) {
            // It is undefined: anything will do.
            Some(None) => true,
            Some(Some(arg)) => self.comes_over(pred, block, arg),
            None => self.comes_over(pred, block, value),
        })
    }

    /// A value that is in a register at the block's head is displaced before it is read: it need not be there, unless it has
    /// come over a bundle.
    pub(in crate::allocate::spill) fn withdraw(&mut self, block: Block, value: Value) {
        if self.problem.bundles.entry(block).is_none() {
            if let Ok(index) = self.heads.get(block).binary_search(&value) {
                self.heads.remove(block, index);
            }
            self.passing.add(block, [value]);
        }
    }

    /// Whether a value can be stored at the head of a block: it is in a register there, or could be, since it comes in one from
    /// everywhere.
    pub(in crate::allocate::spill) fn can_store_at_head(&self, block: Block, value: Value) -> bool {
        let preds = &self.problem.conventional.function.blocks[block].preds;
        let comes = || preds.iter().all(|&pred| self.comes_over(pred, block, value));
        self.is_in(block, value) || self.passing.get(block).contains(&value) && comes()
    }

    /// The block is left with these values in registers.
    pub(in crate::allocate::spill) fn leave(&mut self, block: Block, values: impl Iterator<Item = Value>) {
        self.ends.add(block, values).sort_unstable();
    }

    /// The call of a block throws with these values in registers, which landing pads want.
    pub(in crate::allocate::spill) fn throw(&mut self, block: Block, values: impl Iterator<Item = Value>) {
        self.throws.add(block, values).sort_unstable();
    }

    /// The values in registers at the head of a block, behind its φs; ascending. None of a block that is passed.
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

    /// Whether a value that is wanted in `to` is in a register when control leaves `from` for it.
    pub(in crate::allocate::spill) fn comes_over(&self, from: Block, to: Block, value: Value) -> bool {
        self.over(from, to).contains(value)
    }

    /// What is in registers when control leaves `from` for `to`. Where inline assembly jumps, only what cannot be anywhere else is.
    pub(in crate::allocate::spill) fn over(&self, from: Block, to: Block) -> Over<'_> {
        let BlockData { landing_pad, jump_target, .. } = self.problem.conventional.function.blocks[to];
        let values = match (landing_pad, jump_target) {
            (true, _) => self.throws.get(from),
            (false, true) => &[],
            (false, false) => self.ends.get(self.problem.source(from)),
        };
        Over { unspillable: &self.problem.unspillable, values: Ascending::new(values) }
    }
}

/// Finds values, each once and in ascending order, among those in registers when control goes over an edge.
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

/// The registers at a block's head.
pub(in crate::allocate::spill) struct Room<'a> {
    problem: &'a Problem<'a>,
    occupied: RegSet,
    taken: Counts,
}

impl<'a> Room<'a> {
    fn new(problem: &'a Problem<'a>, pins: &PinLiveness, block: Block) -> Self {
        let function = &problem.conventional.function;
        let occupied = pins.at(function, function.head(block)) | function.blocks[block].live_in_pins;
        Room { problem, occupied, taken: Counts::default() }
    }

    fn add(&mut self, value: Value) {
        let class = self.class(value);
        self.problem.limits.count(&mut self.taken, class, 1);
    }

    fn class(&self, value: Value) -> RegClass {
        self.problem.conventional.function.values[value].class
    }

    /// The candidates that find room, one after the other.
    pub(super) fn take<'c>(&mut self, candidates: impl IntoIterator<Item = &'c Candidate>) -> impl Iterator<Item = Candidate> {
        candidates.into_iter().filter(|it| self.fits(it.value)).copied()
    }

    /// The candidates that find room, those first that are used next. Most of the time, all do, and need not be put in order.
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

/// The most values that are live at a time in each loop, by its header, for each of the sets of [`Limits`].
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

    /// The room that a loop leaves for what is live through it.
    pub(super) fn left<'a>(&self, problem: &'a Problem<'a>, header: Block, through: &[Candidate]) -> Room<'a> {
        let mut room = Room { problem, occupied: RegSet::EMPTY, taken: self.0[header] };
        for it in through {
            let class = room.class(it.value);
            problem.limits.count(&mut room.taken, class, -1);
        }
        room
    }
}

/// Raises each count to another one.
fn raise(counts: &mut Counts, to: &Counts) {
    counts.iter_mut().zip(to).for_each(|(count, &to)| *count = (*count).max(to));
}
