//! The places of functions in their sources, from a module's debug information.

use crate::measure::stats::Place;
use inkwell::llvm_sys::debuginfo::{
    LLVMDIFileGetDirectory, LLVMDIFileGetFilename, LLVMDIScopeGetFile, LLVMDISubprogramGetLine, LLVMGetSubprogram,
};
use inkwell::llvm_sys::prelude::LLVMMetadataRef;
use inkwell::values::{AsValueRef as _, FunctionValue};
use path_clean::PathClean as _;
use std::collections::HashMap;
use std::ffi::{OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The places of functions, by name. Functions without debug information have none.
pub fn of<'m>(functions: impl Iterator<Item = FunctionValue<'m>>) -> HashMap<String, Place> {
    let of_each = functions.filter_map(|function| {
        let name = function.get_name().to_string_lossy().into_owned();
        Some((name, place(function)?))
    });
    of_each.collect()
}

fn place(function: FunctionValue<'_>) -> Option<Place> {
    // SAFETY: the function is alive, and with it its metadata, of which none that is null is looked at.
    let (file, line) = unsafe {
        let subprogram = LLVMGetSubprogram(function.as_value_ref());
        if subprogram.is_null() {
            return None;
        }
        (LLVMDIScopeGetFile(subprogram), LLVMDISubprogramGetLine(subprogram))
    };
    if file.is_null() || line == 0 {
        return None;
    }
    let (folder, name) = (text(file, LLVMDIFileGetDirectory), text(file, LLVMDIFileGetFilename));
    let is_named = !name.as_os_str().is_empty();
    is_named.then(|| in_folder(folder, name, line))
}

/// A line of a file, whose name may be relative to the folder.
pub fn in_folder(folder: &Path, name: &Path, line: u32) -> Place {
    Place { file: folder.join(name).clean().display().to_string(), line }
}

/// Reads one of a file's texts, which LLVM does not terminate.
fn text<'f>(file: LLVMMetadataRef, get: unsafe extern "C" fn(LLVMMetadataRef, *mut c_uint) -> *const c_char) -> &'f Path {
    let mut length = 0;
    // SAFETY: the text lives as long as the module's context.
    let bytes = unsafe {
        let start = get(file, &raw mut length);
        if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) }
    };
    Path::new(OsStr::from_bytes(bytes))
}
