//! The differences between the program that is allocated and the imported one.

use crate::machine::{Inst, RegClass};
use std::collections::BTreeMap;

/// The changes that the overlay has to report where the program is not allocated as it was imported. All instructions are
/// imported ones.
#[derive(Default)]
pub struct Changes {
    /// Instructions that have moved, and whether they now write no flags ([`super::sink`]).
    pub moved: BTreeMap<Inst, bool>,
    /// Copies from and to excluded registers that stand elsewhere in the block now or are gone, with the classes of their
    /// values ([`super::park`]).
    pub parked: BTreeMap<Inst, RegClass>,
    /// Copies to registers of the program in whose place constants are computed, and the instructions that compute them
    /// ([`super::copies`]).
    pub computed: BTreeMap<Inst, Inst>,
    /// Whether every constant that is rematerialised right before such a copy is computed in its place.
    pub computes_in_place: bool,
}
