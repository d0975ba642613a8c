//! A module, as bitcode or textual IR: read, compiled with an allocator that the first byte chooses, checked by chordal and by
//! LLVM's machine verifier.
//!
//! Neither LLVM's reader nor its code generation is hardened. So a process of its own does first what needs no allocator of
//! ours, and what ends that is no concern of ours. What LLVM's greedy allocator compiles has to be compiled.
#![no_main]

use chordal::allocate::allocators::PRESETS;
use chordal::allocate::pipeline::Strategy;
use chordal::llvm::{
    Algorithm, Allocator, CompileOptions, Module, Ours, Output, Pace, Relocation, Sections, Source, Stock, Tables, compile,
};
use libfuzzer_sys::fuzz_target;

/// What ends a process that LLVM has led astray.
const SIGNALS: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGABRT];
/// For as long LLVM may take.
const SECONDS: libc::c_uint = 5;

fn compiled(source: &Source, allocator: Allocator) -> Result<(), String> {
    let module = Module::parse(source).map_err(|error| error.to_string())?;
    let options = CompileOptions {
        allocator,
        output: Output::Object,
        sections: Sections::default(),
        relocation: Relocation::default(),
        tables: Tables::default(),
        verify: true,
        registers: None,
        fallback: true,
        sizes: false,
        pace: Pace::InTurn,
        list: false,
        remarks: false,
        progress: &|_| (),
    };
    compile(module, &options).map(|_| ()).map_err(|error| error.to_string())
}

/// Whether LLVM alone compiles the module.
fn is_of_use(source: &Source) -> bool {
    let greedy = Allocator::Llvm(Stock { algorithm: Algorithm::Greedy, schedule: true });
    // SAFETY: the process has one thread, and its child ends here.
    unsafe {
        match libc::fork() {
            0 => {
                SIGNALS.iter().for_each(|&signal| _ = libc::signal(signal, libc::SIG_DFL));
                libc::signal(libc::SIGALRM, libc::SIG_DFL);
                libc::alarm(SECONDS);
                libc::_exit(compiled(source, greedy).is_err().into())
            }
            child => {
                let mut status = 0;
                libc::waitpid(child, &raw mut status, 0) == child && status == 0
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    let Ok(source) = Source::new("input".into(), bytes.to_vec()) else { return };
    if !is_of_use(&source) {
        return;
    }
    let strategy = Strategy::Phases(PRESETS[usize::from(first) % PRESETS.len()]);
    let ours = Ours { allocator: &strategy, check: true, graphs: false, separate_saves: strategy.separate_saves() };
    compiled(&source, Allocator::Ours(ours)).unwrap();
});
