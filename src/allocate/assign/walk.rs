//! The walk along the dominance order.

use super::preferences::{Partner, Preferences};
use super::{Assignment, Evictable, PinPolicy, Policy, Preference, Refusal, Repair, Split, holding};
use crate::allocate::cost;
use crate::allocate::failure::{Defect, Failure, Unsupported};
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::allocate::pressure::meeting;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundle, Bundles, Held, Liveness, Occupancy, Order, PinLiveness, endangered};
use crate::machine::{Block, Function, Inst, InstKind, Reg, RegSet, Role, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// Assigns registers block by block in reverse postorder, in which dominators come first.
pub(super) fn walk(
    function: &Function,
    order: &Order,
    liveness: &Liveness,
    pins: &PinLiveness,
    preferences: &Preferences,
    policy: Policy,
    evictable: Evictable,
) -> Result<Assignment, Refusal> {
    let bundles = if policy.pins.moves() { Bundles::new(function, liveness, pins) } else { Bundles::none() };
    let mut walk = Walk {
        function,
        liveness,
        pins,
        preferences,
        bundles: &bundles,
        endangered: if bundles.iter().next().is_some() { endangered(function, liveness) } else { SecondaryMap::new() },
        policy,
        evictable,
        order,
        places: SecondaryMap::new(),
        leaving: None,
        expected: Expected::default(),
        evicted: of_each(function.values.len()),
        register: of_each(function.values.len()),
        owner: [None; RegSet::CAPACITY],
        taken: RegSet::EMPTY,
        used: PinLiveness::written(function),
        holding: holding::needed(function, liveness, pins),
        departed: Vec::new(),
        arriving: Vec::new(),
        before: Vec::new(),
        debug: 0,
        result: Assignment::empty(function),
    };
    let walked = order.blocks().iter().try_for_each(|&block| walk.block(block));
    // What has been evicted may still take registers, and what overwrites it others: whether the rest fits is known in the next
    // round.
    let evicted: Vec<Value> = function.values.keys().filter(|&value| walk.evicted[value]).collect();
    if !evicted.is_empty() {
        return Err(Refusal::Evicted(evicted));
    }
    walked?;
    walk.result.repairs.sort_by_key(|repair| repair.before);
    Ok(walk.result)
}

/// Where the values that leave a block over a bundle's edges are going to meet.
#[derive(Default)]
struct Expected {
    places: Vec<(Value, Reg)>,
    /// By instruction of the block: the registers that the program takes there or further down in the block.
    occupied: Vec<RegSet>,
}

struct Walk<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    preferences: &'a Preferences,
    bundles: &'a Bundles,
    /// If there are bundles, what [`endangered`] says.
    endangered: SecondaryMap<Value, f64>,
    policy: Policy,
    evictable: Evictable<'a>,
    order: &'a Order,
    /// Of each bundle that was come upon, where its representatives meet, sorted.
    places: SecondaryMap<Bundle, Option<Vec<(Value, Reg)>>>,
    /// At terminators and where a call throws, the bundle of the edges that they take.
    leaving: Option<Bundle>,
    /// What crosses the bundle at the end of the block that is being walked.
    expected: Expected,
    /// Values that have to be spilled, so that the walk comes to nothing. It goes on without them to find out all.
    evicted: SecondaryMap<Value, bool>,
    /// Of each live value, where it is; of a dead one, where it was last.
    register: SecondaryMap<Value, Option<Reg>>,
    /// The live value in each register.
    owner: [Option<Value>; RegSet::CAPACITY],
    /// The registers with an owner.
    taken: RegSet,
    /// Callee-saved registers that the function saves anyway.
    used: RegSet,
    /// Copies to registers of the program that have to hold the copied values from there on.
    holding: EntitySet<Inst>,
    /// Behind inline assembly that jumps, what is live where it jumps to. Control may leave for there at the block's end, too, so
    /// these values stay where they are.
    departed: Vec<Value>,
    /// The values that are live into the block that is being entered, with their registers at the end of a predecessor; and where
    /// these and what its φs define were known to be before. Kept for their memory.
    arriving: Vec<(Value, Reg)>,
    before: Vec<(Value, Option<Reg>)>,
    /// The next debug use, for the block that is being walked.
    debug: usize,
    result: Assignment,
}

impl Walk<'_> {
    fn put(&mut self, value: Value, reg: Reg) {
        debug_assert!(self.owner[reg.index()].is_none());
        self.register[value] = Some(reg);
        self.owner[reg.index()] = Some(value);
        self.taken.insert(reg);
        self.used.insert(reg);
    }

    fn free(&mut self, value: Value) {
        let reg = self.at(value);
        if self.owner[reg.index()] == Some(value) {
            self.owner[reg.index()] = None;
            self.taken.remove(reg);
        }
    }

    fn at(&self, value: Value) -> Reg {
        self.register[value].expect("a live value is in a register")
    }

    fn block(&mut self, block: Block) -> Result<(), Failure> {
        self.enter(block)?;
        self.debug = self.function.debug_uses.partition_point(|debug| debug.at.block < block);
        self.expect(block);
        self.departed.clear();
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let occupancy = self.pins.occupancy(self.function, block, inst);
            self.leaving = self.leaving_at(block, inst);
            let permute = self.policy.pins == PinPolicy::Permute && occupancy.takes(self.pins.before(inst));
            let to_be_moved = !self.is_in_place(block)? || self.early(inst, index).next().is_some() || self.has_to_be_held(inst);
            if permute || to_be_moved || !self.simple(block, inst, &occupancy) {
                self.repair(block, inst, &occupancy, permute)?;
            }
            self.debug_uses(block, index as u32);
            self.kill(inst);
            if self.throws(block, inst) {
                let mut values: Vec<(Value, Reg)> = self.taken.iter().filter_map(|r| Some((self.owner[r.index()]?, r))).collect();
                values.sort_unstable();
                self.result.at_throw[block] = values.into_iter().unzip();
            }
            self.define(inst);
            if self.function.insts[inst].jumps {
                self.departed = self.live_into_jump_targets(block);
            }
        }
        self.debug_uses(block, self.function.blocks[block].insts.len() as u32);
        let register = |&value: &Value| self.register[value].expect("a live value is in a register");
        self.result.exit.add(block, self.liveness.live_out(block).iter().map(register));
        Ok(())
    }

    fn live_into_jump_targets(&self, block: Block) -> Vec<Value> {
        let blocks = &self.function.blocks;
        let targets = blocks[block].succs.iter().filter(|&&succ| blocks[succ].jump_target);
        targets.flat_map(|&target| self.liveness.live_in(target)).copied().collect()
    }

    /// Whether a value that is copied has to be in the register that it is copied to, and is elsewhere.
    fn has_to_be_held(&self, inst: Inst) -> bool {
        let copied = || self.pins.held(inst).iter().filter(|it| !it.before);
        self.holding.contains(inst) && copied().any(|it| self.at(it.value) != it.reg)
    }

    /// The register of the program that a live value, which is in this one, may be in at an instruction: where it is held
    /// already, or copied to.
    fn holder(&self, inst: Inst, value: Value, reg: Reg) -> Option<Held> {
        self.pins.holder(inst, value).filter(|it| it.reg == reg || !it.before)
    }

    /// Whether a value is held at an instruction and behind it. Whatever else moves, it stays: it takes no register there.
    fn stays_held(&self, inst: Inst, value: Value) -> bool {
        self.pins.holder(inst, value).is_some_and(|it| it.behind && it.reg == self.at(value))
    }

    /// The registers of the program at an instruction that values are held in.
    fn held(&self, inst: Inst) -> RegSet {
        let held = self.pins.held(inst).iter().filter(|it| self.owner[it.reg.index()] == Some(it.value));
        held.map(|it| it.reg).collect()
    }

    fn throws(&self, block: Block, inst: Inst) -> bool {
        self.function.blocks[block].throws == inst.into()
    }

    /// The bundle of the edges that an instruction takes.
    fn leaving_at(&self, block: Block, inst: Inst) -> Option<Bundle> {
        match self.function.insts[inst].terminator {
            true => self.bundles.exit(block),
            false => self.bundles.throw(block).filter(|_| self.throws(block, inst)),
        }
    }

    /// Whether what crosses the bundle that the next instruction takes, if it does, is where it meets.
    fn is_in_place(&mut self, block: Block) -> Result<bool, Failure> {
        let Some(bundle) = self.leaving else { return Ok(true) };
        self.meet(bundle)?;
        let mut live = self.liveness.live_out(block).iter();
        // (What a call defines that throws is not there yet.)
        let in_place = |&value: &Value| {
            let place = self.place(bundle, value);
            place.is_none_or(|place| !self.is_live(value) || place == self.at(value))
        };
        Ok(live.all(in_place))
    }

    /// Notes where what leaves a block over a bundle's edges is going to meet, if that is known before the block is walked.
    fn expect(&mut self, block: Block) {
        self.expected = Expected::default();
        let Some(bundle) = self.bundles.exit(block).filter(|&bundle| self.places[bundle].is_some()) else { return };
        let crossing = self.liveness.live_out(block).iter();
        self.expected.places = crossing.filter_map(|&value| Some((value, self.place(bundle, value)?))).collect();
        let mut occupied = RegSet::EMPTY;
        for inst in self.function.block_insts(block).rev() {
            let Occupancy { before, after, clobbers } = self.pins.occupancy(self.function, block, inst);
            occupied |= before | after | clobbers;
            self.expected.occupied.push(occupied);
            self.expected.places.extend(self.expected_by_copy(bundle, inst));
        }
        self.expected.occupied.reverse();
        // No code stands before the block's labels.
        let head = self.function.head(block).index as usize;
        self.expected.occupied[..head].fill(RegSet::from_bits(u128::MAX));
    }

    /// What dies where it is copied to something that crosses a bundle, and where that meets.
    fn expected_by_copy(&self, bundle: Bundle, inst: Inst) -> Option<(Value, Reg)> {
        let data = &self.function.insts[inst];
        let dies = data.kind == InstKind::Copy && self.liveness.kills(data.operands.start as usize + 1);
        let [def, copied] = self.function.operands(inst).first_chunk().filter(|_| dies)?;
        let place = self.place(bundle, def.value)?;
        self.function.allowed(copied.value).contains(place).then_some((copied.value, place))
    }

    /// The values that can move where they are going to meet already before an instruction of the block, since nothing else is
    /// there any more. That costs no more than moving at the end, and what is computed meanwhile may have their registers.
    fn early(&self, inst: Inst, index: usize) -> impl Iterator<Item = (Value, Reg)> {
        let Expected { places, occupied } = &self.expected;
        let free = move |reg: Reg| !self.taken.contains(reg) && !occupied[index].contains(reg);
        let elsewhere =
            move |&&(value, place): &&(Value, Reg)| free(place) && self.is_live(value) && !self.stays_held(inst, value);
        places.iter().filter(elsewhere).copied()
    }

    /// Finds registers for what crosses a bundle, unless that has been done.
    fn meet(&mut self, bundle: Bundle) -> Result<(), Failure> {
        if self.places[bundle].is_some() {
            return Ok(());
        }
        let meeting = self.bundles.meeting(bundle);
        // What is most often in danger of being destroyed chooses first.
        let mut values: Vec<Value> = meeting.crossing.iter().chain(&meeting.beside).copied().collect();
        values.sort_by(|&a, &b| self.endangered_together(b).total_cmp(&self.endangered_together(a)));
        let mut wants = Vec::with_capacity(values.len() + meeting.read.len());
        for &value in &values {
            let domain = meeting::domain(self.function, self.bundles, meeting, value);
            wants.push(meeting::want(domain, self.ranked_together(value, domain).into()));
        }
        wants.extend(meeting::read(self.function, meeting));
        let registers = fit(&wants).ok_or_else(|| Defect::Impossible(format!("no registers for what crosses {bundle}")))?;
        let crosses = |value: Value| meeting.crossing.binary_search(&value).is_ok();
        let mut places: Vec<(Value, Reg)> = values.into_iter().zip(registers).filter(|&(value, _)| crosses(value)).collect();
        places.sort_unstable_by_key(|&(value, _)| value);
        for &(value, reg) in &places {
            // What is copied from or to these values is going to prefer the register.
            for &related in self.bundles.related(value) {
                if !self.is_live(related) {
                    self.register[related] = Some(reg);
                }
            }
        }
        self.places[bundle] = Some(places);
        Ok(())
    }

    /// How often what a representative stands for is live where registers are destroyed.
    fn endangered_together(&self, representative: Value) -> f64 {
        match self.bundles.related(representative) {
            [] => self.endangered[representative],
            related => related.iter().map(|&value| self.endangered[value]).sum(),
        }
    }

    /// The register in which a value crosses a bundle, if it does.
    fn place(&self, bundle: Bundle, value: Value) -> Option<Reg> {
        let places = self.places[bundle].as_ref().expect("the bundle was come upon");
        let value = self.bundles.representative(value);
        let found = places.binary_search_by_key(&value, |&(crossing, _)| crossing);
        found.ok().map(|index| places[index].1)
    }

    fn is_live(&self, value: Value) -> bool {
        self.register[value].is_some_and(|reg| self.owner[reg.index()] == Some(value))
    }

    /// Places the live-in values and the φs' definitions.
    fn enter(&mut self, block: Block) -> Result<(), Failure> {
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        match self.bundles.entry(block) {
            Some(bundle) => self.enter_from_bundle(bundle, block)?,
            None => self.enter_from_frequent(block)?,
        }
        let register = |&value: &Value| self.register[value].expect("a live value is in a register");
        self.result.entry.add(block, self.liveness.live_in(block).iter().map(register));
        for phi in &self.function.blocks[block].phis {
            self.result.phi_register[phi.def] = Some(self.at(phi.def));
            if self.liveness.is_dead(phi.def) || self.evicted[phi.def] {
                self.free(phi.def);
            }
        }
        Ok(())
    }

    /// Places everything where it crosses the edges that can take no code.
    fn enter_from_bundle(&mut self, bundle: Bundle, block: Block) -> Result<(), Failure> {
        self.meet(bundle)?;
        let phis = self.function.blocks[block].phis.iter().map(|phi| phi.def);
        for value in self.liveness.live_in(block).iter().copied().chain(phis) {
            self.put(value, self.place(bundle, value).expect("what is live at an edge's end crosses it"));
        }
        Ok(())
    }

    /// Places the live-in values where the most frequent predecessor that was walked already has them, and the φs'
    /// definitions beside them.
    fn enter_from_frequent(&mut self, block: Block) -> Result<(), Failure> {
        let data = &self.function.blocks[block];
        let live_in = self.liveness.live_in(block);
        let walked = |&&pred: &&Block| self.order.index(pred) < self.order.index(block);
        let frequency = |pred: &Block| self.function.blocks[*pred].frequency;
        let source =
            data.preds.iter().filter(walked).max_by(|a, b| frequency(a).total_cmp(&frequency(b)).then(b.cmp(a))).copied();
        let occupied = data.live_in_pins | self.pins.at(self.function, self.function.head(block));
        let (mut arriving, mut before) = (std::mem::take(&mut self.arriving), std::mem::take(&mut self.before));
        arriving.clear();
        before.clear();
        let here = live_in.iter().copied().filter(|&value| !self.evicted[value]);
        if let Some(source) = source {
            let registers = self.result.on_exit(self.function, self.liveness, source, block, here.clone());
            arriving.extend(here.zip(registers));
        }
        let values = arriving.iter().map(|&(value, _)| value).chain(data.phis.iter().map(|phi| phi.def));
        before.extend(values.map(|value| (value, self.register[value])));
        let used = self.used;
        for &(value, reg) in &arriving {
            if (self.function.allowed(value) - occupied).contains(reg) {
                self.put(value, reg);
            }
        }
        if self.taken.len() < arriving.len() || !self.place_phis(block, occupied) {
            let wants = self.wants_before(&mut before, used, &arriving, occupied);
            self.place_together(block, occupied, &arriving, wants)?;
        }
        (self.arriving, self.before) = (arriving, before);
        Ok(())
    }

    /// What live-in values want by what was known before any of the block's values was placed. (Most blocks never ask.)
    fn wants_before(
        &mut self,
        before: &mut [(Value, Option<Reg>)],
        mut used: RegSet,
        live_in: &[(Value, Reg)],
        occupied: RegSet,
    ) -> Vec<Want> {
        let mut exchange = |walk: &mut Self| {
            before.iter_mut().for_each(|(value, reg)| std::mem::swap(reg, &mut walk.register[*value]));
            std::mem::swap(&mut used, &mut walk.used);
        };
        exchange(self);
        let wants = live_in.iter().map(|&(value, reg)| self.want(value, Span::Before, occupied, Some(reg))).collect();
        exchange(self);
        wants
    }

    /// Places the φs' definitions one after the other, if preferences go by frequency those first that have most at stake; says
    /// whether there was room for all.
    fn place_phis(&mut self, block: Block, occupied: RegSet) -> bool {
        let phis = &self.function.blocks[block].phis;
        let mut defs: SmallVec<[(f32, Value); 8]> = phis.iter().map(|phi| (0.0, phi.def)).collect();
        if defs.len() > 1 && self.policy.preference == Preference::Frequency {
            for (stake, def) in &mut defs {
                *stake = self.stake(*def, self.function.allowed(*def) - occupied - self.taken);
            }
            defs.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        defs.into_iter().all(|(_, def)| {
            let domain = self.choices(def, self.function.allowed(def) - occupied, RegSet::EMPTY, true);
            let reg = self.best(def, domain);
            if let Some(reg) = reg {
                self.put(def, reg);
            }
            reg.is_some()
        })
    }

    /// How much more a value gains by the best register of a set than by the next one.
    fn stake(&self, value: Value, domain: RegSet) -> f32 {
        let scores = self.scores(value, domain);
        let (mut best, mut next) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        for score in domain.iter().map(|reg| scores[reg.index()]) {
            (best, next) = (best.max(score), next.max(score.min(best)));
        }
        if domain.len() > 1 { best - next } else { f32::INFINITY }
    }

    /// Places live-in values and φs' definitions together.
    fn place_together(
        &mut self,
        block: Block,
        occupied: RegSet,
        live_in: &[(Value, Reg)],
        mut wants: Vec<Want>,
    ) -> Result<(), Failure> {
        let phis = self.function.blocks[block].phis.iter().map(|phi| phi.def);
        let values = live_in.iter().map(|&(value, _)| value).chain(phis.clone());
        wants.extend(phis.map(|def| self.want(def, Span::Before, occupied, None)));
        let registers =
            fit(&wants).ok_or_else(|| Defect::Impossible(format!("no registers for the values at the head of {block}")))?;
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        for (value, reg) in values.zip(registers) {
            self.put(value, reg);
        }
        Ok(())
    }

    /// The registers of a set that a value can be given: those that are free, or will be once the dying values are gone
    /// (not if it is wanted `at_once`). If pins are avoided, only those that it can keep all its life; if there is none, it
    /// or a lighter value is evicted.
    fn choices(&mut self, value: Value, allowed: RegSet, dying: RegSet, at_once: bool) -> RegSet {
        let busy = if at_once { self.taken } else { self.taken - dying };
        let free = allowed - busy;
        let lasting = allowed - self.preferences.contested(value);
        if self.policy.pins.moves() || self.evicted[value] {
            return free;
        }
        if lasting.intersects(free) {
            return lasting & free;
        }
        let owners = (lasting - dying).iter().filter_map(|reg| self.owner[reg.index()]);
        let weighed = owners.chain([value]).filter_map(|candidate| Some((self.evictable.weight(candidate)?, candidate)));
        let Some((_, lightest)) = weighed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else { return free };
        self.evicted[lightest] = true;
        if lightest == value {
            return free;
        }
        self.free(lightest);
        RegSet::only(self.at(lightest))
    }

    fn want(&self, value: Value, span: Span, occupied: RegSet, current: Option<Reg>) -> Want {
        let domain = self.function.allowed(value) - occupied;
        Want { span, domain, current, order: self.ranked(value, domain).into() }
    }

    /// The registers of a set, best first.
    fn ranked(&self, value: Value, domain: RegSet) -> Vec<Reg> {
        let scores = self.scores(value, domain);
        let class = &self.function.file.classes[self.function.values[value].class];
        let mut order: Vec<Reg> = class.order.iter().copied().filter(|&reg| domain.contains(reg)).collect();
        order.sort_by(|a, b| scores[b.index()].total_cmp(&scores[a.index()]));
        order
    }

    /// The registers of a set, best first for a representative and all that it stands for; of equal ones, that in which one of
    /// them is comes first.
    fn ranked_together(&self, representative: Value, domain: RegSet) -> Vec<Reg> {
        let mut scores = self.scores(representative, domain);
        let mut current = self.is_live(representative).then(|| self.at(representative));
        for &related in self.bundles.related(representative) {
            current = current.or_else(|| self.is_live(related).then(|| self.at(related)));
            for &(partner, gain) in self.preferences.partners(related) {
                if let Partner::Value(other) = partner {
                    // It is going to be elsewhere part of its life, and has to move to meet.
                    self.preferences.contested(other).iter().for_each(|reg| scores[reg.index()] -= gain);
                }
            }
        }
        let order = &self.function.file.classes[self.function.values[representative].class].order;
        let mut order: Vec<Reg> = order.iter().copied().filter(|&reg| domain.contains(reg)).collect();
        order.sort_by(|a, b| {
            scores[b.index()].total_cmp(&scores[a.index()]).then((current == Some(*b)).cmp(&(current == Some(*a))))
        });
        order
    }

    /// The best register of a set for a value.
    fn best(&self, value: Value, domain: RegSet) -> Option<Reg> {
        if domain.is_empty() {
            return None;
        }
        let scores = self.scores(value, domain);
        let class = &self.function.file.classes[self.function.values[value].class];
        let candidates = class.order.iter().rev().copied().filter(|&reg| domain.contains(reg));
        candidates.max_by(|a, b| scores[a.index()].total_cmp(&scores[b.index()]))
    }

    /// What each register of a set gains for a value.
    fn scores(&self, value: Value, domain: RegSet) -> [f32; RegSet::CAPACITY] {
        let mut scores = [0.0; RegSet::CAPACITY];
        // What saves no move here and now at least decides between registers that are equal here and now.
        let contested = if self.policy.preference == Preference::Punctual { f32::MIN_POSITIVE } else { cost::CONTESTED };
        for reg in (self.preferences.contested(value) & domain).iter() {
            scores[reg.index()] -= contested;
        }
        let by_frequency = self.policy.preference == Preference::Frequency;
        if by_frequency {
            let entered = self.function.blocks[self.function.entry()].frequency as f32;
            for reg in ((self.function.file.callee_saved - self.used) & domain).iter() {
                scores[reg.index()] -= cost::SAVE_AND_RESTORE * entered;
            }
        }
        for &(partner, gain) in self.preferences.partners(value) {
            match partner {
                Partner::Pin(reg) => scores[reg.index()] += gain,
                Partner::Value(other) => match self.register[other] {
                    Some(reg) => scores[reg.index()] += gain,
                    None if !by_frequency => {}
                    // Not placed yet: where it is going to want to be.
                    None => {
                        for &(partner, further) in self.preferences.partners(other) {
                            if let Partner::Pin(reg) = partner {
                                scores[reg.index()] += gain.min(further) / 2.0;
                            }
                        }
                    }
                },
            }
        }
        scores
    }

    /// Gives the instruction's definitions registers if nothing else has to move; says whether that was possible.
    fn simple(&mut self, block: Block, inst: Inst, occupancy: &Occupancy) -> bool {
        let dying = self.dying(inst);
        if (self.taken - dying - self.held(inst)).intersects(occupancy.before | occupancy.after | occupancy.clobbers)
            || dying.intersects(occupancy.before)
        {
            return false;
        }
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let mut spanning = RegSet::EMPTY;
        let mut after = RegSet::EMPTY;
        let mut copies = Vec::new();
        // Those first that have fewer choices.
        for role in [Span::Both, Span::After] {
            for (k, operand) in operands.iter().enumerate() {
                let both = operand.reuse.is_some() || operand.role == Role::EarlyDef;
                if !operand.is_def() || both != (role == Span::Both) {
                    continue;
                }
                let allowed = self.function.allowed(operand.value) - occupancy.after - spanning - after;
                let source = self.chained(inst, k).map(|source| self.at(source));
                let reg = if !both {
                    let choices = self.choices(operand.value, allowed, dying, false);
                    self.best(operand.value, choices)
                } else if let Some(reg) = source.filter(|&reg| self.is_lasting(operand.value, reg)) {
                    Some(reg).filter(|&reg| allowed.contains(reg))
                } else {
                    let allowed = self.spannable(inst, k) & (allowed - occupancy.before);
                    let choices = self.choices(operand.value, allowed, dying, true);
                    self.best(operand.value, choices)
                };
                let Some(reg) = reg else { return false };
                if both {
                    spanning.insert(reg)
                } else {
                    after.insert(reg)
                }
                self.result.operands[first + k] = Some(reg);
                if both && source != Some(reg) {
                    copies.extend(self.reuse_copy(inst, k, reg));
                }
            }
        }
        self.record_uses(inst);
        if self.policy.split_ties {
            let parted = self.parted(block, dying, &copies);
            copies.extend(parted);
        }
        if !copies.is_empty() {
            self.result.repairs.push(Repair { before: inst, splits: copies });
        }
        true
    }

    /// New names for what lives on in its block where a copy of it is overwritten. They stay where the values are.
    fn parted(&self, block: Block, dying: RegSet, copies: &[Split]) -> Vec<Split> {
        let mut parted: Vec<Split> = Vec::new();
        for &Split { value, .. } in copies {
            let to = self.at(value);
            let lives_on = !dying.contains(to) && self.liveness.live_out(block).binary_search(&value).is_err();
            if lives_on && parted.iter().all(|split| split.value != value) {
                parted.push(Split { value, to, operand: None });
            }
        }
        parted
    }

    /// The registers of the values that die at the instruction.
    fn dying(&self, inst: Inst) -> RegSet {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst).iter().enumerate();
        operands
            .filter(|&(k, o)| !o.is_def() && self.liveness.kills(first + k))
            .filter(|(_, o)| self.owner[self.at(o.value).index()] == Some(o.value))
            .map(|(_, o)| self.at(o.value))
            .collect()
    }

    /// Whether a value may take over a register: if pins are avoided, one that it can keep all its life.
    fn is_lasting(&self, value: Value, reg: Reg) -> bool {
        self.policy.pins.moves() || self.evicted[value] || !self.preferences.contested(value).contains(reg)
    }

    /// The dying value whose register a definition takes over: it has to be the first definition to reuse it.
    fn chained(&self, inst: Inst, def: usize) -> Option<Value> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        let source = operands[reused].value;
        let reuses = |o: &crate::machine::Operand| o.reuse.is_some_and(|u| operands[usize::from(u)].value == source);
        let dies = self.liveness.kills(first + reused) && !self.evicted[source];
        (dies && operands.iter().position(reuses) == Some(def)).then_some(source)
    }

    /// Registers that a definition may have together with the use it reuses.
    fn spannable(&self, inst: Inst, def: usize) -> RegSet {
        let operands = self.function.operands(inst);
        let own = self.function.allowed(operands[def].value);
        operands[def].reuse.map_or(own, |reused| own & self.function.allowed(operands[usize::from(reused)].value))
    }

    /// The split that brings a value that lives on into the register of the definition that overwrites it.
    fn reuse_copy(&self, inst: Inst, def: usize, to: Reg) -> Option<Split> {
        let operands = self.function.operands(inst);
        let reused = usize::from(operands[def].reuse?);
        Some(Split { value: operands[reused].value, to, operand: Some(reused) })
    }

    /// Notes where the instruction reads its uses: where they are, or, overwritten, where the definition is.
    fn record_uses(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            if !operand.is_def() {
                self.result.operands[first + k] = Some(self.at(operand.value));
            }
        }
        for (k, operand) in operands.iter().enumerate() {
            if let Some(reused) = operand.reuse {
                self.result.operands[first + usize::from(reused)] = self.result.operands[first + k];
            }
        }
    }

    /// Finds new registers for everything at an instruction whose pins or classes are in the way of the values' present
    /// ones. What stays where it is gets a new name only if asked to.
    fn repair(&mut self, block: Block, inst: Inst, occupancy: &Occupancy, rename: bool) -> Result<(), Failure> {
        let first = self.function.insts[inst].operands.start as usize;
        let operands = self.function.operands(inst);
        let spanning = occupancy.before | occupancy.after;
        let dying = self.dying(inst);
        let index = inst.as_u32() - self.function.blocks[block].insts.start;
        let early: Vec<(Value, Reg)> = self.early(inst, index as usize).collect();
        let mut values = Vec::new();
        let mut wants = Vec::new();
        // What cannot move, and where it could if control had not left for where it is wanted.
        let mut held_back = Vec::new();
        for reg in self.taken.iter() {
            let value = self.owner[reg.index()].expect("a taken register has an owner");
            let holder = self.holder(inst, value, reg);
            let mut want = if dying.contains(reg) {
                self.want(value, Span::Before, occupancy.before, Some(reg))
            } else {
                let holder = holder.map_or(RegSet::EMPTY, |it| RegSet::only(it.reg));
                let occupied = (spanning | occupancy.clobbers) - holder;
                self.want(value, Span::Both, occupied, Some(reg))
            };
            let is_needed = |it: &Held| !it.before && self.holding.contains(inst);
            if let Some(it) = holder.filter(|it| is_needed(it) || self.stays_held(inst, value)) {
                want.domain = RegSet::only(it.reg);
            }
            if let Some(&(_, place)) = early.iter().find(|&&(moving, _)| moving == value) {
                want.current = Some(place);
            }
            if let Some(place) = self.leaving.and_then(|bundle| self.place(bundle, value)) {
                want.domain = want.domain & RegSet::only(place);
            }
            if self.departed.contains(&value) {
                held_back.push((wants.len(), want.domain));
                want.domain = want.domain & RegSet::only(reg);
            }
            values.push(value);
            wants.push(want);
        }
        let live = values.len();
        let mut defs = Vec::new();
        for (k, operand) in operands.iter().enumerate().filter(|(_, o)| o.is_def()) {
            if let Some(source) = self.chained(inst, k) {
                let index = values.iter().position(|&v| v == source).expect("a dying value is live");
                let domain = self.spannable(inst, k) - spanning;
                wants[index] =
                    Want { span: Span::Both, domain, current: wants[index].current, order: self.ranked(source, domain).into() };
                defs.push((k, index));
                continue;
            }
            let span = if operand.reuse.is_some() || operand.role == Role::EarlyDef { Span::Both } else { Span::After };
            let mut want = self.want(operand.value, span, if span == Span::Both { spanning } else { occupancy.after }, None);
            want.domain = want.domain & self.spannable(inst, k);
            defs.push((k, wants.len()));
            wants.push(want);
        }
        let registers = fit(&wants).ok_or_else(|| {
            self.evict_crossing_pads(&values);
            held_back.into_iter().for_each(|(at, domain)| wants[at].domain |= domain);
            without_registers(block, index, fit(&wants).is_some())
        })?;
        let mut splits = Vec::new();
        for &(k, index) in &defs {
            self.result.operands[first + k] = Some(registers[index]);
            if index >= live {
                splits.extend(self.reuse_copy(inst, k, registers[index]));
            }
        }
        let moved = values.iter().zip(&registers).filter(|&(&value, &to)| rename || self.at(value) != to);
        splits.extend(moved.map(|(&value, &to)| Split { value, to, operand: None }));
        self.relocate(&values, &registers);
        self.record_uses(inst);
        if !splits.is_empty() {
            self.result.repairs.push(Repair { before: inst, splits });
        }
        Ok(())
    }

    /// Has what crosses to landing pads from here be spilled: it meets where it is in the way of what a class confines. (How many
    /// values cross has been seen to, but not in which of the registers; those of classes are nested, nearly always.)
    fn evict_crossing_pads(&mut self, live: &[Value]) {
        let Some(bundle) = self.leaving.filter(|&bundle| self.bundles.meeting(bundle).at_pads) else { return };
        let crossing: Vec<Value> = live.iter().copied().filter(|&value| self.place(bundle, value).is_some()).collect();
        crossing.into_iter().for_each(|value| self.evicted[self.function.original(value)] = true);
    }

    /// Moves the live values to their new registers.
    fn relocate(&mut self, values: &[Value], registers: &[Reg]) {
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        for (&value, &reg) in values.iter().zip(registers) {
            self.put(value, reg);
        }
    }

    /// Frees the registers of the values that die at the instruction.
    fn kill(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() && self.liveness.kills(first + k) {
                self.free(operand.value);
            }
        }
    }

    /// Puts the definitions into their registers; dead ones are gone at once.
    fn define(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() {
                continue;
            }
            let reg = self.result.operands[first + k].expect("a definition was placed");
            self.used.insert(reg);
            if self.liveness.kills(first + k) || self.evicted[operand.value] {
                self.register[operand.value] = Some(reg);
            } else {
                self.put(operand.value, reg);
            }
        }
    }

    /// Notes where the debug uses at this point find their values.
    fn debug_uses(&mut self, block: Block, index: u32) {
        while let Some(debug) = self.function.debug_uses.get(self.debug)
            && debug.at.block == block
            && debug.at.index <= index
        {
            self.result.debug[self.debug] = self.register[debug.value].filter(|reg| self.owner[reg.index()] == Some(debug.value));
            self.debug += 1;
        }
    }
}

/// Why there are no registers for the values at an instruction: unless there were some if what is live where inline assembly has
/// jumped to could move, spilling has left too many.
fn without_registers(block: Block, index: u32, movable: bool) -> Failure {
    if movable {
        return Unsupported(format!("a value would have to move behind the inline assembly that jumps in {block}")).into();
    }
    Defect::Impossible(format!("no registers for the values at instruction {index} of {block}")).into()
}
