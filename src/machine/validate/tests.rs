use super::*;
use crate::machine::{DebugUse, InstFlags, Operand, Point, Slot, parse};
use cranelift_entity::EntityRef;
use std::sync::Arc;

const GOOD: &str = "\
target tiny
function good
undefined v12:w
b0: live=a -> b1
  op label
  v0:w = copy-from(a)
  v1:n v2:w(early) = op v0
  v3:x = op rematerialisable
  debug v0
b1: -> b1 b2 b4
  v4:w = phi b0:v0 b1:v5
  v5:w(reuse=1) = op v4 v2
  copy-to(a) v5
  v6:w = op v1 uses=a clobbers=a,b,flags throws
  v7:w = copy v6
  op v7 terminator
  op terminator
b2: landing-pad
  v8:w = load(s0) origin=none
  store(s0) v8 origin=none
  v9:x = rematerialise(i3) origin=none
  debug v9
b3:
  v10:w = phi b4:undef
  v11:w v13:w = op v0 v10
b4: on-edge -> b3
";

fn good() -> Function {
    parse(GOOD).unwrap()
}

fn b(index: usize) -> Block {
    Block::new(index)
}

fn i(index: usize) -> Inst {
    Inst::new(index)
}

fn v(index: usize) -> Value {
    Value::new(index)
}

fn operand(function: &mut Function, inst: usize, index: usize) -> &mut Operand {
    let start = function.insts[i(inst)].operands.start as usize;
    &mut function.operands[start + index]
}

/// Expects this violation, possibly among others, after a change to the good function.
#[track_caller]
fn broken(place: Place, rule: Rule, change: impl FnOnce(&mut Function)) {
    let mut function = good();
    change(&mut function);
    let found = validate(&function).expect_err("the change breaks a rule");
    assert!(found.contains(&Violation { place, rule }), "{found:#?}");
}

#[test]
fn the_good_function_is_good() {
    validate(&good()).unwrap();
}

#[test]
fn violations_say_where_and_what() {
    let inst = Violation { place: Place::Inst(b(1), i(5)), rule: Rule::Operands("copy") };
    assert_eq!(inst.to_string(), "b1, i5: a copy does not have the operands of one");
    let block = Violation { place: Place::Block(b(2)), rule: Rule::EdgeWithoutPred(b(3)) };
    assert_eq!(block.to_string(), "b2: the edge to b3 is not among the target's predecessors");
}

#[test]
fn register_file() {
    let change = |edit: fn(&mut RegisterFile)| move |f: &mut Function| edit(Arc::make_mut(&mut f.file));
    let registers = || Rule::ClassRegisters("w".to_string());
    broken(Place::File, registers(), change(|file| file.classes[RegClass::new(0)].order.push(Reg::new(0))));
    broken(Place::File, registers(), change(|file| file.classes[RegClass::new(0)].order.truncate(1)));
    broken(Place::File, registers(), change(|file| file.regs[0].bank = None));
    broken(Place::File, registers(), change(|file| file.excluded.insert(Reg::new(4))));
    broken(Place::File, Rule::SlotSize("w".to_string()), change(|file| file.classes[RegClass::new(0)].slot_size = 0));
    let memory = Rule::MemoryForm("g".to_string(), 1);
    broken(Place::File, memory, change(|file| file.banks[Bank::new(0)].swap = SwapSupport::Never));
    broken(Place::File, Rule::StatusBank("a".to_string()), change(|file| file.status.insert(Reg::new(0))));
    broken(Place::File, Rule::Missing("register r99".to_string()), change(|file| file.callee_saved.insert(Reg::new(99))));
}

#[test]
fn numbers_exist() {
    let missing = |name: &str| Rule::Missing(name.to_string());
    broken(Place::Function, Rule::NoEntry, |f| f.blocks.clear());
    broken(Place::Block(b(1)), missing("b9"), |f| f.blocks[b(1)].succs.push(b(9)));
    broken(Place::Function, missing("v99"), |f| operand(f, 2, 0).value = v(99));
    broken(Place::Function, missing("v99"), |f| f.debug_uses[0].value = v(99));
    broken(Place::Block(b(1)), missing("v99"), |f| f.blocks[b(1)].phis[0].args[1] = v(99).into());
    broken(Place::Block(b(1)), missing("v99"), |f| f.blocks[b(1)].phis[0].def = v(99));
    broken(Place::Function, missing("the class of v12"), |f| f.values[v(12)] = RegClass::new(9).into());
    broken(Place::Function, missing("the pin set of i0"), |f| f.insts[i(0)].pins = crate::machine::Pins::new(9));
    broken(Place::Function, missing("register r99"), |f| f.insts[i(1)].kind = InstKind::CopyFrom(Reg::new(99)));
    broken(Place::Block(b(0)), missing("register r99"), |f| f.blocks[b(0)].live_in_pins.insert(Reg::new(99)));
    broken(Place::Function, missing("register r99"), |f| {
        Arc::make_mut(&mut f.pins).values_mut().for_each(|p| p.clobbers.insert(Reg::new(99)))
    });
}

#[test]
fn ranges_partition() {
    broken(Place::Block(b(1)), Rule::InstRange(3), |f| f.blocks[b(0)].insts.end -= 1);
    broken(Place::Block(b(2)), Rule::InstRange(10), |f| f.blocks[b(2)].insts.end = 99);
    broken(Place::Function, Rule::InstOutside(14), |f| {
        f.insts.push(f.insts[i(0)].clone());
    });
    broken(Place::Function, Rule::OperandRange(i(2)), |f| f.insts[i(2)].operands = 0..2);
    broken(Place::Function, Rule::OperandRange(i(2)), |f| f.insts[i(2)].operands = 98..99);
    broken(Place::Function, Rule::PinsNotInterned, |f| {
        Arc::make_mut(&mut f.pins).push(PinSets::default());
    });
    broken(Place::Function, Rule::PinsNotInterned, |f| {
        Arc::make_mut(&mut f.pins).values_mut().next().expect("there is one").uses.insert(Reg::new(5));
    });
}

#[test]
fn edges_mirror() {
    broken(Place::Block(b(0)), Rule::EntryHasPreds, |f| f.blocks[b(0)].preds.push(b(1)));
    broken(Place::Block(b(1)), Rule::NeighbourTwice(b(4)), |f| f.blocks[b(1)].succs.push(b(4)));
    broken(Place::Block(b(3)), Rule::NeighbourTwice(b(4)), |f| f.blocks[b(3)].preds.push(b(4)));
    broken(Place::Block(b(2)), Rule::EdgeWithoutPred(b(3)), |f| f.blocks[b(2)].succs.push(b(3)));
    broken(Place::Block(b(2)), Rule::EdgeWithoutSucc(b(3)), |f| f.blocks[b(2)].preds.push(b(3)));
    broken(Place::Block(b(3)), Rule::OnEdge, |f| f.blocks[b(3)].on_edge = true);
    broken(Place::Block(b(0)), Rule::OnEdge, |f| f.blocks[b(0)].on_edge = true);
    broken(Place::Block(b(2)), Rule::Frequency(-1.0), |f| f.blocks[b(2)].frequency = -1.0);
    broken(Place::Block(b(2)), Rule::Frequency(f64::INFINITY), |f| f.blocks[b(2)].frequency = f64::INFINITY);
}

#[test]
fn landing_pads_are_thrown_to() {
    broken(Place::Block(b(1)), Rule::ThrowsElsewhere(i(2)), |f| f.blocks[b(1)].throws = i(2).into());
    broken(Place::Block(b(1)), Rule::NothingThrows, |f| f.blocks[b(1)].throws = None.into());
    broken(Place::Block(b(1)), Rule::ThrowsNowhere, |f| f.blocks[b(2)].landing_pad = false);
    let live_in_c = |f: &mut Function| f.blocks[b(2)].live_in_pins = RegSet::only(Reg::new(2));
    broken(Place::Block(b(1)), Rule::LiveInPad(i(6)), live_in_c);
}

#[test]
fn terminators_end_and_labels_begin() {
    broken(Place::Inst(b(1), i(6)), Rule::TerminatorInside, |f| f.insts[i(6)].flags.insert(InstFlags::TERMINATOR));
    broken(Place::Inst(b(0), i(2)), Rule::LabelInside, |f| f.insts[i(2)].flags.insert(InstFlags::LABEL));
    broken(Place::Inst(b(0), i(1)), Rule::LabelAccesses, |f| f.insts[i(1)].flags.insert(InstFlags::LABEL));
}

#[test]
fn reuses_name_uses() {
    broken(Place::Inst(b(1), i(4)), Rule::Reuse(0), |f| operand(f, 4, 0).reuse = Some(0));
    broken(Place::Inst(b(1), i(4)), Rule::Reuse(0), |f| operand(f, 4, 0).reuse = Some(3));
    broken(Place::Inst(b(1), i(4)), Rule::Reuse(1), |f| operand(f, 4, 1).reuse = Some(2));
    broken(Place::Inst(b(1), i(4)), Rule::Reuse(0), |f| f.values[v(4)].class = RegClass::new(2));
    broken(Place::Inst(b(3), i(13)), Rule::ReuseTwice(1), |f| {
        operand(f, 13, 0).reuse = Some(2);
        operand(f, 13, 1).reuse = Some(2);
    });
    broken(Place::Inst(b(3), i(13)), Rule::ReadWhileOverwritten(0), |f| {
        operand(f, 13, 0).role = Role::EarlyDef;
        operand(f, 13, 0).reuse = Some(2);
        operand(f, 13, 3).value = v(0);
    });
}

#[test]
fn uses_and_definitions_that_overwrite_may_be_foldable() {
    let at = |inst| Place::Inst(b(1), i(inst));
    let mut function = good();
    (0..3).for_each(|k| operand(&mut function, 4, k).foldable = true);
    validate(&function).unwrap();
    broken(at(6), Rule::Foldable(0), |f| operand(f, 6, 0).foldable = true);
    broken(at(7), Rule::Foldable(1), |f| operand(f, 7, 1).foldable = true);
}

#[test]
fn kinds_have_their_operands() {
    let at = |inst| Place::Inst(b(1), i(inst));
    broken(at(4), Rule::Operands("copy"), |f| f.insts[i(4)].kind = InstKind::Copy);
    broken(at(7), Rule::Operands("copy"), |f| f.values[v(7)].class = RegClass::new(2));
    broken(at(7), Rule::Operands("copy"), |f| {
        let def = f.insts[i(7)].operands.start as usize;
        f.operands[def].reuse = Some(1);
    });
    broken(at(7), Rule::Operands("copy-to"), |f| f.insts[i(7)].kind = InstKind::CopyTo(Reg::new(0)));
    broken(at(5), Rule::Operands("copy-from"), |f| f.insts[i(5)].kind = InstKind::CopyFrom(Reg::new(0)));
    broken(at(5), Rule::CopyWithoutPin, |f| f.insts[i(5)].kind = InstKind::CopyTo(Reg::new(1)));
    broken(Place::Inst(b(0), i(1)), Rule::CopyWithoutPin, |f| f.insts[i(1)].kind = InstKind::CopyFrom(Reg::new(1)));
    broken(Place::Inst(b(2), i(11)), Rule::Operands("load"), |f| {
        f.insts[i(11)].kind = InstKind::Inserted(Inserted::Load(Slot::new(0)))
    });
    broken(Place::Inst(b(2), i(10)), Rule::Operands("store"), |f| {
        f.insts[i(10)].kind = InstKind::Inserted(Inserted::Store(Slot::new(0)))
    });
    broken(Place::Inst(b(2), i(11)), Rule::Operands("rematerialise"), |f| {
        f.insts[i(11)].kind = InstKind::Inserted(Inserted::Rematerialise(i(0)))
    });
    broken(Place::Inst(b(2), i(11)), Rule::Operands("parallel"), |f| {
        f.insts[i(11)].kind = InstKind::Inserted(Inserted::Parallel)
    });
    broken(at(4), Rule::Operands("rematerialisable instruction"), |f| f.insts[i(4)].flags.insert(InstFlags::REMATERIALISABLE));
}

#[test]
fn phis_have_a_column_a_predecessor() {
    broken(Place::Block(b(1)), Rule::PhiColumns(v(4)), |f| {
        f.blocks[b(1)].phis[0].args.pop();
    });
    broken(Place::Block(b(1)), Rule::PhiBank(v(4)), |f| f.blocks[b(1)].phis[0].args[1] = v(3).into());
}

#[test]
fn values_are_defined_once_and_before() {
    broken(Place::Inst(b(1), i(4)), Rule::DefinedTwice(v(4)), |f| operand(f, 4, 0).value = v(4));
    broken(Place::Inst(b(0), i(2)), Rule::NotDefined(v(12)), |f| operand(f, 2, 2).value = v(12));
    broken(Place::Block(b(0)), Rule::NotDefined(v(12)), |f| f.debug_uses[0].value = v(12));
    broken(Place::Block(b(1)), Rule::NotDefined(v(12)), |f| f.blocks[b(1)].phis[0].args[1] = v(12).into());
    broken(Place::Inst(b(1), i(4)), Rule::NotDominated(v(5)), |f| operand(f, 4, 2).value = v(5));
    broken(Place::Inst(b(1), i(4)), Rule::NotDominated(v(7)), |f| operand(f, 4, 2).value = v(7));
    broken(Place::Inst(b(3), i(13)), Rule::NotDominated(v(8)), |f| operand(f, 13, 2).value = v(8));
    broken(Place::Block(b(1)), Rule::NotDominated(v(5)), |f| f.blocks[b(1)].phis[0].args[0] = v(5).into());
}

#[test]
fn definitions_after_a_throw_do_not_reach_the_landing_pad() {
    for (value, reaches) in [(5, true), (6, false), (7, false)] {
        let mut function = good();
        operand(&mut function, 11, 0).value = v(value);
        assert_eq!(validate(&function).is_ok(), reaches, "v{value}");
    }
}

#[test]
fn every_block_can_be_reached() {
    let function = parse("target tiny\nfunction f\nb0:\n  op terminator\nb1:\n  op terminator\n").unwrap();
    assert_eq!(validate(&function), Err(vec![Violation { place: Place::Block(b(1)), rule: Rule::Unreachable }]));
}

#[test]
fn debug_uses_are_in_order() {
    let at = |block, index| Point { block: b(block), index };
    broken(Place::Block(b(2)), Rule::DebugPoint(v(9)), |f| f.debug_uses[1].at = at(2, 4));
    broken(Place::Block(b(9)), Rule::DebugPoint(v(9)), |f| f.debug_uses[1].at = at(9, 0));
    broken(Place::Block(b(0)), Rule::DebugOrder(v(0)), |f| f.debug_uses.push(DebugUse { value: v(0), at: at(0, 0) }));
}

#[test]
fn what_may_move_or_be_repeated_writes_no_memory() {
    broken(Place::Inst(b(0), i(3)), Rule::MovableConstant, |f| f.insts[i(3)].flags.insert(InstFlags::MOVABLE));
    broken(Place::Inst(b(0), i(3)), Rule::RepeatableWriter, |f| f.insts[i(3)].flags.insert(InstFlags::WRITES));
    broken(Place::Inst(b(0), i(2)), Rule::MovableWriter, |f| f.insts[i(2)].flags.insert(InstFlags::MOVABLE | InstFlags::WRITES));
}
