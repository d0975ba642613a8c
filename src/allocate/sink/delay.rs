//! Computations, moved down to where they are wanted, where more values are live than there are registers.
//!
//! A value takes a register from its definition on. If what it is computed from lives on in any case, it takes none on the way to
//! its first use when it is computed in front of that. What is computed for it alone goes along: an expression's tree, of which
//! all leaves live on, takes one register where it stands, its value's. (LLVM's scheduler orders blocks of straight code anew, for
//! latencies and for registers; this is what it gains in registers.)
//!
//! Ensures: where instructions have moved, registers are less scarce in sum.

use super::{Code, Order};
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Inst, InstFlags, Operand, Point, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Further down nothing moves.
const REACH: usize = 200;

/// So many instructions move together at most.
const MOST: usize = 16;

/// Delays computations, in one block after the other.
pub(super) struct Delayer<'a> {
    code: &'a Code<'a>,
    limits: Limits,
    /// What the block does with values.
    places: SecondaryMap<Value, Place>,
    /// The number of the current block, and of the last count.
    block: u32,
    count: u32,
    /// Instructions that have moved, or may.
    moved: EntitySet<Inst>,
    /// In front of each of the block's instructions, by index, and at its end.
    spots: Vec<Spot>,
    /// A part of the block in an order that is tried.
    trial: Vec<Inst>,
}

/// What a block does with a value, by indices of instructions.
#[derive(Clone, Copy, Default)]
struct Place {
    /// In which block that was found out.
    block: u32,
    /// Where it is defined, if it is here.
    defined: Option<u32>,
    /// Where it is read first and last, and how many instructions read it. What is live at the end is read last there.
    first: u32,
    last: u32,
    readers: u32,
    /// The last count in which it was read.
    read_in: u32,
}

/// What there is in front of an instruction.
#[derive(Clone, Copy)]
struct Spot {
    /// How many values of each set are live.
    live: Counts,
    /// The program's registers that are.
    pinned: RegSet,
    /// What the instruction costs where it stands.
    cost: Cost,
}

/// What an order of instructions costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// How many values are live beyond the registers that there are for them.
    excess: i32,
    /// What has to be copied, for an instruction overwrites it.
    copies: i32,
}

impl Cost {
    /// A value that is in memory is so for some instructions, and a copy is as dear as that.
    fn weighed(self) -> i32 {
        const COPY: i32 = 10;
        self.excess + COPY * self.copies
    }
}

/// Instructions that may move in front of another one.
struct Tree {
    /// Their indices, ascending.
    insts: SmallVec<[usize; MOST]>,
    to: usize,
}

impl<'a> Delayer<'a> {
    /// `None` if there are more classes than counts.
    pub(super) fn new(code: &'a Code<'a>) -> Option<Self> {
        let (values, insts) = (code.function.values.len(), code.function.insts.len());
        Some(Delayer {
            code,
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
    pub(super) fn block(&mut self, block: Block, order: &mut Order) {
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
            // What it has moved behind comes before it now.
            left -= tree.map_or(1, |tree| tree.insts.len());
        }
    }

    /// Whether there are registers for all values of a block at once, and for what the program wants in its own.
    fn is_ample(&self, block: Block) -> bool {
        let Code { function, liveness, .. } = self.code;
        let data = &function.blocks[block];
        let defined = function.block_operands(block).iter().filter(|operand| operand.is_def()).count();
        let writes = |inst: &Inst| !function.pins(*inst).defs.is_subset(function.file.status);
        let wanted = function.block_insts(block).filter(writes).count();
        let count = (liveness.live_in(block).len() + data.phis.len() + defined + wanted) as i32;
        let fits = |occupied: RegSet| self.limits.sets().all(|set| count <= self.limits.room(set, occupied));
        fits(RegSet::EMPTY)
            && fits(function.block_insts(block).fold(RegSet::EMPTY, |set, inst| set | function.pins(inst).clobbers))
    }

    /// Finds out where a block's values are, and what its order costs.
    fn locate(&mut self, block: Block, insts: &[Inst]) {
        let Code { function, liveness, .. } = self.code;
        let end = insts.len() as u32;
        self.block += 1;
        let mut live = Counts::default();
        for &value in liveness.live_out(block) {
            self.limits.count(&mut live, function.values[value].class, 1);
            self.places[value] = Place { block: self.block, first: end, last: end, ..Place::default() };
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

    /// An operand of a block that is gone through from its end.
    fn enter(&mut self, operand: &Operand, index: u32) {
        let place = &mut self.places[operand.value];
        if place.block != self.block {
            *place = Place { block: self.block, last: index, ..Place::default() };
        }
        if operand.is_def() {
            place.defined = Some(index);
        } else if place.readers == 0 || place.first != index {
            place.first = index;
            place.readers += 1;
        }
    }

    /// Nothing of an instruction moves: what it reads is read here first.
    fn pass(&mut self, inst: Inst, index: usize) {
        for operand in self.code.function.operands(inst).iter().filter(|operand| !operand.is_def()) {
            self.places[operand.value].first = index as u32;
        }
    }

    /// The best way to move an instruction down, with what is computed for it alone.
    fn tree(&mut self, order: &Order, index: usize, end: usize) -> Option<Tree> {
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

    /// Behind where something is read last that a tree reads, if that is in between.
    fn last_read(&self, order: &Order, insts: &[usize], to: usize) -> Option<usize> {
        let ends = self.reads(order, insts).map(|value| self.places[value].last as usize);
        ends.filter(|last| insts.iter().max() < Some(last) && *last < to).max().map(|last| last + 1)
    }

    /// What some instructions read.
    fn reads<'s>(&'s self, order: &'s Order, insts: &'s [usize]) -> impl Iterator<Item = Value> + 's {
        let operands = insts.iter().flat_map(|&of| self.code.function.operands(order.insts[of]));
        operands.filter(|operand| !operand.is_def()).map(|operand| operand.value)
    }

    /// Up to where an instruction passes nothing that writes what it reads.
    fn free_of_writers(&self, order: &Order, index: usize, to: usize) -> usize {
        let insts = &self.code.function.insts;
        let writes = |&between: &usize| insts[order.insts[between]].is(InstFlags::WRITES);
        if insts[order.insts[index]].is(InstFlags::READS) { (index + 1..to).find(writes).unwrap_or(to) } else { to }
    }

    /// An instruction, and others that compute what it, or another one of them, reads last, and nobody else reads.
    fn computed_for(&self, order: &Order, index: usize, to: usize) -> SmallVec<[usize; MOST]> {
        let mut insts: SmallVec<[usize; MOST]> = smallvec![index];
        let moves = |defined: usize| {
            let is_free = || self.free_of_writers(order, defined, to) == to;
            to - defined <= REACH && self.code.movable(order.insts[defined]).is_some() && is_free()
        };
        while insts.len() < MOST {
            let next = self.reads(order, &insts).find_map(|value| {
                let Place { defined, last, readers, .. } = self.places[value];
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

    /// What is gained if some instructions move in front of another one, or as far as flags let them; `None` if nothing.
    fn way(&mut self, order: &Order, insts: SmallVec<[usize; MOST]>, mut to: usize) -> Option<(i32, Tree)> {
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
        let mut gain: i32 = self.spots[first..to].iter().map(|spot| spot.cost.weighed()).sum();
        self.go_through(&trial, to, self.spots[to], |_, spot| gain -= spot.cost.weighed());
        moving.into_iter().for_each(|inst| _ = self.moved.remove(inst));
        self.trial = trial;
        (gain > 0).then_some((gain, tree))
    }

    /// Moves instructions.
    fn apply(&mut self, order: &mut Order, tree: &Tree) {
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

    /// Notes what there is in a part of a block as it is now. What is behind it is noted already.
    fn settle(&mut self, insts: &[Inst], range: Range<usize>) {
        let mut spots = std::mem::take(&mut self.spots);
        let behind = spots[range.end];
        self.go_through(&insts[range.clone()], range.end, behind, |index, spot| spots[range.start + index] = spot);
        self.spots = spots;
    }

    /// Goes through a part of a block from its end, which is in front of the instruction of this index of the block's. Says what
    /// there is in front of each instruction.
    fn go_through(&mut self, part: &[Inst], end: usize, behind: Spot, mut note: impl FnMut(usize, Spot)) {
        let Code { function, .. } = self.code;
        let Spot { mut live, mut pinned, .. } = behind;
        self.count += 1;
        for (index, &inst) in part.iter().enumerate().rev() {
            let operands = function.operands(inst);
            for def in operands.iter().filter(|operand| operand.is_def() && self.is_live(operand.value, end)) {
                self.limits.count(&mut live, function.values[def.value].class, -1);
            }
            let overwrites = |def: &&Operand| {
                let mut sources = [def.reuse, def.reuse_instead].into_iter().flatten();
                def.reuse.is_some() && !def.reuse_none && sources.all(|of| self.is_live(operands[usize::from(of)].value, end))
            };
            let copies = operands.iter().filter(overwrites).count() as i32;
            let clobbers = function.pins(inst).clobbers;
            let through = if clobbers.is_empty() { 0 } else { self.excess(&live, clobbers | pinned) };
            if !self.moved.contains(inst) {
                pinned = self.code.pins().before(inst);
            }
            for operand in operands.iter().filter(|operand| !operand.is_def()) {
                if !self.is_live(operand.value, end) {
                    self.limits.count(&mut live, function.values[operand.value].class, 1);
                }
                self.places[operand.value].read_in = self.count;
            }
            let cost = Cost { excess: self.excess(&live, pinned).max(through), copies };
            note(index, Spot { live, pinned, cost });
        }
    }

    /// Whether a value is live behind what the current count has come to, which began in front of the instruction of index `end`.
    fn is_live(&self, value: Value, end: usize) -> bool {
        let place = &self.places[value];
        place.block == self.block && (place.read_in == self.count || place.last as usize >= end)
    }

    fn excess(&self, live: &Counts, occupied: RegSet) -> i32 {
        self.limits.sets().map(|set| (live[set] - self.limits.room(set, occupied)).max(0)).sum()
    }
}

impl Tree {
    /// What stands in the tree's place, and up to where it moves, when it has moved.
    fn of<'a>(&'a self, insts: &'a [Inst]) -> impl Iterator<Item = Inst> + 'a {
        let others = (self.insts[0]..self.to).filter(|of| !self.insts.contains(of));
        others.chain(self.insts.iter().copied()).map(|of| insts[of])
    }
}
