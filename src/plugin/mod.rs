//! The plug-in: the library that clang, flang, llc or lld loads, so that chordal allocates in the code that they generate.
//!
//! ```text
//! clang-22 -O2 -fpass-plugin=libchordal.so -c prog.c
//! llc-22 --load-pass-plugin=libchordal.so prog.bc
//! clang-22 -O2 -flto=thin -fuse-ld=lld -Wl,--load-pass-plugin=libchordal.so *.o -o prog
//! ```
//!
//! Requires: the LLVM that this was built for, as a shared library.
//! Ensures: the object is what `chordal compile` makes of the same bitcode; what cannot be done is a diagnostic of the
//! compiler's.

pub mod settings;
mod statistics;

use crate::cli::compile::{Subject, statistics};
use crate::cli::{defect, options};
use crate::llvm::guest::{self, Generated, Host, How, Message};
use crate::llvm::{self, CompileError, Pace, Target};
use crate::output::{self, Destination};
use anyhow::{Context as _, Result};
use settings::Settings;
use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

/// LLVM's `PassPluginLibraryInfo`.
#[repr(C)]
pub struct Info {
    api: u32,
    name: *const c_char,
    version: *const c_char,
    register: *const c_void,
    generate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, u32, *mut c_void) -> bool>,
}

/// LLVM's `LLVM_PLUGIN_API_VERSION`, which grows when [`Info`] changes.
const API: u32 = 2;

const NAME: &CStr = c"chordal";
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => unreachable!(),
};

/// LLVM calls this function when it has loaded the library. If `api` in the answer is not LLVM's own version of the interface, LLVM
/// reports an error and does not use the library.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> Info {
    let (major, minor) = llvm::BUILT_FOR;
    let host = llvm::version_of_process();
    let fits = host == Some(llvm::BUILT_FOR);
    if fits {
        guest::join(&Plugin);
    } else {
        let host = host
            .map_or("has no such LLVM as a shared library".to_owned(), |(major, minor)| format!("is of LLVM {major}.{minor}"));
        eprintln!("chordal: error: the plug-in was built for LLVM {major}.{minor}, and this program {host}");
    }
    Info {
        api: if fits { API } else { 0 },
        name: NAME.as_ptr(),
        version: VERSION.as_ptr(),
        register: null(),
        generate: Some(guest::generate_whole),
    }
}

struct Plugin;

impl Host for Plugin {
    fn how(&self, target: Target) -> Result<How, String> {
        let settings = Settings::get()?;
        Ok(How {
            allocator: settings.configured.allocator(settings.check, settings.statistics.is_some()),
            verify: settings.verify,
            registers: settings.registers(target)?,
            fallback: settings.fallback,
            // Times are those of one function only if no other is being compiled meanwhile.
            pace: if settings.statistics.is_some() && settings.times { Pace::InTurn } else { settings.pace },
            statistics: settings.statistics.is_some(),
        })
    }

    fn finished(&self, module: &str, result: Result<Generated, CompileError>) -> Vec<Message> {
        let Ok(settings) = Settings::get() else { return Vec::new() };
        let done = match result {
            Ok(generated) => write_statistics(settings, generated),
            Err(error) => {
                let command = options::command(settings.allocator.name, &settings.configured);
                Err(defect::located(error, &Destination::Stdout, &command))
            }
        };
        done.err().map(|error| Message::Error(format!("{module}: {error:#}"))).into_iter().collect()
    }
}

/// Writes the statistics of a module, if they are requested.
fn write_statistics(settings: &Settings, generated: Generated) -> Result<()> {
    let Some(folder) = &settings.statistics else { return Ok(()) };
    let Some(file) = statistics::file(folder, &generated.source, &generated.identifier)? else { return Ok(()) };
    let subject = Subject {
        allocator: settings.allocator,
        configured: &settings.configured,
        registers: generated.registers.map(<[String]>::to_vec),
        source: generated.source,
        directory: Some(env::current_dir().context("the folder that this runs in")?.display().to_string()),
        target: generated.triple,
    };
    let time = settings.times.then_some(generated.time_ns);
    let text = statistics(subject, generated.functions, time)?;
    output::write_all(&[(Destination::File(file), text)])
}
