//! What is known of an allocated function: its final code, and, of an allocation of ours, how it came about.

use super::schema::Part;
use crate::allocate::pipeline::Report;
use crate::machine::{Function, Inst, Overlay, Value};
use crate::measure::stats::Place;

/// The code of an allocated function, prologue and epilogues included.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub blocks: Vec<ListedBlock>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct ListedBlock {
    /// Its position among the blocks that were selected; `None` if allocation has made it.
    pub position: Option<usize>,
    /// Executions for each execution of the function, as estimated when allocation began.
    pub frequency: f64,
    /// Indices of blocks.
    pub succs: Vec<usize>,
    pub insts: Vec<ListedInst>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct ListedInst {
    pub text: String,
    pub place: Option<Place>,
    /// The place in the function itself into which that was inlined, if it was.
    pub inlined: Option<Place>,
    pub origin: Origin,
    pub part: Option<Part>,
    /// What allocation costs by it, in executions for each execution of the function, at the weights of the yardstick.
    pub cost: f64,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The instruction of the imported function that it is.
    Program(Inst),
    /// An edit of the overlay, by its index.
    Edit(usize),
    /// It is not known, or the frame's.
    Other,
}

/// An allocation of ours: the function as it was imported, what became of it, and the names of its values in the source.
#[derive(Clone, Debug)]
pub struct Model {
    pub function: Function,
    pub overlay: Overlay,
    pub report: Report,
    pub names: Vec<(Value, String)>,
}

/// The code of a function, and its model if the allocator is ours.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub listing: Listing,
    pub model: Option<Model>,
}
