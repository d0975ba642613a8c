//! Mutation tests: correct programs are accepted; if one thing is broken, the checker says which.

use super::{Complaint, check};
use crate::analysis::testing::{append, block, def, file, graph, phi, pin, usage, value};
use crate::machine::{
    Bank, DebugUse, Edit, Function, Inserted, Inst, InstFlags, InstKind, Location, Operand, Overlay, PinSets, Point, Reg,
    RegClass, RegSet, Role, Slot, SlotData, SwapKind,
};
use std::sync::Arc;

struct Program {
    function: Function,
    overlay: Overlay,
}

const GP: u32 = 0;
const VEC: u32 = 1;
const HALF: u32 = 2;

fn reg(name: &str) -> Reg {
    file().by_name(name).unwrap()
}

/// The registers with these one-letter names; `f` is short for `flags`.
fn regs(names: &str) -> RegSet {
    names.chars().map(|c| if c == 'f' { reg("flags") } else { reg(&c.to_string()) }).collect()
}

/// `a` is a register, `s1` a slot.
fn at(name: &str) -> Location {
    match name.strip_prefix('s') {
        Some(slot) => Location::Slot(Slot::from_u32(slot.parse().unwrap())),
        None => Location::Reg(reg(name)),
    }
}

fn point(b: usize, index: u32) -> Point {
    Point { block: block(b), index }
}

fn load(to: &str, from: u32) -> Edit {
    Edit::Load { to: reg(to), from: Slot::from_u32(from), class: RegClass::from_u32(GP) }
}

fn store(from: &str, to: u32) -> Edit {
    Edit::Store { from: reg(from), to: Slot::from_u32(to), class: RegClass::from_u32(GP) }
}

fn mov(to: &str, from: &str, class: u32) -> Edit {
    Edit::Move { to: reg(to), from: reg(from), class: RegClass::from_u32(class) }
}

fn swap(a: &str, b: &str, class: u32, kind: SwapKind) -> Edit {
    Edit::Swap { a: reg(a), b: reg(b), class: RegClass::from_u32(class), kind }
}

fn reuse(of: u32, operand: u8) -> Operand {
    Operand { reuse: Some(operand), ..def(of) }
}

fn early(of: u32) -> Operand {
    Operand { role: Role::EarlyDef, ..def(of) }
}

impl Program {
    fn new(succs: &[&[usize]], classes: &[u32]) -> Self {
        let mut function = graph(succs);
        function.values = classes.iter().map(|&c| RegClass::from_u32(c).into()).collect();
        let overlay = Overlay { slots: [SlotData { size: 8, align: 8 }; 3].into_iter().collect(), ..Overlay::default() };
        Program { function, overlay }
    }

    /// Appends an instruction whose operands are at these locations.
    fn op(&mut self, to: usize, operands: &[(Operand, &str)]) -> Inst {
        self.overlay.locations.extend(operands.iter().map(|(_, location)| Some(at(location))));
        let operands: Vec<Operand> = operands.iter().map(|(o, _)| *o).collect();
        append(&mut self.function, to, &operands)
    }

    fn copy(&mut self, to: usize, kind: InstKind, operands: &[(Operand, &str)]) -> Inst {
        let inst = self.op(to, operands);
        self.function.insts[inst].kind = kind;
        inst
    }

    fn terminator(&mut self, to: usize, operands: &[(Operand, &str)]) -> Inst {
        let inst = self.op(to, operands);
        self.function.insts[inst].flags.insert(InstFlags::TERMINATOR);
        inst
    }

    /// Gives an instruction registers that it reads and writes by itself.
    fn pin(&mut self, inst: Inst, uses: &str, defs: &str) {
        let sets = PinSets { uses: regs(uses), defs: regs(defs), ..PinSets::default() };
        pin(&mut self.function, inst, sets);
    }

    fn edit(&mut self, b: usize, index: u32, edit: Edit) {
        self.overlay.edits.push((point(b, index), edit));
    }

    fn debug(&mut self, v: u32, b: usize, index: u32, location: &str) {
        self.function.debug_uses.push(DebugUse { value: value(v), at: point(b, index) });
        self.overlay.debug_locations.push(Some(at(location)));
    }

    fn complaints(&self) -> Vec<String> {
        let complaints = check(&self.function, &self.overlay).err().unwrap_or_default();
        complaints.iter().map(Complaint::to_string).collect()
    }

    fn assert_accepted(&self) {
        assert_eq!(self.complaints(), [""; 0]);
    }
}

/// Has two-address code, a call, a loop that swaps two values, an early definition, a rematerialisation, a landing pad with
/// a φ in memory, a block on a critical edge, an undefined φ argument, and folded copies.
fn program() -> Program {
    let mut p = Program::new(&[&[1], &[2, 3], &[1], &[4, 5], &[6, 8], &[], &[7], &[], &[7]], &[GP; 16]);
    entry(&mut p);
    swapping_loop(&mut p);
    invoke(&mut p);
    join(&mut p);
    p.assert_accepted();
    p
}

fn entry(p: &mut Program) {
    p.function.blocks[block(0)].live_in_pins = regs("a");
    p.copy(0, InstKind::CopyFrom(reg("a")), &[(def(0), "a")]);
    let constant = p.op(0, &[(def(1), "b")]);
    p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
    p.pin(constant, "", "f");
    p.edit(0, 2, mov("c", "a", GP));
    p.op(0, &[(usage(0), "c"), (usage(1), "b"), (reuse(2, 0), "c")]);
    p.edit(0, 3, store("a", 0));
    p.copy(0, InstKind::CopyTo(reg("d")), &[(usage(2), "c")]);
    let call = p.op(0, &[]);
    let sets = PinSets { uses: regs("d"), defs: regs("a"), clobbers: regs("b"), ..PinSets::default() };
    pin(&mut p.function, call, sets);
    p.copy(0, InstKind::CopyFrom(reg("a")), &[(def(3), "a")]);
    p.edit(0, 6, load("b", 0));
    p.terminator(0, &[]);
}

/// `v4, v5 = φ(v0, v5), φ(v2, v4)`
fn swapping_loop(p: &mut Program) {
    phi(&mut p.function, 1, 4, &[Some(0), Some(5)]);
    phi(&mut p.function, 1, 5, &[Some(2), Some(4)]);
    let compare = p.op(1, &[(usage(4), "b"), (usage(5), "c")]);
    p.pin(compare, "", "f");
    let branch = p.terminator(1, &[]);
    p.pin(branch, "f", "");
    p.op(2, &[(usage(4), "b"), (early(6), "d")]);
    p.op(2, &[(usage(6), "d")]);
    p.edit(2, 2, swap("b", "c", GP, SwapKind::Exchange));
    p.terminator(2, &[]);
}

fn invoke(p: &mut Program) {
    p.edit(3, 0, Edit::Rematerialise { to: reg("d"), inst: Inst::from_u32(1), from: None });
    p.op(3, &[(usage(1), "d")]);
    p.edit(3, 1, store("a", 1));
    let call = p.op(3, &[(usage(5), "c"), (def(7), "a")]);
    pin(&mut p.function, call, PinSets { clobbers: regs("ab"), ..PinSets::default() });
    p.function.blocks[block(3)].throws = call.into();
    p.terminator(3, &[]);
    let compare = p.op(4, &[(usage(7), "a")]);
    p.pin(compare, "", "f");
    let branch = p.terminator(4, &[]);
    p.pin(branch, "f", "");
    p.function.blocks[block(5)].landing_pad = true;
    p.function.blocks[block(5)].live_in_pins = regs("a");
    phi(&mut p.function, 5, 9, &[Some(3)]);
    let label = p.op(5, &[]);
    p.function.insts[label].flags.insert(InstFlags::LABEL);
    p.copy(5, InstKind::CopyFrom(reg("a")), &[(def(10), "a")]);
    p.edit(5, 2, load("b", 1));
    p.terminator(5, &[(usage(9), "b"), (usage(10), "a"), (usage(5), "c")]);
}

fn join(p: &mut Program) {
    p.op(6, &[(def(12), "d")]);
    p.terminator(6, &[]);
    phi(&mut p.function, 7, 11, &[Some(12), Some(7)]);
    phi(&mut p.function, 7, 13, &[Some(12), None]);
    p.debug(11, 7, 0, "d");
    p.op(7, &[(usage(11), "d"), (usage(13), "d")]);
    p.copy(7, InstKind::Copy, &[(usage(11), "d"), (def(14), "s2")]);
    p.copy(7, InstKind::Copy, &[(usage(14), "s2"), (def(15), "a")]);
    p.terminator(7, &[(usage(15), "a")]);
    p.function.blocks[block(8)].on_edge = true;
    p.edit(8, 0, mov("d", "a", GP));
    p.terminator(8, &[]);
}

/// The complaints about a program after a mutation.
fn broken(mut p: Program, mutate: impl FnOnce(&mut Program)) -> Vec<String> {
    mutate(&mut p);
    p.complaints()
}

/// The first complaint if this edit is left out.
fn without_edit(index: usize) -> String {
    let complaints = broken(program(), |p| {
        p.overlay.edits.remove(index);
    });
    complaints.into_iter().next().unwrap_or_default()
}

/// The first complaint if an edit is replaced by this one.
fn with_edit(index: usize, edit: Edit) -> String {
    broken(program(), |p| p.overlay.edits[index].1 = edit).into_iter().next().unwrap_or_default()
}

/// The first complaint if an edit is moved to another point; the edits stay sorted.
fn with_edit_at(index: usize, b: usize, before: u32) -> String {
    let complaints = broken(program(), |p| {
        p.overlay.edits[index].0 = point(b, before);
        p.overlay.edits.sort_by_key(|(at, _)| *at);
    });
    complaints.into_iter().next().unwrap_or_default()
}

/// The first complaint if an operand is at this location.
fn with_location(operand: usize, location: &str) -> String {
    broken(program(), |p| p.overlay.locations[operand] = Some(at(location))).into_iter().next().unwrap_or_default()
}

/// A block with one operation, which defines values at these locations.
fn defined(locations: &[&str], classes: &[u32]) -> Program {
    let mut p = Program::new(&[&[]], classes);
    let defs: Vec<_> = locations.iter().enumerate().map(|(v, location)| (def(v as u32), *location)).collect();
    p.op(0, &defs);
    p
}

#[test]
fn a_forgotten_edit() {
    assert_eq!(without_edit(0), "b0, instruction 2, operand 0: expected v0 in c, which holds no value");
    assert_eq!(without_edit(1), "b1, instruction 0, operand 0: expected v4 in b, which holds no value");
    assert_eq!(without_edit(2), "b1, instruction 0, operand 0: expected v4 in b, which holds no value");
    assert_eq!(without_edit(3), "b1, instruction 0, operand 0: expected v4 in b, which holds no value");
    assert_eq!(without_edit(4), "b3, instruction 0, operand 0: expected v1 in d, which holds no value");
    assert_eq!(without_edit(5), "b5, instruction 2, operand 0: expected v9 in b, which holds no value");
    assert_eq!(without_edit(6), "b5, instruction 2, operand 0: expected v9 in b, which holds no value");
    assert_eq!(without_edit(7), "b7, before instruction 0, variable v11: expected v11 in d, which holds v13");
    assert_eq!(program().overlay.edits.len(), 8);
}

#[test]
fn a_wrong_edit() {
    let stale = "b1, instruction 0, operand 0: expected v4 in b, which holds no value";
    assert_eq!(with_edit(3, mov("b", "c", GP)), stale);
    assert_eq!(with_edit(3, mov("c", "b", GP)), stale);
    assert_eq!(with_edit(3, swap("b", "d", GP, SwapKind::Exchange)), stale);
    assert_eq!(with_edit(2, load("b", 1)), stale);
    assert_eq!(with_edit(1, store("b", 0)), stale);
    assert_eq!(with_edit(0, mov("c", "b", GP)), "b0, instruction 2, operand 0: expected v0 in c, which holds v1");
    let wrong_inst = Edit::Rematerialise { to: reg("d"), inst: Inst::from_u32(2), from: None };
    assert_eq!(with_edit(4, wrong_inst), "b3, before instruction 0, rematerialise d by i2: i2 cannot be executed again");
    assert_eq!(with_edit(0, mov("c", "x", GP)), "b0, before instruction 2, move x to c: x is not in class gp");
}

#[test]
fn code_in_the_wrong_place() {
    // After the throwing call is too late for the landing pad.
    assert_eq!(with_edit_at(5, 3, 2), "b5, instruction 2, operand 0: expected v9 in b, which holds no value");
    // On only one of the edges into the join.
    assert_eq!(with_edit_at(7, 6, 1), "b7, before instruction 0, variable v11: expected v11 in d, which holds no value");
    assert_eq!(with_edit_at(6, 5, 0), "b5, before instruction 0, load b from s1: is before the block's labels");
    assert_eq!(with_edit_at(3, 2, 3), "b2, before instruction 3, swap b and c by Exchange: is after a terminator");
    assert_eq!(with_edit_at(3, 2, 4), "b2, before instruction 4, swap b and c by Exchange: there is no such point");
    assert_eq!(with_edit_at(4, 9, 0), "b9, before instruction 0, rematerialise d by i1: there is no such point");
    let unsorted = broken(program(), |p| p.overlay.edits.swap(0, 1));
    assert_eq!(unsorted, ["b0, before instruction 2, move a to c: comes after an edit with a later point"]);
}

#[test]
fn every_wrong_location_is_noticed() {
    let Program { function, overlay } = program();
    // These operands are read in the register from which they are copied, wherever else they may be.
    let copied = function.insts.values().filter(|data| matches!(data.kind, InstKind::CopyFrom(_)));
    let copied: Vec<usize> = copied.map(|data| data.operands.start as usize).collect();
    for (operand, &location) in overlay.locations.iter().enumerate().filter(|(operand, _)| !copied.contains(operand)) {
        for name in ["a", "b", "c", "d", "x", "flags", "s0", "s1", "s2"].into_iter().filter(|n| Some(at(n)) != location) {
            // v14 and v15 are copies of v11, which is still in d.
            let right = name == "d" && [25, 27].contains(&operand);
            assert_eq!(with_location(operand, name).is_empty(), right, "operand {operand} in {name} instead of {location:?}");
        }
    }
}

/// A copy is wherever its source is, as long as neither is defined anew and the place keeps its content.
#[test]
fn a_copy_may_be_read_where_its_source_is() {
    let read = |between: &[(Operand, &str)], from: &str| {
        let mut p = defined(&["a"], &[0, 0, 0]);
        p.copy(0, InstKind::Copy, &[(def(1), "b"), (usage(0), "a")]);
        if !between.is_empty() {
            p.op(0, between);
        }
        p.op(0, &[(usage(1), from)]);
        p.terminator(0, &[(usage(0), "a")]);
        p.complaints()
    };
    assert!(read(&[], "a").is_empty() && read(&[], "b").is_empty());
    assert!(!read(&[], "c").is_empty());
    assert!(!read(&[(def(2), "b")], "b").is_empty());
    assert!(read(&[(def(2), "b")], "a").is_empty());
}

#[test]
fn a_register_holds_what_was_copied_from_it() {
    let read = |between: &[(Operand, &str)]| {
        let mut p = Program::new(&[&[]], &[0, 0]);
        p.copy(0, InstKind::CopyFrom(reg("a")), &[(def(0), "b")]);
        p.op(0, between);
        p.terminator(0, &[(usage(0), "a")]);
        p.complaints()
    };
    assert!(read(&[(def(1), "c")]).is_empty());
    assert_eq!(read(&[(def(1), "a")]), ["b0, instruction 2, operand 0: expected v0 in a, which holds v1"]);
}

/// An excluded register may be written for the copy that accesses it next, and be read no matter who has written it.
#[test]
fn excluded_registers() {
    let complaints = |reader: InstKind, edits: &[Edit]| {
        let mut p = defined(&["a"], &[0, 0]);
        p.copy(0, reader, &[(usage(0), "d")]);
        p.terminator(0, &[]);
        let file = Arc::make_mut(&mut p.function.file);
        file.excluded.insert(reg("d"));
        let class = &mut file.classes[RegClass::from_u32(GP)];
        class.order.retain(|&it| it != reg("d"));
        class.regs.remove(reg("d"));
        let at = Point { block: p.function.entry(), index: 1 };
        p.overlay.edits = edits.iter().map(|&edit| (at, edit)).collect();
        p.complaints()
    };
    let copied = InstKind::CopyTo(reg("d"));
    assert!(complaints(copied, &[mov("d", "a", GP)]).is_empty());
    assert!(complaints(copied, &[mov("d", "a", GP), mov("b", "d", GP)]).is_empty());
    assert!(!complaints(copied, &[mov("d", "b", GP)]).is_empty(), "another value");
    let other = complaints(InstKind::Op, &[mov("d", "a", GP)]);
    assert_eq!(other[0], "b0, before instruction 1, move a to d: d is not in class gp");
}

#[test]
fn wrong_locations() {
    assert_eq!(with_location(2, "a"), "b0, instruction 2, operand 2: is in c, but the use that it overwrites is in a");
    assert_eq!(with_location(3, "d"), "b0, instruction 2, operand 1: expected v1 in d, which holds no value");
    assert_eq!(with_location(8, "b"), "b1, instruction 0, operand 1: expected v5 in b, which holds v4");
    assert_eq!(with_location(1, "x"), "b0, instruction 1, operand 0: x is not in class gp");
    assert_eq!(with_location(8, "s0"), "b1, instruction 0, operand 1: is in s0, but the instruction cannot access a slot there");
    assert_eq!(with_location(23, "s1"), "b7, instruction 1, operand 0: expected v11 in s1, which holds no value");
    let memory = broken(program(), |p| p.overlay.locations[26] = Some(at("s1")));
    assert_eq!(memory[0], "b7, instruction 2: copies from one slot to another");
}

#[test]
fn malformed_overlays() {
    let short = broken(program(), |p| p.overlay.locations.truncate(3));
    assert_eq!(short, ["overlay: expected 28 locations of operands, found 3"]);
    let no_debug = broken(program(), |p| p.overlay.debug_locations.clear());
    assert_eq!(no_debug, ["overlay: expected 1 locations of debug uses, found 0"]);
    let nowhere = "names a register, slot, class or instruction that does not exist";
    assert_eq!(with_location(4, "s7"), format!("b0, instruction 2, operand 2: {nowhere}"));
    assert_eq!(with_edit(1, store("a", 9)), format!("b0, before instruction 3, store a to s9: {nowhere}"));
    let spilled =
        broken(program(), |p| p.function.insts[Inst::from_u32(2)].kind = InstKind::Inserted(Inserted::Store(Slot::from_u32(0))));
    assert_eq!(spilled, ["b0, instruction 2: the function checked is not the imported one"]);
}

/// Two values are stored, and an instruction reads one of them from its slot.
fn folding() -> Program {
    let foldable = |of: u32| Operand { foldable: true, ..usage(of) };
    let mut p = defined(&["a", "b"], &[GP; 3]);
    p.edit(0, 1, store("a", 0));
    p.edit(0, 1, store("b", 1));
    p.op(0, &[(foldable(0), "s0"), (foldable(1), "b"), (def(2), "a")]);
    p.assert_accepted();
    p
}

#[test]
fn a_folded_use_is_read_from_its_slot() {
    let inst = |what: &str| vec![format!("b0, instruction 1{what}")];
    let moved = broken(folding(), |p| p.overlay.locations[2] = Some(at("s1")));
    assert_eq!(moved, inst(", operand 0: expected v0 in s1, which holds v1"));
    let forgotten = broken(folding(), |p| {
        p.overlay.edits.remove(0);
    });
    assert_eq!(forgotten, inst(", operand 0: expected v0 in s0, which holds no value"));
    let narrow = broken(folding(), |p| p.overlay.slots[Slot::from_u32(0)].size = 4);
    assert_eq!(narrow.last(), inst(", operand 0: s0 is too small or not aligned for class gp").last());
    let both = broken(folding(), |p| p.overlay.locations[3] = Some(at("s1")));
    assert_eq!(both, inst(": accesses more than one slot"));
    let rigid = broken(folding(), |p| p.function.operands[2].foldable = false);
    assert_eq!(rigid, inst(", operand 0: is in s0, but the instruction cannot access a slot there"));
    let twice = broken(folding(), |p| {
        p.function.operands[3].value = value(0);
        p.overlay.locations[3] = Some(at("a"));
    });
    assert_eq!(twice, inst(", operand 0: is in s0, but the instruction also reads the value in another operand"));
    let defined = broken(folding(), |p| p.overlay.locations[4] = Some(at("s2")));
    assert_eq!(defined[0], inst(", operand 2: is in s2, but the instruction cannot access a slot there")[0]);
    assert_eq!(broken(folding(), |p| p.overlay.locations[2] = Some(at("a"))), [""; 0]);
}

/// A value is stored, and an instruction changes it in its slot.
fn updating() -> Program {
    let mut p = defined(&["a", "b"], &[GP; 4]);
    p.edit(0, 1, store("a", 0));
    p.edit(0, 1, store("b", 1));
    p.op(0, &[(Operand { foldable: true, ..reuse(2, 1) }, "s0"), (usage(0), "s0"), (usage(1), "b")]);
    p.op(0, &[(usage(2), "a")]);
    p.edit(0, 2, load("a", 0));
    p.assert_accepted();
    p
}

#[test]
fn a_value_is_changed_in_its_slot() {
    let inst = |what: &str| format!("b0, instruction 1{what}");
    let apart = broken(updating(), |p| p.overlay.locations[3] = Some(at("s1")));
    assert_eq!(apart[0], inst(", operand 0: is in s0, but the use that it overwrites is in s1"));
    assert_eq!(apart[1], inst(", operand 1: is in s1, but the instruction cannot access a slot there"));
    let rigid = broken(updating(), |p| p.function.operands[2].foldable = false);
    assert_eq!(rigid, [0, 1].map(|k| inst(&format!(", operand {k}: is in s0, but the instruction cannot access a slot there"))));
    let read = broken(updating(), |p| p.overlay.locations[3] = Some(at("a")));
    assert_eq!(read, [inst(", operand 0: is in s0, but the use that it overwrites is in a")]);
    let twice = broken(updating(), |p| {
        p.function.operands[4].value = value(0);
        p.overlay.locations[4] = Some(at("a"));
    });
    assert_eq!(twice, [inst(", operand 1: is in s0, but the instruction also reads the value in another operand")]);
    let third = broken(updating(), |p| {
        p.function.operands[4].foldable = true;
        p.overlay.locations[4] = Some(at("s1"));
    });
    assert_eq!(third, [inst(": accesses more than one slot")]);
    let old = broken(updating(), |p| p.function.operands[5].value = value(0));
    assert_eq!(old, ["b0, instruction 2, operand 0: expected v0 in a, which holds v2"]);
}

#[test]
fn slots_that_do_not_fit() {
    let unfit = |slot: u32, data| broken(program(), |p| p.overlay.slots[Slot::from_u32(slot)] = data).swap_remove(0);
    let small = SlotData { size: 4, align: 8 };
    let crooked = SlotData { size: 8, align: 4 };
    assert_eq!(unfit(0, small), "b0, before instruction 3, store a to s0: s0 is too small or not aligned for class gp");
    assert_eq!(unfit(2, crooked), "b7, instruction 1, operand 1: s2 is too small or not aligned for class gp");
}

#[test]
fn debug_locations() {
    let wrong = broken(program(), |p| p.overlay.debug_locations[0] = Some(at("c")));
    assert_eq!(wrong, ["b7, before instruction 0, variable v11: expected v11 in c, which holds no value"]);
    assert_eq!(broken(program(), |p| p.overlay.debug_locations[0] = None), [""; 0]);
}

#[test]
fn calls_clobber() {
    // The rematerialised constant is not there yet, and the old one no longer is.
    assert_eq!(with_location(12, "b"), "b3, instruction 0, operand 0: expected v1 in b, which holds no value");
    let clobbered = broken(program(), |p| {
        let sets = PinSets { clobbers: regs("abc"), ..PinSets::default() };
        pin(&mut p.function, Inst::from_u32(13), sets);
    });
    assert_eq!(clobbered, ["b5, instruction 2, operand 2: expected v5 in c, which holds no value"]);
}

#[test]
fn the_unwinder_writes_the_landing_pads_pins() {
    let overwritten = broken(program(), |p| p.function.blocks[block(5)].live_in_pins = regs("ac"));
    assert_eq!(overwritten, ["b5, instruction 2, operand 2: expected v5 in c, which holds no value"]);
}

#[test]
fn a_value_of_the_loops_last_round_is_stale() {
    // b1: v1 = φ(v0, v2); use v1; v2 = op. The back edge leaves v2 in the wrong register.
    let looping = |location: &str| {
        let mut p = Program::new(&[&[1], &[1, 2], &[]], &[GP; 3]);
        p.op(0, &[(def(0), "a")]);
        phi(&mut p.function, 1, 1, &[Some(0), Some(2)]);
        p.op(1, &[(usage(1), "a"), (def(2), location)]);
        p
    };
    looping("a").assert_accepted();
    let stale = ["b1, instruction 0, operand 0: expected v1 in a, which holds no value"];
    assert_eq!(looping("b").complaints(), stale);
    let mut stored = looping("b");
    stored.edit(1, 1, mov("a", "b", GP));
    stored.assert_accepted();
}

#[test]
fn an_undefined_argument_constrains_nothing() {
    // b1: v1 = φ(undefined, v1). Any register will do, a different one for each use.
    let mut p = Program::new(&[&[1], &[1, 2], &[]], &[GP; 2]);
    p.op(0, &[(def(0), "a")]);
    phi(&mut p.function, 1, 1, &[None, Some(1)]);
    p.op(1, &[(usage(1), "a"), (usage(0), "a"), (usage(1), "d")]);
    p.assert_accepted();
    p.function.blocks[block(1)].phis[0].args[0] = value(0).into();
    let defined = ["b1, instruction 0, operand 2: expected v1 in d, which holds no value"];
    assert_eq!(p.complaints(), defined);
}

#[test]
fn registers_that_the_program_keeps_something_in() {
    let kept = |edit: Option<Edit>, definition: &str| {
        let mut p = Program::new(&[&[]], &[GP; 2]);
        let constant = p.op(0, &[(def(0), "b")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        let writes = p.op(0, &[]);
        p.pin(writes, "", "a");
        edit.into_iter().for_each(|edit| p.edit(0, 2, edit));
        p.op(0, &[(def(1), definition)]);
        let reads = p.op(0, &[(usage(1), definition)]);
        p.pin(reads, "a", "");
        p.complaints()
    };
    assert_eq!(kept(Some(mov("c", "a", GP)), "d"), [""; 0]);
    assert_eq!(kept(None, "a"), ["b0, instruction 2, operand 0: overwrites a, in which the program keeps something"]);
    let constant = Inst::from_u32(0);
    let edits = [
        mov("a", "b", GP),
        load("a", 0),
        swap("a", "b", GP, SwapKind::Exchange),
        Edit::Rematerialise { to: reg("a"), inst: constant, from: None },
    ];
    for edit in edits {
        let complaints = kept(Some(edit), "d");
        assert!(complaints[0].ends_with("overwrites a, in which the program keeps something"), "{complaints:?}");
    }
}

#[test]
fn a_copy_from_a_kept_register_may_stay_in_it() {
    let mut p = Program::new(&[&[1], &[]], &[GP; 2]);
    p.function.blocks[block(0)].live_in_pins = regs("a");
    p.function.blocks[block(1)].live_in_pins = regs("a");
    p.copy(0, InstKind::CopyFrom(reg("a")), &[(def(0), "a")]);
    p.copy(0, InstKind::Copy, &[(usage(0), "a"), (def(1), "a")]);
    let reads = p.op(1, &[(usage(0), "a"), (usage(1), "a")]);
    p.pin(reads, "a", "");
    p.assert_accepted();
    p.overlay.locations[2] = Some(at("b"));
    p.overlay.locations[4] = Some(at("b"));
    p.assert_accepted();
    p.edit(0, 2, mov("a", "b", GP));
    assert_eq!(p.complaints(), ["b0, before instruction 2, move b to a: overwrites a, in which the program keeps something"]);
}

#[test]
fn pins_of_the_instruction_itself() {
    let overlap = |operand: Operand, sets: PinSets| {
        let mut p = defined(&[if operand.is_def() { "b" } else { "a" }], &[GP; 2]);
        let inst = p.op(0, &[(operand, "a")]);
        pin(&mut p.function, inst, sets);
        p.complaints()
    };
    let (none, a) = (PinSets::default(), regs("a"));
    let named = "b0, instruction 1, operand 0: is in a, which the instruction names itself";
    let early_write = "b0, instruction 1, operand 0: is in a, which the instruction writes before it has read all operands";
    assert_eq!(overlap(def(1), PinSets { defs: a, ..none }), [named]);
    assert_eq!(overlap(def(1), PinSets { early_defs: a, ..none }), [named]);
    assert_eq!(overlap(def(1), PinSets { clobbers: a, ..none }), [""; 0]);
    assert_eq!(overlap(early(1), PinSets { clobbers: a, ..none }), [named]);
    assert_eq!(overlap(early(1), PinSets { uses: a, ..none }), [named]);
    assert_eq!(overlap(def(1), PinSets { uses: a, ..none }), [""; 0]);
    assert_eq!(overlap(usage(0), PinSets { early_defs: a, ..none }), [early_write]);
    assert_eq!(overlap(usage(0), PinSets { defs: a, clobbers: a, ..none }), [""; 0]);
}

#[test]
fn definitions_of_one_instruction() {
    let shared = defined(&["a", "a"], &[GP; 2]);
    assert_eq!(shared.complaints(), ["b0, instruction 0, operand 1: is in a, as another definition is"]);
    let early_tied = |other: &str| {
        let mut p = defined(&["a", "b"], &[GP; 3]);
        p.op(0, &[(usage(0), "a"), (usage(1), other), (Operand { reuse: Some(0), ..early(2) }, "a")]);
        p.complaints()
    };
    assert_eq!(early_tied("b"), [""; 0]);
    let complaints = early_tied("a");
    assert!(complaints[1].ends_with("is in a, which the instruction writes before it has read all operands"), "{complaints:?}");
}

#[test]
fn status_registers() {
    // Flags are live between the instructions 1 and 2.
    let flags = |before: u32, edit: Edit| {
        let mut p = defined(&["a", "b"], &[GP; 3]);
        let sets = p.op(0, &[]);
        p.pin(sets, "", "f");
        let reads = p.op(0, &[(usage(0), "b"), (usage(1), "a")]);
        p.pin(reads, "f", "");
        let constant = p.op(0, &[(def(2), "d")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        p.pin(constant, "", "f");
        p.edit(0, before, edit);
        p.complaints()
    };
    let xor = swap("a", "b", GP, SwapKind::Xor);
    let what = "overwrites flags, in which the program keeps something";
    assert_eq!(flags(1, xor), [""; 0]);
    assert_eq!(flags(2, swap("a", "b", GP, SwapKind::Exchange)), [""; 0]);
    assert_eq!(flags(2, xor), [format!("b0, before instruction 2, swap a and b by Xor: {what}")]);
    let again = flags(2, Edit::Rematerialise { to: reg("c"), inst: Inst::from_u32(3), from: None });
    assert_eq!(again[0], format!("b0, before instruction 2, rematerialise c by i3: {what}"));
}

#[test]
fn vectors_swap_by_xor_only() {
    let swapped = |kind| {
        let mut p = defined(&["x", "y"], &[VEC; 2]);
        p.edit(0, 1, swap("x", "y", VEC, kind));
        p.op(0, &[(usage(0), "y"), (usage(1), "x")]);
        p.complaints()
    };
    assert_eq!(swapped(SwapKind::Xor), [""; 0]);
    let complaint = "b0, before instruction 1, swap x and y by Exchange: these registers cannot be swapped like this";
    assert_eq!(swapped(SwapKind::Exchange), [complaint]);
}

#[test]
fn no_register_swaps_with_itself() {
    let mut p = defined(&["a"], &[GP]);
    p.edit(0, 1, swap("a", "a", GP, SwapKind::Xor));
    let complaint = "b0, before instruction 1, swap a and a by Xor: these registers cannot be swapped like this";
    assert_eq!(p.complaints(), [complaint]);
}

#[test]
fn a_narrow_edit_does_not_carry_a_wide_value() {
    let moved = |value_class: u32, edit_class: u32| {
        let mut p = defined(&["x"], &[value_class]);
        p.edit(0, 1, mov("y", "x", edit_class));
        p.op(0, &[(usage(0), "y")]);
        p.complaints()
    };
    for (value_class, edit_class) in [(VEC, VEC), (HALF, HALF), (HALF, VEC)] {
        assert_eq!(moved(value_class, edit_class), [""; 0]);
    }
    assert_eq!(moved(VEC, HALF), ["b0, instruction 1, operand 0: expected v0 in y, which holds no value"]);
}

#[test]
fn a_copy_carries_the_names_that_fit() {
    let copied = |from: u32, to: u32| {
        let mut p = defined(&["x"], &[from, to]);
        p.copy(0, InstKind::Copy, &[(usage(0), "x"), (def(1), "y")]);
        p.op(0, &[(usage(0), "y"), (usage(1), "y")]);
        p.complaints()
    };
    assert_eq!(copied(VEC, VEC), [""; 0]);
    assert_eq!(copied(HALF, VEC), [""; 0]);
    assert_eq!(copied(VEC, HALF), ["b0, instruction 2, operand 0: expected v0 in y, which holds v1"]);
}

/// Any other register may receive only a part of the value.
#[test]
fn a_copy_to_a_pinned_register_leaves_the_value_that_is_there() {
    let mut p = defined(&["a"], &[GP; 2]);
    p.copy(0, InstKind::CopyTo(reg("a")), &[(usage(0), "a")]);
    p.pin(Inst::from_u32(1), "", "a");
    p.copy(0, InstKind::CopyTo(reg("b")), &[(usage(0), "a")]);
    let reads = p.op(0, &[(usage(0), "a")]);
    p.pin(reads, "ab", "");
    p.assert_accepted();
    p.overlay.locations[3] = Some(at("b"));
    assert_eq!(p.complaints()[0], "b0, instruction 3, operand 0: expected v0 in b, which holds no value");
    p.overlay.locations[1] = Some(at("c"));
    assert_eq!(p.complaints()[0], "b0, instruction 1, operand 0: expected v0 in c, which holds no value");
}

/// v1 is computed from v0 and v2 later than where its instruction stands: after the next one, which reads v0.
fn performed() -> Program {
    let mut p = defined(&["a", "c"], &[GP; 3]);
    let moved = p.op(0, &[(Operand { reuse_none: true, ..reuse(2, 1) }, "a"), (usage(0), "a"), (usage(1), "c")]);
    p.pin(moved, "", "f");
    p.function.insts[moved].flags.insert(InstFlags::MOVABLE);
    p.overlay.dropped = vec![moved];
    p.op(0, &[(usage(0), "a")]);
    p.edit(0, 3, Edit::Perform { inst: moved, flagless: false });
    p.op(0, &[(usage(2), "a")]);
    p
}

#[test]
fn an_instruction_is_performed_once_in_its_block() {
    performed().assert_accepted();
    let moved = Inst::from_u32(1);
    let again = |b: usize, index: u32| {
        let mut p = performed();
        p.edit(b, index, Edit::Perform { inst: moved, flagless: false });
        p.complaints()
    };
    let not_once = "b0, instruction 1: i1 cannot be executed here, once, instead of where it stands";
    assert_eq!(again(0, 3)[0], not_once);
    let mut early = performed();
    early.overlay.edits[0].0 = point(0, 1);
    assert_eq!(early.complaints()[0], "b0, instruction 2, operand 0: expected v0 in a, which holds v2");
    let mut never = performed();
    never.overlay.edits.clear();
    assert_eq!(never.complaints()[0], not_once);
    let mut fixed = performed();
    fixed.function.insts[moved].flags.remove(InstFlags::MOVABLE);
    assert_eq!(fixed.complaints()[0], not_once);
}

/// v3 is computed from v2, a dropped copy of v1, before an instruction that stands in front of the copy.
#[test]
fn an_instruction_is_performed_further_up() {
    let performed_at = |index: u32| {
        let mut p = defined(&["a", "c"], &[GP; 4]);
        p.op(0, &[(usage(0), "a")]);
        let copy = p.copy(0, InstKind::Copy, &[(def(2), "c"), (usage(1), "c")]);
        let moved = p.op(0, &[(def(3), "b"), (usage(2), "c")]);
        p.function.insts[moved].flags.insert(InstFlags::MOVABLE);
        p.overlay.dropped = vec![copy, moved];
        p.overlay.locations[3..5].fill(None);
        p.edit(0, index, Edit::Perform { inst: moved, flagless: false });
        p.op(0, &[(usage(3), "b"), (usage(2), "c")]);
        p.complaints()
    };
    assert_eq!([1, 2, 3, 4].map(performed_at), [[""; 0]; 4]);
    assert_eq!(performed_at(0)[0], "b0, instruction 0, operand 1: expected v2 in c, which holds no value");
}

/// v0 and v1 are recorded where they are: in memory and in a register.
#[test]
fn what_is_recorded_stays_where_it_is() {
    let recorded = |edit: Option<(u32, Edit)>| {
        let mut p = defined(&["a", "b"], &[GP; 2]);
        p.edit(0, 1, store("a", 0));
        for (v, place) in [(0, "s0"), (1, "b")] {
            let inst = p.op(0, &[(Operand { foldable: true, ..usage(v) }, place)]);
            p.function.insts[inst].flags.insert(InstFlags::RECORDED);
        }
        p.op(0, &[]);
        edit.into_iter().for_each(|(index, edit)| p.edit(0, index, edit));
        p.complaints()
    };
    assert_eq!(recorded(None), [""; 0]);
    assert_eq!(recorded(Some((2, load("c", 0)))), [""; 0], "it is in a and c");
    let displaced = |at: u32| {
        format!("b0, instruction {at}, operand 0: where the operand is, something else is written before that is recorded")
    };
    assert_eq!(recorded(Some((3, load("b", 0)))), [displaced(2)]);
    assert_eq!(recorded(Some((2, store("b", 0)))), [displaced(1)]);
    assert_eq!(recorded(Some((4, load("b", 0)))), [""; 0], "it has been recorded");
}

/// v0 is of a bank whose registers take part in moves to and from the one beside it, but hold it nowhere else.
#[test]
fn a_value_waits_in_a_register_of_the_bank_beside() {
    let waiting = |is_beside: bool, read_in: &str| {
        let mut p = defined(&["x"], &[HALF]);
        let mut file = file();
        file.banks[Bank::from_u32(1)].beside = is_beside.then(|| Bank::from_u32(0));
        p.function.file = file.into();
        p.edit(0, 1, mov("a", "x", HALF));
        p.op(0, &[]);
        p.edit(0, 2, mov("y", "a", HALF));
        p.op(0, &[(usage(0), read_in)]);
        p.complaints()
    };
    assert_eq!(waiting(true, "y"), [""; 0]);
    assert_eq!(waiting(false, "y")[0], "b0, before instruction 1, move x to a: a is not in class half");
    assert_eq!(waiting(true, "a")[0], "b0, instruction 2, operand 0: a is not in class half");
}

/// Any instruction in between may write what has been read, and so may the last of them.
#[test]
fn an_instruction_that_reads_memory_is_not_performed_past_a_write() {
    let passing = |reads: bool, writes: u32| {
        let mut p = performed();
        p.function.insts[Inst::from_u32(1)].flags.set(InstFlags::READS, reads);
        p.function.insts[Inst::from_u32(writes)].flags.insert(InstFlags::WRITES);
        p.complaints()
    };
    assert_eq!(passing(true, 2), ["b0, instruction 1: i1 cannot be executed here, once, instead of where it stands"]);
    assert_eq!(passing(false, 2), [""; 0]);
    assert_eq!([0, 3].map(|writes| passing(true, writes)), [[""; 0]; 2]);
}

#[test]
fn a_performed_instruction_accesses_one_slot() {
    let at_two = |second: &str| {
        let mut p = defined(&["a", "b"], &[GP; 3]);
        p.edit(0, 1, store("a", 0));
        p.edit(0, 1, store("b", 1));
        let moved = p.op(0, &[(Operand { foldable: true, ..reuse(2, 1) }, "s0"), (usage(0), "s0"), (usage(1), second)]);
        p.function.operands[4].foldable = true;
        p.function.insts[moved].flags.insert(InstFlags::MOVABLE);
        p.overlay.dropped = vec![moved];
        p.op(0, &[]);
        p.edit(0, 3, Edit::Perform { inst: moved, flagless: false });
        p.edit(0, 3, load("a", 0));
        p.op(0, &[(usage(2), "a")]);
        p.complaints()
    };
    assert_eq!(at_two("b"), [""; 0]);
    assert_eq!(at_two("s1"), ["b0, instruction 3: accesses more than one slot"]);
}

/// Where flags are live, a form of the instruction is needed that writes none. It has all operands in registers.
#[test]
fn a_flagless_form_has_its_operands_in_registers() {
    let with_flags_after = |flagless: bool, location: &str| {
        let mut p = defined(&["a", "c"], &[GP; 3]);
        let moved = p.op(0, &[(Operand { reuse_none: true, ..reuse(2, 1) }, "a"), (usage(0), "a"), (usage(1), location)]);
        p.function.operands[4].foldable = true;
        p.pin(moved, "", "f");
        p.function.insts[moved].flags.insert(InstFlags::MOVABLE);
        p.overlay.dropped = vec![moved];
        p.edit(0, 1, store("c", 0));
        let compares = p.op(0, &[(usage(0), "a")]);
        p.pin(compares, "", "f");
        p.edit(0, 3, Edit::Perform { inst: moved, flagless });
        let jumps = p.op(0, &[(usage(2), "a")]);
        p.pin(jumps, "f", "");
        p.complaints()
    };
    assert_eq!(with_flags_after(true, "c"), [""; 0]);
    assert_eq!(
        with_flags_after(true, "s0"),
        ["b0, before instruction 3, perform i1: i1 cannot be executed here, once, instead of where it stands"]
    );
    assert_eq!(
        with_flags_after(false, "c"),
        ["b0, before instruction 3, perform i1: overwrites flags, in which the program keeps something"]
    );
}

#[test]
fn a_dropped_copy_is_wherever_its_source_is() {
    let read = |source: u32, copy: u32, flags: InstFlags| {
        let mut p = defined(&["x"], &[source, copy]);
        let inst = Inst::from_u32(1);
        p.copy(0, InstKind::Copy, &[(def(1), "x"), (usage(0), "x")]);
        p.function.insts[inst].flags |= flags;
        p.overlay.dropped = vec![inst];
        p.function.insts[inst].operands.clone().for_each(|operand| p.overlay.locations[operand as usize] = None);
        p.op(0, &[(usage(0), "x"), (usage(1), "x")]);
        p.complaints()
    };
    assert_eq!(read(VEC, VEC, InstFlags::empty()), [""; 0]);
    assert_eq!(read(VEC, HALF, InstFlags::empty()), [""; 0]);
    assert_eq!(read(HALF, VEC, InstFlags::WIDENS), [""; 0]);
    // What is above a narrower source may be missing where it is held.
    assert_eq!(read(HALF, VEC, InstFlags::empty())[0], "b0, instruction 1: i1 cannot be executed again");
}

#[test]
fn what_is_above_an_extension_is_not_what_is_above_the_number() {
    // v1 extends v0 and takes its register, from which v2 is copied, which relies on what was above v0, or does not.
    let copied = |flags: InstFlags| {
        let mut p = defined(&["x"], &[HALF, VEC, VEC]);
        let extension = p.op(0, &[(def(1), "x"), (usage(0), "x")]);
        p.function.insts[extension].flags.insert(InstFlags::EXTENDS);
        let copy = p.copy(0, InstKind::Copy, &[(def(2), "x"), (usage(0), "x")]);
        p.function.insts[copy].flags |= flags;
        p.op(0, &[(usage(2), "x")]);
        p.complaints()
    };
    assert_eq!(copied(InstFlags::WIDENS), [""; 0]);
    assert_eq!(copied(InstFlags::empty()), ["b0, instruction 2, operand 1: expected v0 in x, which holds v1"]);
}

#[test]
fn rematerialising_writes_what_the_instruction_names() {
    let moved_to = |location: &str| {
        let mut p = defined(&["a"], &[GP; 2]);
        let constant = p.op(0, &[(def(1), "b")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        p.pin(constant, "", "d");
        p.edit(0, 2, mov(location, "a", GP));
        p.edit(0, 2, Edit::Rematerialise { to: reg("b"), inst: constant, from: None });
        p.op(0, &[(usage(0), location), (usage(1), "b")]);
        p.complaints()
    };
    assert_eq!(moved_to("c"), [""; 0]);
    assert_eq!(moved_to("d"), ["b0, instruction 2, operand 0: expected v0 in d, which holds no value"]);
}

/// The value is recomputed from where the value that it reads is, and only after the definition, whether that is executed or
/// dropped.
#[test]
fn a_value_is_recomputed_from_the_value_that_was_read() {
    let computed = |from: &str, index: u32, is_dropped: bool| {
        let mut p = defined(&["a"], &[GP; 2]);
        let inst = p.op(0, &[(def(1), "b"), (usage(0), "a")]);
        p.function.insts[inst].flags.insert(InstFlags::RECOMPUTABLE);
        if is_dropped {
            p.overlay.dropped.push(inst);
            p.overlay.locations[1..].fill(None);
        }
        p.edit(0, index, Edit::Rematerialise { to: reg("c"), inst, from: Some(reg(from)) });
        p.op(0, &[(usage(1), "c")]);
        p.complaints()
    };
    let missing = ["b0, instruction 2, operand 0: expected v1 in c, which holds no value"];
    for is_dropped in [false, true] {
        assert_eq!(computed("a", 2, is_dropped), [""; 0]);
        assert_eq!(computed("b", 2, is_dropped), missing);
        assert_eq!(computed("a", 1, is_dropped), missing);
        let outside = "b0, before instruction 2, rematerialise c by i1 from x: x is not in class gp";
        assert_eq!(computed("x", 2, is_dropped)[0], outside);
    }
}

/// The place of the value that a recomputation reads is known even if nothing else needs it.
#[test]
fn a_recomputation_keeps_track_of_the_value_it_reads() {
    let computed = |recomputable: bool, written: &str| {
        let mut p = Program::new(&[&[1], &[]], &[GP; 3]);
        p.op(0, &[(def(0), "a")]);
        let inst = p.op(0, &[(def(1), "b"), (usage(0), "a")]);
        p.function.insts[inst].flags.set(InstFlags::RECOMPUTABLE, recomputable);
        p.op(1, &[(def(2), written)]);
        p.edit(1, 1, Edit::Rematerialise { to: reg("c"), inst, from: Some(reg("a")) });
        p.op(1, &[(usage(1), "c")]);
        p.complaints()
    };
    assert_eq!(computed(true, "b"), [""; 0]);
    assert_eq!(computed(true, "a"), ["b1, instruction 1, operand 0: expected v1 in c, which holds no value"]);
    assert_eq!(computed(false, "b")[0], "b1, before instruction 1, rematerialise c by i1 from a: i1 cannot be executed again");
}

/// A constant may be written straight to memory if it is marked as storable, and only to a slot of its width.
#[test]
fn a_stored_constant_is_in_its_slot() {
    let stored = |storable: bool, slot: u32| {
        let mut p = Program::new(&[&[]], &[GP, GP]);
        let constant = p.op(0, &[(def(0), "a")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        p.function.insts[constant].flags.set(InstFlags::STORABLE, storable);
        p.op(0, &[(def(1), "a")]);
        p.edit(0, 2, Edit::StoreConstant { to: Slot::from_u32(slot), inst: constant });
        p.edit(0, 2, load("b", 0));
        p.op(0, &[(usage(0), "b"), (usage(1), "a")]);
        p.complaints()
    };
    assert_eq!(stored(true, 0), [""; 0]);
    assert_eq!(
        stored(false, 0),
        ["b0, before instruction 2, store what i0 computes to s0: what i0 computes cannot be written to memory at once"]
    );
    assert_eq!(stored(true, 1), ["b0, instruction 2, operand 0: expected v0 in b, which holds no value"]);
}

/// A value that is in memory anyway may be read there by foldable uses; nothing else may access it.
#[test]
fn a_given_value_is_read_in_place() {
    let read = |given: bool, foldable: bool, spoil: fn(&mut Program)| {
        let mut p = Program::new(&[&[]], &[GP, GP]);
        let constant = p.op(0, &[(def(0), "a")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        p.function.insts[constant].flags.set(InstFlags::GIVEN, given);
        p.op(0, &[(def(1), "b")]);
        p.overlay.given[Slot::from_u32(0)] = constant.into();
        p.op(0, &[(Operand { foldable, ..usage(0) }, "s0"), (usage(1), "b")]);
        spoil(&mut p);
        p.complaints()
    };
    let read_only = "accesses s0, which can only be read, and in place of a register";
    assert_eq!(read(true, true, |_| ()), [""; 0]);
    assert_eq!(read(false, true, |_| ()), ["overlay: what i0 computes cannot be read from memory"]);
    assert_eq!(read(true, false, |_| ()), [format!("b0, instruction 2, operand 0: {read_only}")]);
    let another = read(true, true, |p| p.function.operands[2].value = value(1));
    assert!(another[0].contains("expected v1 in s0, which holds v0"), "{another:?}");
    let written = read(true, true, |p| p.edit(0, 2, store("b", 0)));
    assert!(written[0].contains(read_only), "{written:?}");
    let small = read(true, true, |p| p.overlay.slots[Slot::from_u32(0)].size = 4);
    assert!(small[0].contains("s0 is too small"), "{small:?}");
}

/// Right before a copy to a register of the program, a constant may be computed there, whether or not the register is in its
/// class.
#[test]
fn a_constant_is_computed_where_the_program_copies_it_to() {
    let computed = |index: u32, location: &str| {
        let mut p = Program::new(&[&[]], &[GP]);
        std::sync::Arc::make_mut(&mut p.function.file).classes[RegClass::from_u32(GP)].regs = regs("abc");
        let constant = p.op(0, &[(def(0), "a")]);
        p.function.insts[constant].flags.insert(InstFlags::REMATERIALISABLE);
        p.edit(0, index, Edit::Rematerialise { to: reg(location), inst: constant, from: None });
        p.op(0, &[]);
        p.copy(0, InstKind::CopyTo(reg(location)), &[(usage(0), location)]);
        p.pin(Inst::from_u32(2), "", location);
        let reads = p.op(0, &[]);
        p.pin(reads, location, "");
        p.complaints()
    };
    assert_eq!(computed(2, "d"), [""; 0]);
    assert_eq!(computed(1, "d"), ["b0, before instruction 1, rematerialise d by i0: d is not in class gp"]);
    assert_eq!(computed(2, "x")[0], "b0, before instruction 2, rematerialise x by i0: i0 cannot be executed again");
}

#[test]
fn a_definition_ends_older_copies() {
    let mut p = defined(&["a"], &[GP]);
    p.function.insts[Inst::from_u32(0)].flags.insert(InstFlags::REMATERIALISABLE);
    p.edit(0, 0, Edit::Rematerialise { to: reg("b"), inst: Inst::from_u32(0), from: None });
    p.op(0, &[(usage(0), "b")]);
    assert_eq!(p.complaints(), ["b0, instruction 1, operand 0: expected v0 in b, which holds no value"]);
}

#[test]
fn a_join_needs_the_value_in_one_place() {
    let joined = |args: [Option<u32>; 2], locations: [&str; 2]| {
        let mut p = Program::new(&[&[1, 2], &[3], &[3], &[]], &[GP; 3]);
        p.op(1, &[(def(0), locations[0])]);
        p.op(2, &[(def(1), locations[1])]);
        phi(&mut p.function, 3, 2, &args);
        p.op(3, &[(usage(2), "a")]);
        p.complaints()
    };
    let missing = ["b3, instruction 0, operand 0: expected v2 in a, which holds no value"];
    assert_eq!(joined([Some(0), Some(1)], ["a", "a"]), [""; 0]);
    assert_eq!(joined([Some(0), Some(1)], ["a", "b"]), missing);
    assert_eq!(joined([Some(0), None], ["a", "b"]), [""; 0]);
    assert_eq!(joined([None, Some(1)], ["b", "a"]), [""; 0]);
    assert_eq!(joined([None, Some(1)], ["a", "b"]), missing);
    assert_eq!(joined([Some(0), None], ["b", "a"]), missing);
}
