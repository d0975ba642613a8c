//! Follows values through an allocation: where they are before each row, and how many compete for registers.
//!
//! Requires: an overlay that the checker accepts.
//! Ensures: a place is listed only if it holds the value and is read later.

use super::layout::Layout;
use super::needed::{Needed, Places, Step, steps};
use super::schema::Part;
use crate::allocate::overhead;
use crate::analysis::{Liveness, Occupancy, PinLiveness};
use crate::check::{Watcher, Whereabouts};
use crate::machine::{Bank, Block, Edit, Function, Inst, InstKind, Location, Overlay, Point, Reg, RegSet, Slot, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};

/// A part of a live range: rows, and where the value is before them.
#[derive(Clone, PartialEq)]
pub(super) struct Held {
    pub(super) rows: [usize; 2],
    pub(super) registers: SmallVec<[Reg; 1]>,
    pub(super) slot: Option<Slot>,
}

/// The live values at one point, each with whether it is in a register.
pub(super) type Meeting = Vec<(Value, bool)>;

/// How many values are live, and how many registers there are for them.
#[derive(Clone, Copy, Default)]
pub(super) struct Pressure {
    pub(super) live: u32,
    pub(super) supply: u32,
}

/// What is found along the way.
pub(super) struct Trace {
    pub(super) held: SecondaryMap<Value, Vec<Held>>,
    pub(super) pressure: PrimaryMap<Bank, Vec<Pressure>>,
    /// The points that were asked for.
    pub(super) meetings: HashMap<Point, (usize, Meeting)>,
    /// Where values are when control leaves for the code of an edge, and when it arrives, by block.
    pub(super) leaving: SecondaryMap<Block, Vec<(Value, Location)>>,
    pub(super) arriving: SecondaryMap<Block, Vec<(Value, Location)>>,
}

impl Trace {
    /// Puts the parts of live ranges in the order of rows. (Blocks on edges are not where the program has them.)
    pub(super) fn put_in_order(&mut self) {
        for held in self.held.values_mut() {
            let mut parts = std::mem::take(held);
            parts.sort_by_key(|part| part.rows);
            parts.into_iter().for_each(|part| extend(held, part));
        }
    }
}

pub(super) struct Tracer<'a> {
    function: &'a Function,
    overlay: &'a Overlay,
    liveness: &'a Liveness,
    needed: Needed<'a>,
    pins: PinLiveness,
    layout: &'a mut Layout,
    listed: SecondaryMap<Block, Option<usize>>,
    /// The value of which each is a copy that is not executed.
    root: SecondaryMap<Value, Option<Value>>,
    /// Values that are computed again where they are needed, and may be in no place meanwhile.
    repeated: EntitySet<Value>,
    /// The slots outside the frame in which values are in any case.
    given: SecondaryMap<Value, Option<Slot>>,
    wanted: &'a [Point],
    pub(super) trace: Trace,
    // The current block, its next step, and the values that are live there, ascending.
    block: Option<Block>,
    steps: Vec<Step>,
    rows: Vec<Option<usize>>,
    before: Vec<Places>,
    next: usize,
    live: Vec<Value>,
    changes: Vec<Change>,
}

/// How a step changes the set of live values.
#[derive(Default)]
struct Change {
    ends: SmallVec<[Value; 2]>,
    begins: SmallVec<[Value; 2]>,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(
        function: &'a Function,
        overlay: &'a Overlay,
        liveness: &'a Liveness,
        layout: &'a mut Layout,
        listed: SecondaryMap<Block, Option<usize>>,
        wanted: &'a [Point],
    ) -> Self {
        let rows = layout.rows.len();
        let trace = Trace {
            held: SecondaryMap::with_capacity(function.values.len()),
            pressure: function.file.banks.keys().map(|_| vec![Pressure::default(); rows]).collect(),
            meetings: HashMap::new(),
            leaving: SecondaryMap::new(),
            arriving: SecondaryMap::new(),
        };
        Tracer {
            function,
            overlay,
            liveness,
            needed: Needed::new(function, overlay),
            pins: PinLiveness::new(function),
            layout,
            listed,
            root: roots(function, overlay),
            repeated: repeated(function, overlay),
            given: given(function, overlay),
            wanted,
            trace,
            block: None,
            steps: Vec::new(),
            rows: Vec::new(),
            before: Vec::new(),
            next: 0,
            live: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Begins with a block, unless it has been begun.
    fn enter(&mut self, whereabouts: Whereabouts<'_>, block: Block) {
        if self.block == Some(block) {
            return;
        }
        self.block = Some(block);
        self.steps = steps(self.function, self.overlay, block);
        self.rows = self.steps.iter().map(|&step| self.row_of(block, step)).collect();
        self.before = self.needed.before_each(block);
        self.next = 0;
        self.find_live(block);
        self.trace.arriving[block] = self.places(whereabouts);
    }

    /// Finds the values that are live at the block's head, and how each step changes them: in the order in which instructions are
    /// executed, which need not be that of the program.
    fn find_live(&mut self, block: Block) {
        let mut live: BTreeSet<Value> = self.liveness.live_out(block).iter().copied().collect();
        self.changes.clear();
        for &step in self.steps.iter().rev() {
            let mut change = Change::default();
            let executed = match step {
                Step::Inst(inst) => Some(inst).filter(|&inst| !self.overlay.is_performed(self.function, inst)),
                Step::Edit(edit) => match self.overlay.edits[edit].1 {
                    Edit::Perform { inst, .. } | Edit::Rematerialise { inst, .. } => Some(inst),
                    _ => None,
                },
            };
            let operands = executed.map_or(&[][..], |inst| self.function.operands(inst));
            let is_repetition = matches!(step, Step::Edit(edit) if !matches!(self.overlay.edits[edit].1, Edit::Perform { .. }));
            for def in operands.iter().filter(|operand| operand.is_def() && !is_repetition) {
                change.begins.extend(live.take(&def.value));
            }
            let uses = operands.iter().filter(|operand| !operand.is_def());
            change.ends.extend(uses.map(|operand| operand.value).filter(|&value| live.insert(value)));
            self.changes.push(change);
        }
        self.changes.reverse();
        self.live = live.into_iter().collect();
    }

    /// The row of a step, if it has one of its own within the rows of its block.
    fn row_of(&self, block: Block, step: Step) -> Option<usize> {
        let row = match step {
            Step::Edit(edit) => match self.overlay.edits[edit].1 {
                Edit::Perform { inst, .. } => self.layout.row_of_inst(inst),
                _ => self.layout.row_of_edit(edit),
            },
            Step::Inst(inst) if self.overlay.is_performed(self.function, inst) => None,
            Step::Inst(inst) => self.layout.row_of_inst(inst),
        };
        let [first, end] = self.layout.blocks[self.listed[block]?].rows;
        row.filter(|row| (first..end).contains(row))
    }

    /// The row at or behind the next step; at the end of the block, its last one.
    fn position(&self, block: Block) -> Option<usize> {
        let ahead = self.rows[self.next.min(self.rows.len())..].iter().flatten().next().copied();
        let last = || {
            let [first, end] = self.layout.blocks[self.listed[block]?].rows;
            (end > first).then(|| end - 1)
        };
        ahead.or_else(last)
    }

    /// The places of the live values that are read later.
    fn places(&self, whereabouts: Whereabouts<'_>) -> Vec<(Value, Location)> {
        let needed = &self.before[self.next];
        let of_value = |&value: &Value| whereabouts.of(value).filter(|&place| needed.contains(place)).map(move |it| (value, it));
        self.live.iter().flat_map(of_value).collect()
    }

    /// Notes who meets at a point that was asked for.
    fn meet(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Option<Inst>) {
        let insts = &self.function.blocks[block].insts;
        let at = Point { block, index: inst.map_or(insts.end, Inst::as_u32) - insts.start };
        if self.wanted.binary_search(&at).is_err() {
            return;
        }
        let Some(row) = self.position(block) else { return };
        let needed = &self.before[self.next];
        let is_in_register =
            |value: Value| whereabouts.of(value).any(|place| matches!(place, Location::Reg(_)) && needed.contains(place));
        let present = self.present(whereabouts);
        let distinct = present.iter().filter(|&&value| self.root[value].is_none_or(|root| present.binary_search(&root).is_err()));
        let mut meeting: Meeting = distinct.map(|&value| (value, is_in_register(value))).collect();
        // What the instruction defines competes, too.
        let defs = inst.map_or(&[][..], |inst| self.function.operands(inst)).iter().filter(|operand| operand.is_def());
        meeting.extend(defs.map(|operand| (operand.value, true)));
        self.trace.meetings.entry(at).or_insert((row, meeting));
    }

    /// Notes where the live values are before a row.
    fn hold(&mut self, whereabouts: Whereabouts<'_>, row: usize) {
        let needed = &self.before[self.next];
        for &value in &self.live {
            let mut held = Held { rows: [row, row + 1], registers: SmallVec::new(), slot: None };
            for place in whereabouts.of(value).filter(|&place| needed.contains(place)) {
                match place {
                    Location::Reg(reg) => held.registers.push(reg),
                    Location::Slot(slot) => held.slot = held.slot.or(Some(slot)),
                }
            }
            held.registers.sort_unstable();
            if held.registers.is_empty() {
                held.slot = held.slot.or(self.given[value]);
            }
            // An instruction that is executed later than where it stands in the program has not defined its value yet.
            if held.registers.is_empty() && held.slot.is_none() && !self.repeated.contains(value) {
                continue;
            }
            extend(&mut self.trace.held[value], held);
        }
    }

    /// The live values that a place holds.
    fn content(&self, whereabouts: Whereabouts<'_>, place: Location) -> Vec<usize> {
        let holds = |value: &&Value| whereabouts.of(**value).any(|it| it == place);
        self.live.iter().filter(holds).map(|value| value.as_u32() as usize).collect()
    }

    /// The live values that are somewhere, or computed again when needed.
    fn present(&self, whereabouts: Whereabouts<'_>) -> Vec<Value> {
        let is_elsewhere = |value: Value| self.repeated.contains(value) || self.given[value].is_some();
        let is_somewhere = |value: Value| whereabouts.of(value).next().is_some() || is_elsewhere(value);
        self.live.iter().copied().filter(|&value| is_somewhere(value)).collect()
    }

    /// Counts the values of each bank at a row, against the registers that are not occupied.
    fn count(&mut self, row: usize, occupied: RegSet, live: &[Value]) {
        let file = &self.function.file;
        let mut counts: PrimaryMap<Bank, u32> = file.banks.keys().map(|_| 0).collect();
        for &value in live {
            // A copy that is not executed is in the same register.
            if self.root[value].is_none_or(|root| live.binary_search(&root).is_err()) {
                counts[file.classes[self.function.values[value].class].bank] += 1;
            }
        }
        for (bank, &live) in &counts {
            let supply = (file.allocatable(bank) - occupied).len() as u32;
            let known = &mut self.trace.pressure[bank][row];
            let is_tighter = i64::from(supply) - i64::from(live) < i64::from(known.supply) - i64::from(known.live);
            if (known.live, known.supply) == (0, 0) || is_tighter {
                *known = Pressure { live, supply };
            }
        }
    }

    /// Passes a step: values that are read last there leave, and those that it defines come in.
    fn advance(&mut self) {
        let Change { ends, begins } = &self.changes[self.next];
        self.live.retain(|value| !ends.contains(value));
        for value in begins {
            if let Err(at) = self.live.binary_search(value) {
                self.live.insert(at, *value);
            }
        }
        self.next += 1;
    }

    /// Looks at an instruction where it is executed.
    fn execute(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Inst) {
        self.meet(whereabouts, block, Some(inst));
        let Some(row) = self.rows[self.next] else { return self.advance() };
        self.hold(whereabouts, row);
        self.describe(inst, row);
        self.count_at_inst(whereabouts, block, inst, row);
    }

    /// Enters what an instruction's row says about values.
    fn describe(&mut self, inst: Inst, row: usize) {
        let operands = self.function.operands(inst).iter().zip(self.overlay.operands(self.function, inst));
        for (operand, place) in operands {
            let value = operand.value.as_u32() as usize;
            let entry = &mut self.layout.rows[row];
            let list = if operand.is_def() { &mut entry.defines } else { &mut entry.reads };
            if !list.contains(&value) {
                list.push(value);
            }
            let is_added = matches!(entry.part, Some(Part::Copy));
            if (matches!(place, Some(Location::Slot(_))) || is_added) && !entry.values.contains(&value) {
                entry.values.push(value);
            }
            if let (true, Some(place)) = (operand.is_def(), place) {
                let mut held = Held { rows: [row, row + 1], registers: SmallVec::new(), slot: None };
                match *place {
                    Location::Reg(reg) => held.registers.push(reg),
                    Location::Slot(slot) => held.slot = Some(slot),
                }
                extend(&mut self.trace.held[operand.value], held);
            }
        }
    }

    /// Counts the values at an instruction, while it reads, passes and writes.
    fn count_at_inst(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Inst, row: usize) {
        let Occupancy { before, after, clobbers } = self.pins.occupancy(self.function, block, inst);
        let present = self.present(whereabouts);
        self.count(row, before, &present);
        self.advance();
        let passing: Vec<Value> = present.into_iter().filter(|value| self.live.binary_search(value).is_ok()).collect();
        self.count(row, before | after | clobbers, &passing);
        let defs = self.function.operands(inst).iter().filter(|o| o.is_def()).map(|o| o.value);
        let mut written: Vec<Value> = passing.into_iter().chain(defs).collect();
        written.sort_unstable();
        written.dedup();
        self.count(row, after, &written);
    }
}

impl Watcher for Tracer<'_> {
    fn edit(&mut self, whereabouts: Whereabouts<'_>, (point, edit): &(Point, Edit)) {
        self.enter(whereabouts, point.block);
        let function = self.function;
        if *point >= function.before_terminators(point.block) && self.trace.leaving[point.block].is_empty() {
            self.trace.leaving[point.block] = self.places(whereabouts);
        }
        if let Edit::Perform { inst, .. } = *edit {
            return self.execute(whereabouts, point.block, inst);
        }
        if let Some(row) = self.rows[self.next] {
            self.hold(whereabouts, row);
            let occupied = self.pins.at(function, *point);
            self.count(row, occupied, &self.present(whereabouts));
            let values = match *edit {
                Edit::Load { from, .. } => self.content(whereabouts, Location::Slot(from)),
                Edit::Store { from, .. } | Edit::Move { from, .. } => self.content(whereabouts, Location::Reg(from)),
                Edit::Swap { a, b, .. } => {
                    [a, b].into_iter().flat_map(|it| self.content(whereabouts, Location::Reg(it))).collect()
                }
                Edit::Rematerialise { inst, .. } | Edit::StoreConstant { inst, .. } => {
                    function.operands(inst).iter().filter(|o| o.is_def()).map(|o| o.value.as_u32() as usize).collect()
                }
                Edit::Perform { .. } => Vec::new(),
            };
            self.layout.rows[row].values = values;
            let frequency = function.blocks[point.block].frequency;
            let part = match edit {
                Edit::StoreConstant { .. } => Part::Store,
                _ => Part::Remat,
            };
            if matches!(edit, Edit::Rematerialise { .. } | Edit::StoreConstant { .. }) {
                self.layout.mark(row, part, overhead::of_edit(function, edit, frequency));
            }
        }
        self.advance();
    }

    fn inst(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Inst) {
        self.enter(whereabouts, block);
        match self.overlay.is_performed(self.function, inst) {
            true => self.advance(),
            false => self.execute(whereabouts, block, inst),
        }
    }

    fn end(&mut self, whereabouts: Whereabouts<'_>, block: Block) {
        self.enter(whereabouts, block);
        self.meet(whereabouts, block, None);
        if self.trace.leaving[block].is_empty() {
            self.trace.leaving[block] = self.places(whereabouts);
        }
    }
}

/// Adds a part to a live range, as one with the part before it if it goes on there.
fn extend(range: &mut Vec<Held>, next: Held) {
    match range.last_mut() {
        Some(last) if last.rows[1] >= next.rows[0] && (&last.registers, last.slot) == (&next.registers, next.slot) => {
            last.rows[1] = next.rows[1].max(last.rows[1]);
        }
        _ => range.push(next),
    }
}

/// The value that each value is a copy of, if that copy is not executed.
fn roots(function: &Function, overlay: &Overlay) -> SecondaryMap<Value, Option<Value>> {
    let mut root: SecondaryMap<Value, Option<Value>> = SecondaryMap::with_capacity(function.values.len());
    for &inst in overlay.dropped.iter().filter(|&&inst| function.insts[inst].kind == InstKind::Copy) {
        if let [def, used] = function.operands(inst) {
            root[def.value] = Some(root[used.value].unwrap_or(used.value));
        }
    }
    root
}

/// The values that edits compute again.
fn repeated(function: &Function, overlay: &Overlay) -> EntitySet<Value> {
    let mut repeated = EntitySet::new();
    for (_, edit) in &overlay.edits {
        if let Edit::Rematerialise { inst, .. } = *edit {
            repeated.extend(function.operands(inst).iter().filter(|operand| operand.is_def()).map(|operand| operand.value));
        }
    }
    repeated
}

/// The slots outside the frame that hold values.
fn given(function: &Function, overlay: &Overlay) -> SecondaryMap<Value, Option<Slot>> {
    let mut given = SecondaryMap::with_capacity(function.values.len());
    for (slot, inst) in overlay.given.iter().filter_map(|(slot, inst)| Some((slot, inst.expand()?))) {
        let defs = function.operands(inst).iter().filter(|operand| operand.is_def());
        defs.for_each(|operand| given[operand.value] = Some(slot));
    }
    given
}
