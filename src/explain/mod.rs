//! Explains an allocation: what it costs and where, where each value is, and why.
//!
//! ```text
//! code after the prologue   ---> layout ---> rows and blocks ----------+
//! function, overlay         ---> needed, trace ---> places, pressure --+--> schema::Explanation --> page, text, JSON
//! prices of the spiller     ---> allocate::eviction, why --------------+
//! allocation with one more register  ---> what_if ---------------------+
//! ```
//!
//! Requires: code as it was allocated; of an allocation of ours also the function and its overlay, which the checker accepts.
//! Ensures: whatever is said follows from the allocation itself, whoever made it. Only prices come from an allocator.

pub mod allocation;
pub mod index;
mod layout;
pub mod listing;
mod needed;
pub mod page;
pub mod schema;
pub mod text;
mod trace;
pub mod what_if;
mod why;

pub use layout::Sources;
