//! Coalescing behind colouring: other registers, so that more copies come to nothing.
//!
//! Requires: a coloured function.
//! Ensures: a register for each name as before, and copies (φ arguments, parallel copies, the program's) that are executed no
//! more often, as estimated. No name is added, none is spilled, and no callee-saved register is taken that was not in use.
//! Relies on: `ssa-allocation-lecture.txt`, "Optimizing Φ-functions": which copies are left is a matter of the colouring
//! alone, and the best one is NP-complete to find.

mod affinities;
mod chunks;
mod colouring;
mod conflicts;
mod exchanges;
#[cfg(feature = "optimal")]
mod optimal;
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

/// Whether, and how, names are given other registers once all have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recolouring {
    /// Not at all.
    Never,
    /// By optimisation units: the Perm-Optimizer of Hack, Grund and Goos ([`units`]).
    Units,
    /// By chunks of what copies relate: Hack and Goos ([`chunks`]).
    Chunks,
    /// By chunks, and then by exchanges of two registers ([`exchanges`]).
    Exchanges,
    /// Likewise, and then by integer programming: Grund and Hack. Not in every build ([`crate::allocate::HAS_SOLVER`]).
    Optimal,
}

/// What recolouring did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecolouringCounts {
    /// Copies between names, and between names and registers of the program, whose sides were in two registers.
    pub copies_before: u64,
    /// Those that still are.
    pub copies_after: u64,
    /// Estimated executions of those copies.
    pub cost_before: f64,
    pub cost_after: f64,
    /// What they cost at least in any colouring of these names, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// Gives names other registers. Integer programs may take about as long as `solver` says.
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

/// The pairs whose sides are in two registers, and their executions.
fn left(affinities: &Affinities, colours: &PrimaryMap<Node, Reg>) -> (u64, f64) {
    let pairs = affinities.pairs.iter().filter(|pair| colours[pair.ends.0] != colours[pair.ends.1]).map(|pair| pair.weight);
    let elsewhere =
        |(node, &reg): (Node, &Reg)| affinities.pins(node).iter().filter(move |&&(pin, _)| pin != reg).map(|&(_, weight)| weight);
    let pins = colours.iter().flat_map(elsewhere);
    pairs.chain(pins).fold((0, 0.0), |(count, cost), weight| (count + 1, cost + weight))
}
