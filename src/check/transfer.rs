//! The transfer functions: what edits, instructions and edges do to a state.

use super::boundary::{Boundary, GROUP, group};
use super::state::{Place, State};
use crate::analysis::Liveness;
use crate::machine::{
    Block, Edit, Function, Inst, InstFlags, InstKind, Location, Overlay, PinSets, Point, RegClass, RegSet, Slot, Value,
};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Looks at the states along a block.
pub(super) trait Visitor {
    /// Before an edit.
    fn edit(&mut self, _state: &State, _point: Point, _edit: &Edit) {}
    /// Before an instruction, behind the edits at its point.
    fn inst(&mut self, _state: &State, _point: Point, _inst: Inst) {}
    /// Where control leaves the block for its landing pads.
    fn throw(&mut self, _state: &State, _block: Block) {}
    /// Where inline assembly jumps to the block's jump targets.
    fn jump(&mut self, _state: &State, _block: Block) {}
    /// At the block's end.
    fn end(&mut self, _state: &State, _block: Block) {}
}

pub(super) struct Transfer<'a> {
    pub function: &'a Function,
    overlay: &'a Overlay,
    liveness: &'a Liveness,
    /// What dropped copies make of each value.
    copies: SecondaryMap<Value, Vec<Value>>,
    /// What φs of one argument make of each value.
    taken: SecondaryMap<Value, Vec<Value>>,
    /// Of blocks into which more is carried than what is live: that too, ascending.
    carried: SecondaryMap<Block, Vec<Value>>,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(function: &'a Function, overlay: &'a Overlay, liveness: &'a Liveness) -> Self {
        let mut copies: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
        for &inst in overlay.dropped.iter().filter(|&&inst| function.insts[inst].kind == InstKind::Copy) {
            if let Some((copy, source)) = copied(function, inst) {
                copies[source].push(copy);
            }
        }
        let mut taken: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
        let phis = function.blocks.values().flat_map(|data| &data.phis);
        for (phi, arg) in phis.filter_map(|phi| Some((phi, <[_; 1]>::try_from(&phi.args[..]).ok()?[0].expand()?))) {
            taken[arg].push(phi.def);
        }
        let mut transfer = Transfer { function, overlay, liveness, copies, taken, carried: SecondaryMap::new() };
        transfer.carry_bases();
        transfer
    }

    /// What is computed again from another value is so as long as it is live, or a dropped copy of it: as long as that, where the
    /// other one is matters.
    fn carry_bases(&mut self) {
        let mut base_of: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
        for (_, edit) in &self.overlay.edits {
            if let Edit::Rematerialise { inst, from: Some(_), .. } = *edit
                && let [def, read] = self.function.operands(inst)
            {
                self.equal(def.value).into_iter().for_each(|value| base_of[value] = Some(read.value));
            }
        }
        for block in self.function.blocks.keys().filter(|_| !base_of.is_empty()) {
            let live_in = self.liveness.live_in(block);
            let mut more: Vec<Value> = live_in.iter().filter_map(|&value| base_of[value]).collect();
            more.sort_unstable();
            more.dedup();
            let mut index = 0;
            while let Some(&value) = more.get(index) {
                more.extend(base_of[value].filter(|base| !more.contains(base)));
                index += 1;
            }
            if !more.is_empty() {
                more.extend_from_slice(live_in);
                more.sort_unstable();
                more.dedup();
                self.carried[block] = more;
            }
        }
    }

    /// The values of which it is known behind the φs of a block where they are, ascending.
    fn carried(&self, block: Block) -> &[Value] {
        let carried = &self.carried[block];
        if carried.is_empty() { self.liveness.live_in(block) } else { carried }
    }

    /// A value, and its dropped copies.
    fn equal(&self, value: Value) -> Vec<Value> {
        closure(value, |value| self.copies[value].iter())
    }

    /// A constant, its dropped copies, and the φs that take nothing else: code for the edge to such a φ may stand behind it.
    fn equal_to_constant(&self, constant: Value) -> Vec<Value> {
        closure(constant, |value| self.copies[value].iter().chain(&self.taken[value]))
    }

    /// What is in slots that are none of the frame, wherever it is live.
    pub(super) fn given(&self) -> SecondaryMap<Slot, Vec<Value>> {
        let mut given = SecondaryMap::new();
        for (slot, inst) in self.overlay.given.iter().filter_map(|(slot, inst)| Some((slot, inst.expand()?))) {
            if let [def] = self.function.operands(inst) {
                given[slot] = self.equal_to_constant(def.value);
            }
        }
        given
    }

    /// Takes the state from the block's head to its end.
    pub(super) fn walk(&self, state: &mut State, block: Block, visitor: &mut impl Visitor) {
        let edits = &self.overlay.edits;
        let first = edits.partition_point(|(at, _)| at.block < block);
        let mut edits = edits[first..].iter().take_while(|(at, _)| at.block == block).peekable();
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let point = Point { block, index: index as u32 };
            while let Some((_, edit)) = edits.next_if(|(at, _)| *at == point) {
                visitor.edit(state, point, edit);
                self.edit(state, edit);
            }
            visitor.inst(state, point, inst);
            self.destroy(state, inst);
            if self.function.blocks[block].throws == inst.into() {
                visitor.throw(state, block);
            }
            self.define(state, inst);
            if self.function.insts[inst].is(InstFlags::JUMPS) {
                visitor.jump(state, block);
            }
        }
        for (point, edit) in edits {
            visitor.edit(state, *point, edit);
            self.edit(state, edit);
        }
        visitor.end(state, block);
    }

    fn edit(&self, state: &mut State, edit: &Edit) {
        let width = |class: RegClass| self.function.file.classes[class].slot_size;
        let carried = |class: RegClass| move |v: Value| self.size(v) <= width(class);
        match *edit {
            Edit::Load { to, from, class } => state.copy(to, from, carried(class)),
            Edit::Store { from, to, class } => state.copy(to, from, carried(class)),
            Edit::Move { to, from, class } => state.copy(to, from, carried(class)),
            Edit::Swap { a, b, class, kind: _ } => state.swap(a, b, carried(class)),
            Edit::Perform { inst, .. } => {
                self.overwrite(state, inst);
                self.write(state, inst);
                // A dropped copy of what it defines may have been passed already. (Whatever was a copy of the definition before
                // this one is dead: the definition dominates the copy, and the copy all that reads it.)
                for def in self.function.operands(inst).iter().filter(|o| o.is_def()) {
                    for copy in self.equal(def.value).into_iter().skip(1) {
                        state.forget(copy);
                        state.alias(copy, def.value);
                    }
                }
            }
            Edit::StoreConstant { to, inst } => {
                state.clear(to);
                for operand in self.function.operands(inst).iter().filter(|o| o.is_def()) {
                    let stored = self.equal_to_constant(operand.value).into_iter();
                    stored
                        .filter(|&value| self.size(value) <= self.size(operand.value))
                        .for_each(|value| state.generate(to, value));
                }
            }
            Edit::Rematerialise { to, inst, from: Some(from) } => {
                let [def, read] = self.function.operands(inst) else { return state.clear(to) };
                state.compute(to, &self.equal(def.value), from, read.value);
            }
            Edit::Rematerialise { to, inst, from: None } => {
                state.clear_all(written(self.function.pins(inst)));
                state.clear(to);
                // A constant is the same whenever it is computed, and so are copies of it.
                for operand in self.function.operands(inst).iter().filter(|o| o.is_def()) {
                    self.equal_to_constant(operand.value).into_iter().for_each(|value| state.generate(to, value));
                }
            }
        }
    }

    /// What an instruction overwrites is gone, and so are the values that it is about to define.
    fn destroy(&self, state: &mut State, inst: Inst) {
        if self.overlay.is_dropped(inst) {
            // A dropped constant would be what it was before: copies of it stay good.
            let data = &self.function.insts[inst];
            if data.kind == InstKind::Copy || data.is(InstFlags::RECOMPUTABLE) || self.overlay.is_performed(self.function, inst) {
                self.function.operands(inst).iter().filter(|o| o.is_def()).for_each(|o| state.forget(o.value));
            }
            return;
        }
        self.overwrite(state, inst);
    }

    fn overwrite(&self, state: &mut State, inst: Inst) {
        let copy = copy_ends(self.function, self.overlay, inst);
        let mut written = written(self.function.pins(inst));
        // The target of a copy may be its source as well.
        if let Some((Location::Reg(to), _)) = copy {
            written.remove(to);
        }
        state.clear_all(written);
        let locations = self.overlay.operands(self.function, inst);
        for (operand, &location) in self.function.operands(inst).iter().zip(locations) {
            if operand.is_def() {
                state.forget(operand.value);
                if copy.is_none() {
                    state.clear(located(location));
                }
            }
        }
    }

    /// The values that an instruction defines are in their places.
    fn define(&self, state: &mut State, inst: Inst) {
        if self.overlay.is_dropped(inst) {
            if let Some((copy, source)) = copied(self.function, inst) {
                state.alias(copy, source);
            }
            return;
        }
        self.write(state, inst);
    }

    fn write(&self, state: &mut State, inst: Inst) {
        let operands = self.function.operands(inst);
        if let Some((to, from)) = copy_ends(self.function, self.overlay, inst) {
            let width = match self.function.insts[inst].kind {
                // It may be one of a part of the value.
                InstKind::CopyTo(_) => None,
                _ => operands.iter().map(|o| self.size(o.value)).min(),
            };
            state.copy(to, from, |v| width.is_some_and(|w| self.size(v) <= w));
        }
        if is_part(self.function, inst)
            && let Some((copy, source)) = copied(self.function, inst)
        {
            state.alias(copy, source);
        }
        for (operand, &location) in operands.iter().zip(self.overlay.operands(self.function, inst)) {
            if operand.is_def() {
                state.generate(located(location), operand.value);
                if let InstKind::CopyFrom(reg) = self.function.insts[inst].kind {
                    state.generate(reg, operand.value);
                }
            }
        }
    }

    /// What the state at the end of `from` (for a landing pad: at its throwing call) is behind the φs of `to`.
    pub(super) fn held_on_edge(&self, state: &State, from: Block, to: Block) -> Boundary {
        let target = &self.function.blocks[to];
        let mut defined = Few::new();
        for (phi, arg) in self.taken_on_edge(from, to) {
            carry(&mut defined, phi, arg.map_or(&[Place::ANYWHERE], |arg| state.places(arg)));
        }
        defined.sort_unstable();
        let mut defined = defined.chunk_by(|a, b| group(a.0) == group(b.0)).peekable();
        let mut live_in = self.carried(to).chunk_by(|&a, &b| group(a) == group(b)).peekable();
        let mut unchanged = state.unchanged().peekable();
        let (mut boundary, mut pairs) = (Boundary::default(), Few::new());
        while let Some(next) = [defined.peek().map(|it| it[0].0), live_in.peek().map(|it| it[0])].into_iter().flatten().min() {
            let here = group(next);
            let live = live_in.next_if(|it| group(it[0]) == here).unwrap_or_default();
            let defined = defined.next_if(|it| group(it[0].0) == here).unwrap_or_default();
            while unchanged.next_if(|it| it.0 < here).is_some() {}
            let known = unchanged.next_if(|it| it.0 == here).map(|(_, pairs)| pairs);
            if let Some(known) = known.filter(|known| defined.is_empty() && !target.landing_pad && are_among(known, live)) {
                boundary.push(known.clone());
                continue;
            }
            pairs.clear();
            live.iter().for_each(|&value| carry(&mut pairs, value, state.places(value)));
            pairs.extend_from_slice(defined);
            self.enter(to, &mut pairs);
            if !pairs.is_empty() {
                boundary.push(known.filter(|known| known[..] == pairs[..]).cloned().unwrap_or_else(|| pairs[..].into()));
            }
        }
        boundary
    }

    /// Likewise, of a state of what was lost: sorted, each pair once.
    pub(super) fn lost_on_edge(&self, state: &State, from: Block, to: Block) -> Few {
        let live_in = self.carried(to);
        let mut lost = Few::new();
        let live = state.changed().filter(|value| live_in.binary_search(value).is_ok());
        live.for_each(|value| carry(&mut lost, value, state.places(value)));
        for (phi, arg) in self.taken_on_edge(from, to) {
            arg.into_iter().for_each(|arg| carry(&mut lost, phi, state.places(arg)));
        }
        self.enter(to, &mut lost);
        lost
    }

    /// The definitions of the target's φs, but for dead ones, with what they take over an edge.
    fn taken_on_edge(&self, from: Block, to: Block) -> impl Iterator<Item = (Value, Option<Value>)> {
        let phis = &self.function.blocks[to].phis;
        let column = (!phis.is_empty()).then(|| self.function.column(from, to));
        let phis = phis.iter().filter(|phi| !self.liveness.is_dead(phi.def));
        phis.zip(column.into_iter().cycle()).map(|(phi, column)| (phi.def, phi.args[column].expand()))
    }

    /// Sorts what flows into a block; what the unwinder writes for a landing pad holds none of it.
    fn enter(&self, to: Block, pairs: &mut Few) {
        let target = &self.function.blocks[to];
        if target.landing_pad {
            pairs.retain(|(_, place)| place.as_reg().is_none_or(|reg| !target.live_in_pins.contains(reg)));
        }
        pairs.sort_unstable();
    }

    /// How wide a value is: the size of a slot for it.
    fn size(&self, value: Value) -> u32 {
        self.function.file.classes[self.function.values[value].class].slot_size
    }
}

/// Pairs that a group may have, or not many more.
type Few = SmallVec<[(Value, Place); GROUP]>;

/// Adds that a value is in these places; what is anywhere is so alone.
fn carry(pairs: &mut Few, value: Value, places: &[Place]) {
    match places.contains(&Place::ANYWHERE) {
        true => pairs.push((value, Place::ANYWHERE)),
        false => pairs.extend(places.iter().map(|&place| (value, place))),
    }
}

/// Whether all values of some pairs are among others, both ascending.
fn are_among(pairs: &[(Value, Place)], values: &[Value]) -> bool {
    let mut values = values.iter();
    pairs.chunk_by(|a, b| a.0 == b.0).all(|pairs| values.any(|&value| value == pairs[0].0))
}

/// A value, what follows from it, what follows from that, and so on.
fn closure<'v, I: Iterator<Item = &'v Value>>(value: Value, next: impl Fn(Value) -> I) -> Vec<Value> {
    let mut found = vec![value];
    let mut index = 0;
    while let Some(&value) = found.get(index) {
        let new: Vec<Value> = next(value).copied().filter(|value| !found.contains(value)).collect();
        found.extend(new);
        index += 1;
    }
    found
}

/// The registers that an instruction writes or destroys by itself.
pub(super) fn written(pins: &PinSets) -> RegSet {
    pins.defs | pins.early_defs | pins.clobbers
}

/// The location of an operand whose instruction is executed.
pub(super) fn located(location: Option<Location>) -> Location {
    location.expect("the overlay is well-formed")
}

/// Whether an instruction is a copy that is as wide as its source, or a part of it: every place that holds the source holds the
/// copy. (Of what has another form in memory for each width, nothing narrower is a part.)
pub(super) fn is_part(function: &Function, inst: Inst) -> bool {
    let class = |value: Value| &function.file.classes[function.values[value].class];
    copied(function, inst).is_some_and(|(copy, source)| {
        let (width, of) = (class(copy).slot_size, class(source).slot_size);
        width == of || width < of && function.has_one_form(source)
    })
}

/// What a copy between values defines, and what it reads.
fn copied(function: &Function, inst: Inst) -> Option<(Value, Value)> {
    match function.operands(inst) {
        [a, b] if function.insts[inst].kind == InstKind::Copy => {
            Some(if a.is_def() { (a.value, b.value) } else { (b.value, a.value) })
        }
        _ => None,
    }
}

/// Target and source, if the instruction is a copy. It is no instruction at all if they are the same.
pub(super) fn copy_ends(function: &Function, overlay: &Overlay, inst: Inst) -> Option<(Location, Location)> {
    let locations = overlay.operands(function, inst);
    let end = |is_def| {
        let at = function.operands(inst).iter().position(|o| o.is_def() == is_def);
        located(locations[at.expect("a copy has both its ends")])
    };
    match function.insts[inst].kind {
        InstKind::Copy => Some((end(true), end(false))),
        InstKind::CopyTo(reg) => Some((Location::Reg(reg), end(false))),
        InstKind::CopyFrom(reg) => Some((end(true), Location::Reg(reg))),
        _ => None,
    }
}
