//! Clang's flags about code generation: how `chordal compile` is told of them, and which are refused because they would
//! otherwise have no effect.

use super::super::warnings;
use super::driver::Driver;
use super::job::Job;
use regex_lite::Regex;

/// How a flag is written among the words of a job, or as the driver receives it.
enum Form {
    /// As one word.
    Word(&'static str),
    /// With a value in the same word; the values listed change nothing.
    Joined(&'static str, &'static [&'static str]),
    /// With a value in the next word; the values listed change nothing.
    Separate(&'static str, &'static [&'static str]),
    /// As an option of LLVM's with this beginning.
    Llvm(&'static str),
    /// For the driver, which acts on it itself besides running jobs.
    Driver(&'static str),
    /// As one word, if assembly is printed.
    Printed(&'static str),
    /// As an option of LLVM's, if assembly is printed.
    LlvmPrinted(&'static str),
}
use Form::{Driver as ForDriver, Joined, Llvm, LlvmPrinted, Printed, Separate, Word};

/// Flags that chordal would ignore, with the names by which it refuses them.
const REFUSED: &[(Form, &str)] = &[
    (Word("-split-dwarf-output"), "-gsplit-dwarf"),
    (Word("-femulated-tls"), "-femulated-tls"),
    (Word("-enable-tlsdesc"), "-mtls-dialect=gnu2"),
    (Word("-stack-usage-file"), "-fstack-usage"),
    (Word("-fstack-size-section"), "-fstack-size-section"),
    (Word("-fexperimental-assignment-tracking=forced"), "-fexperimental-assignment-tracking"),
    (Word("-fexperimental-call-graph-section"), "-fexperimental-call-graph-section"),
    (Word("-fbasic-block-address-map"), "-fbasic-block-address-map"),
    (Joined("-fbasic-block-sections=", &["none"]), "-fbasic-block-sections"),
    (Word("-fsplit-machine-functions"), "-fsplit-machine-functions"),
    (Word("-fpartition-static-data-sections"), "-fpartition-static-data-sections"),
    (Word("-fseparate-named-sections"), "-fseparate-named-sections"),
    (Word("-fno-unique-section-names"), "-fno-unique-section-names"),
    (Word("-fno-zero-initialized-in-bss"), "-fno-zero-initialized-in-bss"),
    (Word("-fno-use-init-array"), "-fno-use-init-array"),
    (Word("-fforce-dwarf-frame"), "-fforce-dwarf-frame"),
    (Word("-gstrict-dwarf"), "-gstrict-dwarf"),
    (Joined("-debugger-tuning=", &["gdb"]), "debug information for another debugger than gdb"),
    (Llvm("-generate-type-units"), "-fdebug-types-section"),
    (Joined("-exception-model=", &["dwarf", "none"]), "an exception model other than DWARF's"),
    (Joined("-falign-loops=", &[]), "-falign-loops"),
    (Joined("-fbinutils-version=", &["none"]), "-fbinutils-version"),
    (Joined("-fswift-async-fp=", &["always", "auto"]), "-fswift-async-fp"),
    (Word("-fno-xray-function-index"), "-fno-xray-function-index"),
    (Word("-fms-hotpatch"), "-fms-hotpatch"),
    (Word("-fjmc"), "-fjmc"),
    (Word("--compress-debug-sections"), "-gz"),
    (Joined("--compress-debug-sections=", &["none"]), "-gz"),
    (Word("--crel"), "-Wa,--crel"),
    (Word("--gsframe"), "-Wa,--gsframe"),
    (Word("-msse2avx"), "-Wa,-msse2avx"),
    (Word("-mrelax-all"), "-mrelax-all"),
    (Word("-mrelax-relocations=no"), "-Wa,-mrelax-relocations=no"),
    (Word("-msave-temp-labels"), "-Wa,-L"),
    (Separate("-as-secure-log-file", &[]), "AS_SECURE_LOG_FILE"),
    (Separate("-mthread-model", &["posix"]), "-mthread-model"),
    (Separate("-mlimit-float-precision", &[]), "-mlimit-float-precision"),
    (Separate("-mdebug-pass", &[]), "-mdebug-pass"),
    (Joined("--output-asm-variant=", &["0", "3"]), "--output-asm-variant"),
    (LlvmPrinted("-x86-asm-syntax=intel"), "-masm=intel"),
    (Printed("-fno-preserve-as-comments"), "-fno-preserve-as-comments"),
    (Llvm("-x86-branches-within-32B-boundaries"), "-mbranches-within-32B-boundaries"),
    (Llvm("-x86-align-branch-boundary="), "-malign-branch-boundary"),
    (Llvm("-x86-align-branch="), "-malign-branch"),
    (Llvm("-x86-pad-max-prefix-size="), "-mpad-max-prefix-size"),
    (Llvm("-global-isel=1"), "-fglobal-isel"),
    (Llvm("-codegen-data-generate"), "-fcodegen-data-generate"),
    (Llvm("-codegen-data-use-path"), "-fcodegen-data-use"),
    (ForDriver("-MJ"), "-MJ"),
    (ForDriver("-gen-cdb-fragment-path"), "-gen-cdb-fragment-path"),
    (ForDriver("-fproc-stat-report"), "-fproc-stat-report"),
    (ForDriver("-time"), "-time"),
];

/// Options of LLVM's that the driver passes on its own, or that do not concern code generation.
const OF_THE_DRIVER: &[&str] = &["-x86-asm-syntax=", "-global-isel=0", "-memprof-annotate-static-data-prefix"];

/// Passes of code generation that emit remarks.
const REMARKING: &[&str] = &[
    "asm-printer",
    "atomic-expand",
    "machine-outliner",
    "pipeliner",
    "prologepilog",
    "regalloc",
    "sdagisel",
    "select-optimize",
    "shrink-wrap",
    "stack-frame-layout",
    "stack-protector",
];

/// The reason why the jobs cannot be done as requested, if there is one.
pub fn refusal(driver: &Driver<'_>, jobs: &[Job]) -> Option<String> {
    let is_lto = |word: &String| word == "-flto" || word.starts_with("-flto=");
    if jobs.iter().any(|job| job.is_compilers() && job.words.iter().any(is_lto)) {
        return Some("-flto leaves code generation to the linker".into());
    }
    let generating: Vec<&Job> = jobs.iter().filter(|job| job.generates_code()).collect();
    let is_given = |form: &Form| generating.iter().any(|job| form.is_in(job, driver.words()));
    if let Some((_, name)) = REFUSED.iter().find(|(form, _)| is_given(form)) {
        return Some(format!("{name} is not supported"));
    }
    let (flag, pass) = generating.into_iter().find_map(remark)?;
    Some(format!("{flag}: code generation's remarks ({pass}) are not supported"))
}

impl Form {
    /// Whether it is among a job's words, or among those of the driver.
    fn is_in(&self, job: &Job, driver: &[String]) -> bool {
        let has = |is_it: &dyn Fn(&str) -> bool| job.words.iter().any(|word| is_it(word));
        match self {
            Word(flag) => job.has(flag),
            Printed(flag) => job.has("-S") && job.has(flag),
            Joined(flag, neutral) => has(&|word| word.strip_prefix(flag).is_some_and(|value| !neutral.contains(&value))),
            Separate(flag, neutral) => job.arguments(flag).any(|value| !neutral.contains(&value)),
            Llvm(option) => llvm_options(job).any(|given| given.starts_with(option)),
            LlvmPrinted(option) => job.has("-S") && llvm_options(job).any(|given| given == *option),
            ForDriver(flag) => {
                driver.iter().any(|word| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
            }
        }
    }
}

fn llvm_options(job: &Job) -> impl Iterator<Item = &str> {
    job.arguments("-mllvm")
}

/// A flag that asks for remarks of code generation, and a pass whose remarks it asks for.
fn remark(job: &Job) -> Option<(String, &'static str)> {
    let record = job.argument("-opt-record-file").map(|_| {
        let passes = job.argument("-opt-record-passes").unwrap_or(".*");
        ("-fsave-optimization-record".to_owned(), passes.to_owned())
    });
    let printed = job.words.iter().filter_map(|word| {
        let (flag, passes) = word.split_once('=')?;
        ["-Rpass", "-Rpass-missed", "-Rpass-analysis"].contains(&flag).then(|| (word.clone(), passes.to_owned()))
    });
    record.into_iter().chain(printed).find_map(|(flag, passes)| {
        // A pattern that we cannot read may match any pass.
        let is_meant = |pass: &&&str| Regex::new(&passes).map_or(true, |passes| passes.is_match(pass));
        Some((flag, *REMARKING.iter().find(is_meant)?))
    })
}

/// An option that the user gave to LLVM: it may or may not be about code generation.
pub fn given_to_llvm(jobs: &[Job]) -> Option<&str> {
    let generating = jobs.iter().filter(|job| job.generates_code());
    generating.flat_map(llvm_options).find(|option| !OF_THE_DRIVER.iter().any(|own| option.starts_with(own)))
}

/// The options of `chordal compile` for a job's flags.
pub fn translated(job: &Job) -> Vec<String> {
    const SWITCHES: [(&str, &[&str]); 6] = [
        ("-ffunction-sections", &["--function-sections"]),
        ("-fdata-sections", &["--data-sections"]),
        ("-faddrsig", &["--addrsig"]),
        ("-w", &["--no-warnings"]),
        ("-massembler-no-warn", &["--warning", "no-inline-asm"]),
        ("-massembler-fatal-warnings", &["--warning", "error=inline-asm"]),
    ];
    let mut words: Vec<String> = vec!["--emit".into(), if job.has("-S") { "asm" } else { "obj" }.into()];
    for (_, option) in SWITCHES.iter().filter(|(flag, _)| job.has(flag)) {
        words.extend(option.iter().map(|word| (*word).to_owned()));
    }
    if describes_calls(job) {
        words.push("--call-site-info".into());
    }
    // Bitcode cannot express that code need not be position independent.
    if job.argument("-mrelocation-model") == Some("static") {
        words.push("--relocation-model=static".into());
    }
    let warnings = job.words.iter().filter_map(|word| word.strip_prefix("-W")).filter(|flag| warnings::concerns(flag));
    words.extend(warnings.flat_map(|flag| ["--warning".to_owned(), flag.to_owned()]));
    words
}

/// Whether clang would describe what calls pass: it does if it optimises and debug information is full.
fn describes_calls(job: &Job) -> bool {
    const FULL: [&str; 4] = ["constructor", "limited", "standalone", "unused-types"];
    let optimises = |word: &String| word.starts_with("-O") && word != "-O0";
    let is_full = |word: &String| word.strip_prefix("-debug-info-kind=").is_some_and(|kind| FULL.contains(&kind));
    job.has("-cc1") && job.words.iter().any(optimises) && job.words.iter().any(is_full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(words: &str) -> Job {
        Job { words: format!("clang -cc1 {words} -o x.o x.c").split_whitespace().map(str::to_owned).collect() }
    }

    #[test]
    fn remarks_of_code_generation_are_found() {
        for (words, expected) in [
            ("-emit-obj -Rpass=regalloc", Some("regalloc")),
            ("-emit-obj -Rpass-missed=.*", Some("asm-printer")),
            ("-emit-obj -Rpass-analysis=prologue|prolog", Some("prologepilog")),
            ("-emit-obj -Rpass=[", Some("asm-printer")),
            ("-emit-obj -Rpass=inline -Rpass-missed=loop-vectorize", None),
            ("-emit-obj -opt-record-file x.yaml", Some("asm-printer")),
            ("-emit-obj -opt-record-file x.yaml -opt-record-passes inline", None),
        ] {
            assert_eq!(remark(&job(words)).map(|(_, pass)| pass), expected, "{words}");
        }
    }

    #[test]
    fn calls_are_described_where_clang_describes_them() {
        for (words, expected) in [
            ("-O2 -debug-info-kind=constructor", true),
            ("-Os -debug-info-kind=standalone", true),
            ("-O0 -debug-info-kind=constructor", false),
            ("-debug-info-kind=constructor", false),
            ("-O2 -debug-info-kind=line-tables-only", false),
        ] {
            assert_eq!(describes_calls(&job(words)), expected, "{words}");
        }
    }
}
