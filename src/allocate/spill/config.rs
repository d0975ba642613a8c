//! The options of spilling, and what later phases need from it.

use crate::allocate::pressure::pin_policy::PinPolicy;
use std::time::Duration;

/// How to spill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// A reloaded value serves later uses in its block while there is room. Otherwise every use has a reload of its own.
    pub keep_loaded: bool,
    /// Instructions read spilled operands from memory themselves where they can. Otherwise only copies do.
    pub fold: bool,
    /// Instructions also read values that are in memory from the beginning ([`GIVEN`](crate::machine::InstFlags::GIVEN)), if live ranges are split.
    pub read_in_place: bool,
    /// Constants and addresses are computed again instead of being stored and loaded.
    pub rematerialise: bool,
    /// An argument of a φ in memory is stored once, after its definition, instead of at the end of each block from which it
    /// is taken [PP09, §6.1].
    pub store_hoist: bool,
    /// When φs are put into memory [PP09, §6.2].
    pub load_lower: LoadLowering,
    /// A copy from a slot to the same slot is dropped [PP09, §6.3].
    pub memory_coalesce: bool,
    /// Homes that are never needed at the same time share a slot. Otherwise each has a slot of its own.
    pub share_slots: bool,
    /// Every instruction costs a little, however seldom it is executed and however little it does. ([`weigh_size`](crate::allocate::cost::weigh_size) has
    /// already raised the frequencies accordingly.)
    pub weigh_size: bool,
    /// How long [`PRICED`](super::strategies::PRICED) searches, and so how good the plan is with which [`OPTIMAL`](super::strategies::OPTIMAL) begins.
    pub effort: Effort,
    /// The spiller says what registers are worth, if it decides by that ([`Plan::prices`](super::Plan::prices)).
    pub keep_prices: bool,
    /// The time that each phase may take to solve the integer programs of one function.
    pub solver: Duration,
}

/// How long to search for a better plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    Least,
    Usual,
    More,
    Most,
}

/// The properties of later phases that spilling depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Downstream {
    /// Assignment spills on demand: where a value finds no register, it asks for the value to be spilled, and both phases
    /// run again. So nothing has to fit beforehand. Values that are not spilled have one register for life, even across
    /// edges without code.
    pub evicts: bool,
    /// The values of a φ-web share a slot. Otherwise every value has its own, and φ elimination moves memory to memory.
    pub frugal: bool,
    /// φ elimination needs one register of each bank to stay free, except where a single instruction needs all of them.
    pub spare: bool,
    /// How assignment treats registers that the program occupies. If it moves values, it can also move them to where
    /// they meet, so that they can cross edges without code in registers.
    pub pins: PinPolicy,
}

/// How Belady's algorithm decides which values are in registers at the heads of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Those used soonest, wherever they come from [Hack, "Spilling with Belady's Algorithm"].
    Nearest,
    /// Those in registers at the ends of all predecessors, and then those at the ends of some. At the head of a loop, those
    /// used in it, and then those live through it if the loop leaves room [BH09, §4.2].
    Predecessors,
}

/// When a φ is put into memory, although its definition could be in a register, because its arguments are in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadLowering {
    /// Never.
    Off,
    /// If its arguments take more loads than it has uses.
    Counted,
    /// If the loads and stores that it saves are executed more often than those that it costs.
    Weighted,
}
