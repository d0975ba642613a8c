//! The block walk: plans in which registers hold the values used soonest, by Belady's algorithm in each block.
//!
//! A value may be in a register in one part of its life and in memory in another. The consequences for the borders of
//! blocks, and the stores, are the business of [`super::edges`].
//!
//! Relies on: [Hack, "Spilling with Belady's Algorithm"]; \[BH09\].

use super::edges::{Decided, StorePlacement, connect};
use super::entry::{Candidate, Entries};
use super::guide::{Guide, Labels};
use super::uncontended::Uncontended;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::{Demand, Excess, LastUse, first_reuse, foldable_operands, folded_operand, is_first_use};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::limits::Counts;
use crate::allocate::spill::plan::{Plan, Refill, Site};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::analysis::{Held, NEVER, NextUses, Occupancy, PinLiveness, next_uses_in_blocks};
use crate::machine::{Block, Function, Inst, InstFlags, Point, Role, Value};
use cranelift_entity::EntitySet;

/// The next uses of values.
pub(in crate::allocate::spill) struct Ahead<'a> {
    /// Those after the values' blocks. They are not known if the values in registers have been decided beforehand, because
    /// then they matter only for values that do not fit all the same. All uses after a block then count as equally far away.
    pub(in crate::allocate::spill) borders: Option<NextUses<'a>>,
    /// For each operand, the next instruction of its block that uses the value.
    pub(in crate::allocate::spill) in_block: Vec<u32>,
}

impl<'a> Ahead<'a> {
    pub(in crate::allocate::spill) fn new(problem: &Problem, borders: Option<NextUses<'a>>) -> Self {
        Ahead { borders, in_block: next_uses_in_blocks(&problem.conventional.function) }
    }

    /// The distance from the head of a block to the next use of a value that lives on after the block and is not used in it
    /// any more.
    pub(in crate::allocate::spill) fn after_block(&self, function: &Function, block: Block, value: Value) -> u32 {
        let from_exit = self.borders.as_ref().map_or(0, |borders| borders.from_exit(block, value));
        from_exit.saturating_add(function.blocks[block].insts.len() as u32)
    }
}

/// Plans the place of each value. Values of the set are in registers only within blocks, from refills on.
///
/// # Errors
/// If an instruction alone needs more registers than there are.
pub(in crate::allocate::spill) fn walk(
    problem: &Problem,
    set: &SpillSet,
    ahead: &Ahead,
    guide: &dyn Guide,
    pins: &PinLiveness,
) -> Result<Plan, Unsupported> {
    Ok(connect(problem, set, decide(problem, set, ahead, guide, pins)?, StorePlacement::Cheapest))
}

/// Decides where each value is in a register. [`connect`] makes a plan of it.
///
/// # Errors
/// As those of [`walk`].
pub(super) fn decide<'a>(
    problem: &'a Problem<'a>,
    set: &'a SpillSet,
    ahead: &'a Ahead<'a>,
    guide: &'a dyn Guide,
    pins: &'a PinLiveness,
) -> Result<Decided<'a>, Unsupported> {
    let Problem { conventional, order, .. } = problem;
    let function = &conventional.function;
    let labels = guide.labels();
    let mut walk = BlockWalk {
        problem,
        set,
        pins,
        ahead,
        labels,
        withdraws: guide.withdraws(),
        uncontended: labels.map(|labels| Uncontended::new(problem, set, pins, labels)),
        residents: Vec::new(),
        unheld: Vec::new(),
        counts: Counts::default(),
        entries: Entries::new(problem, ahead, guide, pins),
        refills: Vec::new(),
        evictions: Vec::new(),
        folds: Vec::new(),
        read_where_defined: EntitySet::with_capacity(function.values.len()),
    };
    for &block in order.blocks().iter().filter(|&&block| !problem.is_passed(block)) {
        walk.block(block)?;
    }
    let BlockWalk { entries, refills, evictions, folds, read_where_defined, .. } = walk;
    Ok(Decided { entries, refills, evictions, folds, read_where_defined })
}

/// A value in a register, or about to be.
#[derive(Clone, Copy)]
struct Resident {
    value: Value,
    /// Whether it is in the register by now.
    filled: bool,
    /// Whether it has been there since its definition, as far as is known.
    since_definition: bool,
    /// Whether it has been there since the block's head and has not been read.
    untouched: bool,
    /// Its next use, in instructions from the block's head.
    next_use: u32,
    /// Whether it stays past the current instruction.
    kept: bool,
    /// Whether it crosses the bundle by which control leaves the block. If so, it is no longer displaced.
    crosses: bool,
    /// Whether it has been in a register since the call that throws, and landing pads need it.
    thrown: bool,
}

struct BlockWalk<'a> {
    problem: &'a Problem<'a>,
    set: &'a SpillSet,
    /// The registers that the program occupies, and callee-saved registers that no value may be in.
    pins: &'a PinLiveness,
    ahead: &'a Ahead<'a>,
    /// The decisions that were made before the walk, if there are any.
    labels: Option<&'a dyn Labels>,
    /// [`Guide::withdraws`].
    withdraws: bool,
    uncontended: Option<Uncontended<'a>>,
    residents: Vec<Resident>,
    /// The number of residents, for each set of registers.
    counts: Counts,
    /// The values that have been refilled while a pinned register could hold them. From there on, it does not.
    unheld: Vec<Value>,
    entries: Entries<'a>,
    refills: Vec<(Site, Value, Refill)>,
    /// Where values that live on leave their registers within blocks.
    evictions: Vec<(Point, Value)>,
    folds: Vec<(Inst, usize)>,
    /// Values whose definitions are needed in a register.
    read_where_defined: EntitySet<Value>,
}

impl<'a> BlockWalk<'a> {
    fn function(&self) -> &'a Function {
        &self.problem.conventional.function
    }

    fn block(&mut self, block: Block) -> Result<(), Unsupported> {
        let function = self.function();
        if self.pass(block) {
            return Ok(());
        }
        let since_definition = self.labels.is_none();
        self.residents.clear();
        self.unheld.clear();
        self.counts = Counts::default();
        self.entries.enter(block, self.set);
        for index in 0..self.entries.entering().len() {
            let it = self.entries.entering()[index];
            self.admit(Resident { since_definition, ..Resident::entering(it) });
        }
        let tail = function.before_terminators(block);
        for (index, inst) in function.block_insts(block).enumerate() {
            if self.set.drops(function.operands(inst)) {
                continue;
            }
            if self.copies_within_home(block, inst) {
                self.folds.extend([(inst, 0), (inst, 1)]);
                continue;
            }
            let at = Point { block, index: index as u32 };
            let refills = self.refills.len();
            self.instruction(at, inst)?;
            if function.blocks[block].throws == inst.into() {
                self.throw(block, inst);
            }
            if at > tail && self.refills.len() > refills {
                return Err(Unsupported(format!("a spilled value is loaded between the terminators of {block}")));
            }
        }
        self.leave(block);
        Ok(())
    }

    /// Passes a block if it is uncontended.
    fn pass(&mut self, block: Block) -> bool {
        let function = self.function();
        let Some(uncontended) = &mut self.uncontended else { return false };
        if !uncontended.is_uncontended(block) {
            return false;
        }
        let operands = function.block_operands(block).iter();
        self.read_where_defined.extend(operands.filter(|operand| operand.is_def()).map(|operand| operand.value));
        self.entries.pass(block, self.set, |value| uncontended.is_in_memory(block, value));
        true
    }

    /// Whether an instruction copies a value in memory to its own home, and both values have been decided to stay there.
    fn copies_within_home(&self, block: Block, inst: Inst) -> bool {
        self.problem.copies_within_home(inst) && {
            let from = self.function().operands(inst)[1].value;
            let stays = |k: usize| self.stays(inst, k, self.next_use(block, inst, k));
            let is_resident = self.residents.iter().any(|it| it.value == from);
            !is_resident && (0..2).all(|k| !stays(k) && self.can_fold(inst, k))
        }
    }

    /// Adds a value that is in a register from here on.
    fn admit(&mut self, resident: Resident) {
        let class = self.function().values[resident.value].class;
        self.problem.limits.count(&mut self.counts, class, 1);
        self.residents.push(resident);
    }

    /// Removes the values that do not stay in registers.
    fn drop_displaced(&mut self) {
        let function = self.function();
        let BlockWalk { problem, residents, counts, .. } = self;
        residents.retain(|resident| {
            if !resident.kept {
                problem.limits.count(counts, function.values[resident.value].class, -1);
            }
            resident.kept
        });
    }

    /// Notes the values that are in registers where the call of a block throws, and needed in its landing pads. A held value
    /// does not count, since at the call it is in the pinned register and no other.
    fn throw(&mut self, block: Block, call: Inst) {
        let pads = self.problem.wanted_in_pads(block);
        let held = |value: Value| self.pins.holder(call, value).is_some();
        for it in &mut self.residents {
            it.thrown = it.filled && pads.binary_search(&it.value).is_ok() && !held(it.value);
        }
    }

    /// Notes the values that are in registers at the end of a block, and live after it.
    fn leave(&mut self, block: Block) {
        let length = self.function().blocks[block].insts.len() as u32;
        let leaving = || self.residents.iter().filter(|resident| (length..NEVER).contains(&resident.next_use));
        let defined = leaving().filter(|resident| resident.since_definition).map(|resident| resident.value);
        self.read_where_defined.extend(defined);
        self.entries.leave(block, leaving().map(|resident| resident.value));
        // Values that live into landing pads live to the end of the block, so none of these has been displaced since the
        // call.
        self.entries.throw(block, leaving().filter(|resident| resident.thrown).map(|resident| resident.value));
    }

    /// The next use after an operand's instruction, from the block's head. Values of the set are in memory at the block's
    /// end.
    fn next_use(&self, block: Block, inst: Inst, k: usize) -> u32 {
        let data = &self.function().blocks[block];
        let operand = self.function().insts[inst].operands.start as usize + k;
        let value = self.function().operands[operand].value;
        match self.ahead.in_block[operand] {
            NEVER if self.set.spilled[value] || self.problem.liveness.kills(operand) => NEVER,
            NEVER => self.ahead.after_block(self.function(), block, value),
            next => next - data.insts.start,
        }
    }

    /// Whether an operand's value stays in a register after its instruction, as far as there is room: it is used again, and
    /// no decision says otherwise.
    fn stays(&self, inst: Inst, k: usize, next_use: u32) -> bool {
        let operand = self.function().insts[inst].operands.start as usize + k;
        next_use != NEVER && self.labels.is_none_or(|labels| labels.is_in_register_after(operand))
    }

    fn instruction(&mut self, at: Point, inst: Inst) -> Result<(), Unsupported> {
        let function = self.function();
        let operands = function.operands(inst);
        let folded = self.make_fit(at, inst)?;
        let evicted = self.residents.iter().filter(|it| !it.kept && it.filled && it.next_use != NEVER);
        self.evictions.extend(evicted.map(|it| (at, it.value)));
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| Some(k) != folded && operand.role == Role::Use) {
            debug_assert!(is_first_use(operands, k) || self.residents.iter().any(|it| it.value == operand.value && it.filled));
            self.read(at, operand.value);
        }
        self.folds.extend(folded.map(|k| (inst, k)));
        for index in 0..self.residents.len() {
            let Resident { value, crosses, filled, .. } = self.residents[index];
            if crosses && !filled {
                self.read(at, value);
            }
        }
        let copied = self.pins.held(inst).iter().filter(|held| !held.before);
        copied.for_each(|held| self.unheld.retain(|&value| value != held.value));
        if self.withdraws {
            let displaced = |it: &&Resident| !it.kept && it.untouched && it.next_use != NEVER;
            self.residents.iter().filter(displaced).for_each(|it| self.entries.withdraw(at.block, it.value));
        }
        self.drop_displaced();
        for (k, operand) in operands.iter().enumerate().filter(|&(k, operand)| Some(k) != folded && operand.is_def()) {
            let next_use = self.next_use(at.block, inst, k);
            if self.stays(inst, k, next_use) {
                if self.labels.is_some() {
                    self.read_where_defined.insert(operand.value);
                }
                self.admit(Resident::defined(operand.value, next_use));
            }
        }
        Ok(())
    }

    /// Reads a value in a register, after refilling it if it is in none.
    fn read(&mut self, at: Point, value: Value) {
        let resident = self.residents.iter_mut().find(|it| it.value == value).expect("what is about to be read is entered");
        resident.untouched = false;
        if resident.since_definition {
            self.read_where_defined.insert(value);
        }
        if !std::mem::replace(&mut resident.filled, true) {
            let refill = self.refill(at, value);
            self.refills.push((Site::At(at), value, refill));
            let inst = Inst::from_u32(self.function().blocks[at.block].insts.start + at.index);
            self.unheld.extend(self.pins.holder(inst, value).filter(|held| held.before).map(|held| held.value));
        }
    }

    /// The refill of a value. It is recomputed from another one only if that one is in a register past the instruction
    /// anyway.
    fn refill(&mut self, at: Point, value: Value) -> Refill {
        let again = self.problem.constants[value].expand().filter(|_| self.set.rematerialised[value]);
        let refill = again.map_or_else(|| self.problem.refill(value), Refill::Rematerialise);
        match self.recompute(value) {
            Some(again @ Refill::Recompute { from, .. }) if refill == Refill::Load => {
                self.read(at, from);
                again
            }
            _ => refill,
        }
    }

    /// How a value is recomputed, if the value that it is computed from is in a register here and past the instruction.
    fn recompute(&self, value: Value) -> Option<Refill> {
        let again = self.problem.recompute(value)?;
        let is_there = |needed: Value| self.residents.iter().any(|it| it.value == needed && it.filled && it.kept);
        matches!(again, Refill::Recompute { from, .. } if is_there(from)).then_some(again)
    }

    /// Enters the values that the instruction reads, decides which values stay in registers past it, and returns the operand
    /// that is folded.
    fn make_fit(&mut self, at: Point, inst: Inst) -> Result<Option<usize>, Unsupported> {
        let function = self.function();
        let operands = function.operands(inst);
        self.residents.iter_mut().for_each(|resident| resident.kept = resident.next_use != NEVER);
        for (k, operand) in operands.iter().enumerate().filter(|&(k, o)| !o.is_def() && is_first_use(operands, k)) {
            let next_use = self.next_use(at.block, inst, k);
            let kept = self.stays(inst, k, next_use);
            match self.residents.iter_mut().find(|resident| resident.value == operand.value) {
                Some(resident) => (resident.next_use, resident.kept) = (next_use, kept || resident.crosses),
                None => self.admit(Resident { kept, ..Resident::needed(operand.value, next_use) }),
            }
        }
        if at == function.before_terminators(at.block) {
            self.approach_bundle(at.block);
        }
        self.displace(at, inst, &self.pins.occupancy(function, at.block, inst))
    }

    /// Prepares for terminators that leave by a bundle. A value that crosses the bundle in a register is in one from here
    /// on, and a value for which there is no register at the bundle is displaced.
    fn approach_bundle(&mut self, block: Block) {
        let Problem { bundles, liveness, .. } = self.problem;
        let Some(bundle) = bundles.exit(block) else { return };
        let length = self.function().blocks[block].insts.len() as u32;
        let off = |value: Value| self.set.off_bundles[value];
        self.residents.iter_mut().filter(|it| off(it.value) && it.next_use >= length).for_each(|it| it.kept = false);
        let crossing = &bundles.meeting(bundle).crossing;
        let crosses = |value: Value| crossing.binary_search(&bundles.representative(value)).is_ok();
        for &value in liveness.live_out(block).iter().filter(|&&it| crosses(it) && !off(it) && !self.set.spilled[it]) {
            match self.residents.iter_mut().find(|it| it.value == value) {
                // This is so even if the terminators read it and nothing else says that it stays.
                Some(resident) => (resident.crosses, resident.kept) = (true, true),
                None => {
                    let next_use = self.ahead.after_block(self.function(), block, value);
                    self.admit(Resident { crosses: true, ..Resident::needed(value, next_use) });
                }
            }
        }
    }

    /// Displaces residents, those with the farthest next use first, until the instruction has the registers it needs: first
    /// while it reads, by displacing only what it does not read, since all of that has to be in registers then; and next to
    /// its definitions, by displacing anything.
    fn displace(&mut self, at: Point, inst: Inst, occupancy: &Occupancy) -> Result<Option<usize>, Unsupported> {
        let Problem { limits, policy, unspillable, .. } = self.problem;
        let function = self.function();
        let operands = function.operands(inst);
        let mut folded = None;
        let mut tried = 0;
        let mut spare = limits.spare();
        loop {
            folded = folded.or_else(|| self.accessed_once(at.block, inst));
            if let Some(k) = folded {
                self.residents.iter_mut().filter(|it| it.value == operands[k].value).for_each(|it| it.kept = false);
            }
            let Some(excess) = self.excess(inst, occupancy, folded, spare) else { return Ok(folded) };
            let candidate = |it: &&Resident| {
                let confined = limits.is_confined(function.values[it.value].class, excess.set);
                let helps = !excess.while_reading || !self.is_needed_while_reading(inst, it, folded);
                it.kept && confined && helps && !it.crosses && !unspillable.contains(it.value)
            };
            let farthest = self.residents.iter().filter(candidate).max_by_key(|it| (it.next_use, it.value)).map(|it| it.value);
            match farthest {
                Some(value) => self.residents.iter_mut().filter(|it| it.value == value).for_each(|it| it.kept = false),
                None if spare > 0 => spare = 0,
                None => {
                    let mut ways_out = foldable_operands(function, inst, policy.fold).filter(|&k| self.can_fold(inst, k));
                    let Some(k) = ways_out.nth(tried) else {
                        let (index, block) = (at.index, at.block);
                        return Err(Unsupported(format!("instruction {index} of {block} needs more registers than there are")));
                    };
                    folded = Some(k);
                    tried += 1;
                }
            }
        }
    }

    /// Whether a resident is in a register while an instruction reads, displaced or not, that no definition takes over. An
    /// operand that would first have to be refilled can be in memory, if the instruction accesses it there.
    fn is_needed_while_reading(&self, inst: Inst, resident: &Resident, folded: Option<usize>) -> bool {
        let function = self.function();
        let operands = function.operands(inst);
        let is_read = operands.iter().any(|operand| operand.value == resident.value && !operand.is_def());
        let is_overwritten = || first_reuse(operands, resident.value).is_some();
        let is_accessed = |k: usize| operands[k].value == resident.value && self.can_fold(inst, k);
        let can_be_in_memory = || {
            let mut foldable = foldable_operands(function, inst, self.problem.policy.fold);
            !resident.filled && folded.is_none() && foldable.any(is_accessed)
        };
        is_read && !is_overwritten() && !can_be_in_memory()
    }

    /// The excess demand of an instruction beside the residents that stay, while it reads if there is one then.
    fn excess(&self, inst: Inst, occupancy: &Occupancy, folded: Option<usize>, spare: usize) -> Option<Excess> {
        let Problem { limits, .. } = self.problem;
        let function = self.function();
        let operands = function.operands(inst);
        let kept = || self.residents.iter().filter(|it| it.kept);
        let is_kept = |value: Value| kept().any(|it| it.value == value);
        let last_use = |k: usize| if is_kept(operands[k].value) { LastUse::No } else { LastUse::OfRefill };
        let of_counts = || {
            let mut through = Counts::default();
            kept().for_each(|it| limits.count(&mut through, function.values[it.value].class, 1));
            let mut demand = Demand::of(function, limits, inst, folded, last_use);
            let in_register = |value: Value| is_kept(value) && self.holder(inst, value).is_some();
            demand.hold(function, inst, self.pins.held(inst), in_register, |_| false);
            let while_reading = demand.excess_while_reading(limits, &through, occupancy, spare);
            while_reading.or_else(|| demand.excess(limits, &through, occupancy, spare))
        };
        let of_matching = || {
            let live = kept().map(|it| (it.value, self.holder(inst, it.value).map(|it| it.reg)));
            feasible::misfit(function, limits, inst, occupancy, live, folded, last_use)
        };
        // Most of the time there is room for all residents and operands at once.
        let is_ample = limits.are_ample(&self.counts, operands.len() as i32, occupancy.all(), spare);
        if is_ample && limits.are_laminar() {
            debug_assert!(of_matching().is_none());
            return None;
        }
        if is_ample { None } else { of_counts() }.or_else(of_matching)
    }

    /// The pinned register that may hold a value at an instruction, if the value has been in a register since it was copied
    /// there.
    fn holder(&self, inst: Inst, value: Value) -> Option<Held> {
        let stayed = || self.residents.iter().any(|it| it.value == value && it.filled) && !self.unheld.contains(&value);
        self.pins.holder(inst, value).filter(|held| !held.before || stayed())
    }

    /// Whether an operand can be accessed in memory: a use of a value that may be in memory alone, or a definition of a
    /// value that was chosen to be there.
    fn can_fold(&self, inst: Inst, k: usize) -> bool {
        let operand = self.function().operands(inst)[k];
        if self.residents.iter().any(|it| it.value == operand.value && it.crosses) {
            return false;
        }
        let in_memory = self.set.is_in_memory(operand.value);
        if operand.is_def() {
            in_memory || self.labels.is_some() && self.problem.refill(operand.value) == Refill::Load
        } else {
            let is_there = || self.problem.refill(operand.value) == Refill::Load || self.problem.read_in_place(inst, k).is_some();
            in_memory || !self.problem.unspillable.contains(operand.value) && is_there()
        }
    }

    /// An operand whose value would be in a register for this instruction alone. If there are no labels, a copy is folded
    /// even if there are later uses, because it does the work of a load. Where only the place of a value is recorded, its home
    /// is as good as any.
    fn accessed_once(&self, block: Block, inst: Inst) -> Option<usize> {
        let function = self.function();
        let operands = function.operands(inst);
        let copy = function.insts[inst].kind.is_copy();
        let at_home = function.insts[inst].is(InstFlags::RECORDED) || copy && self.labels.is_none();
        folded_operand(function, inst, self.problem.policy.fold, |k| {
            let operand = operands[k];
            let not_filled = |it: &Resident| it.value == operand.value && !it.filled && (at_home || !it.kept);
            let once = match operand.is_def() {
                // A value that nothing reads is in some register for a moment, which costs nothing.
                true => !self.problem.liveness.is_dead(operand.value) && !self.stays(inst, k, self.next_use(block, inst, k)),
                false => self.residents.iter().any(not_filled) && self.recompute(operand.value).is_none(),
            };
            once && self.can_fold(inst, k)
        })
    }
}

impl Resident {
    fn entering(Candidate { value, next_use, .. }: Candidate) -> Self {
        Resident { filled: true, since_definition: true, untouched: true, ..Self::needed(value, next_use) }
    }

    fn defined(value: Value, next_use: u32) -> Self {
        Resident { filled: true, since_definition: true, ..Self::needed(value, next_use) }
    }

    fn needed(value: Value, next_use: u32) -> Self {
        Resident {
            value,
            filled: false,
            since_definition: false,
            untouched: false,
            next_use,
            kept: true,
            crosses: false,
            thrown: false,
        }
    }
}
