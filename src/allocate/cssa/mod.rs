//! Conversion to conventional SSA form.
//!
//! Requires: strict SSA; every critical edge either split or one that can take no code ([`EdgePlace::Nowhere`]).
//! Ensures: the values of a φ-web do not interfere, so that one memory location can hold all of them (frugality); φs with an
//! argument over an edge that can take no code form webs of their own, whose values live at such edges only.
//! Relies on: `spill-free-ssa-elimination.txt`, section 3 (Sreedhar's Method I; coalescing after Budimlić) and Theorem 6 (the
//! copies do not raise the pressure); `ssa-destruction-for-machine-code.txt`, section 21.3: the copies of Method I are
//! virtual, and only those that cannot be coalesced are ever inserted; `ssa-register-allocator.txt`, sections 4.1 to 4.3,
//! where they are inserted first (φ-lifting) and taken back one by one, or stay.

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

/// Which of the copies that isolate φs are taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coalescing {
    /// None: φ-lifting alone.
    Nothing,
    /// Those whose two classes do not interfere, one after the other (PhiMemCoalesce).
    PhiMem,
    /// The copies are virtual, and the classes of a φ and its arguments are merged one by one, if a walk over both in dominance
    /// order finds no interference, before any copy is inserted. (The walk is Budimlić's; he unites all first, and takes out again
    /// what interferes, as [`destruct`](super::destruct) can.)
    Pairwise,
    /// As [`destruct`](super::destruct) does it: copies are taken back one by one, those first that are executed most, and of a
    /// class two members may be live at once if they have one value.
    Value,
    /// As [`Self::Pairwise`], and then every other copy too, two-address operands included, as far as one register can hold both sides:
    /// webs are virtual registers of the program out of SSA form.
    Aggressive,
    /// The same, but as [`destruct`](super::destruct) does it, on the graph without blocks on edges.
    Destruction(destruct::Policy),
}

/// The webs of a function.
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

/// How the arguments of one φ reach it.
struct Isolation {
    block: Block,
    row: usize,
    /// The definition gets a copy at the head of the block.
    whole: bool,
    /// What stands for the definition in the web of arguments that get none.
    stand_in: Option<Value>,
    /// The columns whose arguments get a copy.
    columns: Vec<usize>,
}

/// Converts a function by [`Coalescing::Value`].
///
/// # Errors
/// If a φ takes what is defined too late to be copied, and interferes with it.
pub fn by_value(function: &Function, order: &Order, dominators: &Dominators) -> Result<Conventional, Unsupported> {
    let conventional = destruct::phi_webs(function, order, dominators)?;
    let lifted = Lifted::new(function, order);
    let without_code = |isolation: &Isolation| is_entered_without_code(function, isolation.block);
    let isolations: Vec<Isolation> = lifted.isolations(function).filter(without_code).collect();
    let webs = Webs { of: conventional.webs, count: conventional.web_count };
    let conventional = isolate::insert(&conventional.function, webs, &isolations);
    Ok(conventional.counted(function, lifted.copies(function)))
}

/// Converts a function, otherwise than by [`Coalescing::Value`] and [`Coalescing::Destruction`].
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
        Coalescing::Pairwise | Coalescing::Aggressive | Coalescing::Value | Coalescing::Destruction(_) => {
            // Of two classes that cannot both take a third, the one that is executed more often gets it.
            let mut phis: Vec<(Block, usize)> = phis(function, order).collect();
            let frequency = |(block, _): &(Block, usize)| function.blocks[*block].frequency;
            phis.sort_by(|a, b| frequency(b).total_cmp(&frequency(a)));
            let mut coalescer = Coalescer { function, interference, classes: &mut classes, spare_jumps };
            phis.into_iter().filter_map(|(block, row)| coalescer.coalesce(block, row)).collect()
        }
    };
    let mut conventional = isolate::insert(function, classes.webs(function), &isolations);
    match coalescing {
        Coalescing::PhiMem => conventional = phi_mem::coalesce(conventional, dominators),
        Coalescing::Aggressive => conventional = aggressive::coalesce(conventional, dominators),
        Coalescing::Nothing | Coalescing::Pairwise | Coalescing::Value | Coalescing::Destruction(_) => {}
    }
    conventional.counted(function, lifted.copies(function))
}

/// All φs: block and row.
fn phis<'a>(function: &'a Function, order: &'a Order) -> impl Iterator<Item = (Block, usize)> {
    order.blocks().iter().flat_map(|&block| (0..function.blocks[block].phis.len()).map(move |row| (block, row)))
}

/// All φs isolated (PhiLifting), each with its arguments and, if that is said, its definition. The definition needs a copy only
/// where it meets a copy of an argument, which it does if another φ takes it from the same predecessor (the swap problem): there
/// it is alive until that φ's copy is made. Its own φ's copy is where it ends.
struct Lifted(Vec<(Block, usize, bool)>);

impl Lifted {
    fn new(function: &Function, order: &Order) -> Self {
        let mut lifted = Vec::new();
        // The last block of which another φ was found to take a value.
        let mut taken: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        for &block in order.blocks() {
            let phis = &function.blocks[block].phis;
            for phi in phis {
                for arg in phi.args.iter().filter_map(|arg| arg.expand()).filter(|&arg| arg != phi.def) {
                    taken[arg] = block.into();
                }
            }
            let without_code = !phis.is_empty() && is_entered_without_code(function, block);
            let whole = |phi: &Phi| without_code || taken[phi.def] == block.into();
            lifted.extend(phis.iter().enumerate().map(|(row, phi)| (block, row, whole(phi))));
        }
        Lifted(lifted)
    }

    fn isolations(&self, function: &Function) -> impl Iterator<Item = Isolation> {
        self.0.iter().map(|&(block, row, whole)| {
            let args = &function.blocks[block].phis[row].args;
            let columns = (0..args.len()).filter(|&column| args[column].is_some()).collect();
            Isolation { block, row, whole, stand_in: None, columns }
        })
    }

    /// The number of copies that all this takes.
    fn copies(&self, function: &Function) -> u64 {
        let args = |block: Block, row: usize| function.blocks[block].phis[row].args.iter().filter(|arg| arg.is_some()).count();
        self.0.iter().map(|&(block, row, whole)| args(block, row) as u64 + u64::from(whole)).sum()
    }
}

/// Takes copies of φs' arguments back, as far as webs allow ([`Coalescing::Pairwise`]).
struct Coalescer<'a, 'c> {
    function: &'a Function,
    interference: &'a Interference<'a>,
    classes: &'a mut Classes<'c>,
    spare_jumps: bool,
}

impl Coalescer<'_, '_> {
    /// Coalesces a φ's arguments with its definition as far as their webs do not interfere.
    fn coalesce(&mut self, block: Block, row: usize) -> Option<Isolation> {
        let data = &self.function.blocks[block];
        let phi = &data.phis[row];
        let whole = || Some(Isolation { block, row, whole: true, stand_in: None, columns: (0..phi.args.len()).collect() });
        if is_entered_without_code(self.function, block) {
            return whole();
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
        // A copy where control leaves a predecessor shares the web's memory with whatever of the web lives there.
        // One for a landing pad stands before the call that throws, beside whatever of the web the rest of the block needs.
        let departure = |column: usize| self.function.departure(data.preds[column], block);
        let mut collides = |&column: &usize| data.landing_pad || self.classes.collide_with_tail(def, departure(column));
        if columns.iter().any(&mut collides) {
            return whole();
        }
        for &column in &columns {
            self.classes.add_tail(def, departure(column));
        }
        let whole = stand_in.is_some();
        (whole || !columns.is_empty()).then_some(Isolation { block, row, whole, stand_in, columns })
    }

    /// Whether a φ's definition had better be copied than those arguments that interfere with it. A copy on an edge with a
    /// block of its own takes a jump, too, unless it can be hoisted, since the definition is dead on the other ways.
    fn is_better_copied(&mut self, block: Block, phi: &Phi) -> bool {
        let data = &self.function.blocks[block];
        let takes_jump: SmallVec<[bool; 4]> = data.preds.iter().map(|&pred| self.takes_jump(phi.def, pred)).collect();
        if !takes_jump.contains(&true) {
            // Copies of all arguments are executed as often as one of the definition.
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

    /// Whether code on an edge with a block of its own writes what would be needed elsewhere if it stood in front of the branch.
    fn takes_jump(&self, written: Value, edge: Block) -> bool {
        let BlockData { preds, on_edge: true, .. } = &self.function.blocks[edge] else { return false };
        let ways = &self.function.blocks[preds[0]].succs;
        let mut others = ways.iter().filter(|&&succ| succ != edge);
        ways.len() <= cost::WAYS && others.any(|&succ| self.interference.live_in(written, succ))
    }
}
