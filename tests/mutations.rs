//! Tests of the checker by planted faults: it rejects every fault that changes what some execution computes, and does so
//! without executing anything.

use crate::support::fixture;
use crate::support::interpret::compare;
use crate::support::presets::variants;
use crate::support::random::{random_function, shapes};
use chordal::allocate::allocators::Preset;
use chordal::allocate::pipeline::{Allocate as _, Strategy};
use chordal::check::check;
use chordal::machine::{
    Block, Edit, Function, Inst, InstFlags, Location, Overlay, PinSets, Point, Reg, RegSet, Role, Slot, SlotData, SwapKind, print,
};
use fastrand::Rng;

/// The most blocks on a path.
const STEPS: usize = 40;
/// The number of paths that an allocation is executed along.
const PATHS: u64 = 4;
/// The number of faults of each kind that are planted in an allocation.
const ATTEMPTS: usize = 2;
/// The number of faults of each kind that must matter. It is low because few instructions are performed elsewhere.
const ENOUGH: usize = 4;

/// An allocation in which faults are planted.
struct Allocation<'a> {
    function: &'a Function,
    overlay: Overlay,
    rng: Rng,
}

/// An instruction that could change memory, with the indices among all operands of the use that it overwrites and of the
/// definition.
struct Update {
    at: Point,
    read: usize,
    written: usize,
}

/// Plants a fault, if there is a place for it.
type Plant = fn(&mut Allocation) -> Option<()>;

/// All kinds of faults.
const KINDS: &[(&str, Plant)] = &[
    ("an edit is missing", |a| {
        let at = a.edit(|_| true)?;
        a.overlay.edits.remove(at);
        Some(())
    }),
    ("an edit is there twice", |a| {
        let at = a.edit(|_| true)?;
        let edit = a.overlay.edits[at];
        a.overlay.edits.insert(at, edit);
        Some(())
    }),
    ("two edits trade places", |a| {
        let edits = &a.overlay.edits;
        let at =
            pick(&mut a.rng, (1..edits.len()).filter(|&at| edits[at - 1].0 == edits[at].0 && edits[at - 1].1 != edits[at].1))?;
        a.overlay.edits.swap(at - 1, at);
        Some(())
    }),
    ("an edit is an instruction late", |a| a.delay(1)),
    ("an edit is an instruction early", |a| a.delay(-1)),
    ("an edit writes another register", |a| {
        let other = a.register()?;
        let at = a.edit(|edit| matches!(edit, Edit::Load { .. } | Edit::Move { .. } | Edit::Rematerialise { .. }))?;
        let (Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. }) = &mut a.overlay.edits[at].1 else {
            unreachable!("it is one of these")
        };
        *to = other;
        Some(())
    }),
    ("an edit reads another register", |a| {
        let other = a.register()?;
        let at =
            a.edit(|edit| matches!(edit, Edit::Store { .. } | Edit::Move { .. } | Edit::Rematerialise { from: Some(_), .. }))?;
        let (Edit::Store { from, .. } | Edit::Move { from, .. } | Edit::Rematerialise { from: Some(from), .. }) =
            &mut a.overlay.edits[at].1
        else {
            unreachable!("it is one of these")
        };
        *from = other;
        Some(())
    }),
    ("an edit exchanges another register", |a| {
        let other = a.register()?;
        let at = a.edit(|edit| matches!(edit, Edit::Swap { a, b, .. } if *a != other && *b != other))?;
        let Edit::Swap { a: exchanged, .. } = &mut a.overlay.edits[at].1 else { unreachable!("it is one") };
        *exchanged = other;
        Some(())
    }),
    ("code for an edge does something else", |a| {
        let other = a.register()?;
        let function = a.function;
        let on_edge = |block: Block| function.blocks[block].on_edge;
        let edits = &a.overlay.edits;
        let at = pick(&mut a.rng, (0..edits.len()).filter(|&at| on_edge(edits[at].0.block)))?;
        match &mut a.overlay.edits[at].1 {
            Edit::Load { to, .. } | Edit::Move { to, .. } | Edit::Rematerialise { to, .. } => *to = other,
            Edit::Store { from, .. } => *from = other,
            Edit::Swap { .. } | Edit::StoreConstant { .. } | Edit::Perform { .. } => drop(a.overlay.edits.remove(at)),
        }
        Some(())
    }),
    ("a load reads another slot", |a| {
        let other = a.slot()?;
        let at = a.edit(|edit| matches!(edit, Edit::Load { .. }))?;
        let Edit::Load { from, .. } = &mut a.overlay.edits[at].1 else { unreachable!("it is one") };
        *from = other;
        Some(())
    }),
    ("a store writes another slot", |a| {
        let other = a.slot()?;
        let at = a.edit(|edit| matches!(edit, Edit::Store { .. } | Edit::StoreConstant { .. }))?;
        let (Edit::Store { to, .. } | Edit::StoreConstant { to, .. }) = &mut a.overlay.edits[at].1 else {
            unreachable!("it is one of these")
        };
        *to = other;
        Some(())
    }),
    ("two slots are one", |a| {
        let (kept, gone) = (a.slot()?, a.slot()?);
        a.overlay.edits.iter_mut().for_each(|(_, edit)| match edit {
            Edit::Load { from: slot, .. } | Edit::Store { to: slot, .. } | Edit::StoreConstant { to: slot, .. }
                if *slot == gone =>
            {
                *slot = kept;
            }
            _ => {}
        });
        let locations = a.overlay.locations.iter_mut().chain(&mut a.overlay.debug_locations).flatten();
        locations.filter(|location| **location == Location::Slot(gone)).for_each(|location| *location = Location::Slot(kept));
        Some(())
    }),
    ("a slot is too small", |a| {
        let slot = a.slot()?;
        let SlotData { size, .. } = a.overlay.slots[slot];
        a.overlay.slots[slot].size = size / 2;
        Some(())
    }),
    ("another constant is computed again", |a| {
        let function = a.function;
        let constants = function.insts.keys().filter(|&inst| function.insts[inst].is(InstFlags::REMATERIALISABLE));
        let other = pick(&mut a.rng, constants)?;
        let at = a.edit(|edit| matches!(edit, Edit::Rematerialise { .. } | Edit::StoreConstant { .. }))?;
        let (Edit::Rematerialise { inst, .. } | Edit::StoreConstant { inst, .. }) = &mut a.overlay.edits[at].1 else {
            unreachable!("it is one of these")
        };
        *inst = other;
        Some(())
    }),
    ("what is no constant is computed again", |a| {
        let function = a.function;
        let defines = |inst: Inst| matches!(function.operands(inst), [def] if def.is_def());
        let other = pick(
            &mut a.rng,
            function.insts.keys().filter(|&i| defines(i) && !function.insts[i].is(InstFlags::REMATERIALISABLE)),
        )?;
        let at = a.edit(|edit| matches!(edit, Edit::Rematerialise { .. }))?;
        let Edit::Rematerialise { inst, .. } = &mut a.overlay.edits[at].1 else { unreachable!("it is one") };
        *inst = other;
        Some(())
    }),
    ("a load is a constant of another value", |a| {
        let function = a.function;
        let constant =
            pick(&mut a.rng, function.insts.keys().filter(|&inst| function.insts[inst].is(InstFlags::REMATERIALISABLE)))?;
        let at = a.edit(|edit| matches!(edit, Edit::Load { .. }))?;
        let Edit::Load { to, .. } = a.overlay.edits[at].1 else { unreachable!("it is one") };
        a.overlay.edits[at].1 = Edit::Rematerialise { to, inst: constant, from: None };
        Some(())
    }),
    ("a swap overwrites flags", |a| {
        let at = a.edit(|edit| matches!(edit, Edit::Swap { kind: SwapKind::Exchange, .. }))?;
        let Edit::Swap { kind, .. } = &mut a.overlay.edits[at].1 else { unreachable!("it is one") };
        *kind = SwapKind::Xor;
        Some(())
    }),
    ("two registers trade places in an instruction", |a| {
        let operands = a.operands(|_, _| true)?;
        let (x, y) = (operands.start + a.rng.usize(..operands.len()), operands.start + a.rng.usize(..operands.len()));
        (a.overlay.locations[x] != a.overlay.locations[y]).then(|| a.overlay.locations.swap(x, y))
    }),
    ("two registers trade places in a block's rest", |a| {
        let (x, y) = (a.register()?, a.register()?);
        let from = a.point()?;
        a.rename(from, |reg| {
            if reg == x {
                y
            } else if reg == y {
                x
            } else {
                reg
            }
        });
        Some(())
    }),
    ("an operand is in another register", |a| {
        let other = Location::Reg(a.register()?);
        let operands = a.operands(|_, _| true)?;
        let at = a.rng.usize(operands);
        a.overlay.locations[at] = Some(other);
        Some(())
    }),
    ("an operand is in another slot", |a| {
        let other = Location::Slot(a.slot()?);
        let locations = &a.overlay.locations;
        let at = pick(&mut a.rng, (0..locations.len()).filter(|&at| matches!(locations[at], Some(Location::Slot(_)))))?;
        a.overlay.locations[at] = Some(other);
        Some(())
    }),
    ("another slot is changed", |a| {
        let other = Location::Slot(a.slot()?);
        let update = a.update(|a, update| matches!(a.overlay.locations[update.written], Some(Location::Slot(_))))?;
        a.change(&update, other);
        Some(())
    }),
    ("a slot is changed in place of a register", |a| {
        let slot = Location::Slot(a.slot()?);
        let update = a.update(|a, update| matches!(a.overlay.locations[update.written], Some(Location::Reg(_))))?;
        a.change(&update, slot);
        Some(())
    }),
    ("what is loaded is changed in its slot", |a| {
        let update = a.update(|a, update| a.load_for(update).is_some())?;
        let (at, slot) = a.load_for(&update)?;
        a.overlay.edits.remove(at);
        // A store right after the instruction may go: it would store to the same slot.
        let written = a.overlay.locations[update.written];
        let behind = Point { index: update.at.index + 1, ..update.at };
        let stores = |&(at, edit): &(Point, Edit)| {
            at == behind && matches!(edit, Edit::Store { from, to, .. } if written == Some(Location::Reg(from)) && to == slot)
        };
        a.overlay.edits.retain(|edit| !stores(edit));
        a.change(&update, Location::Slot(slot));
        Some(())
    }),
    ("what has to be overwritten is not", |a| {
        let other = Location::Reg(a.register()?);
        let function = a.function;
        let ties = |at: &usize| function.operands[*at].reuse.is_some();
        let at = pick(&mut a.rng, (0..function.operands.len()).filter(ties))?;
        let location = a.overlay.locations[at].as_mut()?;
        *location = other;
        Some(())
    }),
    ("what is written early is where something is read", |a| {
        let operands = a.operands(|function, inst| {
            let early = |role: Role| role == Role::EarlyDef;
            function.operands(inst).iter().any(|o| early(o.role)) && function.operands(inst).iter().any(|o| o.role == Role::Use)
        })?;
        let function = a.function;
        let of = |role: Role| operands.clone().filter(move |&at| function.operands[at].role == role);
        let (early, usage) = (pick(&mut a.rng, of(Role::EarlyDef))?, pick(&mut a.rng, of(Role::Use))?);
        a.overlay.locations[early] = a.overlay.locations[usage];
        Some(())
    }),
    ("a register that the program holds is overwritten", |a| {
        let held = a.named(|pins| pins.uses)?;
        let function = a.function;
        let at = pick(&mut a.rng, (0..function.operands.len()).filter(|&at| function.operands[at].is_def()))?;
        let location = a.overlay.locations[at].as_mut()?;
        *location = Location::Reg(held);
        Some(())
    }),
    ("a value stays where an instruction destroys it", |a| {
        let destroyed = a.named(|pins| pins.clobbers | pins.defs | pins.early_defs)?;
        let kept = a.register()?;
        let from = a.point()?;
        a.rename(from, |reg| if reg == kept { destroyed } else { reg });
        Some(())
    }),
    ("what is needed is dropped", |a| {
        let function = a.function;
        let copies = |&inst: &Inst| {
            let operands = function.operands(inst);
            function.insts[inst].is(InstFlags::REMATERIALISABLE)
                || operands.len() == 2 && operands[0].is_def() != operands[1].is_def()
        };
        let inst = pick(&mut a.rng, function.insts.keys().filter(copies))?;
        let at = a.overlay.dropped.binary_search(&inst).err()?;
        a.overlay.dropped.insert(at, inst);
        let operands = &function.insts[inst].operands;
        a.overlay.locations[operands.start as usize..operands.end as usize].fill(None);
        Some(())
    }),
    ("an instruction is performed elsewhere", |a| {
        let at = a.edit(|edit| matches!(edit, Edit::Perform { .. }))?;
        let by = if a.rng.bool() { 1 } else { -1 };
        a.shift(at, by)
    }),
    ("an instruction is performed in another form", |a| {
        let at = a.edit(|edit| matches!(edit, Edit::Perform { .. }))?;
        let Edit::Perform { flagless, .. } = &mut a.overlay.edits[at].1 else { unreachable!("it is one") };
        *flagless = !*flagless;
        Some(())
    }),
    ("the debugger looks elsewhere", |a| {
        let other = Location::Reg(a.register()?);
        let debug = &a.overlay.debug_locations;
        let at = pick(&mut a.rng, (0..debug.len()).filter(|&at| debug[at].is_some()))?;
        a.overlay.debug_locations[at] = Some(other);
        Some(())
    }),
];

/// A random item, if there are any.
fn pick<T>(rng: &mut Rng, from: impl Iterator<Item = T>) -> Option<T> {
    rng.choice(from.collect::<Vec<_>>())
}

impl Allocation<'_> {
    fn register(&mut self) -> Option<Reg> {
        let file = &self.function.file;
        pick(&mut self.rng, (0..file.regs.len()).map(Reg::new).filter(|&reg| file.bank(reg).is_some()))
    }

    fn slot(&mut self) -> Option<Slot> {
        pick(&mut self.rng, self.overlay.slots.keys())
    }

    /// A random register among those that such pins of some instruction name.
    fn named(&mut self, of: impl Fn(&PinSets) -> RegSet) -> Option<Reg> {
        let function = self.function;
        let sets = function.insts.keys().map(|inst| of(function.pins(inst)));
        pick(&mut self.rng, sets.fold(RegSet::EMPTY, |all, set| all | set).iter())
    }

    /// The index of a random edit of this kind.
    fn edit(&mut self, is: impl Fn(&Edit) -> bool) -> Option<usize> {
        let edits = &self.overlay.edits;
        pick(&mut self.rng, (0..edits.len()).filter(|&at| is(&edits[at].1)))
    }

    /// The operands of a random executed instruction of this kind.
    fn operands(&mut self, is: impl Fn(&Function, Inst) -> bool) -> Option<std::ops::Range<usize>> {
        let (function, overlay) = (self.function, &self.overlay);
        let insts = function.insts.keys().filter(|&inst| {
            let locations = overlay.operands(function, inst);
            !locations.is_empty() && locations.iter().all(Option::is_some) && is(function, inst)
        });
        let operands = &function.insts[pick(&mut self.rng, insts)?].operands;
        Some(operands.start as usize..operands.end as usize)
    }

    /// A random executed instruction of this kind that could change memory.
    fn update(&mut self, is: impl Fn(&Self, &Update) -> bool) -> Option<Update> {
        let function = self.function;
        let mut updates = Vec::new();
        for block in function.blocks.keys() {
            for (index, inst) in (0..).zip(function.block_insts(block)) {
                let first = function.insts[inst].operands.start as usize;
                for (k, operand) in function.operands(inst).iter().enumerate().filter(|(_, o)| o.is_def() && o.foldable) {
                    let reuse = operand.reuse.expect("it overwrites something");
                    let at = Point { block, index };
                    let update = Update { at, read: first + usize::from(reuse), written: first + k };
                    let executed = !self.overlay.is_dropped(inst) && is(self, &update);
                    updates.extend(executed.then_some(update));
                }
            }
        }
        self.rng.choice(updates)
    }

    /// Puts both operands of such an instruction in another location.
    fn change(&mut self, update: &Update, to: Location) {
        self.overlay.locations[update.read] = Some(to);
        self.overlay.locations[update.written] = Some(to);
    }

    /// The edit before an instruction that loads the value it overwrites, and the slot.
    fn load_for(&self, update: &Update) -> Option<(usize, Slot)> {
        let edits = self.overlay.edits.iter().enumerate().filter(|(_, (at, _))| *at == update.at);
        let mut loads = edits.filter_map(|(at, (_, edit))| match *edit {
            Edit::Load { to, from, .. } if self.overlay.locations[update.read] == Some(Location::Reg(to)) => Some((at, from)),
            _ => None,
        });
        loads.next()
    }

    fn point(&mut self) -> Option<Point> {
        let block = pick(&mut self.rng, self.function.blocks.keys())?;
        let index = self.rng.u32(..=self.function.blocks[block].insts.len() as u32);
        Some(Point { block, index })
    }

    /// Moves a random edit this number of instructions down its block.
    fn delay(&mut self, by: i32) -> Option<()> {
        let at = self.edit(|_| true)?;
        self.shift(at, by)
    }

    fn shift(&mut self, at: usize, by: i32) -> Option<()> {
        let (point, edit) = self.overlay.edits[at];
        let index = point.index.checked_add_signed(by)?;
        let insts = self.function.block_insts(point.block).collect::<Vec<_>>();
        let behind = |index: u32| {
            index.checked_sub(1).is_some_and(|before| self.function.insts[insts[before as usize]].is(InstFlags::TERMINATOR))
        };
        if index as usize > insts.len() || behind(index) {
            return None;
        }
        self.overlay.edits.remove(at);
        let to = Point { block: point.block, index };
        let place = self.overlay.edits.partition_point(|(point, _)| *point < to);
        self.overlay.edits.insert(place, (to, edit));
        Some(())
    }

    /// Renames registers from a point to the end of its block.
    fn rename(&mut self, from: Point, name: impl Fn(Reg) -> Reg) {
        let within = |point: &Point| point.block == from.block && *point >= from;
        for (_, edit) in self.overlay.edits.iter_mut().filter(|(point, _)| within(point)) {
            match edit {
                Edit::Load { to: reg, .. } | Edit::Store { from: reg, .. } => *reg = name(*reg),
                Edit::Rematerialise { to, from, .. } => (*to, *from) = (name(*to), from.map(&name)),
                Edit::Move { to: x, from: y, .. } | Edit::Swap { a: x, b: y, .. } => (*x, *y) = (name(*x), name(*y)),
                Edit::StoreConstant { .. } | Edit::Perform { .. } => {}
            }
        }
        for inst in self.function.block_insts(from.block).skip(from.index as usize) {
            let operands = &self.function.insts[inst].operands;
            let locations = &mut self.overlay.locations[operands.start as usize..operands.end as usize];
            for location in locations.iter_mut().flatten() {
                if let Location::Reg(reg) = location {
                    *reg = name(*reg);
                }
            }
        }
    }
}

/// The outcomes of the faults of a kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    planted: usize,
    /// Those that change what some path computes.
    matter: usize,
    rejected: usize,
    /// Those that matter and are accepted.
    missed: usize,
}

/// Plants faults of every kind, executes the results, and asks the checker.
fn plant_all(function: &Function, overlay: &Overlay, seed: u64, tallies: &mut [Tally]) {
    for ((kind, plant), tally) in KINDS.iter().zip(tallies) {
        for attempt in 0..ATTEMPTS as u64 {
            let rng = Rng::with_seed(seed.wrapping_mul(31) + attempt);
            let mut allocation = Allocation { function, overlay: overlay.clone(), rng };
            if plant(&mut allocation).is_none() {
                continue;
            }
            let wrong = (0..PATHS).find_map(|path| compare(function, &allocation.overlay, path, STEPS).err());
            let rejected = check(function, &allocation.overlay).is_err();
            tally.planted += 1;
            tally.rejected += usize::from(rejected);
            if let Some(difference) = wrong {
                tally.matter += 1;
                tally.missed += usize::from(!rejected);
                if !rejected {
                    eprintln!(
                        "accepted: {kind}, {}, seed {seed}, attempt {attempt}: {difference}\n{}",
                        function.name,
                        print(function)
                    );
                }
            }
        }
    }
}

#[test]
fn the_checker_rejects_every_fault_that_matters() {
    let variants = variants();
    let mut tallies = vec![Tally::default(); KINDS.len()];
    let random = shapes().into_iter().flat_map(|shape| (0..24).map(move |seed| random_function(seed, &shape)));
    for (seed, function) in fixture::all().into_iter().chain(random).enumerate() {
        for preset in [variants[seed % variants.len()], Preset::named("tuned").expect("it exists")] {
            let Ok((overlay, _)) = Strategy::from(preset).allocate(&function) else { continue };
            for path in 0..PATHS {
                compare(&function, &overlay, path, STEPS).unwrap_or_else(|found| panic!("{found}\n{}", print(&function)));
            }
            plant_all(&function, &overlay, seed as u64, &mut tallies);
        }
    }
    println!("{:50} planted matter rejected caught", "fault");
    for ((kind, _), Tally { planted, matter, rejected, missed }) in KINDS.iter().zip(&tallies) {
        let caught = 100.0 * (matter - missed) as f64 / (*matter).max(1) as f64;
        println!("{kind:50} {planted:7} {matter:6} {rejected:8} {caught:5.1}%");
    }
    for ((kind, _), tally) in KINDS.iter().zip(&tallies) {
        assert_eq!(tally.missed, 0, "{kind}: of {} that matter, so many are accepted", tally.matter);
        assert!(tally.matter >= ENOUGH, "{kind}: {} of {} planted matter", tally.matter, tally.planted);
    }
}
