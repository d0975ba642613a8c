//! The transfer functions: what edits, instructions and edges do to a state.

use super::boundary::{Boundary, GROUP, group};
use super::state::{Place, State};
use crate::analysis::Liveness;
use crate::machine::{
    Block, Edit, Function, Inst, InstFlags, InstKind, Location, Overlay, PinSets, Point, RegClass, RegSet, Slot, Value,
};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Looks at the states along a block.
pub(super) trait Visitor {
    /// Before an edit.
    fn edit(&mut self, _state: &State, _point: Point, _edit: &Edit) {}
    /// Before an instruction, after the edits at its point.
    fn inst(&mut self, _state: &State, _point: Point, _inst: Inst) {}
    /// Where control leaves the block for its landing pads.
    fn throw(&mut self, _state: &State, _block: Block) {}
    /// At the block's end.
    fn end(&mut self, _state: &State, _block: Block) {}
}

pub(super) struct Transfer<'a> {
    pub function: &'a Function,
    overlay: &'a Overlay,
    liveness: &'a Liveness,
    /// The values that dropped copies define from each value.
    copies: SecondaryMap<Value, Vec<Value>>,
    /// The definitions of the φs whose only argument is this value.
    taken: SecondaryMap<Value, Vec<Value>>,
    /// The values that copies extend which rely on what is above them in a register ([`InstFlags::WIDENS`]): zeros, as long as
    /// their definitions or moves of their own width have put them there. So no register holds them because it holds
    /// something that is computed from them.
    extended: EntitySet<Value>,
    /// The sources of copies that leave undefined what these do not have ([`InstFlags::WIDENS`]).
    widened: SecondaryMap<Value, PackedOption<Value>>,
    /// For blocks into which more than the live values is carried: all values that are, ascending.
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
        let mut extended = EntitySet::with_capacity(function.values.len());
        let extending = function.insts.keys().filter(|&inst| relies_on_rest(function, inst));
        extended.extend(extending.filter_map(|inst| copied(function, inst)).map(|(_, source)| source));
        let mut widened: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
        let widening = function.insts.keys().filter(|&inst| function.insts[inst].is(InstFlags::WIDENS));
        widening.filter_map(|inst| copied(function, inst)).for_each(|(copy, source)| widened[copy] = source.into());
        let mut transfer =
            Transfer { function, overlay, liveness, copies, taken, extended, widened, carried: SecondaryMap::new() };
        transfer.carry_bases();
        transfer
    }

    /// Finds the values whose place matters although they may not be live: those from which live ones are recomputed.
    ///
    /// While a value that the overlay recomputes, or a dropped copy of it, is live, it may be recomputed. So the place of the
    /// value that the recomputation reads has to be known.
    ///
    /// Nor need those be live from which it can be told that a slot has been written in full ([`Self::is_full`]).
    fn carry_bases(&mut self) {
        let mut beside: SecondaryMap<Value, SmallVec<[Value; 1]>> = SecondaryMap::new();
        for (_, edit) in &self.overlay.edits {
            if let Edit::Rematerialise { inst, from: Some(_), .. } = *edit
                && let [def, read] = self.function.operands(inst)
            {
                self.equal(def.value).into_iter().for_each(|value| beside[value] = smallvec![read.value]);
            }
        }
        for (copy, source) in self.function.insts.keys().filter_map(|inst| copied(self.function, inst)) {
            if self.extended.contains(source) && self.size(copy) > self.size(source) {
                beside[source].push(copy);
            }
        }
        for block in self.function.blocks.keys().filter(|_| !beside.is_empty()) {
            let live_in = self.liveness.live_in(block);
            let mut more: Vec<Value> = live_in.iter().flat_map(|&value| &beside[value]).copied().collect();
            more.sort_unstable();
            more.dedup();
            let mut index = 0;
            while let Some(&value) = more.get(index) {
                let next = beside[value].iter().copied().filter(|value| !more.contains(value));
                let next: SmallVec<[Value; 1]> = next.collect();
                more.extend(next);
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

    /// The values whose places are known at a block's head, after its φs; ascending.
    fn carried(&self, block: Block) -> &[Value] {
        let carried = &self.carried[block];
        if carried.is_empty() { self.liveness.live_in(block) } else { carried }
    }

    /// A value and its dropped copies.
    fn equal(&self, value: Value) -> Vec<Value> {
        closure(value, |value| self.copies[value].iter())
    }

    /// A constant, its dropped copies, and the φs that take nothing else: code for the edge to such a φ may come after it.
    fn equal_to_constant(&self, constant: Value) -> Vec<Value> {
        closure(constant, |value| self.copies[value].iter().chain(&self.taken[value]))
    }

    /// The values in slots outside the frame, which are there wherever these values are live.
    pub(super) fn given(&self) -> SecondaryMap<Slot, Vec<Value>> {
        let mut given = SecondaryMap::new();
        for (slot, inst) in self.overlay.given.iter().filter_map(|(slot, inst)| Some((slot, inst.expand()?))) {
            if let [def] = self.function.operands(inst) {
                let fits = |&value: &Value| self.size(value) <= self.overlay.slots[slot].size;
                given[slot] = self.equal_to_constant(def.value).into_iter().filter(fits).collect();
            }
        }
        given
    }

    /// Takes the state from the block's head to its end.
    pub(super) fn walk(&self, state: &mut State, block: Block, visitor: &mut impl Visitor) {
        let edits = &self.overlay.edits;
        let first = edits.partition_point(|(at, _)| at.block < block);
        let edits = edits[first..].iter().take_while(|(at, _)| at.block == block);
        let mut performed = edits
            .clone()
            .filter_map(|(_, edit)| if let Edit::Perform { inst, .. } = edit { Some(*inst) } else { None })
            .peekable();
        if performed.peek().is_some() {
            self.begin_performing(state, block, performed);
        }
        let mut edits = edits.peekable();
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
        }
        for (point, edit) in edits {
            visitor.edit(state, *point, edit);
            self.edit(state, edit);
        }
        visitor.end(state, block);
    }

    /// Prepares a state at a block's head for instructions that are performed before where they stand.
    ///
    /// Of what such an instruction reads, no place holds what the block is yet to define: that would be from the previous round
    /// of a loop. Dropped copies of values that are known already hold these from here on, because the instruction may come
    /// before a copy that it reads.
    fn begin_performing(&self, state: &mut State, block: Block, performed: impl Iterator<Item = Inst>) {
        let uses = performed.flat_map(|inst| self.function.operands(inst)).filter(|o| !o.is_def());
        let read: BTreeSet<Value> = uses.map(|o| o.value).collect();
        let defs = self.function.block_operands(block).iter().filter(|o| o.is_def());
        defs.filter(|o| read.contains(&o.value)).for_each(|o| state.forget(o.value));
        let dropped = self.function.block_insts(block).filter(|&inst| self.overlay.is_dropped(inst));
        for (copy, source) in dropped.filter_map(|inst| copied(self.function, inst)) {
            self.alias(state, copy, source);
        }
    }

    fn edit(&self, state: &mut State, edit: &Edit) {
        let width = |class: RegClass| self.function.file.classes[class].slot_size;
        let carried = |to: Location, class: RegClass| move |v: Value| self.carries(v, to, width(class));
        match *edit {
            Edit::Load { to, from, class } => {
                let is_full = self.is_full(state, from);
                let has_rest = |v: Value| is_full || self.size(v) == width(class) || !self.extended.contains(v);
                state.copy(to, from, |v| carried(Location::Reg(to), class)(v) && has_rest(v));
            }
            Edit::Store { from, to, class } => state.copy(to, from, carried(Location::Slot(to), class)),
            Edit::Move { to, from, class } => state.copy(to, from, carried(Location::Reg(to), class)),
            Edit::Swap { a, b, class, kind: _ } => state.swap(a, b, carried(Location::Reg(a), class)),
            Edit::Perform { inst, .. } => {
                self.overwrite(state, inst);
                self.write(state, inst);
            }
            Edit::StoreConstant { to, inst } => {
                state.clear(to);
                for operand in self.function.operands(inst).iter().filter(|o| o.is_def()) {
                    let stored = self.equal_to_constant(operand.value).into_iter();
                    let size = self.size(operand.value);
                    stored
                        .filter(|&value| self.carries(value, Location::Slot(to), size))
                        .for_each(|value| state.generate(to, value));
                }
            }
            Edit::Rematerialise { to, inst, from: Some(from) } => {
                let [def, read] = self.function.operands(inst) else { return state.clear(to) };
                let extends = self.function.insts[inst].is(InstFlags::EXTENDS);
                let low = |value: Value| extends && self.extends(value, Location::Reg(to), self.size(read.value));
                state.compute(to, &self.equal(def.value), from, read.value, low);
            }
            Edit::Rematerialise { to, inst, from: None } => {
                state.clear_all(written(self.function.pins(inst)));
                state.clear(to);
                // A constant is the same whenever it is computed, and so are its copies.
                for operand in self.function.operands(inst).iter().filter(|o| o.is_def()) {
                    self.equal_to_constant(operand.value).into_iter().for_each(|value| state.generate(to, value));
                }
            }
        }
    }

    /// Removes what the instruction overwrites, and the values that it is about to define.
    fn destroy(&self, state: &mut State, inst: Inst) {
        if self.overlay.is_dropped(inst) {
            // A dropped constant would have the same value as before, so copies of it stay valid.
            // Nor does any place hold what an instruction defines that is performed elsewhere in its block, before it is.
            let data = &self.function.insts[inst];
            let is_elsewhere = self.overlay.is_performed(self.function, inst);
            if !is_elsewhere && (data.kind == InstKind::Copy || data.is(InstFlags::RECOMPUTABLE)) {
                self.function.operands(inst).iter().filter(|o| o.is_def()).for_each(|o| state.forget(o.value));
            }
            return;
        }
        self.overwrite(state, inst);
    }

    fn overwrite(&self, state: &mut State, inst: Inst) {
        let copy = copy_ends(self.function, self.overlay, inst);
        let extends = self.function.insts[inst].is(InstFlags::EXTENDS);
        let mut written = written(self.function.pins(inst));
        // The target of a copy may also be its source.
        if let Some((Location::Reg(to), _)) = copy {
            written.remove(to);
        }
        state.clear_all(written);
        let locations = self.overlay.operands(self.function, inst);
        for (operand, &location) in self.function.operands(inst).iter().zip(locations) {
            if operand.is_def() {
                state.forget(operand.value);
                if copy.is_none() && !extends {
                    state.clear(located(location));
                }
            }
        }
    }

    /// Puts the values that an instruction defines into their places.
    fn define(&self, state: &mut State, inst: Inst) {
        if self.overlay.is_dropped(inst) {
            if let Some((copy, source)) = copied(self.function, inst) {
                self.alias(state, copy, source);
            }
            return;
        }
        self.write(state, inst);
    }

    fn write(&self, state: &mut State, inst: Inst) {
        let operands = self.function.operands(inst);
        if let Some((to, from)) = copy_ends(self.function, self.overlay, inst) {
            let width = match self.function.insts[inst].kind {
                // A `CopyTo` may copy only a part of the value.
                InstKind::CopyTo(_) => None,
                _ => operands.iter().map(|o| self.size(o.value)).min(),
            };
            state.copy(to, from, |v| width.is_some_and(|width| self.carries(v, to, width)));
        }
        if self.function.insts[inst].is(InstFlags::EXTENDS)
            && let [def, read] = operands
            && let &[to, from] = self.overlay.operands(self.function, inst)
        {
            let width = self.size(read.value).min(self.size(def.value));
            state.replace(located(to), located(from), |v| self.extends(v, located(to), width));
            if let Location::Slot(slot) = located(from)
                && let Some(given) = self.overlay.given[slot].expand()
                && let [def] = self.function.operands(given)
            {
                let given = self.equal_to_constant(def.value).into_iter().filter(|&v| self.extends(v, located(to), width));
                given.for_each(|value| state.generate(located(to), value));
            }
        }
        if is_same(self.function, inst)
            && let Some((copy, source)) = copied(self.function, inst)
        {
            self.alias(state, copy, source);
        }
        for (operand, &location) in operands.iter().zip(self.overlay.operands(self.function, inst)) {
            if operand.is_def() {
                state.generate(located(location), operand.value);
                if let InstKind::CopyFrom(reg) = self.function.insts[inst].kind {
                    state.generate(reg, operand.value);
                }
                self.know_copies_of(state, operand.value);
            }
        }
    }

    /// Lets the dropped copies of a value hold it where it is defined. Some may have been passed already, or not yet, where
    /// instructions are performed elsewhere in their blocks. (What a copy was in the previous round of a loop is dead: the
    /// definition dominates the copy, and the copy dominates all its uses.)
    fn know_copies_of(&self, state: &mut State, value: Value) {
        if self.copies[value].is_empty() {
            return;
        }
        for copy in self.equal(value).into_iter().skip(1) {
            state.forget(copy);
            self.alias(state, copy, value);
        }
    }

    /// The state after the φs of `to`, given that at the end of `from` (for a landing pad, at its throwing call).
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

    /// For a state of lost pairs: the pairs that `to` loses after its φs; sorted and distinct.
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

    /// The definitions of the target's φs, except dead ones, each with the argument that it takes on this edge.
    fn taken_on_edge(&self, from: Block, to: Block) -> impl Iterator<Item = (Value, Option<Value>)> {
        let phis = &self.function.blocks[to].phis;
        let column = (!phis.is_empty()).then(|| self.function.column(from, to));
        let phis = phis.iter().filter(|phi| !self.liveness.is_dead(phi.def));
        phis.zip(column.into_iter().cycle()).map(|(phi, column)| (phi.def, phi.args[column].expand()))
    }

    /// Sorts the pairs that flow into a block. For a landing pad, the registers that the unwinder writes lose theirs.
    fn enter(&self, to: Block, pairs: &mut Few) {
        let target = &self.function.blocks[to];
        if target.landing_pad {
            pairs.retain(|(_, place)| place.as_reg().is_none_or(|reg| !target.live_in_pins.contains(reg)));
        }
        pairs.sort_unstable();
    }

    /// The width of a value: the size of its slot.
    /// Whether a location holds a value after this many bytes have been copied there from a place that holds it.
    fn carries(&self, value: Value, to: Location, bytes: u32) -> bool {
        let fits = |slot: Slot| self.size(value) <= self.overlay.slots[slot].size;
        let content = self.content(value);
        content <= bytes && (content == self.size(value) || Place::from(to).as_slot().is_none_or(fits))
    }

    /// Whether a slot has been written in its full width, so that what it has above a value is what a register had. Something
    /// as wide is in it then. (It does not matter if nothing relies on that.)
    fn is_full(&self, state: &State, slot: Slot) -> bool {
        let fills = |value: &Value| self.size(*value) == self.overlay.slots[slot].size;
        self.extended.is_empty() || state.holds_any(slot, fills)
    }

    /// Like [`Self::carries`], for an instruction that extends a number on its way. A value on whose upper zeros some copy relies
    /// does not arrive: the extension may have written a sign there.
    fn extends(&self, value: Value, to: Location, bytes: u32) -> bool {
        self.carries(value, to, bytes) && !self.extended.contains(value)
    }

    /// How many bytes of a value are defined.
    fn content(&self, mut value: Value) -> u32 {
        while let Some(source) = self.widened[value].expand() {
            value = source;
        }
        self.size(value)
    }

    /// Puts a copy into every place that holds its source, except for slots that are too small for it.
    fn alias(&self, state: &mut State, copy: Value, source: Value) {
        let size = self.size(copy);
        let is_wider = size > self.size(source);
        state.alias(copy, source, |place| match place.as_slot() {
            // Of a slot that holds a wider value, the whole has been written.
            Some(_) if is_wider && self.extended.contains(source) => false,
            Some(slot) => self.overlay.slots[slot].size >= size,
            None => true,
        });
    }

    fn size(&self, value: Value) -> u32 {
        size(self.function, value)
    }
}

/// Roughly as many pairs as a group has.
type Few = SmallVec<[(Value, Place); GROUP]>;

/// Adds the places of a value. If it is anywhere, that is its only pair.
fn carry(pairs: &mut Few, value: Value, places: &[Place]) {
    match places.contains(&Place::ANYWHERE) {
        true => pairs.push((value, Place::ANYWHERE)),
        false => pairs.extend(places.iter().map(|&place| (value, place))),
    }
}

/// Whether all values in these pairs are among `values`. Both ascend.
fn are_among(pairs: &[(Value, Place)], values: &[Value]) -> bool {
    let mut values = values.iter();
    pairs.chunk_by(|a, b| a.0 == b.0).all(|pairs| values.any(|&value| value == pairs[0].0))
}

/// A value, all that `next` yields for it, for those values, and so on.
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

/// Whether an instruction is a copy that is in every place which holds its source, if it fits there: it is as wide, or a part
/// of it, or undefined above it, so that whatever the place has there will do. (Where a value's form in memory depends on its
/// width, both have to be as wide.)
pub(super) fn is_same(function: &Function, inst: Inst) -> bool {
    copied(function, inst).is_some_and(|(copy, source)| match size(function, copy).cmp(&size(function, source)) {
        Ordering::Less => function.has_one_form(source),
        Ordering::Equal => true,
        Ordering::Greater => function.has_one_form(source) && function.insts[inst].is(InstFlags::WIDENS),
    })
}

/// Whether an instruction is a copy that relies on what is above its source in a register.
pub(super) fn relies_on_rest(function: &Function, inst: Inst) -> bool {
    let is_wider = |(copy, source): (Value, Value)| size(function, copy) > size(function, source);
    copied(function, inst).is_some_and(is_wider) && !function.insts[inst].is(InstFlags::WIDENS)
}

fn size(function: &Function, value: Value) -> u32 {
    function.file.classes[function.values[value].class].slot_size
}

/// The value that a copy between values defines, and the one that it reads.
fn copied(function: &Function, inst: Inst) -> Option<(Value, Value)> {
    match function.operands(inst) {
        [a, b] if function.insts[inst].kind == InstKind::Copy => {
            Some(if a.is_def() { (a.value, b.value) } else { (b.value, a.value) })
        }
        _ => None,
    }
}

/// The target and source of a copy. If they are the same, nothing is executed.
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
