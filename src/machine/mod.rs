//! The model: a function in SSA machine form over a register file, and the overlay that allocates it.
//!
//! A phase reads a [`Function`] and returns something new; an imported function is never changed.

mod function;
mod overlay;
mod registers;
mod rewrite;
pub mod text;
mod unpromoted;
pub mod validate;

pub use function::{
    Block, BlockData, BlockList, DebugUse, EdgePlace, Function, Goal, Inserted, Inst, InstData, InstFlags, InstKind, Operand,
    OperandSet, Phi, PinSets, Pins, Point, Role, Slot, Value, ValueData,
};
pub use overlay::{Edit, Location, Overlay, SlotData, SwapKind};
pub use registers::{Bank, BankInfo, ClassInfo, Reg, RegClass, RegInfo, RegSet, RegisterFile, SwapSupport};
pub use rewrite::Rewriter;
pub use text::{Notes, ParseError, builtin, parse, print, print_with_notes};
pub use unpromoted::{Edges, Unpromoted, Variable};
pub use validate::{Violation, validate};
