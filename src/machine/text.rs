//! The text form of a function, one line per instruction. It is parsed and printed without loss.
//!
//! ```text
//! target tiny
//! function sum
//! b0: live=a -> b1
//!   v0:w = copy-from(a)
//!   v1:w = op rematerialisable
//! b1: freq=8 -> b1 b2
//!   v2:w = phi b0:v1 b1:v3
//!   v3:w(reuse=1) = op v2 v0 defs=flags
//!   op uses=flags terminator
//! b2:
//!   copy-to(a) v3
//!   op uses=a terminator
//! ```
//!
//! Words are separated by blanks; a `;` starts a comment. `{x}` stands for any number of `x`, `[x]` for one or none.
//!
//! ```text
//! text      = target function
//! target    = "target" name                       a built-in register file: tiny, wide
//!           | "target" line-end { file-line }
//! file-line = "bank" name ("exchange" | "xor" | "never") ["beside" bank]
//!           | "registers" (bank | "-") {reg}      in the order of their numbers; "-" for no bank
//!           | "class" name bank size/align {reg}  in allocation order
//!           | "callee-saved" {reg}
//!           | "prefixed" {reg}
//!           | "excluded" {reg}
//!           | "status" {reg}
//! function  = "function" name ["returns-twice"] ["optsize" | "minsize"] ["undefined" {vN:class}] {block}
//! block     = bN: {block-mark} ["->" {bN}]  { phi | inst | "debug" vN }
//! block-mark= freq=F                              1 unless given
//!           | live=reg,…                          physical registers live at the head
//!           | preds=bN,…                          in block order unless given; it orders a φ's columns
//!           | "landing-pad" | "on-edge"
//! phi       = vN:class[(of=vN)] "=" "phi" { bN:vN | bN:undef }
//! inst      = [ {def} "=" ] kind { use | def } {mark}
//! kind      = "op" | "copy" | copy-to(reg) | copy-from(reg) | load(sN) | store(sN) | store-constant(sN=iN)
//!           | rematerialise(iN) | "parallel"
//! use       = vN[("foldable")]
//! def       = vN:class[([of=vN,]["early",][reuse=N{"|"N}["|none"],]["foldable"])]  of the value that it is a piece of
//! mark      = uses=reg,… | defs=reg,… | early=reg,… | clobbers=reg,…
//!           | "terminator" | "label" | "rematerialisable" | "recomputable" | "dear" | "storable" | "given" | "movable"
//!           | "reads" | "writes" | "narrows" | "extends" | "widens" | "recorded" | "throws"
//!           | origin=iN | origin=none             its own number unless given
//! ```
//!
//! Blocks and instructions are numbered as they come. The `N` of `reuse=N` counts all operands of the instruction from 0,
//! definitions first; after `|` come operands that may be overwritten instead, or `none` if the definition may be
//! anywhere. A definition that comes after a use is written there, to the right of the `=`. The register of a `copy-to` is
//! implicitly among its `defs`, that of a `copy-from` among its `uses`. `undefined` gives the classes of values that nothing
//! defines. In the function's name, characters that are not plain are written `\u{…}`.
//!
//! An edge may be given twice. The second one gets a block `on-edge`, and is printed with it.
//!
//! The parser checks only syntax and names. Whether the function makes sense is for [`super::validate()`] to say.

mod parse;
mod print;
mod target;

pub use parse::{ParseError, Reason, parse};
pub use print::{Notes, print, print_with_notes};
pub use target::builtin;

#[cfg(test)]
mod tests;
