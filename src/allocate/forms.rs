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
//! Requires: conventional SSA form.
//! Ensures: the same function, whose operands say which form has been chosen. The overlay's locations tell the form.

use super::ssa::conventional::{Conventional, Web};
use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Liveness, Partition};
use crate::machine::{Block, Function, Inst, InstKind, Operand, OperandSet, Reg, Value};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;

/// Chooses for all instructions.
pub(super) fn choose(conventional: &mut Conventional, liveness: &Liveness) {
    let on_the_way = Recurrences::find(conventional, liveness);
    let mut chains = Chains::new(conventional, liveness);
    let insts: Vec<Inst> = conventional.function.insts.keys().collect();
    for inst in insts {
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
    let mut preferred = fitting.iter().copied().filter(|&other| match on_the_way {
        Some(operand) => operand == other,
        None => chains.are_one(value(other), def) && !chains.are_one(value(reuse), def),
    });
    let instead = match preferred.next() {
        Some(other) => Some(other),
        None if !fits_as_it_is && !fitting.is_empty() => Some(fitting[0]),
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
            members: Grouped::new(*web_count, &members),
            joins: Grouped::new(*web_count, &joins),
        };
        for web in (0..*web_count).map(Web::new) {
            let Some((&first, others)) = chains.members.get(web).split_first() else { continue };
            others.iter().for_each(|&other| chains.partition.attach(other, first));
            chains.anchors[first].web = web.into();
        }
        function.insts.keys().for_each(|inst| chains.instruction(function, inst));
        chains
    }

    /// Notes the consequences of an instruction that has no choice.
    fn instruction(&mut self, function: &Function, inst: Inst) {
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        match function.insts[inst].kind {
            InstKind::CopyFrom(reg) => self.anchor(operands[0].value, reg),
            InstKind::CopyTo(reg) if self.liveness.kills(first) => self.anchor(operands[0].value, reg),
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

    fn are_one(&mut self, a: Value, b: Value) -> bool {
        self.partition.find(a) == self.partition.find(b)
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
