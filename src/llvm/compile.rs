//! Compiling a module: the safe side of the bridge.

use super::fatal::{Stage, during};
use super::ffi;
use super::jobs::{Failed, Ours, Workers};
use super::module::{Module, ReadError, Source, Target, one_line};
use super::places;
use super::session::{Session, Task};
use crate::allocate::failure::Failure;
use crate::explain::listing::Code;
use crate::measure::stats::Function;
use object::{Object, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::thread;
use std::time::Instant;

/// Who allocates registers.
#[derive(Clone, Copy)]
pub enum Allocator<'o> {
    /// An allocator outside of LLVM: chordal's, or regalloc2.
    Ours(Ours<'o>),
    /// One of LLVM's.
    Llvm(Stock),
}

/// One of LLVM's own allocators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stock {
    pub algorithm: Algorithm,
    /// Whether LLVM's scheduler runs before it.
    pub schedule: bool,
}

/// The algorithm of one of LLVM's allocators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Algorithm {
    Greedy = ffi::Allocator::Greedy as u32,
    Basic = ffi::Allocator::Basic as u32,
    Pbqp = ffi::Allocator::Pbqp as u32,
    /// It has a pipeline of its own, without live intervals: it cannot be held to a list of registers, LLVM's scheduler does not
    /// run before it, and no other allocator can stand in for it.
    Fast = ffi::Allocator::Fast as u32,
}

impl Allocator<'_> {
    /// How it chooses what is in memory, as a sentence or two.
    pub fn rule(&self) -> Cow<'static, str> {
        match self {
            Allocator::Ours(ours) => ours.allocator.rule(),
            Allocator::Llvm(Stock { algorithm, .. }) => algorithm.rule().into(),
        }
    }
}

impl Algorithm {
    fn rule(self) -> &'static str {
        match self {
            Algorithm::Greedy => {
                "LLVM's greedy allocator evicts live ranges of less weight; what finds no register is split around the blocks \
                 where one is free, and what is left is spilled."
            }
            Algorithm::Basic => "LLVM's basic allocator assigns by weight, and spills the lightest that are in the way.",
            Algorithm::Pbqp => "LLVM's PBQP allocator spills where that is cheapest in the problem that it solves.",
            Algorithm::Fast => "LLVM's fast allocator spills at the ends of blocks, and where an instruction needs the register.",
        }
    }
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Assembly,
    Object,
}

/// Whether each function, and each variable, has a section of its own, so that a linker can leave it out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sections {
    pub functions: bool,
    pub data: bool,
}

/// Where code and data will be in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Relocation {
    /// Where the module says (its PIC level), or anywhere if it does not say.
    #[default]
    AsModuleSays = ffi::Relocation::AsModuleSays as u32,
    /// Where the linker puts it.
    Static = ffi::Relocation::Static as u32,
    /// Anywhere.
    Pic = ffi::Relocation::Pic as u32,
}

/// Tables that the output contains in addition to the code.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tables {
    /// The symbols whose addresses are significant, so that a linker can merge equal functions.
    pub addrsig: bool,
    /// Debug information about the arguments of calls, so that a debugger can show those of callers.
    pub call_sites: bool,
}

/// The order in which functions are handed to an allocator outside of LLVM and finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Each function is finished before the next one is begun.
    InTurn,
    /// LLVM selects instructions of all functions before it finishes the first. Meanwhile, this many other threads allocate. It
    /// takes more memory, and LLVM numbers some of its labels differently than in turn. The output does not depend on the number
    /// of threads.
    Ahead { beside: usize },
}

impl Default for Pace {
    /// A thread for each processor, one of which is LLVM's.
    fn default() -> Self {
        Pace::Ahead { beside: thread::available_parallelism().map_or(0, |all| all.get() - 1) }
    }
}

/// How to compile a module.
pub struct CompileOptions<'o> {
    pub allocator: Allocator<'o>,
    pub output: Output,
    /// Which parts of the output have sections of their own.
    pub sections: Sections,
    pub relocation: Relocation,
    pub tables: Tables,
    /// Run LLVM's machine verifier on every function after allocation.
    pub verify: bool,
    /// The general-purpose registers that the allocator may use; `None` for all.
    pub registers: Option<Vec<String>>,
    /// Whether functions that cannot be allocated are left to LLVM's greedy allocator, which then has all registers.
    pub fallback: bool,
    /// Whether to find out the size of each function's machine code. Assembly has to be assembled for that.
    pub sizes: bool,
    pub pace: Pace,
    /// Whether to report the code of each function, with what is known of how it came about ([`Compiled::codes`]).
    pub list: bool,
    /// Whether to report LLVM's optimisation remarks about allocation ([`Compiled::remarks`]).
    pub remarks: bool,
    /// It is told the name of each function when it is handed to an allocator outside of LLVM, and when it is done.
    pub progress: &'o dyn Fn(&str),
}

/// A compiled module.
#[derive(Debug)]
pub struct Compiled {
    /// Assembly text or an ELF object.
    pub output: Vec<u8>,
    /// The functions and their counts, in the order of the output.
    pub functions: Vec<Function>,
    pub warnings: Vec<Warning>,
    /// Time of code generation in nanoseconds.
    pub time_ns: u64,
    /// The code of functions by name, if it is reported.
    pub codes: HashMap<String, Code>,
    /// LLVM's remarks as YAML, if they are reported.
    pub remarks: Vec<u8>,
}

/// A warning of LLVM's, as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    pub about: About,
    pub text: String,
}

/// The subject of a warning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// A stack frame that is larger than the program allows.
    FrameSize,
    /// A call to a function that the program warns about.
    Call,
    InlineAssembly,
    Other,
}

impl From<ffi::Warning> for About {
    fn from(about: ffi::Warning) -> Self {
        match about {
            ffi::Warning::FrameSize => About::FrameSize,
            ffi::Warning::Call => About::Call,
            ffi::Warning::InlineAsm => About::InlineAssembly,
            ffi::Warning::Other => About::Other,
        }
    }
}

/// Why a module could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    #[error("function {name}: {reason}{}", others(*.more))]
    Function { name: String, reason: String, more: usize },
    #[error("function {}: {}{}", .failed.name, .failed.failure, others(*.more))]
    Failed { failed: Failed, more: usize },
    #[error("{0}")]
    Llvm(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot read the size of functions: {0}")]
    Sizes(#[from] object::Error),
    #[error("the system makes no thread to allocate on (--jobs 1 takes none): {0}")]
    Threads(io::Error),
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more functions)") }
}

/// Compiles a module. Functions that the allocator cannot do are left to LLVM's greedy allocator, if that is allowed (for an
/// allocator of LLVM's, the module is compiled again). [`Function::fallback`] says why.
///
/// # Errors
/// If a function cannot be allocated and may not be left to LLVM, if there is a defect, or if LLVM reports an error.
pub fn compile(module: Module<'_>, options: &CompileOptions<'_>) -> Result<Compiled, CompileError> {
    let source = module.source();
    let mut warnings: Vec<Warning> =
        module.warnings().iter().map(|text| Warning { about: About::Other, text: text.clone() }).collect();
    let mut generated = run(&module, options, &[])?;
    drop(module);
    let time_ns = generated.time_ns;
    let mut fallbacks: Vec<Failed> = Vec::new();
    while !generated.failures.is_empty() {
        refuse(&generated.failures, |Failed { name, failure, .. }| {
            let again = fallbacks.iter().any(|known| known.name == *name);
            again || !options.may_fall_back() || matches!(failure, Failure::Defect(_))
        })?;
        fallbacks.append(&mut generated.failures);
        generated = run(&Module::parse(source)?, options, &fallbacks)?;
    }
    if options.sizes {
        let sizes = match generated.sizes {
            Some(sizes) => sizes,
            None => sizes_of_object(source, options, &fallbacks)?,
        };
        enter_sizes(&sizes, &mut generated.functions);
    }
    warnings.append(&mut generated.warnings);
    let Generated { output, functions, codes, remarks, .. } = generated;
    Ok(Compiled { output, functions, warnings, time_ns, codes, remarks })
}

impl CompileOptions<'_> {
    fn may_fall_back(&self) -> bool {
        let fast = matches!(self.allocator, Allocator::Llvm(Stock { algorithm: Algorithm::Fast, .. }));
        self.fallback && !fast
    }
}

/// The general-purpose registers of a target that the allocator may not use.
pub(super) fn excluded(registers: Option<&[String]>, target: Target) -> Vec<ffi::Str> {
    let Some(kept) = registers else { return Vec::new() };
    let all = target.general_registers().iter();
    all.filter(|&name| !kept.iter().any(|kept| kept == name)).map(|name| ffi::Str::new(name.as_bytes())).collect()
}

/// Returns an error if one of the failures is not acceptable.
pub(super) fn refuse(failures: &[Failed], wanted: impl Fn(&Failed) -> bool) -> Result<(), CompileError> {
    let mut refused = failures.iter().filter(|&failed| wanted(failed));
    match refused.next() {
        Some(failed) => Err(CompileError::Failed { failed: failed.clone(), more: refused.count() }),
        None => Ok(()),
    }
}

/// The bytes of functions' code, by symbol.
type Sizes = HashMap<String, u64>;

/// The result of one run of the code generator.
struct Generated {
    output: Vec<u8>,
    functions: Vec<Function>,
    warnings: Vec<Warning>,
    time_ns: u64,
    /// The sizes of functions, if they were asked for, every function was allocated, and LLVM can read the assembly that it has
    /// printed.
    sizes: Option<Sizes>,
    /// The functions that were not allocated. If there are any, the output is of no use.
    failures: Vec<Failed>,
    codes: HashMap<String, Code>,
    remarks: Vec<u8>,
}

/// Runs the code generator once, and reports the functions that were not allocated. The module is of no use afterwards.
fn run(module: &Module<'_>, options: &CompileOptions<'_>, fallbacks: &[Failed]) -> Result<Generated, CompileError> {
    let Allocator::Ours(ours) = options.allocator else { return generate(module, options, fallbacks, None) };
    let beside = match options.pace {
        Pace::InTurn => 0,
        Pace::Ahead { beside } => beside.min(module.num_functions()),
    };
    Workers::with(ours, beside, |workers| generate(module, options, fallbacks, Some(workers))).map_err(CompileError::Threads)?
}

fn generate(
    module: &Module<'_>,
    options: &CompileOptions<'_>,
    fallbacks: &[Failed],
    workers: Option<Workers<'_>>,
) -> Result<Generated, CompileError> {
    let (allocator, schedule, separate_saves) = match options.allocator {
        Allocator::Ours(ours) => (ffi::Allocator::Ours as u32, false, ours.separate_saves),
        Allocator::Llvm(Stock { algorithm, schedule }) => (algorithm as u32, schedule, false),
    };
    let rule = options.allocator.rule();
    let task = Task {
        workers,
        registers: options.registers.as_deref(),
        fallback: options.may_fall_back(),
        list: options.list,
        progress: options.progress,
    };
    let mut session = Session::new(task);
    let excluded = excluded(options.registers.as_deref(), module.target());
    session.left.extend(fallbacks.iter().map(|failed| (failed.name.clone(), failed.failure.to_string())));
    let fallbacks: Vec<ffi::Str> = fallbacks.iter().map(|failed| ffi::Str::new(failed.name.as_bytes())).collect();
    let flat = ffi::Options {
        ahead: u32::from(options.pace != Pace::InTurn),
        separate_saves: u32::from(separate_saves),
        allocator,
        relocation: options.relocation as u32,
        schedule: u32::from(schedule),
        object: u32::from(options.output == Output::Object),
        function_sections: u32::from(options.sections.functions),
        data_sections: u32::from(options.sections.data),
        addrsig: u32::from(options.tables.addrsig),
        call_site_info: u32::from(options.tables.call_sites),
        verify: u32::from(options.verify),
        excluded: excluded.as_ptr(),
        num_excluded: excluded.len(),
        fallback: fallbacks.as_ptr(),
        num_fallback: fallbacks.len(),
        list: u32::from(options.list),
        remarks: u32::from(options.remarks),
        rule: ffi::Str::new(rule.as_bytes()),
    };
    let mut places = places::of(module.functions());
    let start = Instant::now();
    // SAFETY: the module, the options and the session are alive during the call.
    let status = during(Stage::Generating, || unsafe { ffi::ch_codegen(module.as_mut_ptr(), &flat, &session.callbacks()) });
    let time_ns = start.elapsed().as_nanos() as u64;
    if session.failures.is_empty() {
        check(&session, status)?;
    }
    let (mut output, warnings) = (std::mem::take(&mut session.output), std::mem::take(&mut session.warnings));
    let functions = session.take_functions(&mut places);
    let sizes = if !options.sizes || !session.failures.is_empty() {
        None
    } else if options.output == Output::Object {
        Some(sizes_in(&output)?)
    } else {
        sizes_of_text(module, options, &mut output)
    };
    let Session { failures, codes, remarks, .. } = session;
    Ok(Generated { output, functions, warnings, time_ns, sizes, failures, codes, remarks })
}

/// Turns LLVM's complaints into an error.
pub(super) fn check(session: &Session<'_>, status: i32) -> Result<(), CompileError> {
    if let [(name, report), rest @ ..] = &session.verifier_reports[..] {
        let reason = format!("LLVM's machine verifier rejects the allocation: {}", complaint(report));
        return Err(CompileError::Function { name: name.clone(), reason, more: rest.len() });
    }
    if status != 0 || !session.errors.is_empty() {
        return Err(CompileError::Llvm(session.errors.first().cloned().unwrap_or_else(|| "LLVM failed".into())));
    }
    Ok(())
}

/// The first complaint in a report of the machine verifier, which begins with the whole function, as one line.
fn complaint(report: &str) -> String {
    const MARK: &str = "*** Bad machine code: ";
    let complaint = report.split(MARK).nth(1).unwrap_or(report);
    one_line(complaint)
}

/// Reads the sizes of the functions' symbols in an object file.
pub(super) fn sizes_in(object: &[u8]) -> Result<Sizes, CompileError> {
    let elf = object::File::parse(object)?;
    let functions = elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    Ok(functions
        .map(|symbol| Ok((String::from_utf8_lossy(symbol.name_bytes()?).into_owned(), symbol.size())))
        .collect::<object::Result<_>>()?)
}

/// Has LLVM lay out the assembly that it printed for a module; `None` if it cannot read one of the instructions.
///
/// LLVM's lexer looks at the byte after the text, which has to be zero: whatever else is there may keep it from ever ending.
fn sizes_of_text(module: &Module<'_>, options: &CompileOptions<'_>, assembly: &mut Vec<u8>) -> Option<Sizes> {
    let mut session = Session::new(Task::default());
    assembly.push(0);
    let text = &assembly[..assembly.len() - 1];
    // SAFETY: the module, the text and the session are alive during the call.
    let status = during(Stage::Generating, || unsafe {
        ffi::ch_sizes(module.as_mut_ptr(), options.relocation as u32, ffi::Str::new(text), &session.callbacks())
    });
    assembly.pop();
    (status == 0).then_some(session.sizes)
}

/// Compiles a module once more, to an object file, only to find the sizes.
fn sizes_of_object(source: &Source, options: &CompileOptions<'_>, fallbacks: &[Failed]) -> Result<Sizes, CompileError> {
    let options = CompileOptions { output: Output::Object, registers: options.registers.clone(), progress: &|_| (), ..*options };
    let generated = run(&Module::parse(source)?, &options, fallbacks)?;
    refuse(&generated.failures, |_| true)?;
    Ok(generated.sizes.unwrap_or_default())
}

/// Enters the sizes that are known into the functions' counts.
pub(super) fn enter_sizes(sizes: &Sizes, functions: &mut [Function]) {
    for function in functions {
        let mangled = function.name.strip_prefix('\u{1}').unwrap_or(&function.name);
        function.counts.fixed.bytes = sizes.get(mangled).or_else(|| sizes.get(&format!(".L{mangled}"))).copied();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::allocators::Preset;
    use crate::allocate::failure::{Defect, Unsupported, guarded};
    use crate::allocate::pipeline::{self, Allocate, Report, Strategy};
    use crate::analysis::GraphSizes;
    use crate::machine::{self, Overlay, PinSets, RegSet, parse};
    use std::sync::Arc;
    use std::time::Duration;

    const MODULE: &str = "target triple = \"x86_64-pc-linux-gnu\"
        define i32 @f(i32 %a, i32 %b) {
          %s = sub i32 %b, %a
          ret i32 %s
        }
        define i32 @g(i32 %a) {
          ret i32 %a
        }";

    type Allocated = Result<(Overlay, Report), Failure>;

    /// An allocator that changes the results of functions called `f`.
    struct Spoilt(fn(Allocated) -> Allocated);

    impl Allocate for Spoilt {
        fn allocate(&self, function: &machine::Function) -> Allocated {
            let allocated = Strategy::from(Preset::default()).allocate(function);
            if function.name == "f" { (self.0)(allocated) } else { allocated }
        }

        fn graphs(&self, _: &machine::Function) -> GraphSizes {
            GraphSizes::default()
        }
    }

    fn compiled(allocator: &Spoilt, fallback: bool) -> Result<Compiled, CompileError> {
        compiled_by(Allocator::Ours(Ours { allocator, check: true, graphs: false, separate_saves: true }), fallback)
    }

    fn compiled_by(allocator: Allocator<'_>, fallback: bool) -> Result<Compiled, CompileError> {
        compiled_from(MODULE, allocator, fallback)
    }

    fn compiled_from(module: &str, allocator: Allocator<'_>, fallback: bool) -> Result<Compiled, CompileError> {
        compiled_at(Pace::InTurn, module, allocator, fallback)
    }

    fn compiled_at(pace: Pace, module: &str, allocator: Allocator<'_>, fallback: bool) -> Result<Compiled, CompileError> {
        let source = Source::new("module".into(), module.into()).expect("it is not empty");
        let options = CompileOptions {
            allocator,
            output: Output::Assembly,
            sections: Sections::default(),
            relocation: Relocation::default(),
            tables: Tables::default(),
            verify: false,
            registers: None,
            fallback,
            sizes: false,
            pace,
            list: false,
            remarks: false,
            progress: &|_| (),
        };
        compile(Module::parse(&source).expect("the module is valid"), &options)
    }

    /// A defect comes with a function that reproduces it, and is never left to another allocator.
    fn assert_defect(allocator: &Spoilt, reason: &str) {
        let Err(CompileError::Failed { failed: Failed { name, failure, text }, more: 0 }) = compiled(allocator, true) else {
            panic!("{reason}: compiled");
        };
        assert_eq!(name, "f");
        assert!(failure.to_string().starts_with("this is a bug in chordal: "), "{failure}");
        assert!(failure.to_string().contains(reason), "{failure}");
        let function = parse(&text.expect("the function is known")).expect("it is in text form");
        let again = guarded(|| {
            let (overlay, _) = allocator.allocate(&function)?;
            Ok(pipeline::check(&function, &overlay)?)
        });
        assert_eq!(again, Err(failure));
    }

    #[test]
    fn defects_are_errors() {
        assert_defect(&Spoilt(|_| panic!("out of luck")), "out of luck");
        assert_defect(&Spoilt(|_| Err(Defect::Impossible("no registers".into()).into())), "no registers");
        let spoil = |allocated: Allocated| {
            let (mut overlay, report) = allocated?;
            let first = overlay.locations[0];
            overlay.locations.fill(first);
            Ok((overlay, report))
        };
        assert_defect(&Spoilt(spoil), "the checker rejects the allocation");
    }

    #[test]
    fn what_is_unsupported_falls_back() {
        let allocator = Spoilt(|_| Err(Unsupported("too odd".into()).into()));
        let fallbacks = compiled(&allocator, true).expect("a fallback is no error").functions;
        let fallbacks: Vec<_> = fallbacks.iter().map(|function| (&*function.name, function.fallback.as_deref())).collect();
        assert_eq!(fallbacks, [("f", Some("too odd")), ("g", None)]);
        let error = compiled(&allocator, false).expect_err("it may not fall back");
        assert_eq!(error.to_string(), "function f: too odd");
    }

    /// The order does not depend on which function fails first, or on which waits for a thread.
    #[test]
    fn functions_come_back_in_order() {
        let functions = (0..100).map(|i| format!("define i32 @f{i}(i32 %a) {{ %s = sub i32 {i}, %a ret i32 %s }}\n"));
        let module = format!("target triple = \"x86_64-pc-linux-gnu\"\n{}", functions.collect::<String>());
        let strategy = Strategy::from(Preset::default());
        let ours = |allocator| Allocator::Ours(Ours { allocator, check: true, graphs: false, separate_saves: true });
        let at = |pace| compiled_at(pace, &module, ours(&strategy), false).expect("it compiles");
        let in_turn = at(Pace::InTurn);
        for beside in [0, 1, 3] {
            let ahead = at(Pace::Ahead { beside });
            assert_eq!(ahead.output, in_turn.output);
            assert!(ahead.functions.iter().map(|f| &f.name).eq(in_turn.functions.iter().map(|f| &f.name)));
            let error = compiled_at(Pace::Ahead { beside }, &module, ours(&Slow), false).expect_err("it may not fall back");
            assert_eq!(error.to_string(), "function f1: too odd (and 49 more functions)");
        }
    }

    /// An allocator that fails on every other function, after a while.
    struct Slow;

    impl Allocate for Slow {
        fn allocate(&self, function: &machine::Function) -> Allocated {
            let number: u64 = function.name[1..].parse().expect("functions are numbered");
            if number.is_multiple_of(2) {
                return Strategy::from(Preset::default()).allocate(function);
            }
            thread::sleep(Duration::from_micros(1000 - 10 * number));
            Err(Unsupported("too odd".into()).into())
        }

        fn graphs(&self, _: &machine::Function) -> GraphSizes {
            GraphSizes::default()
        }
    }

    /// An allocator that believes that calls preserve all registers.
    struct Misled;

    impl Allocate for Misled {
        fn allocate(&self, function: &machine::Function) -> Allocated {
            let mut function = function.clone();
            let harmless = |pins: &PinSets| PinSets { clobbers: RegSet::EMPTY, ..*pins };
            function.pins = Arc::new(function.pins.values().map(harmless).collect());
            Strategy::from(Preset::default()).allocate(&function)
        }

        fn graphs(&self, _: &machine::Function) -> GraphSizes {
            GraphSizes::default()
        }
    }

    /// It is found even if nothing is checked, for the checker may have been told the same.
    #[test]
    fn what_a_call_destroys_is_not_read_behind_it() {
        const CALLING: &str = "target triple = \"x86_64-pc-linux-gnu\"
            declare void @h()
            define i32 @f(i32 %a) {
              call void @h()
              ret i32 %a
            }";
        let ours = |allocator| Allocator::Ours(Ours { allocator, check: false, graphs: false, separate_saves: false });
        assert!(compiled_from(CALLING, ours(&Spoilt(|allocated| allocated)), false).is_ok());
        let error = compiled_from(CALLING, ours(&Misled), true).expect_err("it is wrong").to_string();
        assert!(error.starts_with("function f: LLVM's machine verifier rejects the allocation: "), "{error}");
    }

    /// Every allocator configures LLVM in its own way, and LLVM's options belong to the whole process.
    #[test]
    fn threads_compile_with_different_allocators() {
        fn stock(algorithm: Algorithm) -> Result<Compiled, CompileError> {
            compiled_by(Allocator::Llvm(Stock { algorithm, schedule: false }), false)
        }
        let kinds: [fn() -> Result<Compiled, CompileError>; 4] = [
            || compiled(&Spoilt(|allocated| allocated), false),
            || compiled(&Spoilt(|_| Err(Unsupported("too odd".into()).into())), true),
            || stock(Algorithm::Greedy),
            || stock(Algorithm::Fast),
        ];
        let output = |kind: fn() -> Result<Compiled, CompileError>| kind().expect("it compiles").output;
        thread::scope(|scope| {
            for kind in kinds {
                let alone = output(kind);
                for _ in 0..2 {
                    let alone = alone.clone();
                    scope.spawn(move || (0..20).for_each(|_| assert_eq!(output(kind), alone)));
                }
            }
        });
    }
}
