//! The bridge's C interface (`bridge.h`), one to one. Units and meanings are documented there.

use crate::allocate::failure::{Defect, Failure};
use crate::machine::InstFlags;
use bitflags::bitflags;
use std::ffi::c_void;

/// Assertions that everything here is as in the header, made by `contract.rs`.
mod contract {
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/contract.rs"));
}

pub const NONE: u32 = u32::MAX;
pub const NO_LOCATION: i32 = i32::MIN;

/// A value that an enum of the bridge does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the bridge passes {value} as {name}")]
pub struct Unknown {
    pub name: &'static str,
    pub value: u64,
}

impl From<Unknown> for Defect {
    fn from(unknown: Unknown) -> Self {
        Defect::Impossible(unknown.to_string())
    }
}

impl From<Unknown> for Failure {
    fn from(unknown: Unknown) -> Self {
        Defect::from(unknown).into()
    }
}

/// Defines enums that cross the bridge as integers. Values that Rust does not know are errors.
macro_rules! enums {
    ($($name:ident: $repr:ident { $($variant:ident = $value:literal),* $(,)? })*) => {$(
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr($repr)]
        pub enum $name {
            $($variant = $value),*
        }

        impl TryFrom<$repr> for $name {
            type Error = Unknown;

            fn try_from(value: $repr) -> Result<Self, Unknown> {
                match value {
                    $($value => Ok($name::$variant),)*
                    _ => Err(Unknown { name: stringify!($name), value: value.into() }),
                }
            }
        }
    )*};
}

enums! {
    Swap: u32 { Exchange = 0, Xor = 1, Never = 2 }
    InstKind: u8 { Op = 0, Copy = 1, CopyTo = 2, CopyFrom = 3 }
    Role: u16 { Use = 0, Def = 1, EarlyDef = 2 }
    EditKind: u8 { Load = 0, Store = 1, Move = 2, Exchange = 3, Xor = 4, Rematerialise = 5, Perform = 6, StoreConstant = 7 }
    Goal: u32 { Speed = 0, Size = 1, LeastSize = 2 }
    Outcome: u32 { Failed = 0, Allocated = 1 }
    EdgeKind: u32 { Plain = 0, Splittable = 1, Inner = 2 }
    Allocator: u32 { Ours = 0, Greedy = 1, Basic = 2, Pbqp = 3, Fast = 4 }
    Relocation: u32 { AsModuleSays = 0, Static = 1, Pic = 2 }
    Warning: u32 { Other = 0, FrameSize = 1, Call = 2, InlineAsm = 3 }
    ReadMessage: u32 { Invalid = 0, Broken = 1, Index = 2, Warning = 3 }
}

bitflags! {
    /// Where in a block the caller's content of a register is in its stack object.
    #[derive(Clone, Copy)]
    pub struct SavedFlags: u8 {
        const ARRIVING = 1;
        const WITHIN = 2;
        const LEAVING = 4;
    }
}

/// The properties of an instruction, as the model has them.
///
/// # Errors
/// If there are others.
pub fn inst_flags(bits: u16) -> Result<InstFlags, Unknown> {
    InstFlags::from_bits(bits).ok_or(Unknown { name: "InstFlags", value: bits.into() })
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub data: *const u8,
    pub size: usize,
}

impl Str {
    pub fn new(text: &[u8]) -> Self {
        Str { data: text.as_ptr(), size: text.len() }
    }

    /// # Safety
    /// The text must be alive for `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        unsafe { slice(self.data, self.size) }
    }

    /// # Safety
    /// The text must be alive during the call.
    pub unsafe fn text(self) -> String {
        String::from_utf8_lossy(unsafe { self.bytes() }).into_owned()
    }
}

/// An array as a slice; an empty one may be null.
///
/// # Safety
/// `data` must point to `size` elements that live for `'a`, unless `size` is 0.
pub unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, size) } }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RegSet {
    pub words: [u64; 2],
}

#[repr(C)]
pub struct Bank {
    pub name: Str,
    pub swap: u32,
}

#[repr(C)]
pub struct Reg {
    pub name: Str,
    pub bank: u32,
}

#[repr(C)]
pub struct Class {
    pub name: Str,
    pub bank: u32,
    pub first_reg: u32,
    pub end_reg: u32,
    pub slot_size: u32,
    pub slot_align: u32,
}

#[repr(C)]
pub struct File {
    pub banks: *const Bank,
    pub num_banks: usize,
    pub regs: *const Reg,
    pub num_regs: usize,
    pub classes: *const Class,
    pub num_classes: usize,
    pub orders: *const u8,
    pub num_orders: usize,
    pub callee_saved: RegSet,
    pub prefixed: RegSet,
}

#[repr(C)]
pub struct Block {
    pub first_inst: u32,
    pub end_inst: u32,
    pub first_edge: u32,
    pub end_edge: u32,
    pub live_in: RegSet,
    pub frequency: f64,
    pub throws: u32,
    pub landing_pad: u32,
    pub jump_target: u32,
}

#[repr(C)]
pub struct Edge {
    pub to: u32,
    pub block: u32,
    pub frequency: f64,
}

#[repr(C)]
pub struct Phi {
    pub block: u32,
    pub def: u32,
    pub first_arg: u32,
    pub end_arg: u32,
}

#[repr(C)]
pub struct PhiArg {
    pub pred: u32,
    pub value: u32,
}

#[repr(C)]
pub struct Inst {
    pub first_operand: u32,
    pub end_operand: u32,
    pub pins: u32,
    pub kind: u8,
    pub reg: u8,
    pub flags: u16,
}

#[repr(C)]
pub struct Operand {
    pub value: u32,
    pub role: u16,
    pub reuse: u16,
    pub reuse_instead: u16,
    pub reuse_none: u8,
    pub foldable: u8,
}

#[repr(C)]
pub struct Pins {
    pub uses: RegSet,
    pub defs: RegSet,
    pub early_defs: RegSet,
    pub clobbers: RegSet,
}

#[repr(C)]
pub struct DebugUse {
    pub value: u32,
    pub block: u32,
    pub index: u32,
}

#[repr(C)]
pub struct Function {
    pub name: Str,
    pub file: u32,
    pub new_file: *const File,
    pub blocks: *const Block,
    pub num_blocks: usize,
    pub edges: *const Edge,
    pub num_edges: usize,
    pub phis: *const Phi,
    pub num_phis: usize,
    pub phi_args: *const PhiArg,
    pub num_phi_args: usize,
    pub insts: *const Inst,
    pub num_insts: usize,
    pub operands: *const Operand,
    pub num_operands: usize,
    pub pins: *const Pins,
    pub num_pins: usize,
    pub classes: *const u32,
    pub num_values: usize,
    pub debug_uses: *const DebugUse,
    pub num_debug_uses: usize,
    pub returns_twice: u32,
    pub goal: u32,
    pub unsupported: Str,
    pub import_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Edit {
    pub block: u32,
    pub index: u32,
    pub kind: u8,
    pub to: u8,
    pub from: u8,
    pub object: u32,
    pub class: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slot {
    pub size: u32,
    pub align: u32,
    pub given: u32,
}

#[repr(C)]
pub struct Answer {
    pub outcome: u32,
    pub locations: *const i32,
    pub edits: *const Edit,
    pub num_edits: usize,
    pub slots: *const Slot,
    pub num_slots: usize,
    pub debug_locations: *const i32,
    pub usable: RegSet,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Overhead {
    pub reloads: f64,
    pub stores: f64,
    pub saves: f64,
    pub restores: f64,
    pub copies: f64,
    pub exchanges: f64,
    pub remats: f64,
    pub other: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Weights {
    pub loads: f64,
    pub stores: f64,
    pub moves: f64,
    pub xors: f64,
    pub instructions: f64,
    pub selected_instructions: u64,
    pub selected_weighted_instructions: f64,
    pub overhead: Overhead,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Counts {
    pub loads: u64,
    pub stores: u64,
    pub moves: u64,
    pub xors: u64,
    pub instructions: u64,
    pub weights: Weights,
    pub score: f64,
    pub spill_stores: u64,
    pub spill_reloads: u64,
    pub spill_folded: u64,
    pub spill_slots: u64,
    pub spill_slot_bytes: u64,
    pub swaps: u64,
    pub frame_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameBlock {
    pub frequency: f64,
    pub returns: u8,
    pub head: u8,
    pub tail: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FrameEdge {
    pub from: u32,
    pub to: u32,
    pub frequency: f64,
    pub kind: u32,
}

#[repr(C)]
pub struct Frame {
    pub name: Str,
    pub goal: u32,
    pub blocks: *const FrameBlock,
    pub num_blocks: usize,
    pub edges: *const FrameEdge,
    pub num_edges: usize,
    pub wanted: *const u8,
    pub num_registers: usize,
    pub saves: f64,
    pub restores: f64,
}

pub const SAVED: [u8; 3] = [1, 2, 4];

#[repr(C)]
pub struct Options {
    pub allocator: u32,
    pub relocation: u32,
    pub schedule: u32,
    pub object: u32,
    pub function_sections: u32,
    pub data_sections: u32,
    pub addrsig: u32,
    pub call_site_info: u32,
    pub ahead: u32,
    pub separate_saves: u32,
    pub verify: u32,
    pub excluded: *const Str,
    pub num_excluded: usize,
    pub fallback: *const Str,
    pub num_fallback: usize,
}

#[repr(C)]
pub struct Callbacks {
    pub user: *mut c_void,
    pub import: extern "C" fn(*mut c_void, *const Function),
    pub allocate: extern "C" fn(*mut c_void),
    pub answer: extern "C" fn(*mut c_void, *mut Answer),
    pub allocated: extern "C" fn(*mut c_void, Str, u64, Str),
    pub wrap: extern "C" fn(*mut c_void, *const Frame, *mut u8),
    pub wrapped: extern "C" fn(*mut c_void, Str, u64, Str),
    pub failed: extern "C" fn(*mut c_void, Str, Str),
    pub counted: extern "C" fn(*mut c_void, Str, *const Counts),
    pub error: extern "C" fn(*mut c_void, Str),
    pub warning: extern "C" fn(*mut c_void, u32, Str),
    pub size: extern "C" fn(*mut c_void, Str, u64),
    pub emit: extern "C" fn(*mut c_void, Str),
}

#[repr(C)]
pub struct Reader {
    pub user: *mut c_void,
    pub message: extern "C" fn(*mut c_void, u32, Str),
}

unsafe extern "C" {
    pub fn ch_read(context: *mut c_void, name: Str, bytes: Str, reader: *const Reader) -> *mut c_void;
    pub fn ch_codegen(module: *mut c_void, options: *const Options, callbacks: *const Callbacks) -> i32;
    pub fn ch_sizes(module: *mut c_void, relocation: u32, assembly: Str, callbacks: *const Callbacks) -> i32;
    pub fn ch_doing(buffer: *mut u8, size: usize) -> usize;
    pub fn ch_initialise(fatal: extern "C" fn(Str));
}
