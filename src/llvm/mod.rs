//! LLVM's side: reading modules, handing functions over, applying allocations, counting.

mod ffi;
mod import;
