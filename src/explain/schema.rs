//! What there is to say about one function's allocation: the schema `chordal-explain/1`.
//!
//! Everything that a page, a terminal or another tool shows is in it; nothing is computed elsewhere. Each field's comment is its
//! definition. Costs are executions of instructions for each execution of the function, at the weights of the
//! yardstick (`docs/statistics.md`): a reload 4, a store 1, a copy 0.2 and so on, each times the frequency of its block.
//!
//! An [`Allocation`] is one of the function's allocations; there is another one if the function is compared. Its *rows* are the
//! instructions of the allocated function, prologue and epilogues included, block by block. Everything that has a place in the
//! code names a row, by its index.

use crate::measure::stats::{Options, OverheadParts, Place};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA: &str = "chordal-explain/1";

/// One function, explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of chordal.
    pub chordal: String,
    /// Name of the input file, as given.
    pub module: String,
    pub function: String,
    /// Target triple of the module.
    pub target: String,
    /// Where the function is in its source, if there is debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The sources that rows refer to, by index.
    pub sources: Vec<Source>,
    /// The allocation that is explained.
    pub allocation: Allocation,
    /// The one that it is compared with: of the same selected instructions, by another allocator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Allocation>,
}

/// A file of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub file: String,
    /// The lines that rows refer to and those around them, with their numbers; none if the file could not be read.
    pub lines: Vec<(u32, String)>,
}

/// One allocation of the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// Name of the allocator, as on the command line.
    pub allocator: String,
    pub options: Option<Options>,
    /// The general-purpose registers that the allocator might use; `null` for all of the target's.
    pub registers: Option<Vec<String>>,
    /// How this allocator chooses what is in memory, as a sentence.
    pub rule: String,
    /// Why the function was left to another allocator, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    pub verdict: Verdict,
    pub blocks: Vec<Block>,
    pub rows: Vec<Row>,
    /// The kinds of registers, each with the pressure at each row. Empty for an allocator that is no part of chordal.
    pub banks: Vec<Bank>,
    /// The values of the selected code, as above.
    pub values: Vec<Value>,
    /// What edges move, as above: those with code.
    pub edges: Vec<Edge>,
    /// Where a register has a price, dearest first; empty unless the allocator decides by prices.
    pub prices: Vec<Price>,
    /// What one more register would save, greatest first; empty unless it was asked for.
    pub counterfactuals: Vec<Counterfactual>,
}

/// What allocation costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub overhead: f64,
    /// Its parts, as in the statistics.
    pub parts: OverheadParts,
    /// `overhead` by the instructions selected, each times the frequency of its block.
    pub share: f64,
    /// The cost of spilling as the allocator counts it, and a bound that no plan of its model is below, if it knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bound: Option<f64>,
    /// The rows that cost most, dearest first: three at most.
    pub dearest: Vec<usize>,
}

/// A basic block of the allocated function, in the order of the selected code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// `b0` for the first of the selected blocks, and so on: the same for all allocators. A block that was put on an edge is
    /// `b3>b5`; any other new one is `new` with a number.
    pub name: String,
    /// Executions for each execution of the function, as estimated when allocation began.
    pub frequency: f64,
    /// The number of loops that it is in.
    pub depth: u32,
    /// The name of the header of the innermost loop that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Names of blocks.
    pub succs: Vec<String>,
    /// Its rows: the first, and the one behind the last.
    pub rows: [usize; 2],
    /// What allocation costs in it.
    pub cost: f64,
}

/// An instruction of the allocated function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// In the assembler's words where it has them.
    pub text: String,
    /// The place in the source that it comes from: an index into `sources` and a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(usize, u32)>,
    /// The line of the function itself into which that was inlined, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inlined_at: Option<(usize, u32)>,
    /// What it is, if allocation has added it or changed it. `null` for an instruction of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// What allocation costs here. Of a value that is computed again, what that takes: the verdict's `remats` is less, since it
    /// subtracts what the selected code has of these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: f64,
    /// The values that it loads, stores, copies or computes again, if allocation has added it; else those that it accesses in
    /// memory. Indices into `values`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<usize>,
    /// The values that it reads, and those that it defines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<usize>,
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

/// What an instruction is to allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A load from a spill slot.
    Reload,
    /// A store to a spill slot.
    Store,
    /// An instruction of the program that accesses a spill slot.
    Folded,
    /// A save of a callee-saved register, and a restore.
    Save,
    Restore,
    Copy,
    /// An exchange of two registers, or one of its three exclusive-ors.
    Exchange,
    /// An instruction of the program that is executed again.
    Remat,
}

/// A kind of registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bank {
    pub name: String,
    /// The registers that the allocator might use.
    pub registers: Vec<String>,
    /// For each row, how many values are live there, whether in registers or not: while the instruction reads, passes or
    /// writes, whichever leaves fewest registers free.
    pub live: Vec<u32>,
    /// For each row, how many registers neither the program nor a call occupies at that moment.
    pub supply: Vec<u32>,
}

/// A value of the selected code: what SSA form defines once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub name: String,
    /// The variables of the source that it is, at some time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// The register class.
    pub class: String,
    /// An index into `banks`.
    pub bank: usize,
    /// The φ-web that it belongs to: the first of the values that φs relate, itself included, as an index into `values`. A web is
    /// mostly one variable, all of whose values had better be in one place.
    pub web: usize,
    /// Where it is live, ascending: ranges of rows, and where it is then.
    pub pieces: Vec<Piece>,
    /// The rows of instructions of the program that define it (none for φs) and that read it.
    pub defined: Vec<usize>,
    pub read: Vec<usize>,
    /// The cost of its reloads, stores, copies and so on.
    pub cost: f64,
    /// What a register for it would cost where it is in none: the sum of the prices there. `null` without prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rent: Option<f64>,
    /// Why it is in memory, in words, if it is anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A part of a live range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The first row, and the one behind the last.
    pub rows: [usize; 2],
    /// The registers that hold the value and are read later. None: it is in memory only, or computed again when needed.
    pub registers: Vec<String>,
    /// The slot that holds it, if it is read from there later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
}

/// What an edge of the control-flow graph moves: one location transfer graph \[PP09\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Names of blocks.
    pub from: String,
    pub to: String,
    pub frequency: f64,
    pub transfers: Vec<Transfer>,
}

/// A value that an edge takes from one place to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Indices into `values`: the φ's argument, and the φ; the same twice for a value that lives on.
    pub value: usize,
    pub into: usize,
    /// Registers or slots by name.
    pub from: String,
    pub to: String,
}

/// A price: what the cheapest values that compete for a register would pay for one more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The row before which, or at which, there are too few registers.
    pub row: usize,
    /// An index into `banks`.
    pub bank: usize,
    /// The registers that they compete for, if those are not all of the bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Vec<String>>,
    /// In the unit of all costs.
    pub price: f64,
    /// The values that are live there, in registers first, each with what it would cost to evict.
    pub competitors: Vec<Competitor>,
}

/// A value that is live where a register has a price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Competitor {
    /// An index into `values`.
    pub value: usize,
    pub in_register: bool,
    /// What it costs at least if this value is in memory here, and in a register wherever else it likes. `null`: it cannot be in
    /// memory here, because the instruction needs it in a register.
    pub evict: Option<f64>,
}

/// What one more register would save, found by allocating once more with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counterfactual {
    /// An index into `banks`.
    pub bank: usize,
    /// The header of the loop in which there is one more register; `null` for the whole function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_header: Option<String>,
    /// Whether calls preserve the register, so that values can live across them in it.
    pub preserved: bool,
    /// What reloads, stores, folded operands, copies, exchanges and recomputed values cost now, and with that register.
    pub cost: f64,
    pub with: f64,
}
