//! What each phase ensures, recomputed by brute force on random functions.

use crate::support::naive::{Live, Pinned, in_registers};
use crate::support::phases::{convert, spill};
use crate::support::random::{random_function, shapes};
use chordal::allocate::allocators::{Dominance, Preset, Registers};
use chordal::allocate::assign::{Assignment, Evictable, Refusal, Repair, assign, scan};
use chordal::allocate::cssa::{Coalescing, Conventional};
use chordal::allocate::pipeline::{Allocate as _, Strategy};
use chordal::allocate::spill::{Spilled, Spiller};
use chordal::analysis::{Dominators, Liveness, Loops, Order};
use chordal::machine::validate::Rule;
use chordal::machine::{
    Bank, Block, EdgePlace, Edit, Function, Inst, InstKind, Operand, Overlay, Point, Reg, RegSet, Role, Slot, SwapSupport, Value,
    print, validate,
};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::collections::{BTreeMap, BTreeSet};

/// What the phases behind spilling make of a function.
struct Phases {
    spilled: Spilled,
    /// Of the spilled function.
    liveness: Liveness,
    assignment: Assignment,
    /// What the whole pipeline answers.
    overlay: Overlay,
}

fn run(function: &Function) -> Phases {
    let (_, spilled) = spill(function);
    let liveness = Liveness::new(&spilled.function);
    let evictable = Evictable { weights: &SecondaryMap::new(), count: 0, webs: &SecondaryMap::new() };
    let Registers::Dominance(Dominance { assign: policy, .. }) = Preset::default().registers else { panic!("it is SSA-based") };
    let assignment = assign(&spilled.function, &Order::new(function), &liveness, policy, evictable);
    let assignment = assignment.unwrap_or_else(|message| panic!("{message}\n{}", print(&spilled.function)));
    Phases { spilled, liveness, assignment, overlay: allocated(function) }
}

fn allocated(function: &Function) -> Overlay {
    Strategy::from(Preset::default()).allocate(function).unwrap_or_else(|failure| panic!("{failure}\n{}", print(function))).0
}

/// Has the phases work on a few hundred random functions.
fn for_each_function(mut look: impl FnMut(&str, &Function, &Phases)) {
    for_each_random(|which, function| look(which, function, &run(function)));
}

/// Has spilling work on them.
fn for_each_spilled(mut look: impl FnMut(&str, &Conventional, &Spilled)) {
    for_each_random(|which, function| {
        let (conventional, spilled) = spill(function);
        look(which, &conventional, &spilled);
    });
}

fn for_each_random(mut look: impl FnMut(&str, &Function)) {
    for (number, shape) in shapes().iter().enumerate() {
        for seed in 0..40 {
            look(&format!("shape {number}, seed {seed}"), &random_function(seed, shape));
        }
    }
}

/// The function is valid, only that the names of values in memory, or computed again, need no definitions.
fn assert_valid(function: &Function, which: &str, in_memory: impl Fn(Value) -> bool) {
    let mut found = validate(function).err().unwrap_or_default();
    found.retain(|violation| !matches!(violation.rule, Rule::NotDefined(value) if in_memory(value)));
    assert!(found.is_empty(), "{which}: {found:?}\n{}", print(function));
}

#[test]
fn webs_are_closed_under_phis_and_do_not_interfere() {
    let mut members = 0;
    for_each_spilled(|which, conventional, _| {
        let function = &conventional.function;
        assert_valid(function, which, |_| false);
        for phi in function.blocks.values().flat_map(|data| &data.phis) {
            let web = conventional.webs[phi.def].expand().unwrap_or_else(|| panic!("{which}: {} is in no web", phi.def));
            assert!(web.index() < conventional.web_count);
            for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
                assert_eq!(conventional.webs[arg].expand(), Some(web), "{which}: {arg} and {}\n{}", phi.def, print(function));
            }
        }
        for together in Live::new(function).together(function) {
            let mut holder = BTreeMap::new();
            for value in together.values {
                let Some(web) = conventional.webs[value].expand() else { continue };
                members += 1;
                if let Some(other) = holder.insert(web, value) {
                    panic!("{which}: {value} and {other} of {web} {}\n{}", together.place, print(function));
                }
            }
        }
    });
    assert!(members > 50_000, "webs are alive in {members} places");
}

/// The copies of isolation do not change what a φ says: followed backwards, each argument is the old one.
#[test]
fn isolation_only_copies() {
    let mut copies = 0;
    for_each_random(|which, imported| {
        let function = &spill(imported).0.function;
        let mut source: BTreeMap<Value, Value> = BTreeMap::new();
        for inst in function.insts.keys().filter(|&inst| function.insts[inst].origin.is_none()) {
            let [to, from] = function.operands(inst) else { panic!("{which}: {inst} is no copy") };
            assert_eq!(function.insts[inst].kind, InstKind::Copy);
            source.insert(to.value, from.value);
            copies += 1;
        }
        let copied = |to: Value, from: Value| to == from || source.get(&to) == Some(&from);
        for (block, data) in &imported.blocks {
            for (old, new) in data.phis.iter().zip(&function.blocks[block].phis) {
                assert!(copied(old.def, new.def), "{which}: the definition of a φ of {block}\n{}", print(function));
                for (old, new) in old.args.iter().zip(&new.args) {
                    let same = match (old.expand(), new.expand()) {
                        (Some(old), Some(new)) => copied(new, old),
                        (old, new) => old == new,
                    };
                    assert!(same, "{which}: an argument of {block}\n{}", print(function));
                }
            }
        }
    });
    assert!(copies > 300, "{copies} copies were inserted");
}

/// Of each bank, the most values that are in registers at the same time.
fn pressure(function: &Function) -> BTreeMap<Bank, usize> {
    let bank = |value: Value| function.file.classes[function.values[value].class].bank;
    let mut pressure = BTreeMap::new();
    for together in Live::new(function).together(function) {
        let mut now: BTreeMap<Bank, usize> = BTreeMap::new();
        together.values.into_iter().for_each(|value| *now.entry(bank(value)).or_default() += 1);
        for (bank, count) in now {
            let most: &mut usize = pressure.entry(bank).or_default();
            *most = count.max(*most);
        }
    }
    pressure
}

/// Theorem 6 of the spill-free paper. Its proof (Lemma 9, claim 1) takes what is live behind a φ's arguments to be what
/// is live at the φ, so that all the ways to φs have to be ways on which copies stand alone. That leaves out landing pads and
/// other edges that take no code, and φs with one predecessor that has other successors, too.
#[test]
fn conversion_does_not_raise_the_pressure() {
    let mut copies: BTreeMap<String, usize> = BTreeMap::new();
    for_each_random(|which, imported| {
        let alone = |from: Block, to: Block| matches!(imported.edge_place(from, to), EdgePlace::Tail(_));
        let with_phis = imported.blocks.iter().filter(|(_, data)| !data.phis.is_empty());
        if !with_phis.into_iter().all(|(to, data)| data.preds.iter().all(|&from| alone(from, to))) {
            return;
        }
        let before = pressure(imported);
        for coalescing in [Coalescing::Nothing, Coalescing::PhiMem, Coalescing::Budimlic] {
            let conventional = convert(imported, coalescing).function;
            let after = pressure(&conventional);
            let raised = after.iter().find(|(bank, most)| before.get(bank).is_none_or(|limit| limit < most));
            assert_eq!(raised, None, "{which}, {coalescing:?}: {before:?}\n{}\n{}", print(imported), print(&conventional));
            *copies.entry(format!("{coalescing:?}")).or_insert(0) += conventional.insts.len() - imported.insts.len();
        }
    });
    assert!(copies.values().all(|&count| count > 500), "so many copies were inserted: {copies:?}");
}

/// A register that is wanted at some moment: one of these.
type Wish = RegSet;

/// Fails unless all wishes can be met at once, with a register to spare in banks that cannot swap.
fn assert_fits(function: &Function, mut wishes: Vec<Wish>, occupied: RegSet, place: &str) {
    let file = &function.file;
    for bank in file.banks.keys().filter(|&bank| file.banks[bank].swap == SwapSupport::Never) {
        let all = file.allocatable(bank);
        if wishes.iter().any(|wish| wish.is_subset(all)) {
            wishes.push(all - occupied);
        }
    }
    let mut owner = BTreeMap::new();
    let names = |wish: &Wish| wish.iter().map(|reg| file.name(reg)).collect::<Vec<_>>().join(" ");
    for index in 0..wishes.len() {
        if !granted(&wishes, index, &mut RegSet::EMPTY.clone(), &mut owner) {
            let wishes: Vec<String> = wishes.iter().map(names).collect();
            panic!("{place}: there are not registers for {wishes:?}\n{}", print(function));
        }
    }
}

/// Finds a register for a wish, along an augmenting path.
fn granted(wishes: &[Wish], index: usize, seen: &mut RegSet, owner: &mut BTreeMap<Reg, usize>) -> bool {
    for reg in wishes[index].iter() {
        if seen.contains(reg) {
            continue;
        }
        seen.insert(reg);
        if owner.get(&reg).copied().is_none_or(|other| granted(wishes, other, seen, owner)) {
            owner.insert(reg, index);
            return true;
        }
    }
    false
}

/// Where an instruction's operands and the values around it have to find registers.
struct Moment<'a> {
    function: &'a Function,
    live: &'a Live,
    inst: Inst,
}

impl Moment<'_> {
    fn dies(&self, value: Value) -> bool {
        !self.live.after[self.inst].contains(&value)
    }

    /// The definition that takes over a dying value's register.
    fn successor(&self, value: Value) -> Option<usize> {
        let operands = self.function.operands(self.inst);
        let reuses = |o: &Operand| o.reuse.is_some_and(|index| operands[usize::from(index)].value == value);
        operands.iter().position(reuses).filter(|_| self.dies(value))
    }

    fn tied(&self, def: usize) -> Wish {
        let operands = self.function.operands(self.inst);
        let source = operands[usize::from(operands[def].reuse.expect("the definition reuses"))].value;
        self.function.allowed(operands[def].value) & self.function.allowed(source)
    }

    /// Values that live on, and are not defined here.
    fn through(&self) -> Vec<Wish> {
        let after = &self.live.after[self.inst];
        self.live.before[self.inst].intersection(after).map(|&value| self.function.allowed(value)).collect()
    }

    /// Early definitions, and definitions that overwrite a use.
    fn spanning(&self) -> Vec<Wish> {
        let operands = self.function.operands(self.inst).iter().enumerate().filter(|(_, o)| o.is_def());
        let wish = |(k, o): (usize, &Operand)| match (o.reuse, o.role) {
            (Some(_), _) => Some(self.tied(k)),
            (None, Role::EarlyDef) => Some(self.function.allowed(o.value)),
            _ => None,
        };
        operands.filter_map(wish).collect()
    }

    /// Dying values whose registers no definition takes over.
    fn only_read(&self) -> Vec<Wish> {
        let before = self.live.before[self.inst].iter();
        let alone = before.filter(|&&value| self.dies(value) && self.successor(value).is_none());
        alone.map(|&value| self.function.allowed(value)).collect()
    }

    fn only_written(&self) -> Vec<Wish> {
        let late = |o: &&Operand| o.role == Role::Def && o.reuse.is_none();
        in_registers(self.function, self.inst).filter(late).map(|o| self.function.allowed(o.value)).collect()
    }
}

#[test]
fn what_is_not_spilled_fits() {
    let mut spilled = 0;
    for_each_spilled(|which, _, Spilled { function, counts, slot_of, again, .. }| {
        spilled += counts.values;
        assert_valid(function, which, |value| slot_of[value].is_some() || again[value].is_some());
        let (live, pinned) = (Live::new(function), Pinned::new(function));
        for (block, data) in &function.blocks {
            let values = live.into[block].iter().copied().chain(data.phis.iter().map(|phi| phi.def));
            let wishes = values.map(|value| function.allowed(value) - pinned.head[block]).collect();
            assert_fits(function, wishes, pinned.head[block], &format!("{which}, head of {block}"));
            for inst in function.block_insts(block) {
                let moment = Moment { function, live: &live, inst };
                let pins = function.pins(inst);
                let before = pinned.before[inst] | pins.early_defs;
                let after = pinned.after[inst] | pins.defs | pins.early_defs;
                let outside = |wishes: Vec<Wish>, occupied| wishes.into_iter().map(move |wish| wish - occupied);
                let all_the_time =
                    outside(moment.through(), before | after | pins.clobbers).chain(outside(moment.spanning(), before | after));
                let reading = all_the_time.clone().chain(outside(moment.only_read(), before)).collect();
                assert_fits(function, reading, before, &format!("{which}, {inst} of {block} reads"));
                let writing = all_the_time.chain(outside(moment.only_written(), after)).collect();
                assert_fits(function, writing, after, &format!("{which}, {inst} of {block} writes"));
            }
        }
    });
    assert!(spilled > 3000, "{spilled} values were spilled");
}

/// No φ defines a value in memory; where its argument is in memory, the argument's slot is given.
#[test]
fn phis_in_memory_are_gone() {
    let mut from_memory = 0;
    for_each_spilled(|which, _, spilled| {
        for phi in spilled.function.blocks.values().flat_map(|data| &data.phis) {
            assert_eq!(spilled.slot_of[phi.def].expand(), None, "{which}: {} is in memory", phi.def);
            for arg in &phi.args {
                let slot = arg.expand().and_then(|value| spilled.slot_of[value].expand());
                assert_eq!(arg.slot.expand(), slot, "{which}: an argument of {}", phi.def);
                from_memory += usize::from(slot.is_some());
            }
        }
        for operand in &spilled.function.operands {
            let spilled_name = spilled.slot_of[operand.value].is_some();
            assert!(!spilled_name || operand.slot == spilled.slot_of[operand.value], "{which}: {} in a register", operand.value);
        }
    });
    assert!(from_memory > 100, "{from_memory} arguments are in memory");
}

/// A spilled value that a block accesses once, by a foldable use, is read from its slot, if no other operand is.
#[test]
fn single_accesses_are_folded() {
    let (mut folded, mut others) = (0, 0);
    for_each_spilled(|which, conventional, Spilled { function, slot_of, .. }| {
        let old = &conventional.function;
        let by_origin: BTreeMap<Inst, Inst> =
            function.insts.iter().filter_map(|(inst, data)| Some((data.origin.expand()?, inst))).collect();
        for block in old.blocks.keys() {
            for inst in old.block_insts(block) {
                let accesses = |value| old.block_insts(block).flat_map(|i| old.operands(i)).filter(|o| o.value == value).count();
                // Memory of x87 values may have another form.
                let bank = |value| &old.file.banks[old.file.classes[old.values[value].class].bank];
                let one_form = |value| bank(value).swap != SwapSupport::Never;
                let foldable = |o: &Operand| o.foldable && slot_of[o.value].is_some() && one_form(o.value);
                let single = |o: &&Operand| foldable(o) && accesses(o.value) == 1;
                let Some(operand) = old.operands(inst).iter().find(single) else { continue };
                let new = by_origin[&old.insts[inst].origin.expand().expect("copies are not foldable")];
                let slots: Vec<Slot> = function.operands(new).iter().filter_map(|o| o.slot.expand()).collect();
                assert_eq!(slots.len(), 1, "{which}: {inst} reads no slot\n{}", print(function));
                *if slot_of[operand.value] == slots[0].into() { &mut folded } else { &mut others } += 1;
            }
        }
    });
    assert!(folded > 300 && others > 3, "{folded} operands are folded, {others} others instead");
}

/// Frugality: a web has one slot; and what shares a slot otherwise is never alive at the same time.
#[test]
fn slots_are_shared_by_webs_and_by_nothing_else_that_lives() {
    let (mut by_webs, mut by_others) = (0, 0);
    for_each_spilled(|which, conventional, Spilled { slot_of, .. }| {
        let function = &conventional.function;
        let spilled: Vec<(Value, Slot)> =
            function.values.keys().filter_map(|value| Some((value, slot_of[value].expand()?))).collect();
        for (index, &(a, slot_a)) in spilled.iter().enumerate() {
            for &(b, slot_b) in &spilled[index + 1..] {
                let web = conventional.webs[a].expand();
                if web.is_some() && web == conventional.webs[b].expand() {
                    by_webs += 1;
                    assert_eq!(slot_a, slot_b, "{which}: {a} and {b} are of {web:?}\n{}", print(function));
                } else {
                    by_others += usize::from(slot_a == slot_b);
                }
            }
        }
        for together in Live::new(function).together(function) {
            let mut holder = BTreeMap::new();
            for value in together.values {
                let Some(slot) = slot_of[value].expand() else { continue };
                if let Some(other) = holder.insert(slot, value) {
                    panic!("{which}: {value} and {other} share {slot} {}\n{}", together.place, print(function));
                }
            }
        }
    });
    assert!(by_webs > 300 && by_others > 300, "{by_webs} pairs of webs, {by_others} other pairs share slots");
}

/// An argument in a register is stored to its φ's slot where the edge begins, or once behind its definition, and nothing
/// alive in that slot is lost.
#[test]
fn arguments_of_phis_in_memory_are_stored_to_their_slots() {
    let (mut stored, mut hoisted) = (0, 0);
    for_each_spilled(|which, conventional, spilled| {
        let (function, live) = (&conventional.function, Live::new(&conventional.function));
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                let Some(slot) = spilled.slot_of[phi.def].expand() else { continue };
                for (&pred, arg) in data.preds.iter().zip(&phi.args) {
                    let in_register = |value: &Value| spilled.slot_of[*value].is_none();
                    let Some(arg) = arg.expand().filter(in_register) else { continue };
                    stored += 1;
                    let new = &spilled.function;
                    let is_store = |i: &Inst| new.insts[*i].kind == InstKind::Store(slot) && new.operands(*i)[0].value == arg;
                    if new.block_insts(pred).filter(is_store).count() == 0 {
                        hoisted += 1;
                        assert_eq!(new.insts.keys().filter(is_store).count(), 1, "{which}: {arg} to {slot}\n{}", print(new));
                    }
                    // Where the argument is live and stored, nobody else's value is in the slot.
                    let alive = |values: &BTreeSet<Value>| -> Vec<Value> {
                        let others = values.iter().filter(|&&v| spilled.slot_of[v].expand() == Some(slot));
                        others.copied().collect()
                    };
                    let from = function.departure(pred, block).index as usize;
                    let tail = function.block_insts(pred).skip(from).map(|i| &live.before[i]).chain([&live.out[pred]]);
                    let lost: Vec<Value> = tail.flat_map(alive).collect();
                    assert_eq!(lost, [], "{which}: {arg} overwrites it in {slot} in {pred}\n{}", print(function));
                }
            }
        }
    });
    assert!(stored > 100 && hoisted > 20, "{stored} arguments are stored, {hoisted} of them elsewhere");
}

/// What each register holds while a block is walked as the assignment says.
struct Replay<'a> {
    function: &'a Function,
    which: &'a str,
    holds: BTreeMap<Reg, Value>,
}

impl Replay<'_> {
    fn fail(&self, message: String) -> ! {
        panic!("{}: {message}\n{}", self.which, print(self.function))
    }

    /// Puts a value into a register that is free, unpinned and of its class.
    fn put(&mut self, value: Value, reg: Reg, pinned: RegSet) {
        let name = self.function.file.name(reg);
        if !self.function.allowed(value).contains(reg) {
            self.fail(format!("{value} is in {name}, which is not of its class"));
        }
        if pinned.contains(reg) {
            self.fail(format!("{value} is in {name}, which is pinned"));
        }
        if let Some(other) = self.holds.insert(reg, value) {
            self.fail(format!("{value} and {other} are both in {name}"));
        }
    }

    fn require(&self, value: Value, reg: Reg, place: &str) {
        if self.holds.get(&reg) != Some(&value) {
            self.fail(format!("{value} is not in {} {place}", self.function.file.name(reg)));
        }
    }

    /// All transfers at once; what neither stays nor is transferred is gone. Some of them move what is dead.
    fn transfer(&mut self, repair: &Repair, pinned: RegSet) {
        let old = std::mem::take(&mut self.holds);
        for reg in repair.kept.iter() {
            if let Some(&value) = old.get(&reg) {
                self.put(value, reg, pinned);
            }
        }
        for transfer in &repair.transfers {
            if let Some(&value) = old.get(&transfer.from) {
                self.put(value, transfer.to, pinned);
            }
        }
    }

    /// An instruction: what it overwrites is gone, its definitions are there unless they are dead.
    fn execute(&mut self, inst: Inst, registers: &[Option<Reg>], live: &Live, pinned: &Pinned) {
        let operands = self.function.operands(inst);
        let pins = self.function.pins(inst);
        let assigned = |k: usize| registers[k].expect("an operand in a register was assigned one");
        let of_role = |role: Role| (0..operands.len()).filter(move |&k| operands[k].role == role && operands[k].in_register());
        for k in of_role(Role::Use) {
            self.require(operands[k].value, assigned(k), &format!("where {inst} reads it"));
        }
        for (k, reused) in operands.iter().enumerate().filter_map(|(k, o)| Some((k, usize::from(o.reuse?)))) {
            assert_eq!(registers[k], registers[reused], "{}: {inst} overwrites operand {reused}", self.which);
            self.holds.remove(&assigned(k));
        }
        for reg in (pinned.before[inst] | pins.early_defs).iter() {
            self.holds.remove(&reg);
        }
        self.require_all(&live.before[inst], |value| operands.iter().any(|o| o.value == value), inst);
        for k in of_role(Role::EarlyDef).filter(|&k| operands[k].reuse.is_none()) {
            self.put(operands[k].value, assigned(k), pinned.before[inst] | pins.early_defs | pins.clobbers);
        }
        for reg in (pins.clobbers | pins.defs).iter() {
            self.holds.remove(&reg);
        }
        self.holds
            .retain(|_, value| live.after[inst].contains(value) || operands.iter().any(|o| o.is_def() && o.value == *value));
        for k in (0..operands.len()).filter(|&k| operands[k].is_def() && operands[k].in_register()) {
            if operands[k].role == Role::Def || operands[k].reuse.is_some() {
                self.put(operands[k].value, assigned(k), pinned.after[inst] | pins.defs | pins.early_defs);
            }
        }
        self.holds.retain(|_, value| live.after[inst].contains(value));
        self.require_all(&live.after[inst], |_| false, inst);
    }

    fn require_all(&self, values: &BTreeSet<Value>, except: impl Fn(Value) -> bool, inst: Inst) {
        for value in values.iter().filter(|&&value| !except(value)) {
            if !self.holds.values().any(|held| held == value) {
                self.fail(format!("{value} is nowhere at {inst}"));
            }
        }
    }
}

#[test]
fn values_that_live_together_are_in_different_registers_that_are_theirs() {
    let mut repairs = 0;
    for_each_function(|which, _, phases| {
        let (function, assignment) = (&phases.spilled.function, &phases.assignment);
        let (live, pinned) = (Live::new(function), Pinned::new(function));
        repairs += assignment.repairs.len();
        for block in function.blocks.keys() {
            let mut replay = Replay { function, which, holds: BTreeMap::new() };
            enter(&mut replay, phases, block, pinned.head[block]);
            for inst in function.block_insts(block) {
                for repair in assignment.repairs.iter().filter(|repair| repair.before == inst) {
                    replay.transfer(repair, pinned.before[inst]);
                }
                let operands = &function.insts[inst].operands;
                let registers = &assignment.operands[operands.start as usize..operands.end as usize];
                replay.execute(inst, registers, &live, &pinned);
            }
            for (&value, &reg) in phases.liveness.live_out(block).iter().zip(&assignment.exit[block]) {
                if live.out[block].contains(&value) {
                    replay.require(value, reg, &format!("at the end of {block}"));
                }
            }
        }
    });
    assert!(repairs > 1000, "there were {repairs} repairs");
}

fn enter(replay: &mut Replay, phases: &Phases, block: Block, pinned: RegSet) {
    let (function, assignment) = (&phases.spilled.function, &phases.assignment);
    for (&value, &reg) in phases.liveness.live_in(block).iter().zip(&assignment.entry[block]) {
        replay.put(value, reg, pinned);
    }
    for phi in &function.blocks[block].phis {
        let reg = assignment.phi_register[phi.def].expand().expect("the φ was assigned a register").reg();
        replay.put(phi.def, reg, pinned);
    }
    for phi in function.blocks[block].phis.iter().filter(|phi| phases.liveness.is_dead(phi.def)) {
        replay.holds.retain(|_, value| *value != phi.def);
    }
}

/// Accesses to slots, counted by block.
#[derive(Default, PartialEq, Eq, Debug)]
struct Accesses {
    loads: BTreeMap<(Block, Slot), usize>,
    stores: BTreeMap<(Block, Slot), usize>,
}

impl Accesses {
    fn of_edits(edits: &[(Point, Edit)]) -> Self {
        let mut accesses = Accesses::default();
        for &(point, edit) in edits {
            match edit {
                Edit::Load { from, .. } => *accesses.loads.entry((point.block, from)).or_default() += 1,
                Edit::Store { to, .. } => *accesses.stores.entry((point.block, to)).or_default() += 1,
                _ => {}
            }
        }
        accesses
    }

    /// What the spilling phase has inserted.
    fn of_inserted(function: &Function) -> Self {
        let mut accesses = Accesses::default();
        for block in function.blocks.keys() {
            for inst in function.block_insts(block).filter(|&inst| function.insts[inst].origin.is_none()) {
                let folded = function.operands(inst).iter().find_map(|o| Some((o.is_def(), o.slot.expand()?)));
                match (function.insts[inst].kind, folded) {
                    (InstKind::Load(slot), _) | (InstKind::Copy, Some((false, slot))) => {
                        *accesses.loads.entry((block, slot)).or_default() += 1;
                    }
                    (InstKind::Store(slot), _) | (InstKind::Copy, Some((true, slot))) => {
                        *accesses.stores.entry((block, slot)).or_default() += 1;
                    }
                    _ => {}
                }
            }
        }
        accesses
    }
}

/// φ elimination stores nothing, and loads only those arguments that are in memory, each once, on its edge.
#[test]
fn elimination_is_spill_free() {
    let mut loaded = 0;
    for_each_function(|which, _, phases| {
        let function = &phases.spilled.function;
        let mut expected = Accesses::of_inserted(function);
        for (to, data) in &function.blocks {
            for phi in &data.phis {
                for (&from, arg) in data.preds.iter().zip(&phi.args) {
                    let Some(slot) = arg.slot.expand() else { continue };
                    let block = match function.edge_place(from, to) {
                        EdgePlace::Head(point) | EdgePlace::Tail(point) => point.block,
                        EdgePlace::Nowhere => panic!("{which}: a load on the edge from {from} to {to}"),
                    };
                    *expected.loads.entry((block, slot)).or_default() += 1;
                    loaded += 1;
                }
            }
        }
        assert_eq!(Accesses::of_edits(&phases.overlay.edits), expected, "{which}\n{}", print(function));
    });
    assert!(loaded > 100, "{loaded} arguments were loaded");
}

#[test]
fn allocation_is_deterministic() {
    for_each_function(|which, function, phases| {
        let (first, second) = (&phases.overlay, allocated(function));
        assert_eq!(first.locations, second.locations, "{which}");
        assert_eq!(first.edits, second.edits, "{which}");
        assert_eq!(first.slots, second.slots, "{which}");
        assert_eq!(first.debug_locations, second.debug_locations, "{which}");
    });
}

/// What linear scan makes of a function.
struct Scanned {
    conventional: Conventional,
    spilled: Spilled,
    assignment: Assignment,
    /// How often the scan started again.
    restarts: usize,
}

fn scanned(function: &Function) -> Scanned {
    let Preset { coalescing, spill, registers, .. } = Preset::named("linear-scan").expect("it exists");
    let conventional = convert(function, coalescing);
    let order = Order::new(function);
    let loops = Loops::new(function, &order, &Dominators::new(function, &order));
    let liveness = Liveness::new(&conventional.function);
    let spiller = Spiller::new(&conventional, &order, &loops, &liveness, spill, registers.outlook());
    let spiller = spiller.expect("the function has values of few classes");
    let count = conventional.function.values.len();
    let evictable = Evictable { weights: spiller.weights(), count, webs: &conventional.webs };
    let mut requested = SecondaryMap::new();
    let mut restarts = 0;
    let (spilled, assignment) = loop {
        let spilled = spiller.spill(&requested).unwrap_or_else(|message| panic!("{message}\n{}", print(function)));
        let liveness = Liveness::new(&spilled.function);
        match scan(&spilled.function, &liveness, evictable) {
            Ok(assignment) => break (spilled, assignment),
            Err(Refusal::Evicted(values)) => values.into_iter().for_each(|value| requested[value] = true),
            Err(Refusal::Failed(failure)) => panic!("{failure}\n{}", print(&spilled.function)),
        }
        restarts += 1;
    };
    Scanned { conventional, spilled, assignment, restarts }
}

/// Has linear scan work on random functions.
fn for_each_scanned(mut look: impl FnMut(&str, &Scanned)) {
    for_each_random(|which, function| look(which, &scanned(function)));
}

/// The registers in which each value is defined.
fn defined(scanned: &Scanned) -> BTreeMap<Value, Reg> {
    let Scanned { spilled: Spilled { function, .. }, assignment, .. } = scanned;
    let mut registers = BTreeMap::new();
    for (k, operand) in function.operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
        registers.insert(operand.value, assignment.operands[k].expect("it is in a register"));
    }
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        registers.insert(phi.def, assignment.phi_register[phi.def].expand().expect("it is in a register").reg());
    }
    registers
}

/// Everything that is in a register at some moment has it for itself, and none is pinned then.
#[test]
fn no_two_live_values_share_a_register() {
    let mut pairs = 0;
    for_each_scanned(|which, scanned| {
        let function = &scanned.spilled.function;
        let registers = defined(scanned);
        let live = Live::new(function);
        for together in live.together(function) {
            let mut holder = BTreeMap::new();
            for &value in &together.values {
                if let Some(other) = holder.insert(registers[&value], value) {
                    panic!("{which}: {value} and {other} share a register {}\n{}", together.place, print(function));
                }
            }
            pairs += together.values.len() * together.values.len().saturating_sub(1) / 2;
        }
        let pinned = Pinned::new(function);
        for inst in function.insts.keys() {
            for value in live.before[inst].intersection(&live.after[inst]) {
                let taken = pinned.before[inst] | pinned.after[inst] | function.pins(inst).clobbers;
                assert!(!taken.contains(registers[value]), "{which}: {value} at {inst}\n{}", print(function));
            }
        }
    });
    assert!(pairs > 100_000, "{pairs} pairs");
}

/// A web is in one register all its life, or in one slot, and nothing moves for φs.
#[test]
fn a_web_is_in_one_place() {
    let (mut in_registers, mut in_memory) = (0, 0);
    for_each_scanned(|which, scanned| {
        let Scanned { conventional, spilled, assignment, .. } = scanned;
        let registers = defined(scanned);
        let mut places: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for value in conventional.function.values.keys() {
            let place = (registers.get(&value), spilled.slot_of[value].expand());
            if let Some(web) = conventional.webs[value].expand() {
                places.entry(web).or_default().insert(place);
            }
        }
        for (web, places) in places {
            let place = *places.first().expect("a web has values");
            assert!(places.len() == 1, "{which}: {web} is in {places:?}\n{}", print(&spilled.function));
            *if place.1.is_some() { &mut in_memory } else { &mut in_registers } += 1;
        }
        for (block, data) in &spilled.function.blocks {
            for (phi, &pred) in data.phis.iter().flat_map(|phi| data.preds.iter().map(move |pred| (phi, pred))) {
                let column = spilled.function.column(pred, block);
                let Some(arg) = phi.args[column].expand() else { continue };
                assert!(phi.args[column].slot.is_none() && registers[&arg] == registers[&phi.def], "{which}: {arg}");
            }
        }
        assert!(assignment.repairs.iter().flat_map(|repair| &repair.transfers).all(|transfer| transfer.from != transfer.to));
    });
    assert!(in_registers > 1000 && in_memory > 1000, "{in_registers} and {in_memory}");
}

#[test]
fn rounds_are_few_and_end() {
    let mut rounds = Vec::new();
    for_each_scanned(|_, scanned| rounds.push(scanned.restarts));
    rounds.sort_unstable();
    let most = rounds[rounds.len() - 1];
    assert!(rounds[rounds.len() / 2] <= 6 && most <= 30, "half of them take {}, one {most}", rounds[rounds.len() / 2]);
}
