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

/// The version, major and minor, of the LLVM that this process works with; `None` if it has none as a shared library,
/// or one before LLVM 16. In a plug-in
/// it may be another than the one that the plug-in itself has brought along, which the program does not see.
pub fn version_of_process() -> Option<(u32, u32)> {
    type Version = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: a function of this name is LLVM's, and has had this type in all versions.
    unsafe {
        let program = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY);
        let function = libc::dlsym(program, c"LLVMGetVersion".as_ptr());
        let function: Option<Version> = std::mem::transmute(function);
        function?(&raw mut major, &raw mut minor, &raw mut patch);
    }
    Some((major, minor))
}

/// Sets LLVM up, once.
fn initialise() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| unsafe { ffi::ch_initialise(fatal::report) });
}
