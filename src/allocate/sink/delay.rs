//! Computations, moved down to where their values are needed, where registers are scarce.
//!
//! A value takes a register from its definition on. If its operands live on in any case, computing it before its first use
//! frees that register on the way. Instructions that compute only its operands go along. An expression tree whose leaves all
//! live on takes one register once it has been computed, that of its value. (LLVM's scheduler reorders straight code for
//! latencies and for registers; this file gains only the registers.)
//!
//! In functions in which no value lives on past a call, callee-saved registers count as taken: saving one costs as much as a
//! value in memory.
//!
//! Ensures: where instructions have moved, the excess pressure has fallen in sum.

use super::{Code, Reordered};
use crate::allocate::pressure::demand::is_first_use;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::analysis::PinLiveness;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, InstFlags, Operand, Point, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// How many instructions further down a computation may move at most.
const REACH: usize = 200;

/// How many instructions move together at most.
const MOST: usize = 16;

/// Delays computations, block by block.
pub(super) struct Delayer<'a> {
    code: &'a Code<'a>,
    limits: Limits,
    /// Callee-saved registers that had better stay untouched.
    spared: RegSet,
    /// The φ that takes each value, if there is one.
    phis: SecondaryMap<Value, PackedOption<Value>>,
    /// The places of values in the current block.
    places: SecondaryMap<Value, BlockUses>,
    /// The number of the current block, and that of the latest count.
    block: u32,
    count: u32,
    /// Instructions that have moved, or would in the current trial.
    moved: EntitySet<Inst>,
    /// The spot before each of the block's instructions, by index, and the one at its end.
    spots: Vec<Spot>,
    /// A part of the block in an order that is on trial.
    trial: Vec<Inst>,
}

/// Where a block defines and reads a value, by indices of instructions.
#[derive(Clone, Copy, Default)]
struct BlockUses {
    /// The number of the block to which this applies.
    block: u32,
    /// The index of its definition, if it is defined in this block.
    defined: Option<u32>,
    /// Its first and its last read, and the number of instructions that read it. A value that is live at the block's end is
    /// read last there.
    first: u32,
    last: u32,
    readers: u32,
    /// The latest count in which it was read.
    read_in: u32,
}

/// The state before an instruction.
#[derive(Clone, Copy)]
struct Spot {
    /// The number of live values of each set.
    live: Counts,
    /// The program's registers that are live.
    pinned: RegSet,
    /// The cost of the instruction where it stands.
    cost: Cost,
}

/// The cost of an order of instructions.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// The excess pressure: how many more values are live than there are registers for them.
    excess: i32,
    /// The number of values that have to be copied, since an instruction overwrites them, or since they are live where the
    /// next value of their φ is defined.
    copies: i32,
    /// The values that live on past a call, more than there are registers for them that it keeps.
    crossing: i32,
}

impl Cost {
    /// A value in memory is there for several instructions, and counts at each; a copy costs as much as ten of them.
    fn weighed(self) -> i32 {
        const COPY: i32 = 10;
        self.excess + COPY * self.copies
    }
}

/// Instructions that may move to before another one.
struct Tree {
    /// The indices of the instructions, ascending.
    insts: SmallVec<[usize; MOST]>,
    to: usize,
}

impl<'a> Delayer<'a> {
    /// `None` if there are more classes than [`Limits`] can count.
    pub(super) fn new(code: &'a Code<'a>) -> Option<Self> {
        let (values, insts) = (code.function.values.len(), code.function.insts.len());
        let mut phis: SecondaryMap<Value, PackedOption<Value>> = of_each(values);
        for phi in code.function.blocks.values().flat_map(|data| &data.phis) {
            phi.args.iter().filter_map(|arg| arg.expand()).for_each(|arg| phis[arg] = phi.def.into());
        }
        Some(Delayer {
            code,
            phis,
            spared: spared(code),
            limits: Limits::new(code.function, false).ok()?,
            places: of_each(values),
            block: 0,
            count: 0,
            moved: EntitySet::with_capacity(insts),
            spots: Vec::new(),
            trial: Vec::new(),
        })
    }

    /// Moves a block's instructions down.
    pub(super) fn block(&mut self, block: Block, order: &mut Reordered) {
        if self.is_ample(block) {
            return;
        }
        self.moved.extend(order.moved.keys().copied());
        self.locate(block, &order.insts);
        if self.spots.iter().all(|spot| spot.cost.excess == 0) {
            return;
        }
        let is_end = |&inst: &Inst| self.code.function.insts[inst].is(InstFlags::TERMINATOR);
        let end = order.insts.iter().position(is_end).unwrap_or(order.insts.len());
        let mut left = end;
        while left > 0 {
            let tree = self.tree(order, left - 1, end);
            match &tree {
                Some(tree) => self.apply(order, tree),
                None => self.pass(order.insts[left - 1], left - 1),
            }
            // The instructions that it has moved past come before it now.
            left -= tree.map_or(1, |tree| tree.insts.len());
        }
    }

    /// Whether there are registers for all values of a block at once, and for those that the program puts into its own.
    fn is_ample(&self, block: Block) -> bool {
        let Code { function, liveness, .. } = self.code;
        let data = &function.blocks[block];
        let defined = function.block_operands(block).iter().filter(|operand| operand.is_def()).count();
        let writes = |inst: &Inst| !function.pins(*inst).defs.is_subset(function.file.status);
        let wanted = function.block_insts(block).filter(writes).count();
        let count = (liveness.live_in(block).len() + data.phis.len() + defined + wanted) as i32;
        let fits = |occupied: RegSet| self.limits.sets().all(|set| count <= self.limits.room(set, occupied | self.spared));
        fits(RegSet::EMPTY) && fits(function.block_insts(block).fold(RegSet::EMPTY, |set, inst| set | destroyed(function, inst)))
    }

    /// Finds the places of a block's values, and the cost of its order.
    fn locate(&mut self, block: Block, insts: &[Inst]) {
        let Code { function, liveness, .. } = self.code;
        let end = insts.len() as u32;
        self.block += 1;
        let mut live = Counts::default();
        for &value in liveness.live_out(block) {
            self.limits.count(&mut live, function.values[value].class, 1);
            self.places[value] = BlockUses { block: self.block, first: end, last: end, ..BlockUses::default() };
        }
        for (index, &inst) in insts.iter().enumerate().rev() {
            for operand in function.operands(inst) {
                self.enter(operand, index as u32);
            }
        }
        let pinned = self.code.pins().at(function, Point { block, index: end });
        self.spots.clear();
        self.spots.resize(insts.len() + 1, Spot { live, pinned, cost: Cost::default() });
        self.settle(insts, 0..insts.len());
    }

    /// Notes an operand, on a walk through the block from its end.
    fn enter(&mut self, operand: &Operand, index: u32) {
        let place = &mut self.places[operand.value];
        if place.block != self.block {
            *place = BlockUses { block: self.block, last: index, ..BlockUses::default() };
        }
        if operand.is_def() {
            place.defined = Some(index);
        } else if place.readers == 0 || place.first != index {
            place.first = index;
            place.readers += 1;
        }
    }

    /// Passes an instruction that does not move: its operands are read first here.
    fn pass(&mut self, inst: Inst, index: usize) {
        for operand in self.code.function.operands(inst).iter().filter(|operand| !operand.is_def()) {
            self.places[operand.value].first = index as u32;
        }
    }

    /// The best way to move an instruction down, alone or with the instructions that compute only its operands.
    fn tree(&mut self, order: &Reordered, index: usize, end: usize) -> Option<Tree> {
        let value = self.code.movable(order.insts[index])?.value;
        let last = self.free_of_writers(order, index, end.min(index + REACH));
        let to = last.min(self.places[value].first as usize);
        if to <= index + 1 || self.spots[index + 1..=to].iter().all(|spot| spot.cost.excess == 0) {
            return None;
        }
        let mut best: Option<(i32, Tree)> = None;
        let whole = self.computed_for(order, index, to);
        for insts in [Some(smallvec![index]), (whole.len() > 1).then_some(whole)].into_iter().flatten() {
            for to in [self.last_read(order, &insts, to), Some(to)].into_iter().flatten() {
                let way = self.way(order, insts.clone(), to);
                if way.as_ref().is_some_and(|(gain, _)| best.as_ref().is_none_or(|(most, _)| gain > most)) {
                    best = way;
                }
            }
        }
        best.map(|(_, tree)| tree)
    }

    /// The point after the last read, between a tree and `to`, of a value that the tree reads as well, if one is read last
    /// there.
    fn last_read(&self, order: &Reordered, insts: &[usize], to: usize) -> Option<usize> {
        let ends = self.reads(order, insts).map(|value| self.places[value].last as usize);
        ends.filter(|last| insts.iter().max() < Some(last) && *last < to).max().map(|last| last + 1)
    }

    /// The values that some instructions read.
    fn reads<'s>(&'s self, order: &'s Reordered, insts: &'s [usize]) -> impl Iterator<Item = Value> + 's {
        let operands = insts.iter().flat_map(|&of| self.code.function.operands(order.insts[of]));
        operands.filter(|operand| !operand.is_def()).map(|operand| operand.value)
    }

    /// How far an instruction may move without passing one that writes memory it may read.
    fn free_of_writers(&self, order: &Reordered, index: usize, to: usize) -> usize {
        let insts = &self.code.function.insts;
        let writes = |&between: &usize| insts[order.insts[between]].is(InstFlags::WRITES);
        if insts[order.insts[index]].is(InstFlags::READS) { (index + 1..to).find(writes).unwrap_or(to) } else { to }
    }

    /// An instruction together with those that compute values which it, or another of them, reads last and nothing else
    /// reads.
    fn computed_for(&self, order: &Reordered, index: usize, to: usize) -> SmallVec<[usize; MOST]> {
        let mut insts: SmallVec<[usize; MOST]> = smallvec![index];
        let moves = |defined: usize| {
            let is_free = || self.free_of_writers(order, defined, to) == to;
            to - defined <= REACH && self.code.movable(order.insts[defined]).is_some() && is_free()
        };
        while insts.len() < MOST {
            let next = self.reads(order, &insts).find_map(|value| {
                let BlockUses { defined, last, readers, .. } = self.places[value];
                let defined = defined? as usize;
                let reading = insts.iter().filter(|&&of| self.reads(order, &[of]).any(|read| read == value));
                let is_own = last as usize <= index && reading.count() == readers as usize;
                (is_own && !insts.contains(&defined) && moves(defined)).then_some(defined)
            });
            let Some(defined) = next else { break };
            insts.push(defined);
        }
        insts.sort_unstable();
        insts
    }

    /// The gain if some instructions move to before another one, or as far as flags let them; `None` if there is none.
    fn way(&mut self, order: &Reordered, insts: SmallVec<[usize; MOST]>, mut to: usize) -> Option<(i32, Tree)> {
        let is_flagless = |inst: &Inst| order.moved.get(inst) == Some(&true);
        let written = insts.iter().map(|&of| order.insts[of]).filter(|inst| !is_flagless(inst));
        let flags = written.fold(RegSet::EMPTY, |flags, inst| flags | self.code.function.pins(inst).defs);
        let (first, index) = (*insts.first()?, *insts.last()?);
        while to > index + 1 && self.spots[to].pinned.intersects(flags) {
            to -= 1;
        }
        if to <= index + 1 {
            return None;
        }
        let tree = Tree { insts, to };
        let mut trial = std::mem::take(&mut self.trial);
        trial.clear();
        trial.extend(tree.of(&order.insts));
        let moving = tree.insts.iter().map(|&of| order.insts[of]).filter(|&inst| self.moved.insert(inst));
        let moving: SmallVec<[Inst; MOST]> = moving.collect();
        let weighed = |spot: &Spot| (spot.cost.weighed(), spot.cost.crossing);
        let sum = |a: (i32, i32), b: (i32, i32)| (a.0 + b.0, a.1 + b.1);
        let before = self.spots[first..to].iter().map(weighed).fold((0, 0), sum);
        let mut after = (0, 0);
        self.go_through(&trial, to, self.spots[to], |_, spot| after = sum(after, weighed(&spot)));
        let gain = before.0 - after.0;
        moving.into_iter().for_each(|inst| _ = self.moved.remove(inst));
        self.trial = trial;
        (gain > 0 && after.1 <= before.1).then_some((gain, tree))
    }

    /// Moves a tree.
    fn apply(&mut self, order: &mut Reordered, tree: &Tree) {
        for &of in &tree.insts {
            self.moved.insert(order.insts[of]);
            order.moved.entry(order.insts[of]).or_insert(false);
        }
        let range = tree.insts[0]..tree.to;
        let insts: Vec<Inst> = tree.of(&order.insts).collect();
        order.insts[range.clone()].copy_from_slice(&insts);
        for (index, &inst) in range.clone().zip(&insts) {
            for operand in self.code.function.operands(inst) {
                let place = &mut self.places[operand.value];
                if operand.is_def() {
                    place.defined = Some(index as u32);
                } else if (place.last as usize) < tree.to {
                    place.last = index as u32;
                }
            }
        }
        range.clone().zip(&insts).rev().for_each(|(index, &inst)| self.pass(inst, index));
        self.settle(&order.insts, range);
    }

    /// Notes the spots in a part of a block as it is now. Those after it are already noted.
    fn settle(&mut self, insts: &[Inst], range: Range<usize>) {
        let mut spots = std::mem::take(&mut self.spots);
        let after = spots[range.end];
        self.go_through(&insts[range.clone()], range.end, after, |index, spot| spots[range.start + index] = spot);
        self.spots = spots;
    }

    /// Walks a part of a block from its end, which is before the instruction at index `end` of the block. Notes the spot
    /// before each instruction.
    fn go_through(&mut self, part: &[Inst], end: usize, after: Spot, mut note: impl FnMut(usize, Spot)) {
        let Code { function, .. } = self.code;
        let Spot { mut live, mut pinned, .. } = after;
        self.count += 1;
        for (index, &inst) in part.iter().enumerate().rev() {
            let operands = function.operands(inst);
            let destroyed = destroyed(function, inst);
            // Also what nobody reads takes a register where it is defined.
            let mut all_defined = live;
            let mut has_unread = false;
            for def in operands.iter().filter(|operand| operand.is_def()) {
                let class = function.values[def.value].class;
                if self.is_live(def.value, end) {
                    self.limits.count(&mut live, class, -1);
                } else {
                    self.limits.count(&mut all_defined, class, 1);
                    has_unread = true;
                }
            }
            let after = if has_unread || !destroyed.is_empty() { self.excess(&all_defined, destroyed | pinned) } else { 0 };
            let overwrites = |def: &&Operand| {
                def.reuse.is_some()
                    && !def.reuse_none
                    && def.overwritable().all(|of| self.is_live(operands[usize::from(of)].value, end))
            };
            let precedes =
                |def: &&Operand| def.is_def() && self.phis[def.value].expand().is_some_and(|phi| self.is_live(phi, end));
            let copies = operands.iter().filter(|def| overwrites(def) || precedes(def)).count() as i32;
            let through = if destroyed.is_empty() { 0 } else { self.excess(&live, destroyed | pinned) };
            if !self.moved.contains(inst) {
                pinned = self.code.pins().before(inst);
            }
            for operand in operands.iter().filter(|operand| !operand.is_def()) {
                if !self.is_live(operand.value, end) {
                    self.limits.count(&mut live, function.values[operand.value].class, 1);
                }
                self.places[operand.value].read_in = self.count;
            }
            let cost = Cost { excess: self.excess(&live, pinned).max(through).max(after), copies, crossing: through };
            note(index, Spot { live, pinned, cost });
        }
    }

    /// Whether a value is live at the point that the current count has come to. The count began before the instruction at
    /// index `end`.
    fn is_live(&self, value: Value, end: usize) -> bool {
        let place = &self.places[value];
        place.block == self.block && (place.read_in == self.count || place.last as usize >= end)
    }

    fn excess(&self, live: &Counts, occupied: RegSet) -> i32 {
        let occupied = occupied | self.spared;
        self.limits.sets().map(|set| (live[set] - self.limits.room(set, occupied)).max(0)).sum()
    }
}

/// The callee-saved registers that a function need not use: all that it does not write itself, if no value lives on past an
/// instruction that leaves no others. Saving one costs as much as a value in memory.
fn spared(code: &Code) -> RegSet {
    let file = &code.function.file;
    let alike = file.classes.values().filter(|class| class.regs.intersects(file.callee_saved));
    let others = alike.fold(RegSet::EMPTY, |regs, class| regs | class.regs) - file.callee_saved;
    let has_crossing = code.function.blocks.keys().any(|block| is_crossed(code, block, others));
    if has_crossing { RegSet::EMPTY } else { file.callee_saved - PinLiveness::written(code.function) }
}

/// Whether a value lives on past an instruction of a block that takes all of these registers.
fn is_crossed(code: &Code, block: Block, registers: RegSet) -> bool {
    let Code { function, liveness, .. } = code;
    let takes_all = |inst: Inst| {
        let pins = function.pins(inst);
        registers.is_subset(pins.clobbers | pins.defs | pins.early_defs | pins.uses)
    };
    if !function.block_insts(block).any(takes_all) {
        return false;
    }
    let mut live = liveness.live_out(block).len();
    function.block_insts(block).rev().any(|inst| {
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        live -= (0..operands.len()).filter(|&k| operands[k].is_def() && !liveness.kills(first + k)).count();
        let is_crossed = live > 0 && takes_all(inst);
        live += (0..operands.len()).filter(|&k| liveness.kills(first + k) && is_first_use(operands, k)).count();
        is_crossed
    })
}

/// The program's registers in which no value lives on past an instruction.
fn destroyed(function: &Function, inst: Inst) -> RegSet {
    let pins = function.pins(inst);
    pins.clobbers | pins.early_defs
}

impl Tree {
    /// The instructions from the tree to its destination, in their order after the move.
    fn of<'a>(&'a self, insts: &'a [Inst]) -> impl Iterator<Item = Inst> + 'a {
        let others = (self.insts[0]..self.to).filter(|of| !self.insts.contains(of));
        others.chain(self.insts.iter().copied()).map(|of| insts[of])
    }
}
