//! The forms of two-address instructions: which operand a definition overwrites, if there is a choice.
//!
//! A definition that overwrites a value which lives on costs a copy. If the instruction commutes, it can overwrite an
//! operand that dies instead; if it has a form with three addresses, it need not overwrite any. A value that another
//! definition of the instruction overwrites counts as alive, since there is only one register with it.
//!
//! Overwriting a dying value may cost a copy elsewhere: if it and the definition belong in different registers, because they
//! are in webs of different φs, or come from or become different registers of the program. And where a φ takes a value that
//! is computed from the φ, such as a sum in a loop, the values on the way are overwritten, so that all of them take the φ's
//! register.
//!
//! Instructions choose from the last to the first, so that where a definition belongs is known before it is asked what it
//! overwrites. Where an operand belongs is not known if it has a choice itself; then it counts where it may have come from.
//!
//! Requires: conventional SSA form.
//! Ensures: the same function, whose operands say which form has been chosen. The overlay's locations tell the form.

mod displaced;

use super::ssa::conventional::{Conventional, Web};
use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Liveness, Partition};
use crate::machine::{Block, Function, Inst, InstKind, Operand, OperandSet, Reg, RegSet, Value};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Chooses for all instructions.
pub(super) fn choose(conventional: &mut Conventional, liveness: &Liveness) {
    let on_the_way = Recurrences::find(conventional, liveness);
    let mut chains = Chains::new(conventional, liveness);
    let insts: Vec<Inst> = conventional.function.insts.keys().collect();
    for inst in insts.into_iter().rev() {
        let range = &conventional.function.insts[inst].operands;
        let (first, count) = (range.start as usize, range.len());
        for k in 0..count {
            let operands = &mut conventional.function.operands[first..first + count];
            if let Some(reuse) = operands[k].reuse
                && has_choice(&operands[k])
            {
                let on_the_way = on_the_way[operands[k].value];
                choose_for(operands, &mut chains, |k| liveness.kills(first + k), k, reuse, on_the_way);
            }
        }
    }
}

fn has_choice(def: &Operand) -> bool {
    !def.reuse_instead.is_empty() || def.reuse_none
}

/// Chooses for the definition that is the `k`th of an instruction's operands. It had better overwrite the operand that is
/// `on_the_way`, if there is one.
fn choose_for(
    operands: &mut [Operand],
    chains: &mut Chains,
    kills: impl Fn(usize) -> bool,
    k: usize,
    reuse: u8,
    on_the_way: Option<u8>,
) {
    let value = |of: u8| operands[usize::from(of)].value;
    let def = operands[k].value;
    let dies = |of: u8| (0..operands.len()).any(|k| operands[k].value == value(of) && !operands[k].is_def() && kills(k));
    let is_overwritten = |of: u8| {
        let mut others = (0..operands.len()).filter(|&other| other != k).filter_map(|other| operands[other].reuse);
        others.any(|other| value(other) == value(of))
    };
    let free = |of: u8| dies(of) && !is_overwritten(of);
    let mut fits = |of: u8| free(of) && !chains.are_apart(value(of), def);
    let others: SmallVec<[u8; 4]> = operands[k].reuse_instead.iter().filter(|&other| free(other)).collect();
    let fits_as_it_is = fits(reuse);
    let fitting: SmallVec<[u8; 4]> = others.iter().copied().filter(|&other| fits(other)).collect();
    let suits_as_it_is = fits_as_it_is.then(|| chains.suitability(value(reuse), def));
    let suits = fitting.iter().map(|&other| (Some(chains.suitability(value(other), def)), Reverse(other)));
    let better = suits.max().filter(|&(suits, _)| suits > suits_as_it_is).map(|(_, Reverse(other))| other);
    let preferred = match on_the_way {
        Some(operand) if fitting.contains(&operand) => Some(operand),
        Some(_) if fits_as_it_is => None,
        _ => better,
    };
    let instead = match preferred {
        Some(other) => Some(other),
        None if !free(reuse) => others.first().copied(),
        None => None,
    };
    if let Some(other) = instead {
        chains.join(value(other), def);
        operands[k].reuse = Some(other);
        operands[k].reuse_instead.remove(other);
        operands[k].reuse_instead.insert(reuse);
    } else if operands[k].reuse_none && !fits_as_it_is {
        operands[k].reuse = None;
        operands[k].reuse_instead = OperandSet::EMPTY;
        operands[k].reuse_none = false;
        operands.iter_mut().for_each(|operand| operand.foldable = false);
    } else if free(reuse) {
        chains.join(value(reuse), def);
    }
}

/// Ways from φs to their arguments, through definitions that can overwrite an operand.
struct Recurrences<'a> {
    conventional: &'a Conventional,
    liveness: &'a Liveness,
    /// For each value that overwrites something, the instruction that defines it.
    overwriting: SecondaryMap<Value, PackedOption<Inst>>,
    seen: EntitySet<Value>,
    /// The path from a φ's argument to where the search is, with the number of operands that have been tried for each value.
    way: Vec<(Value, usize)>,
    /// For each value on a way, the operand that is on it, too.
    found: SecondaryMap<Value, Option<u8>>,
}

impl<'a> Recurrences<'a> {
    fn find(conventional: &'a Conventional, liveness: &'a Liveness) -> SecondaryMap<Value, Option<u8>> {
        let Conventional { function, webs, .. } = conventional;
        let count = function.values.len();
        let mut overwriting: SecondaryMap<Value, PackedOption<Inst>> = of_each(count);
        for inst in function.insts.keys() {
            for def in function.operands(inst).iter().filter(|operand| operand.reuse.is_some()) {
                overwriting[def.value] = inst.into();
            }
        }
        let seen = EntitySet::with_capacity(count);
        let (way, found) = (Vec::new(), of_each(count));
        let mut recurrences = Recurrences { conventional, liveness, overwriting, seen, way, found };
        for phi in function.blocks.values().flat_map(|data| &data.phis) {
            let Some(web) = webs[phi.def].expand() else { continue };
            for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
                if recurrences.seen.insert(arg) {
                    recurrences.search(arg, web);
                }
            }
        }
        recurrences.found
    }

    /// Searches upwards from a φ's argument, depth first, until it comes to a member of the φ's web. No value is passed
    /// twice, whatever the φ.
    fn search(&mut self, from: Value, web: Web) {
        self.way.clear();
        self.way.push((from, 0));
        while let Some(&(value, tried)) = self.way.last() {
            let next = self.overwritable(value).nth(tried);
            self.way.last_mut().expect("it has one").1 += 1;
            match next.map(|(_, next)| (next, self.conventional.webs[next].expand())) {
                None => _ = self.way.pop(),
                Some((_, Some(of_next))) if of_next == web => break,
                Some((next, None)) if self.seen.insert(next) => self.way.push((next, 0)),
                Some(_) => {}
            }
        }
        for &(value, tried) in &self.way {
            let operand = self.overwritable(value).nth(tried - 1).map(|(operand, _)| operand);
            self.found[value] = operand;
        }
    }

    /// The operands that a value can overwrite because they die where it is defined.
    fn overwritable(&self, value: Value) -> impl Iterator<Item = (u8, Value)> {
        let Conventional { function, .. } = self.conventional;
        self.overwriting[value].expand().into_iter().flat_map(move |inst| {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            let def = operands.iter().find(|operand| operand.is_def() && operand.value == value);
            let choice = def.into_iter().flat_map(Operand::overwritable);
            let dying = choice.filter(move |&operand| self.liveness.kills(first + usize::from(operand)));
            dying.map(|operand| (operand, operands[usize::from(operand)].value))
        })
    }
}

/// Chains of values that had better share one register: those that overwrite one another in turn, and those of a web.
struct Chains<'a> {
    liveness: &'a Liveness,
    partition: Partition<Value>,
    /// The anchors of each chain, by its representative.
    anchors: SecondaryMap<Value, Anchors>,
    /// The number of each value's definition, in program order.
    defined: SecondaryMap<Value, u32>,
    /// The registers of the program that each value can have come from without a copy, by one choice of forms or another.
    origins: SecondaryMap<Value, RegSet>,
    members: Grouped<Web, Value>,
    /// The blocks with φs of each web.
    joins: Grouped<Web, Block>,
}

/// The web and the register that a chain belongs in.
#[derive(Clone, Copy, Default)]
struct Anchors {
    web: PackedOption<Web>,
    /// A register of the program that the chain comes from, or becomes.
    reg: Option<Reg>,
}

/// Whether a value may have come from a register of the program that a definition belongs in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Other,
    None,
    Same,
}

impl<'a> Chains<'a> {
    /// The chains that follow from instructions without a choice.
    fn new(conventional: &Conventional, liveness: &'a Liveness) -> Self {
        let Conventional { function, webs, web_count, .. } = conventional;
        let count = function.values.len();
        let members: Vec<_> = webs.iter().filter_map(|(value, web)| Some((web.expand()?, value))).collect();
        let phis = function.blocks.iter().flat_map(|(block, data)| data.phis.iter().map(move |phi| (block, phi.def)));
        let joins: Vec<_> = phis.filter_map(|(block, def)| Some((webs[def].expand()?, block))).collect();
        let mut chains = Chains {
            liveness,
            partition: Partition::discrete(count),
            anchors: of_each(count),
            defined: of_each(count),
            origins: of_each(count),
            members: Grouped::new(*web_count, &members),
            joins: Grouped::new(*web_count, &joins),
        };
        for web in (0..*web_count).map(Web::new) {
            let Some((&first, others)) = chains.members.get(web).split_first() else { continue };
            others.iter().for_each(|&other| chains.partition.attach(other, first));
            chains.anchors[first].web = web.into();
        }
        for (inst, operand) in function.insts.keys().flat_map(|inst| function.operands(inst).iter().map(move |it| (inst, it))) {
            if operand.is_def() {
                chains.defined[operand.value] = inst.as_u32();
            }
        }
        let displaced = displaced::copies(function, liveness, &chains.defined);
        for inst in function.insts.keys() {
            chains.instruction(function, inst, &displaced);
            chains.note_origins(function, inst, &displaced);
        }
        chains
    }

    /// Notes the origins of what an instruction defines.
    fn note_origins(&mut self, function: &Function, inst: Inst, displaced: &EntitySet<Inst>) {
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        match function.insts[inst].kind {
            InstKind::CopyFrom(reg) if !displaced.contains(inst) => self.origins[operands[0].value] = RegSet::only(reg),
            InstKind::Copy if self.liveness.kills(first + 1) => {
                self.origins[operands[0].value] = self.origins[operands[1].value];
            }
            _ => {}
        }
        for def in operands.iter().filter(|operand| operand.is_def()) {
            let dying = def.overwritable().map(usize::from).filter(|&k| self.liveness.kills(first + k));
            let origins = dying.fold(RegSet::EMPTY, |origins, k| origins | self.origins[operands[k].value]);
            if !origins.is_empty() {
                self.origins[def.value] = origins;
            }
        }
    }

    /// Notes the consequences of an instruction that has no choice.
    fn instruction(&mut self, function: &Function, inst: Inst, displaced: &EntitySet<Inst>) {
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        match function.insts[inst].kind {
            InstKind::CopyFrom(reg) if !displaced.contains(inst) => self.anchor(operands[0].value, reg),
            InstKind::CopyTo(reg) if self.liveness.kills(first) && !displaced.contains(inst) => {
                self.anchor(operands[0].value, reg);
            }
            InstKind::Copy if self.liveness.kills(first + 1) => self.join(operands[1].value, operands[0].value),
            _ => {}
        }
        for def in operands.iter().filter(|def| !has_choice(def)) {
            if let Some(reuse) = def.reuse.map(usize::from)
                && self.liveness.kills(first + reuse)
            {
                self.join(operands[reuse].value, def.value);
            }
        }
    }

    fn anchor(&mut self, value: Value, reg: Reg) {
        let chain = self.partition.find(value);
        self.anchors[chain].reg.get_or_insert(reg);
    }

    /// Joins the chains of two values that had better share a register.
    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.partition.find(a), self.partition.find(b));
        if a != b {
            self.partition.attach(b, a);
            let (Anchors { web, reg }, joined) = (self.anchors[b], &mut self.anchors[a]);
            joined.web = joined.web.expand().or(web.expand()).into();
            joined.reg = joined.reg.or(reg);
        }
    }

    /// How well a definition overwrites a value, of two with which it could share a register. At best it is to share one with
    /// it anyway; next, both belong in one, or can come to be in one; last, the value has come from another. A register that
    /// only the definition belongs in has become free for the value that is defined last, if for any.
    fn suitability(&mut self, value: Value, def: Value) -> (bool, bool, Origin, u32) {
        let [of_value, of_def] = [value, def].map(|it| self.partition.find(it));
        let Some(wanted) = self.anchors[of_def].reg else { return (of_value == of_def, false, Origin::None, 0) };
        let origins = self.origins[value];
        let origin = match origins.contains(wanted) {
            true => Origin::Same,
            false if origins.is_empty() => Origin::None,
            false => Origin::Other,
        };
        (of_value == of_def, self.anchors[of_value].reg == Some(wanted), origin, self.defined[value])
    }

    /// Whether two values belong in different registers.
    fn are_apart(&mut self, a: Value, b: Value) -> bool {
        let (a, b) = (self.partition.find(a), self.partition.find(b));
        let (of_a, of_b) = (self.anchors[a], self.anchors[b]);
        let differ = matches!((of_a.reg, of_b.reg), (Some(a), Some(b)) if a != b);
        let webs = of_a.web.expand().zip(of_b.web.expand());
        a != b && (differ || webs.is_some_and(|(a, b)| a != b && (self.meet(a, b) || self.meet(b, a))))
    }

    /// Whether a member of one web is live where a φ of the other joins. If there are too many to ask, the answer is yes.
    fn meet(&self, web: Web, other: Web) -> bool {
        const MANY: usize = 1000;
        let (members, joins) = (self.members.get(web), self.joins.get(other));
        let is_there = |&block: &Block| {
            let live_in = self.liveness.live_in(block);
            self.joins.get(web).contains(&block) || members.iter().any(|it| live_in.binary_search(it).is_ok())
        };
        members.len() * joins.len() > MANY || joins.iter().any(is_there)
    }
}
