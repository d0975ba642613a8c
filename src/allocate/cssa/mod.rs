//! Conversion to conventional SSA form.
//!
//! SSA form is conventional if the values that φs relate do not interfere, so that one location can hold all of them.
//! Programs whose copies have been propagated often are not conventional. They become so if every φ is *isolated*: its
//! arguments are copied at the ends of the predecessors, and its definition at the head of its block (\[Sr99\], Method I).
//! Most of these copies are superfluous. [`Coalescing`] says which of them are taken back.
//!
//! Requires: strict SSA form. Every critical edge is split, unless it can take no code ([`EdgePlace::Nowhere`](crate::machine::EdgePlace::Nowhere)).
//! Ensures: the values of a φ-web do not interfere, so that they can share a slot (frugality). φs with an argument over an
//! edge without code form webs of their own, whose values are live only at such edges.
//! Relies on: [PP09, §3] for Method I with coalescing after \[Bud02\], and its Theorem 6: the copies do not raise the
//! pressure. [Bo09, §21.3]: the copies can stay virtual until it is known which of them are needed. [PP05, §4.1 to §4.3],
//! where they are inserted first (φ-lifting) and taken back one by one.
//!
//! ```text
//! b0: -> b1                       b0: -> b1
//!   v0:w = op                       v0:w = op
//! b1: -> b2 b3                    b1: -> b2 b3
//!   v1:w = phi b0:v0 b3:v2          v1:w = phi b0:v0 b3:v3
//!   v2:w = op v1                    v2:w = op v1
//!   op terminator                   op terminator
//! b2:                             b2:
//!   op v1                           op v1
//! b3: on-edge -> b1               b3: on-edge -> b1
//!                                   v3:w = copy v2
//! ```
//!
//! v1 is live when v2 is defined, so v2 cannot be in the φ's web: a copy of it is. v0 can
//! (`testdata/functions/lost_copy.txt`).

mod aggressive;
mod classes;
mod isolate;
mod labels;
mod phi_mem;

pub use crate::allocate::ssa::conventional::{Conventional, ConversionCounts, Web};
pub use labels::rejoin;

use crate::allocate::cost;
use crate::allocate::destruct;
use crate::allocate::failure::Unsupported;
use crate::allocate::ssa::conventional::{Sharing, is_entered_without_code};
use crate::analysis::grouped::of_each;
use crate::analysis::{Dominators, Interference, Order};
use crate::machine::{Block, BlockData, Function, Phi, Value};
use classes::Classes;
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use smallvec::SmallVec;

/// Which of the copies that isolate φs are taken back, and by which test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coalescing {
    /// None: φ-lifting alone.
    Nothing,
    /// Copies are inserted, and those whose two classes do not interfere are removed one by one ([PP05, §4.3],
    /// PhiMemCoalesce).
    PhiMem,
    /// Copies are virtual. The classes of a φ and each of its arguments are merged if a walk over both in dominance order
    /// finds no interference; only then are the remaining copies inserted. (The walk is that of \[Bud02\], where everything is
    /// united first and interfering members are taken out again, as [`destruct`] can do it.) If the copy of an argument would
    /// still interfere with the φ's class, the φ is isolated as a whole.
    ByPhi,
    /// As [`Self::ByPhi`]; but then copies whose two classes do not interfere are removed one by one. So none is left that is
    /// redundant [PP09, §3]. Where a φ was isolated as a whole, some are; and where an argument was copied because another
    /// φ's argument was live at the same end, which a copy of that has ended.
    Pairwise,
    /// As by [`destruct`]: copies are virtual and taken back one by one, the most frequent first. Two
    /// members of a class may be live at once if they have the same value.
    Value,
    /// As [`Self::ByPhi`]. Then every copy of the program and every two-address operand too, if one register can hold
    /// both sides. Webs are the virtual registers of a program that has left SSA form.
    Aggressive,
    /// All copies and two-address operands, as by [`destruct`], on the graph without blocks on edges.
    Destruction(destruct::Policy),
}

/// The webs of a function's values, and their number.
#[derive(Default)]
struct Webs {
    of: SecondaryMap<Value, PackedOption<Web>>,
    count: usize,
}

impl Webs {
    fn fresh(&mut self) -> Web {
        self.count += 1;
        Web::new(self.count - 1)
    }
}

/// The copies that isolate one φ.
struct Isolation {
    block: Block,
    row: usize,
    /// Whether the definition is copied, at the head of the block.
    with_definition: bool,
    /// The value that stands for the copied definition in the web of those arguments that are not copied
    /// ([`Classes::stand_in`]).
    stand_in: Option<Value>,
    /// The columns of the arguments that are copied, each at the end of its predecessor.
    columns: Vec<usize>,
}

/// Converts a function by [`Coalescing::Value`].
///
/// # Errors
/// If a φ interferes with an argument that is defined too late to be copied.
pub fn by_value(function: &Function, order: &Order, dominators: &Dominators) -> Result<Conventional, Unsupported> {
    let conventional = destruct::phi_webs(function, order, dominators)?;
    let lifted = Lifted::new(function, order);
    let without_code = |isolation: &Isolation| is_entered_without_code(function, isolation.block);
    let isolations: Vec<Isolation> = lifted.isolations(function).filter(without_code).collect();
    let webs = Webs { of: conventional.webs, count: conventional.web_count };
    let conventional = isolate::insert(&conventional.function, webs, &isolations);
    Ok(conventional.counted(function, copies_of_method_one(function)))
}

/// Converts a function in one of the ways that do without [`destruct`]: neither by [`Coalescing::Value`] nor by
/// [`Coalescing::Destruction`]. With `spare_jumps`, a φ's definition is copied where that is cheaper than jumps to copies of
/// its arguments.
pub fn conventional(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    interference: &Interference,
    coalescing: Coalescing,
    spare_jumps: bool,
) -> Conventional {
    let sharing = if coalescing == Coalescing::Aggressive { Sharing::Register } else { Sharing::Memory };
    let mut classes = Classes::new(function, dominators, interference, sharing);
    let lifted = Lifted::new(function, order);
    let isolations: Vec<Isolation> = match coalescing {
        Coalescing::Nothing | Coalescing::PhiMem => lifted.isolations(function).collect(),
        Coalescing::ByPhi | Coalescing::Pairwise | Coalescing::Aggressive | Coalescing::Value | Coalescing::Destruction(_) => {
            // Where two classes cannot both be merged with a third, the φ that is executed more often comes first.
            let mut phis: Vec<(Block, usize)> = phis(function, order).collect();
            let frequency = |(block, _): &(Block, usize)| function.blocks[*block].frequency;
            phis.sort_by(|a, b| frequency(b).total_cmp(&frequency(a)));
            let mut coalescer = Coalescer { function, interference, classes: &mut classes, spare_jumps };
            phis.into_iter().filter_map(|(block, row)| coalescer.coalesce(block, row)).collect()
        }
    };
    let mut conventional = isolate::insert(function, classes.webs(function), &isolations);
    match coalescing {
        Coalescing::PhiMem => conventional = phi_mem::coalesce(conventional, dominators, function.values.len()),
        Coalescing::Pairwise if isolations.iter().any(|it| !is_entered_without_code(function, it.block)) => {
            conventional = phi_mem::remove_redundant(conventional, dominators, function.values.len());
        }
        Coalescing::Aggressive => conventional = aggressive::coalesce(conventional, dominators),
        Coalescing::Nothing | Coalescing::ByPhi | Coalescing::Pairwise | Coalescing::Value | Coalescing::Destruction(_) => {}
    }
    let copies = match coalescing {
        Coalescing::Nothing | Coalescing::PhiMem => lifted.copies(function),
        _ => copies_of_method_one(function),
    };
    conventional.counted(function, copies)
}

/// The number of copies that Method I inserts: one for each argument and each definition of a φ.
fn copies_of_method_one(function: &Function) -> u64 {
    let phis = function.blocks.values().flat_map(|data| &data.phis);
    phis.map(|phi| 1 + phi.args.iter().filter(|arg| arg.is_some()).count() as u64).sum()
}

/// All φs, each by its block and its row: its index among the block's φs.
fn phis<'a>(function: &'a Function, order: &'a Order) -> impl Iterator<Item = (Block, usize)> {
    order.blocks().iter().flat_map(|&block| (0..function.blocks[block].phis.len()).map(move |row| (block, row)))
}

/// The isolation of all φs ([PP05, §4.2], PhiLifting): each by its block and its row, with whether its definition is copied.
///
/// All arguments are copied. A definition has to be copied only if another φ of its block takes it (the swap problem): it is
/// then still live at the end of a predecessor, beside the copy of its own φ's argument. Otherwise it ends at the latest
/// where that copy is made.
struct Lifted(Vec<(Block, usize, bool)>);

impl Lifted {
    fn new(function: &Function, order: &Order) -> Self {
        let mut lifted = Vec::new();
        // For each value, the last block in which a φ was found to take it, other than the φ that defines it.
        let mut taken: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        for &block in order.blocks() {
            let phis = &function.blocks[block].phis;
            for phi in phis {
                for arg in phi.args.iter().filter_map(|arg| arg.expand()).filter(|&arg| arg != phi.def) {
                    taken[arg] = block.into();
                }
            }
            let without_code = !phis.is_empty() && is_entered_without_code(function, block);
            let with_definition = |phi: &Phi| without_code || taken[phi.def] == block.into();
            lifted.extend(phis.iter().enumerate().map(|(row, phi)| (block, row, with_definition(phi))));
        }
        Lifted(lifted)
    }

    fn isolations(&self, function: &Function) -> impl Iterator<Item = Isolation> {
        self.0.iter().map(|&(block, row, with_definition)| {
            let args = &function.blocks[block].phis[row].args;
            let columns = (0..args.len()).filter(|&column| args[column].is_some()).collect();
            Isolation { block, row, with_definition, stand_in: None, columns }
        })
    }

    /// The number of copies that this takes.
    fn copies(&self, function: &Function) -> u64 {
        let args = |block: Block, row: usize| function.blocks[block].phis[row].args.iter().filter(|arg| arg.is_some()).count();
        self.0.iter().map(|&(block, row, with_definition)| args(block, row) as u64 + u64::from(with_definition)).sum()
    }
}

/// Decides which of the virtual copies of φs' arguments are inserted ([`Coalescing::ByPhi`]).
struct Coalescer<'a, 'c> {
    function: &'a Function,
    interference: &'a Interference<'a>,
    classes: &'a mut Classes<'c>,
    spare_jumps: bool,
}

impl Coalescer<'_, '_> {
    /// Merges the web of a φ's definition with those of its arguments that do not interfere with it, and returns the copies
    /// that the others need, if any.
    fn coalesce(&mut self, block: Block, row: usize) -> Option<Isolation> {
        let data = &self.function.blocks[block];
        let phi = &data.phis[row];
        let everything =
            || Some(Isolation { block, row, with_definition: true, stand_in: None, columns: (0..phi.args.len()).collect() });
        if is_entered_without_code(self.function, block) {
            return everything();
        }
        let is_better_copied = self.spare_jumps && self.is_better_copied(block, phi);
        let stand_in = is_better_copied.then(|| self.classes.stand_in(block));
        let def = stand_in.unwrap_or(phi.def);
        let mut columns = Vec::new();
        for (column, arg) in phi.args.iter().enumerate() {
            let Some(value) = arg.expand() else { continue };
            if !self.classes.merge(def, value) {
                columns.push(column);
            }
        }
        // The copy of an argument writes the web's memory at the end of the predecessor, so no member may be live there. The
        // copy for a landing pad stands before the call that throws, and the rest of the block may need any member, so its φ
        // is isolated entirely.
        let departure = |column: usize| self.function.departure(data.preds[column], block);
        let mut collides = |&column: &usize| data.landing_pad || self.classes.collide_with_tail(def, departure(column));
        if columns.iter().any(&mut collides) {
            return everything();
        }
        for &column in &columns {
            self.classes.add_tail(def, departure(column));
        }
        let with_definition = stand_in.is_some();
        (with_definition || !columns.is_empty()).then_some(Isolation { block, row, with_definition, stand_in, columns })
    }

    /// Whether it is cheaper to copy a φ's definition than those arguments that interfere with it.
    ///
    /// A copy on an edge with a block of its own takes a jump, too, unless it can be hoisted before the branch. It can if
    /// the definition is dead on the other edges.
    fn is_better_copied(&mut self, block: Block, phi: &Phi) -> bool {
        let data = &self.function.blocks[block];
        let takes_jump: SmallVec<[bool; 4]> = data.preds.iter().map(|&pred| self.takes_jump(phi.def, pred)).collect();
        if !takes_jump.contains(&true) {
            // Together, copies of the arguments are executed no more often than one copy of the definition.
            return false;
        }
        let (mut arguments, mut definition) = (0.0, data.frequency);
        for ((arg, &pred), takes_jump) in phi.args.iter().zip(&data.preds).zip(takes_jump) {
            let Some(arg) = arg.expand() else { continue };
            let copies = if takes_jump { cost::copies(self.function, pred) } else { 1.0 };
            let cost = copies * cost::edge(self.function, pred, block);
            arguments += if self.classes.interfere(phi.def, arg) { cost } else { 0.0 };
            definition += if self.interference.live_in(arg, block) { cost } else { 0.0 };
        }
        arguments > definition
    }

    /// Whether code on an edge that writes a value takes a block of its own: it cannot be hoisted before the branch if the
    /// value is needed on another edge.
    fn takes_jump(&self, written: Value, edge: Block) -> bool {
        let BlockData { preds, on_edge: true, .. } = &self.function.blocks[edge] else { return false };
        let ways = &self.function.blocks[preds[0]].succs;
        let mut others = ways.iter().filter(|&&succ| succ != edge);
        ways.len() <= cost::WAYS && others.any(|&succ| self.interference.live_in(written, succ))
    }
}
