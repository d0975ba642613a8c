//! Coalescing after colouring: names change registers so that more copies become no-ops.
//!
//! A copy costs nothing if both of its sides have one register. Which copies do is a matter of the colouring alone, and
//! finding the colouring with the cheapest copies is NP-complete. So this phase starts from the colouring that assignment
//! has found and improves it step by step; each step keeps it a colouring. The steps are those of \[Hack\] ([`units`]) or of
//! \[HG08\] ([`chunks`], which [`exchanges`] follows); `optimal.rs` solves the problem exactly, as in \[GH07\].
//!
//! Requires: a coloured function.
//! Ensures: a register for each name as before, and copies (φ arguments, parallel copies, copies of the program) that are
//! executed no more often, as estimated. No name is added or spilled, and no callee-saved register is taken that was not in
//! use.
//! Relies on: [Hack, "Optimizing Φ-functions"], for the cost and its NP-completeness.
//!
//! ```text
//! b1: -> b3                        colouring    recoloured
//!   v0:w = op                      v0: r1       v0: r2
//!   v1:w = op                      v1: r2       v1: r1
//!   op v0
//! b2: -> b3
//!   v2:w = op                      v2: r1       v2: r1
//! b3: preds=b1,b2
//!   v3:w = phi b1:v1 b2:v2         v3: r1       v3: r1
//!   op v3
//! ```
//!
//! Colouring in dominance order gives v0 the first register, so that the φ takes a copy at the end of b1. To get r1 for v1,
//! v0 has to leave it, although no copy concerns v0 (`testdata/functions/papers/lecture_recolouring.txt`).

mod affinities;
mod chunks;
mod colouring;
mod conflicts;
mod exchanges;
#[cfg(feature = "optimal")]
mod optimal;
mod stable_set;
mod units;

use crate::allocate::assign::Coloured;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::Reg;
use affinities::Affinities;
use colouring::Colouring;
use conflicts::{Conflicts, Node, Nodes};
use cranelift_entity::PrimaryMap;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Whether names get other registers once all have one, and how they are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recolouring {
    /// Every name keeps its register.
    Never,
    /// By optimisation units: the Perm-Optimizer of Hack, Grund and Goos \[Hack\] ([`units`]).
    Units,
    /// By chunks of names that copies relate \[HG08\] ([`chunks`]).
    Chunks,
    /// By chunks, and then by exchanging two registers ([`exchanges`]).
    Exchanges,
    /// By exchanges, and then by integer programming \[GH07\]. Not in every build ([`crate::allocate::HAS_SOLVER`]).
    Optimal,
}

/// The copies that recolouring found, and those that it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecolouringCounts {
    /// Copies between names, and between names and registers of the program, whose sides were in different registers.
    pub copies_before: u64,
    /// Copies whose sides still are.
    pub copies_after: u64,
    /// Estimated executions of those copies.
    pub cost_before: f64,
    pub cost_after: f64,
    /// The least that copies cost in any colouring of these names, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// Gives names other registers. Integer programs may take about as long as `solver`.
pub fn recolour(
    coloured: &mut Coloured,
    liveness: &Liveness,
    pins: &PinLiveness,
    how: Recolouring,
    solver: Duration,
) -> RecolouringCounts {
    if how == Recolouring::Never {
        return RecolouringCounts::default();
    }
    let nodes = Nodes::new(&coloured.function, &coloured.colours);
    let affinities = Affinities::new(&coloured.function, &nodes);
    let (copies_before, cost_before) = left(&affinities, &nodes.colours);
    if copies_before == 0 {
        let bound = (how == Recolouring::Optimal).then_some(0.0);
        return RecolouringCounts { bound, ..RecolouringCounts::default() };
    }
    let conflicts = Conflicts::new(nodes, coloured, liveness, pins);
    let mut colouring = Colouring::new(&conflicts, &affinities);
    match how {
        Recolouring::Never => {}
        Recolouring::Units => units::optimise(&mut colouring, &conflicts, &affinities),
        Recolouring::Chunks => chunks::optimise(&mut colouring, &conflicts, &affinities, chunks::TRIED),
        Recolouring::Exchanges | Recolouring::Optimal => exchanges::optimise(&mut colouring, &conflicts, &affinities),
    }
    let bound = match how {
        #[cfg(feature = "optimal")]
        Recolouring::Optimal => Some(optimal::optimise(&mut colouring, &conflicts, &affinities, solver)),
        #[cfg(not(feature = "optimal"))]
        Recolouring::Optimal => unreachable!("allocation is refused where there is no solver, for {solver:?} or longer"),
        _ => None,
    };
    let (copies_after, cost_after) = left(&affinities, colouring.all());
    debug_assert!(cost_after <= cost_before * (1.0 + 1e-9), "recolouring makes copies dearer");
    coloured.colours.change(|name| conflicts.node(name).map(|node| colouring.of(node)));
    coloured.used = coloured.colours.registers() | PinLiveness::written(&coloured.function);
    RecolouringCounts { copies_before, copies_after, cost_before, cost_after, bound }
}

/// How many copies have their sides in different registers, and how often they are executed.
fn left(affinities: &Affinities, colours: &PrimaryMap<Node, Reg>) -> (u64, f64) {
    let pairs = affinities.pairs.iter().filter(|pair| colours[pair.ends.0] != colours[pair.ends.1]).map(|pair| pair.weight);
    let elsewhere =
        |(node, &reg): (Node, &Reg)| affinities.pins(node).iter().filter(move |&&(pin, _)| pin != reg).map(|&(_, weight)| weight);
    let pins = colours.iter().flat_map(elsewhere);
    pairs.chain(pins).fold((0, 0.0), |(count, cost), weight| (count + 1, cost + weight))
}
