//! LLVM's side: reading modules, handing functions over, applying allocations, counting.

mod answer;
mod compile;
#[cfg(test)]
mod contract;
mod fatal;
mod ffi;
pub mod foreign;
pub mod guest;
mod import;
mod jobs;
mod module;
mod places;
mod registers;
mod session;
mod variables;

pub use compile::{
    About, Algorithm, Allocator, CompileError, CompileOptions, Compiled, Output, Pace, Relocation, Sections, Stock, Tables,
    Warning, compile,
};
pub use fatal::die_with_prefix;
pub use jobs::{Failed, Ours};
pub use module::{Module, ReadError, Source, Target};
pub use registers::{ALL_REGISTERS, RegisterRequest, RequestError};
pub use variables::{unpromoted, without_phis};

/// The version of LLVM that is loaded: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    inkwell::support::get_llvm_version()
}

/// The version of LLVM that this was built for: major, minor.
pub const BUILT_FOR: (u32, u32) = (22, 1);

/// Sets LLVM up, once.
fn initialise() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| unsafe { ffi::ch_initialise(fatal::report) });
}
