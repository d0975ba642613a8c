//! The way out of SSA form before allocation, after Rastello's chapter on SSA destruction \[Bo09\].
//!
//! The steps are those of the chapter:
//!
//! - [`isolation`] says which copies isolate φs and two-address operands.
//! - [`members`] are the variables that there are then, whether these copies are inserted or only virtual.
//! - [`coalescing`] unites the variables that copies relate, as far as they do not interfere.
//! - [`materialisation`] writes the copies that are left; [`sequence`] finds an order for those that are parallel.
//!
//! Requires: strict SSA form. Critical edges need not be split; [`unsplit`] removes their blocks.
//! Ensures: conventional SSA form whose webs are the variables of the program without φs. Each variable can have one
//! location for all its life, since two of its values are live at once only if they are equal. The operand that a
//! two-address definition overwrites is in the definition's web. Copies between variables are in sequence.
//! Relies on: [Bo09, §21.1] for isolation and its limits, [Bo09, §21.2] for interference by value, and [Bo09, §21.3] for the
//! liveness check, de-coalescing, virtual copies and sequentialisation.
//!
//! ```text
//! b0: -> b1                       b0: -> b1
//!   v0:w = op                       v0:w = op
//! b1: -> b2 b1                    b1: -> b2 b1
//!   v1:w = phi b0:v0 b1:v2          v3:w = phi b0:v0 b1:v2
//!                                   v1:w = copy v3
//!   v2:w = op v1                    v2:w = op v1
//!   op terminator                   op terminator
//! b2:                             b2:
//!   op v1                           op v1
//! ```
//!
//! Of the three copies that isolate the φ, one is left. v0, v2 and v3 are one variable; v1 is another, since it is live when
//! v2 is defined (`testdata/functions/lost_copy.txt`).

mod coalescing;
mod isolation;
mod liveness;
mod materialisation;
mod members;
mod sequence;
pub mod unsplit;

use super::failure::Unsupported;
use super::ssa::conventional::{Conventional, Sharing};
use crate::analysis::{Dominators, Order};
use crate::machine::{BlockData, Function, InstData, Value, ValueData};
use coalescing::Classes;
use isolation::Isolation;
use liveness::LiveOut;
use members::{Copies, Members};
use serde::{Deserialize, Serialize};

/// How to leave SSA form. Each choice is between a refinement of \[Bo09\] and what it refines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub notion: Notion,
    /// Whether isolating copies are virtual, and inserted only if they stay.
    pub virtualize: bool,
    pub liveness: Source,
    pub merging: Merging,
}

impl Policy {
    /// All refinements.
    pub const REFINED: Policy =
        Policy { notion: Notion::Value, virtualize: true, liveness: Source::Check, merging: Merging::ByWeight };
}

/// The order in which the two sides of copies are made one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// All at once. Variables that interfere are then taken out again [Bo09, Algorithm 21.3].
    AtOnce,
    /// One copy after another, the most frequent first, within a limit, as in the paper on which \[Bo09\] is based (CGO 2009).
    /// The rest as with `AtOnce`.
    ByWeight,
}

/// When two variables interfere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notion {
    /// Their live ranges intersect.
    Intersection,
    /// Their live ranges intersect, and neither is defined by a copy of the other (Chaitin).
    Chaitin,
    /// Their live ranges intersect, and they have different values.
    Value,
}

/// How it is found out whether a variable is live at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A set of live variables is computed beforehand for each block.
    Sets,
    /// It is checked whenever it is asked \[Boi08\].
    Check,
}

/// The numbers of copies before and after destruction, and its work. `weighted` counts are executions, by block frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DestructionCounts {
    /// Copies that isolate φs: one for each argument and one for each definition.
    pub isolating: u64,
    /// Copies that isolate the operands that two-address instructions overwrite.
    pub ties: u64,
    /// Copies of the program between values of one width.
    pub program: u64,
    /// Copies of `isolating` that are left.
    pub isolating_left: u64,
    /// Copies of `ties` that are left.
    pub ties_left: u64,
    /// Copies of `program` whose two sides are different variables.
    pub program_left: u64,
    /// Copies to additional variables, which break cycles of parallel copies.
    pub broken_cycles: u64,
    /// Executions of all copies before.
    pub weighted: f64,
    /// Executions of the copies that are left.
    pub weighted_left: f64,
    /// Pairs of variables whose live ranges were tested for intersection.
    pub tests: u64,
    /// The most memory in use at once, in bytes, not counting the function before and after: the function with inserted
    /// copies, the data about its variables, and liveness. Of several functions, the maximum.
    pub bytes: u64,
}

/// Makes the webs of a function its variables.
///
/// Without `coalesce`, only values that a φ or a two-address instruction relates are in one variable.
///
/// # Errors
/// If two variables interfere that no copy can separate (strong interference).
pub fn destruct(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    policy: Policy,
    coalesce: bool,
) -> Result<(Conventional, DestructionCounts), Unsupported> {
    let isolation = Isolation::new(function, Sharing::Register);
    let (conventional, counts) = convert(function, order, dominators, isolation, policy, coalesce)?;
    Ok((conventional.counted(function, counts.isolating + counts.ties), counts))
}

/// Gives the values that φs relate webs, each of which can share a slot. φs on edges without code are left as they are, and
/// so are two-address operands and the program's own copies.
///
/// # Errors
/// If two variables interfere that no copy can separate.
pub(super) fn phi_webs(function: &Function, order: &Order, dominators: &Dominators) -> Result<Conventional, Unsupported> {
    let isolation = Isolation::new(function, Sharing::Memory);
    Ok(convert(function, order, dominators, isolation, Policy::REFINED, true)?.0)
}

fn convert(
    function: &Function,
    order: &Order,
    dominators: &Dominators,
    isolation: Isolation,
    policy: Policy,
    coalesce: bool,
) -> Result<(Conventional, DestructionCounts), Unsupported> {
    let isolated = (!policy.virtualize).then(|| isolation.insert(function));
    let members = match &isolated {
        Some(isolated) => Members::new(isolated, &isolation, order, dominators, Copies::Inserted),
        None => Members::new(function, &isolation, order, dominators, Copies::Virtual),
    };
    let live = LiveOut::new(function, order, dominators, &members, policy.liveness);
    let mut classes = Classes::new(&members, live, policy.notion);
    if let Some([a, b]) = classes.strong_interference() {
        return Err(Unsupported(format!(
            "{} and {} interfere, and no copy can part them",
            named(&isolation, a),
            named(&isolation, b)
        )));
    }
    if coalesce {
        classes.coalesce(policy.merging);
    }
    let bytes = isolated.as_ref().map_or(0, size_of_function) + isolation.bytes() + members.bytes() + classes.bytes();
    let mut counts = DestructionCounts { tests: classes.tests(), bytes: bytes as u64, ..DestructionCounts::default() };
    let conventional = materialisation::write(function, &isolation, &members, &mut classes, &mut counts);
    Ok((conventional, counts))
}

/// The memory of a list.
fn bytes<T>(items: &[T]) -> usize {
    size_of_val(items)
}

/// The memory of a function.
fn size_of_function(function: &Function) -> usize {
    let phis = function.blocks.values().flat_map(|data| &data.phis);
    let columns: usize = phis.map(|phi| size_of_val(phi) + size_of_val(&phi.args[..])).sum();
    let blocks = function.blocks.len() * size_of::<BlockData>();
    let values = function.values.len() * size_of::<ValueData>();
    columns + blocks + values + function.insts.len() * size_of::<InstData>() + bytes(&function.operands)
}

/// A variable as messages name it. One that only an isolating copy defines or reads goes by the name of the copy's other
/// side.
fn named(isolation: &Isolation, member: Value) -> Value {
    isolation.copies.iter().find(|copy| copy.fresh() == member).map_or(member, |copy| copy.old())
}
