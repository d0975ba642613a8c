//! Random functions have the features that functions of real programs have.
//!
//! The programs in `testdata/programs` go through LLVM's instruction selection. The functions that arrive at the allocator
//! are compared with random functions by a list of features; `cargo test coverage -- --nocapture` prints how many functions
//! have each.
//!
//! Environment: `CHORDAL_CENSUS` (every program is compiled in all ways instead of one).

use crate::support::programs::{Program, programs};
use crate::support::random::{jumping, random_function, shapes};
use crate::support::reach::reached;
use chordal::allocate::failure::{Failure, Unsupported};
use chordal::allocate::pipeline::{Allocate, Report};
use chordal::analysis::GraphSizes;
use chordal::llvm::{Allocator, CompileOptions, Module, Ours, Output, Pace, Relocation, Sections, Source, Tables, compile};
use chordal::machine::{
    Block, BlockData, ClassInfo, Function, Goal, Inst, InstData, InstFlags, InstKind, Operand, Overlay, Phi, PinSets, Reg,
    RegClass, Role, SwapSupport, Value,
};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;

/// Whether a function has a feature.
type Feature = fn(&Function) -> bool;

/// The flags; every program is compiled with one of these, in turn.
const FLAGS: &[&str] = &["-O2", "-m32 -O2", "-O0 -Xclang -disable-O0-optnone", "-O3 -g", "-m32 -O1 -g", "-Os"];

fn inst(function: &Function, holds: impl Fn(&InstData, &[Operand], &PinSets) -> bool) -> bool {
    function.insts.iter().any(|(inst, data)| holds(data, function.operands(inst), function.pins(inst)))
}

/// Whether some instruction other than a copy has such operands.
fn op(function: &Function, holds: impl Fn(&[Operand]) -> bool) -> bool {
    inst(function, |data, operands, _| data.kind == InstKind::Op && holds(operands))
}

/// Whether some terminator has such operands and registers.
fn terminator(function: &Function, holds: impl Fn(&[Operand], &PinSets) -> bool) -> bool {
    inst(function, |data, operands, pins| data.is(InstFlags::TERMINATOR) && holds(operands, pins))
}

fn block(function: &Function, holds: impl Fn(&BlockData) -> bool) -> bool {
    function.blocks.values().any(holds)
}

fn phi(function: &Function, holds: impl Fn(&BlockData, &Phi) -> bool) -> bool {
    block(function, |data| data.phis.iter().any(|phi| holds(data, phi)))
}

fn edge(function: &Function, holds: impl Fn(Block, Block) -> bool) -> bool {
    function.blocks.iter().any(|(from, data)| data.succs.iter().any(|&to| holds(from, to)))
}

fn uses(operands: &[Operand]) -> usize {
    operands.iter().filter(|o| !o.is_def()).count()
}

fn defs(operands: &[Operand]) -> usize {
    operands.len() - uses(operands)
}

fn foldable(operands: &[Operand]) -> usize {
    operands.iter().filter(|o| o.foldable && !o.is_def()).count()
}

/// Whether another operand uses the operand's value, too.
fn shared(operands: &[Operand], operand: &Operand) -> bool {
    operands.iter().filter(|o| !o.is_def() && o.value == operand.value).count() > 1
}

fn reused<'o>(operands: &'o [Operand], operand: &Operand) -> Option<&'o Operand> {
    operand.reuse.map(|index| &operands[usize::from(index)])
}

fn class(function: &Function, value: Value) -> &ClassInfo {
    &function.file.classes[function.values[value].class]
}

/// Whether the classes of some copy's definition and use are such.
fn copy(function: &Function, holds: impl Fn(&ClassInfo, &ClassInfo) -> bool) -> bool {
    inst(function, |data, operands, _| {
        let of = |wanted: bool| operands.iter().find(|o| o.is_def() == wanted).map(|o| class(function, o.value));
        data.kind == InstKind::Copy && of(true).zip(of(false)).is_some_and(|(to, from)| holds(to, from))
    })
}

fn in_a_cycle(function: &Function, block: Block, without: Option<Block>) -> bool {
    function.blocks[block].succs.iter().any(|&succ| reached(function, succ, without).contains(&block))
}

/// The values that operands and φs read.
fn read(function: &Function) -> BTreeSet<Value> {
    let operands = function.operands.iter().filter(|o| !o.is_def()).map(|o| o.value);
    let phis = function.blocks.values().flat_map(|data| &data.phis);
    operands.chain(phis.flat_map(|phi| phi.args.iter().filter_map(|arg| arg.expand()))).collect()
}

fn terminators(function: &Function, block: Block) -> impl Iterator<Item = Inst> {
    function.block_insts(block).filter(|&inst| function.insts[inst].is(InstFlags::TERMINATOR))
}

/// The instructions after one in its block.
fn behind(function: &Function, block: Block, inst: Inst) -> impl Iterator<Item = Inst> {
    function.block_insts(block).skip_while(move |&other| other != inst).skip(1)
}

/// The registers that a block copies from, in order.
fn copied_from(function: &Function, block: Block) -> Vec<Reg> {
    let copied = |inst: Inst| if let InstKind::CopyFrom(reg) = function.insts[inst].kind { Some(reg) } else { None };
    function.block_insts(block).filter_map(copied).collect()
}

fn has_twice<T: PartialEq>(items: &[T]) -> bool {
    (1..items.len()).any(|k| items[..k].contains(&items[k]))
}

fn used_classes(function: &Function) -> BTreeSet<RegClass> {
    function.values.values().map(|value| value.class).collect()
}

fn banks(function: &Function) -> usize {
    used_classes(function).into_iter().map(|class| function.file.classes[class].bank).collect::<BTreeSet<_>>().len()
}

fn pair_of_classes(function: &Function, holds: impl Fn(&ClassInfo, &ClassInfo) -> bool) -> bool {
    let used = used_classes(function);
    used.iter().any(|&a| used.iter().any(|&b| a != b && holds(&function.file.classes[a], &function.file.classes[b])))
}

fn a_class(function: &Function, holds: impl Fn(&ClassInfo) -> bool) -> bool {
    used_classes(function).into_iter().any(|class| holds(&function.file.classes[class]))
}

/// Whether a cycle is left without the edges to blocks that dominate their sources.
fn irreducible(function: &Function) -> bool {
    let is_back = |from: Block, to: Block| !reached(function, function.entry(), Some(to)).contains(&from);
    let mut forward: Vec<(Block, Block)> = Vec::new();
    for (from, data) in &function.blocks {
        forward.extend(data.succs.iter().filter(|&&to| !is_back(from, to)).map(|&to| (from, to)));
    }
    // Remove blocks that no edge enters, until none is left, or a cycle.
    let mut left: BTreeSet<Block> = function.blocks.keys().collect();
    loop {
        let targets: BTreeSet<Block> = forward.iter().filter(|(from, _)| left.contains(from)).map(|&(_, to)| to).collect();
        let next: BTreeSet<Block> = left.intersection(&targets).copied().collect();
        if next.len() == left.len() {
            return !left.is_empty();
        }
        left = next;
    }
}

/// The features.
const FEATURES: &[(&str, Feature)] = &[
    // Operands.
    ("four uses", |f| op(f, |o| uses(o) == 4)),
    ("five uses or more", |f| op(f, |o| uses(o) > 4)),
    ("two definitions", |f| op(f, |o| defs(o) == 2)),
    ("three definitions or more", |f| op(f, |o| defs(o) > 2)),
    ("a definition behind a use", |f| op(f, |o| o.windows(2).any(|pair| !pair[0].is_def() && pair[1].is_def()))),
    ("one value used twice", |f| op(f, |o| o.iter().any(|use_| !use_.is_def() && shared(o, use_)))),
    ("a foldable use", |f| op(f, |o| foldable(o) == 1)),
    ("several foldable uses", |f| op(f, |o| foldable(o) > 1)),
    ("a foldable use of a value that another use reads", |f| op(f, |o| o.iter().any(|use_| use_.foldable && shared(o, use_)))),
    ("a foldable use and definitions", |f| op(f, |o| foldable(o) > 0 && defs(o) > 0)),
    ("a foldable use, and nothing is defined", |f| op(f, |o| foldable(o) > 0 && defs(o) == 0)),
    ("two-address code", |f| op(f, |o| o.iter().any(|d| d.reuse.is_some()))),
    ("two-address code that reads a foldable use", |f| op(f, |o| foldable(o) > 0 && o.iter().any(|d| d.reuse.is_some()))),
    ("two-address code that can change memory", |f| op(f, |o| o.iter().any(|d| d.foldable && d.is_def()))),
    ("two-address code that reads twice what it overwrites", |f| {
        op(f, |o| o.iter().any(|d| reused(o, d).is_some_and(|use_| shared(o, use_))))
    }),
    ("two definitions that overwrite uses", |f| op(f, |o| o.iter().filter(|d| d.reuse.is_some()).count() > 1)),
    ("an overwriting definition beside another one", |f| op(f, |o| defs(o) > 1 && o.iter().any(|d| d.reuse.is_some()))),
    ("an overwriting definition of another class", |f| {
        op(f, |o| o.iter().any(|d| reused(o, d).is_some_and(|use_| f.allowed(use_.value) != f.allowed(d.value))))
    }),
    ("it commutes", |f| op(f, |o| o.iter().any(|d| !d.reuse_instead.is_empty() && !d.reuse_none))),
    ("a form with three addresses", |f| op(f, |o| o.iter().any(|d| d.reuse_none && d.reuse_instead.is_empty()))),
    ("both", |f| op(f, |o| o.iter().any(|d| d.reuse_none && !d.reuse_instead.is_empty()))),
    ("it can overwrite any of three uses", |f| op(f, |o| o.iter().any(|d| d.overwritable().count() > 2))),
    ("a foldable use that it overwrites in one form", |f| {
        op(f, |o| o.iter().any(|d| reused(o, d).is_some_and(|use_| use_.foldable)))
    }),
    ("an early definition", |f| op(f, |o| o.iter().any(|d| d.role == Role::EarlyDef && d.reuse.is_none()))),
    ("several early definitions", |f| op(f, |o| o.iter().filter(|d| d.role == Role::EarlyDef).count() > 1)),
    ("an early definition that overwrites a use", |f| op(f, |o| o.iter().any(|d| d.role == Role::EarlyDef && d.reuse.is_some()))),
    ("an early definition beside an overwriting one", |f| {
        op(f, |o| o.iter().any(|d| d.role == Role::EarlyDef && d.reuse.is_none()) && o.iter().any(|d| d.reuse.is_some()))
    }),
    // Physical registers.
    ("pins are read beside operands", |f| {
        inst(f, |data, o, pins| data.kind == InstKind::Op && !o.is_empty() && !pins.uses.is_empty())
    }),
    ("allocatable pins are written beside operands", |f| {
        inst(f, |data, o, pins| data.kind == InstKind::Op && !o.is_empty() && !(pins.defs - f.file.status).is_empty())
    }),
    ("a pin is read and written", |f| inst(f, |_, _, pins| (pins.uses - f.file.status).intersects(pins.defs))),
    ("several pins are read and written", |f| inst(f, |_, _, pins| ((pins.uses & pins.defs) - f.file.status).len() > 1)),
    ("flags are read and written", |f| inst(f, |_, _, pins| (pins.uses & pins.defs).intersects(f.file.status))),
    ("pins are written early", |f| inst(f, |_, _, pins| !pins.early_defs.is_empty())),
    ("pins are clobbered beside operands", |f| inst(f, |_, o, pins| !o.is_empty() && !pins.clobbers.is_empty())),
    ("pins are clobbered and written", |f| inst(f, |_, _, pins| pins.clobbers.intersects(pins.defs))),
    ("pins are read and clobbered", |f| inst(f, |_, _, pins| pins.clobbers.intersects(pins.uses))),
    ("four pins are read or more", |f| inst(f, |_, _, pins| pins.uses.len() > 3)),
    ("three allocatable pins are written or more", |f| inst(f, |_, _, pins| (pins.defs - f.file.status).len() > 2)),
    ("pins that are in no class are written", |f| {
        let allocatable = f.file.classes.values().fold(f.file.status, |set, class| set | class.regs);
        inst(f, |_, _, pins| !((pins.defs | pins.uses) - allocatable).is_empty())
    }),
    ("a copy to a register writes another one", |f| {
        inst(f, |data, _, pins| matches!(data.kind, InstKind::CopyTo(_)) && pins.defs.len() > 1)
    }),
    ("a copy reads or writes pins", |f| inst(f, |data, _, pins| data.kind == InstKind::Copy && *pins != PinSets::default())),
    ("a copy to a register that is not in the value's class", |f| {
        inst(f, |data, o, _| matches!(data.kind, InstKind::CopyTo(reg) if !f.allowed(o[0].value).contains(reg)))
    }),
    ("a copy from a register that is not in the value's class", |f| {
        inst(f, |data, o, _| matches!(data.kind, InstKind::CopyFrom(reg) if !f.allowed(o[0].value).contains(reg)))
    }),
    ("a register is copied twice", |f| f.blocks.keys().any(|block| has_twice(&copied_from(f, block)))),
    ("pins live into a block that is no entry and no landing pad", |f| {
        f.blocks.iter().any(|(b, data)| b != f.entry() && !data.landing_pad && !(data.live_in_pins - f.file.status).is_empty())
    }),
    ("flags live into a block", |f| block(f, |data| data.live_in_pins.intersects(f.file.status))),
    ("five pins live into the entry or more", |f| f.blocks[f.entry()].live_in_pins.len() > 4),
    ("pins live into a landing pad", |f| block(f, |data| data.landing_pad && !data.live_in_pins.is_empty())),
    ("no pins live into a landing pad", |f| block(f, |data| data.landing_pad && data.live_in_pins.is_empty())),
    // Copies.
    ("a copy to a wider class", |f| copy(f, |to, from| to.slot_size > from.slot_size)),
    ("a copy to a narrower class", |f| copy(f, |to, from| to.slot_size < from.slot_size)),
    ("a copy to a class with fewer registers", |f| {
        copy(f, |to, from| to.slot_size == from.slot_size && to.regs != from.regs && to.regs.is_subset(from.regs))
    }),
    ("a copy to a class with more registers", |f| {
        copy(f, |to, from| to.slot_size == from.slot_size && to.regs != from.regs && from.regs.is_subset(to.regs))
    }),
    ("a copy in a bank that cannot swap", |f| copy(f, |to, _| f.file.banks[to.bank].swap == SwapSupport::Never)),
    ("a copy in a bank that swaps by exclusive-or", |f| copy(f, |to, _| f.file.banks[to.bank].swap == SwapSupport::Xor)),
    // Constants and what moves.
    ("a constant", |f| inst(f, |data, _, pins| data.is(InstFlags::REMATERIALISABLE) && *pins == PinSets::default())),
    ("a constant that overwrites flags", |f| {
        inst(f, |data, _, pins| data.is(InstFlags::REMATERIALISABLE) && pins.defs.intersects(f.file.status))
    }),
    ("a constant that reads a pin", |f| inst(f, |data, _, pins| data.is(InstFlags::REMATERIALISABLE) && !pins.uses.is_empty())),
    ("a constant that destroys a register", |f| {
        inst(f, |data, _, pins| data.is(InstFlags::REMATERIALISABLE) && !(pins.clobbers | (pins.defs - f.file.status)).is_empty())
    }),
    ("a dear constant", |f| inst(f, |data, _, _| data.is(InstFlags::REMATERIALISABLE) && data.is(InstFlags::DEAR))),
    ("a constant that is not dear", |f| inst(f, |data, _, _| data.is(InstFlags::REMATERIALISABLE) && !data.is(InstFlags::DEAR))),
    ("what can be computed again from a value", |f| inst(f, |data, _, _| data.is(InstFlags::RECOMPUTABLE))),
    ("what can be computed again from a value is two-address code, and writes flags", |f| {
        inst(f, |data, o, pins| data.is(InstFlags::RECOMPUTABLE) && o[0].reuse.is_some() && !pins.defs.is_empty())
    }),
    ("what is dear to compute again from a value", |f| {
        inst(f, |data, _, _| data.is(InstFlags::RECOMPUTABLE) && data.is(InstFlags::DEAR))
    }),
    ("what can be computed again from a value can move", |f| {
        inst(f, |data, _, _| data.is(InstFlags::RECOMPUTABLE) && data.is(InstFlags::MOVABLE))
    }),
    ("a storable constant", |f| inst(f, |data, _, _| data.is(InstFlags::STORABLE))),
    ("a constant that is in memory", |f| inst(f, |data, _, _| data.is(InstFlags::GIVEN))),
    ("an extension", |f| inst(f, |data, _, _| data.is(InstFlags::EXTENDS))),
    ("it can move", |f| inst(f, |data, _, _| data.is(InstFlags::MOVABLE))),
    ("two-address code can move", |f| inst(f, |data, o, _| data.is(InstFlags::MOVABLE) && o.iter().any(|d| d.reuse.is_some()))),
    ("what can move writes flags", |f| inst(f, |data, _, pins| data.is(InstFlags::MOVABLE) && !pins.defs.is_empty())),
    ("what can move has several uses", |f| inst(f, |data, o, _| data.is(InstFlags::MOVABLE) && uses(o) > 1)),
    ("what can move reads memory", |f| inst(f, |data, _, _| data.is(InstFlags::MOVABLE) && data.is(InstFlags::READS))),
    ("two-address code that can move reads memory", |f| {
        inst(f, |data, o, _| data.is(InstFlags::MOVABLE) && data.is(InstFlags::READS) && o.iter().any(|d| d.reuse.is_some()))
    }),
    ("something writes memory", |f| inst(f, |data, _, _| data.is(InstFlags::WRITES) && !data.is(InstFlags::READS))),
    ("something reads memory and writes it", |f| inst(f, |data, _, _| data.is(InstFlags::WRITES) && data.is(InstFlags::READS))),
    ("what can be computed again from a value reads memory", |f| {
        inst(f, |data, _, _| data.is(InstFlags::RECOMPUTABLE) && data.is(InstFlags::READS))
    }),
    ("a copy can move", |f| inst(f, |data, _, _| data.is(InstFlags::MOVABLE) && data.kind.is_copy())),
    ("what can move reads pins", |f| inst(f, |data, _, pins| data.is(InstFlags::MOVABLE) && !pins.uses.is_empty())),
    // Control flow.
    ("terminators read values", |f| inst(f, |data, o, _| data.is(InstFlags::TERMINATOR) && uses(o) > 0)),
    ("terminators read two values", |f| inst(f, |data, o, _| data.is(InstFlags::TERMINATOR) && uses(o) > 1)),
    ("a terminator reads from memory", |f| inst(f, |data, o, _| data.is(InstFlags::TERMINATOR) && foldable(o) > 0)),
    ("a terminator but the first reads values", |f| {
        f.blocks.keys().any(|b| terminators(f, b).skip(1).any(|i| !f.operands(i).is_empty()))
    }),
    ("terminators define values", |f| terminator(f, |o, _| defs(o) > 0)),
    ("terminators clobber", |f| terminator(f, |_, pins| !pins.clobbers.is_empty())),
    ("terminators write pins", |f| terminator(f, |_, pins| !pins.defs.is_empty())),
    ("a terminator reads four pins or more", |f| terminator(f, |_, pins| pins.uses.len() > 3)),
    ("three terminators", |f| f.blocks.keys().any(|b| terminators(f, b).count() > 2)),
    ("a block without a terminator", |f| f.blocks.iter().any(|(b, d)| !d.on_edge && terminators(f, b).next().is_none())),
    ("an empty block", |f| block(f, |data| !data.on_edge && data.insts.is_empty())),
    ("a block of terminators alone", |f| {
        f.blocks.iter().any(|(b, d)| !d.insts.is_empty() && f.block_insts(b).all(|i| f.insts[i].is(InstFlags::TERMINATOR)))
    }),
    ("a label", |f| inst(f, |data, _, _| data.is(InstFlags::LABEL))),
    ("several labels", |f| f.blocks.keys().any(|b| f.block_insts(b).filter(|&i| f.insts[i].is(InstFlags::LABEL)).count() > 1)),
    ("a label with operands or pins", |f| {
        inst(f, |data, o, pins| data.is(InstFlags::LABEL) && (!o.is_empty() || *pins != PinSets::default()))
    }),
    ("three successors or more", |f| block(f, |data| data.succs.len() > 2)),
    ("six successors or more", |f| block(f, |data| data.succs.len() > 5)),
    ("six predecessors or more", |f| block(f, |data| data.preds.len() > 5)),
    ("a block that goes to itself", |f| edge(f, |from, to| from == to || f.blocks[to].on_edge && f.blocks[to].succs[0] == from)),
    ("a loop in a loop", |f| {
        let in_cycles: Vec<Block> = f.blocks.keys().filter(|&b| in_a_cycle(f, b, None)).collect();
        in_cycles.iter().any(|&header| in_cycles.iter().any(|&b| b != header && in_a_cycle(f, b, Some(header))))
    }),
    ("control that never leaves", |f| !block(f, |data| data.succs.is_empty())),
    ("several ends", |f| f.blocks.values().filter(|data| data.succs.is_empty()).count() > 1),
    ("an irreducible loop", irreducible),
    ("a critical edge that is split", |f| block(f, |data| data.on_edge)),
    ("flags live on a critical edge", |f| block(f, |data| data.on_edge && data.live_in_pins.intersects(f.file.status))),
    ("an edge that can take no code", |f| edge(f, |from, to| f.takes_no_code(from, to))),
    ("phis behind an edge that can take no code", |f| {
        edge(f, |from, to| f.takes_no_code(from, to) && !f.blocks[to].phis.is_empty())
    }),
    ("a landing pad", |f| block(f, |data| data.landing_pad)),
    ("a landing pad with several predecessors", |f| block(f, |data| data.landing_pad && data.preds.len() > 1)),
    ("phis in a landing pad", |f| block(f, |data| data.landing_pad && !data.phis.is_empty())),
    ("what throws reads values", |f| block(f, |data| data.throws.expand().is_some_and(|i| uses(f.operands(i)) > 0))),
    ("what throws defines values", |f| block(f, |data| data.throws.expand().is_some_and(|i| defs(f.operands(i)) > 0))),
    ("what throws is among the last", |f| {
        f.blocks.iter().any(|(b, data)| {
            data.throws
                .expand()
                .is_some_and(|i| behind(f, b, i).all(|j| f.insts[j].is(InstFlags::TERMINATOR) || f.insts[j].is(InstFlags::LABEL)))
        })
    }),
    ("a terminator defines values early", |f| terminator(f, |o, _| o.iter().any(|d| d.role == Role::EarlyDef))),
    ("a terminator overwrites a use", |f| terminator(f, |o, _| o.iter().any(|d| d.reuse.is_some()))),
    ("a terminator defines values and writes pins", |f| {
        terminator(f, |o, pins| defs(o) > 0 && !(pins.defs | pins.early_defs | pins.clobbers).is_empty())
    }),
    ("a call that returns twice", |f| f.returns_twice),
    ("small code is wanted", |f| f.goal == Goal::Size),
    ("the smallest code is wanted", |f| f.goal == Goal::LeastSize),
    ("frequency zero", |f| block(f, |data| data.frequency == 0.0)),
    // Phis.
    ("phis with one argument", |f| phi(f, |_, phi| phi.args.len() == 1)),
    ("phis with six arguments or more", |f| phi(f, |_, phi| phi.args.len() > 5)),
    ("six phis or more", |f| block(f, |data| data.phis.len() > 5)),
    ("an undefined argument", |f| phi(f, |_, phi| phi.args.iter().any(|arg| arg.is_none()))),
    ("only undefined arguments", |f| phi(f, |_, phi| phi.args.iter().all(|arg| arg.is_none()))),
    ("an argument that is a phi of the block", |f| {
        phi(f, |data, phi| data.phis.iter().any(|q| q.def != phi.def && phi.args.contains(&q.def.into())))
    }),
    ("an argument that is its phi", |f| phi(f, |_, phi| phi.args.contains(&phi.def.into()))),
    ("an argument that several phis take", |f| {
        phi(f, |data, phi| {
            (0..phi.args.len())
                .any(|c| phi.args[c].is_some() && data.phis.iter().any(|q| q.def != phi.def && q.args[c] == phi.args[c]))
        })
    }),
    ("an argument of another class", |f| {
        phi(f, |_, phi| phi.args.iter().filter_map(|arg| arg.expand()).any(|v| f.values[v].class != f.values[phi.def].class))
    }),
    ("an argument that is a constant", |f| {
        let constants: BTreeSet<Value> = f
            .insts
            .iter()
            .filter(|(_, data)| data.is(InstFlags::REMATERIALISABLE))
            .map(|(i, _)| f.operands(i)[0].value)
            .collect();
        phi(f, |_, phi| phi.args.iter().filter_map(|arg| arg.expand()).any(|v| constants.contains(&v)))
    }),
    ("phis that cannot be swapped", |f| phi(f, |_, phi| f.file.banks[class(f, phi.def).bank].swap == SwapSupport::Never)),
    ("phis that are swapped by exclusive-or", |f| phi(f, |_, phi| f.file.banks[class(f, phi.def).bank].swap == SwapSupport::Xor)),
    // Registers.
    ("values of several banks", |f| banks(f) > 1),
    ("values of three banks", |f| banks(f) > 2),
    ("values of five classes or more", |f| used_classes(f).len() > 4),
    ("classes that overlap in part", |f| {
        pair_of_classes(f, |a, b| a.regs.intersects(b.regs) && !a.regs.is_subset(b.regs) && !b.regs.is_subset(a.regs))
    }),
    ("classes of one bank without a common register", |f| {
        pair_of_classes(f, |a, b| a.bank == b.bank && !a.regs.intersects(b.regs))
    }),
    ("a class of one register", |f| a_class(f, |class| class.regs.len() == 1)),
    ("a class of three registers or fewer", |f| a_class(f, |class| class.regs.len() < 4)),
    ("widths of one bank that differ in memory and cannot swap", |f| {
        pair_of_classes(f, |a, b| {
            a.bank == b.bank && a.slot_size != b.slot_size && f.file.banks[a.bank].swap == SwapSupport::Never
        })
    }),
    ("a class whose memory is less than its alignment would say", |f| a_class(f, |class| class.slot_size > class.slot_align)),
    // Values.
    ("a definition that nobody reads", |f| {
        let read = read(f);
        f.operands.iter().any(|o| o.is_def() && !read.contains(&o.value))
    }),
    ("a phi that nobody reads", |f| {
        let read = read(f);
        phi(f, |_, phi| !read.contains(&phi.def))
    }),
    ("the debugger asks", |f| !f.debug_uses.is_empty()),
    ("the debugger asks twice at one place", |f| f.debug_uses.windows(2).any(|pair| pair[0].at == pair[1].at)),
    ("the debugger asks at a block's end", |f| {
        f.debug_uses.iter().any(|d| d.at.index as usize == f.blocks[d.at.block].insts.len())
    }),
    ("the debugger asks at a block's head", |f| f.debug_uses.iter().any(|d| d.at.index == 0)),
    ("the debugger asks between terminators", |f| {
        f.debug_uses.iter().any(|d| d.at.index > f.before_terminators(d.at.block).index)
    }),
    ("the debugger asks for what nobody reads any more", |f| {
        f.debug_uses.iter().any(|d| !f.operands.iter().any(|o| !o.is_def() && o.value == d.value))
    }),
];

/// An allocator that collects functions, and allocates none.
#[derive(Default)]
struct Looker(Mutex<Vec<Function>>);

impl Allocate for Looker {
    fn allocate(&self, function: &Function) -> Result<(Overlay, Report), Failure> {
        self.0.lock().expect("nobody panics").push(function.clone());
        Err(Unsupported("only looked at".into()).into())
    }

    fn graphs(&self, _: &Function) -> GraphSizes {
        GraphSizes::default()
    }
}

/// The functions that arrive at the allocator.
fn functions(program: &Program, flags: &str) -> Vec<Function> {
    let mut clang = Command::new(program.clang());
    clang.args(program.all_flags(flags)).args(["-w", "-emit-llvm", "-c", "-o", "-"]).arg(&program.path);
    let output = clang.output().expect("clang starts");
    assert!(output.status.success(), "{clang:?}: {}", String::from_utf8_lossy(&output.stderr));
    let source = Source::new(program.name().into(), output.stdout).expect("it is not empty");
    let looker = Looker::default();
    let options = CompileOptions {
        allocator: Allocator::Ours(Ours { allocator: &looker, check: false, graphs: false, separate_saves: false }),
        output: Output::Assembly,
        sections: Sections::default(),
        relocation: Relocation::default(),
        tables: Tables::default(),
        verify: false,
        registers: None,
        fallback: false,
        sizes: false,
        pace: Pace::InTurn,
        list: false,
        remarks: false,
        progress: &|_| (),
    };
    compile(Module::parse(&source).expect("clang wrote it"), &options).expect_err("nothing is allocated");
    looker.0.into_inner().expect("nobody panics")
}

/// The number of features that real functions must have; otherwise the test proves little.
const SEEN: usize = 85;
/// The number of random functions that must have each feature of a real one.
const ENOUGH: usize = 10;

#[test]
fn what_real_functions_have_random_ones_have() {
    let everything = std::env::var_os("CHORDAL_CENSUS").is_some();
    let mut real = Vec::new();
    for (index, program) in programs().iter().enumerate() {
        let turn = |which: usize| everything || which == index % FLAGS.len();
        let flags = FLAGS.iter().enumerate().filter(|&(which, flags)| turn(which) && program.has(flags));
        real.extend(flags.flat_map(|(_, flags)| functions(program, flags)));
    }
    let shapes = [shapes(), jumping()].concat();
    let random: Vec<Function> = shapes.iter().flat_map(|shape| (0..100).map(|seed| random_function(seed, shape))).collect();
    println!("{} functions of programs, {} random ones", real.len(), random.len());
    let (mut seen, mut missing) = (0, Vec::new());
    for (name, feature) in FEATURES {
        let [real, random] = [&real, &random].map(|functions| functions.iter().filter(|function| feature(function)).count());
        println!("{real:6} {random:6}  {name}");
        seen += usize::from(real > 0);
        if real > 0 && random < ENOUGH {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "random functions lack what real ones have: {missing:?}");
    assert!(seen >= SEEN || !std::env::var("CHORDAL_PROGRAMS").unwrap_or_default().is_empty(), "{seen} features were seen");
}
