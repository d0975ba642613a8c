//! The way out of SSA form before allocation (`ssa-destruction-for-machine-code.txt`).
//!
//! Requires: strict SSA. Critical edges need not be split ([`unsplit`] takes their blocks out).
//! Ensures: conventional SSA form whose webs are the variables of the program without φs: each can have one location for all its
//! life, since of its values no two are live at once with different contents. What a two-address definition overwrites is in
//! its web. Copies between variables are in sequence.
//! Relies on: section 21.1 of that text, for isolation and its limits; 21.2 for interference by value; 21.3 for the liveness
//! check, de-coalescing, virtual copies and sequentialisation.
//!
//! The phases are those of the text: [`isolation`] says which copies isolate φs and two-address operands, [`members`] which
//! variables there are then, with these copies virtual or inserted, [`coalescing`] unites all that copies relate and takes out
//! again what interferes, [`materialisation`] writes the copies that are left, each set of parallel ones in an order that
//! [`sequence`] finds.

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

/// How to leave SSA form. Each choice is one of the text's refinements, with what it refines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    pub notion: Notion,
    /// Whether copies that isolate are inserted only if they stay.
    pub virtualize: bool,
    pub liveness: Source,
    pub merging: Merging,
}

impl Policy {
    /// With all refinements.
    pub const REFINED: Policy =
        Policy { notion: Notion::Value, virtualize: true, liveness: Source::Check, merging: Merging::ByWeight };
}

/// In which order copies' sides become one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// All at once; what interferes then is taken out again (Algorithm 21.3).
    AtOnce,
    /// One copy after the other, those first that are executed most, within a limit; then as above (Boissinot et al.,
    /// "Revisiting Out-of-SSA Translation for Correctness, Code Quality, and Efficiency", CGO 2009).
    ByWeight,
}

/// When two variables interfere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notion {
    /// Their live ranges intersect.
    Intersection,
    /// They do, and neither is defined by a copy of the other (Chaitin).
    Chaitin,
    /// They do, and the variables have different values.
    Value,
}

/// How it is found out whether a variable is live somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Sets of live variables, one a block, are there before.
    Sets,
    /// It is checked when somebody wants to know.
    Check,
}

/// What destruction came to. `weighted` counts are executions, by block frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DestructionCounts {
    /// Copies that isolate φs: one an argument, one a definition.
    pub isolating: u64,
    /// Copies that isolate operands which two-address instructions overwrite.
    pub ties: u64,
    /// Copies of the program between values of one width.
    pub program: u64,
    /// Those of the first that are left.
    pub isolating_left: u64,
    /// Those of the second that are left.
    pub ties_left: u64,
    /// Those of the third whose two sides are different variables.
    pub program_left: u64,
    /// Copies to further variables, for cycles of parallel copies.
    pub broken_cycles: u64,
    /// Executions of all copies before.
    pub weighted: f64,
    /// Executions of those that are left.
    pub weighted_left: f64,
    /// Pairs of variables whose live ranges were tested for an intersection.
    pub tests: u64,
    /// Bytes that there are at once at most, beside the function before and after: the function with copies inserted, all that
    /// is known about its variables, and liveness. Of several functions, the most.
    pub bytes: u64,
}

/// Makes the webs of a function its variables.
///
/// With `coalesce` off, nothing but what a φ or a two-address instruction relates is in one variable.
///
/// # Errors
/// If variables that no copy can part interfere (strong interference).
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

/// Gives the values that φs relate webs, each of which can share a memory location. φs on edges that can take no code are left as
/// they are, and so are two-address operands and the program's own copies.
///
/// # Errors
/// If variables that no copy can part interfere.
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

/// What a vector takes.
fn bytes<T>(items: &[T]) -> usize {
    size_of_val(items)
}

/// What a function takes.
fn size_of_function(function: &Function) -> usize {
    let phis = function.blocks.values().flat_map(|data| &data.phis);
    let columns: usize = phis.map(|phi| size_of_val(phi) + size_of_val(&phi.args[..])).sum();
    let blocks = function.blocks.len() * size_of::<BlockData>();
    let values = function.values.len() * size_of::<ValueData>();
    columns + blocks + values + function.insts.len() * size_of::<InstData>() + bytes(&function.operands)
}

/// A variable as a message names it: what isolates is known by what it copies.
fn named(isolation: &Isolation, member: Value) -> Value {
    isolation.copies.iter().find(|copy| copy.fresh() == member).map_or(member, |copy| copy.old())
}
