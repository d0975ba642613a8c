//! The yardstick: counts at frozen frequencies, and the part of them that an allocator has caused.

use assert_cmd::Command;
use chordal::measure::stats::{Counts, Function, OverheadParts, Statistics};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use tempfile::TempDir;

/// Allocators of ours, another's and LLVM's, even `llvm-fast`, whose pipeline differs.
const ALLOCATORS: &[&str] = &[
    "spill-free",
    "ch-o3 --swap auto",
    "linear-scan",
    "irc",
    "simple",
    "regalloc2",
    "llvm-greedy",
    "llvm-basic",
    "llvm-pbqp",
    "llvm-fast",
];

/// Programs that need everything from allocation: folding, edges with and without code, x87, landing pads, jump tables,
/// probes.
const PROGRAMS: &[(&str, &str)] = &[
    ("containers.cpp", "-O2"),
    ("interpreter.c", "-O2"),
    ("interpreter.c", "-m32 -O2 -fPIC"),
    ("long_double.c", "-O2"),
    ("numeric.c", "-O2"),
    ("many_arguments.c", "-m32 -O2"),
    ("frames.c", "-O2 -fstack-clash-protection"),
    ("tls_setjmp.c", "-O2 -fPIC"),
];

/// Functions whose costs are computed by hand: each is one block, except the loop, for which LLVM assumes 32 rounds.
const BY_HAND: &str = r#"
extern char symbol[];
void one(void *), two(void *), callee(int, int, int, int);
int value;
#define ALL "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "r12", "r13", "r14", "r15", "rbp"
int spilled(int a) {
  int b;
  __asm__ volatile("" : "=r"(b));
  __asm__ volatile("" : : : ALL);
  return a + b;
}
int changed(int n) {
  int more;
  do {
    __asm__ volatile("" : : : ALL);
    n ^= 5;
    __asm__ volatile("" : : : ALL);
    __asm__ volatile("" : "=r"(more));
  } while (more);
  return n;
}
void exchanged(int a, int b, int c, int d) { callee(b, a, c, d); }
int checked(int **a) { return a && a[0] && a[1] && a[0] != a[1] ? a[0][3] : -1; }
int addresses(int n) { one(symbol); two(symbol); one(symbol); return n; }
double constants(void) {
  double k = 1000;
  __asm__ volatile("" : : "x"(k));
  __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15");
  __asm__ volatile("" : : "x"(k));
  return 0;
}
int loop(int n, int a, int b) {
  do { int t = a; a = b; b = t; __asm__ volatile("" : "+r"(a), "+r"(b)); } while (--n);
  return a - b;
}
int tail(int a) {
  if (a) __asm__ volatile("nop"); else __asm__ volatile("pause");
  return value;
}
__attribute__((regcall)) double saved(double a, double b) {
  __asm__ volatile("" : : : "xmm8", "xmm9", "rbx");
  return a + b;
}
"#;

fn run(command: &mut Process) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn bitcode(source: &Path, flags: &str, to: &Path) {
    let compiler = if source.extension().is_some_and(|extension| extension == "cpp") { "clang++-22" } else { "clang-22" };
    run(Process::new(compiler).args(flags.split_whitespace()).args(["-w", "-emit-llvm", "-c", "-o"]).arg(to).arg(source));
}

fn statistics(module: &Path, allocator: &str, more: &[&str]) -> Statistics {
    let json = module.with_extension("json");
    let mut command = Command::cargo_bin("chordal").expect("the binary is built");
    command.arg("compile").arg(module).args(["-o", "/dev/null", "--no-times", "--stats"]).arg(&json);
    command.arg("--allocator").args(allocator.split_whitespace()).args(more).assert().success();
    serde_json::from_slice(&fs::read(&json).expect("statistics are there")).expect("statistics are JSON")
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// The statistics of each program under each allocator.
fn all_statistics() -> Vec<(String, Vec<Statistics>)> {
    let folder = TempDir::new().expect("a temporary folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs");
    let of = |(name, flags): &(&str, &str)| {
        let module = folder.path().join("p.bc");
        bitcode(&sources.join(name), flags, &module);
        let runs = ALLOCATORS.iter().map(|allocator| statistics(&module, allocator, &[])).collect();
        (format!("{name} {flags}"), runs)
    };
    PROGRAMS.iter().map(of).collect()
}

/// Checks what must hold for every function under every allocator.
fn consistent(function: &Function) -> Result<(), String> {
    let Counts { overhead, overhead_parts: parts, overhead_share, selected, .. } = &function.counts;
    if *overhead != parts.sum() {
        return Err(format!("{overhead} is not the sum of {parts:?}"));
    }
    if !near(overhead_share * selected.weighted_instructions, *overhead) {
        return Err(format!("{overhead_share} of {} is not {overhead}", selected.weighted_instructions));
    }
    let OverheadParts { reloads, stores, saves, restores, copies, exchanges, .. } = *parts;
    if [reloads, stores, saves, restores, copies, exchanges].iter().any(|&part| part < 0.0) {
        return Err(format!("only differences may be negative: {parts:?}"));
    }
    Ok(())
}

#[test]
fn every_allocator_starts_from_the_same_code_and_its_overhead_is_the_sum_of_the_parts() {
    for (program, runs) in all_statistics() {
        for (allocator, run) in ALLOCATORS.iter().zip(&runs) {
            assert_eq!(run.functions.len(), runs[0].functions.len(), "{program} {allocator}");
            for (function, first) in run.functions.iter().zip(&runs[0].functions) {
                let about = format!("{program} {allocator} {}", function.name);
                consistent(function).unwrap_or_else(|why| panic!("{about}: {why}"));
                assert_eq!(function.counts.selected, first.counts.selected, "{about}");
            }
            let weights: u64 = run.functions.iter().map(|function| function.counts.selected.instructions).sum();
            let share = |function: &Function| function.counts.overhead_share * function.counts.selected.instructions as f64;
            let mean = run.functions.iter().map(share).sum::<f64>() / weights as f64;
            assert!(near(run.total.overhead_share, mean), "{program} {allocator}: {} is not {mean}", run.total.overhead_share);
            assert_eq!(run.total.overhead, run.total.overhead_parts.sum());
        }
    }
}

/// Without folded accesses, expensive rematerialisation and moves of the stack pointer, the parts tell the number of
/// instructions: no frequency has changed on the way.
#[test]
fn what_is_weighed_is_the_selected_code_and_what_was_added() {
    let folder = TempDir::new().expect("a temporary folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs");
    for program in ["interpreter.c", "switches.c", "parser.c"] {
        let module = folder.path().join("p.bc");
        bitcode(&sources.join(program), "-O2", &module);
        for function in statistics(&module, "ch-o3", &["--registers", "8"]).functions {
            let Counts { overhead_parts: parts, selected, weighted, .. } = &function.counts;
            let once = parts.stores + parts.saves;
            let added = (parts.reloads + parts.restores) / 4.0
                + once
                + (parts.copies + parts.exchanges + parts.remats + parts.other) / 0.2;
            let expected = selected.weighted_instructions + added;
            assert!(near(weighted.instructions, expected), "{program} {}: {weighted:?} is not {expected}", function.name);
        }
    }
}

struct ByHand(TempDir);

impl ByHand {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let source = folder.path().join("p.c");
        fs::write(&source, BY_HAND).expect("the folder is writable");
        bitcode(&source, "-O2 -fno-pic", &folder.path().join("p.bc"));
        ByHand(folder)
    }

    fn module(&self) -> PathBuf {
        self.0.path().join("p.bc")
    }

    fn counts(&self, allocator: &str, more: &[&str]) -> BTreeMap<String, Counts> {
        // Bitcode cannot express that code need not be position independent.
        let more = [more, &["--relocation-model=static"]].concat();
        let functions = statistics(&self.module(), allocator, &more).functions;
        functions.into_iter().map(|function| (function.name, function.counts)).collect()
    }
}

fn assert_parts(counts: &Counts, expected: &OverheadParts) {
    let parts = &counts.overhead_parts;
    let pairs = [
        (parts.reloads, expected.reloads),
        (parts.stores, expected.stores),
        (parts.saves, expected.saves),
        (parts.restores, expected.restores),
        (parts.copies, expected.copies),
        (parts.exchanges, expected.exchanges),
        (parts.remats, expected.remats),
        (parts.other, expected.other),
    ];
    assert!(pairs.iter().all(|&(part, expected)| near(part, expected)), "{parts:?} is not {expected:?}");
}

#[test]
fn spills_saves_and_restores() {
    let nothing = OverheadParts::default;
    for allocator in ["spill-free", "linear-scan", "irc", "llvm-greedy"] {
        let counts = ByHand::new().counts(allocator, &[]);
        // Two stores; a load and a folded one; six pushes and pops.
        let spilled = OverheadParts { reloads: 8.0, stores: 2.0, saves: 6.0, restores: 24.0, ..nothing() };
        assert_parts(&counts["spilled"], &spilled);
        assert_eq!(counts["spilled"].selected.instructions, 4, "two pieces of assembly, an addition and the return");
        // One push; two vector registers are stored and loaded, which are not spills.
        let saved = &counts["__regcall3__saved"];
        assert_parts(saved, &OverheadParts { saves: 3.0, restores: 12.0, ..nothing() });
        assert_eq!((saved.spill.stores, saved.spill.reloads), (0, 0));
    }
}

/// A value that is changed in its slot is read there and written.
#[test]
fn changes_of_slots_are_reloads_and_stores() {
    for allocator in ["tuned", "spill-free", "llvm-greedy"] {
        let counts = ByHand::new().counts(allocator, &[])["changed"].clone();
        // Changed in each of 32 rounds, stored before and loaded after the loop; six registers are saved.
        let changed = OverheadParts { reloads: 4.0 * 33.0, stores: 33.0, saves: 6.0, restores: 24.0, ..OverheadParts::default() };
        assert_parts(&counts, &changed);
        assert_eq!((counts.spill.stores, counts.spill.reloads, counts.spill.folded), (2, 2, 1), "{allocator}");
    }
}

/// Values that live across calls are in registers that the calls preserve, the address of the global offset table in the one
/// where each call needs it, and arguments are stored by way of the stack pointer itself.
#[test]
fn calls_of_position_independent_code_on_i386() {
    let code =
        "int callee(int), other(int, int, int, int);\nint kept(int a) { int b = callee(a); return other(a, b, b, a) + b; }";
    let folder = TempDir::new().expect("a temporary folder");
    let (source, module) = (folder.path().join("calls.c"), folder.path().join("calls.bc"));
    fs::write(&source, code).expect("the folder is writable");
    bitcode(&source, "-m32 -O2 -fPIC", &module);
    for (allocator, moves) in [("spill-free", 4), ("tuned", 1)] {
        let counts = statistics(&module, allocator, &[]).total;
        assert_eq!((counts.spill.stores, counts.spill.reloads), (0, 0), "{allocator}");
        assert!(counts.fixed.moves <= moves, "{allocator}: {} moves", counts.fixed.moves);
    }
}

#[test]
fn exchanges_and_their_exclusive_ors() {
    let by_hand = ByHand::new();
    let four = ["--registers", "rdi rsi rdx rcx"];
    for (swap, instructions) in [("auto", 2.0), ("xor", 4.0)] {
        let counts = by_hand.counts(&format!("spill-free --swap {swap}"), &four);
        assert_parts(&counts["exchanged"], &OverheadParts { exchanges: 0.6, ..OverheadParts::default() });
        assert_eq!(counts["exchanged"].weighted.instructions, instructions);
    }
}

#[test]
fn rematerialisation_is_seen_in_llvms_code_too() {
    let by_hand = ByHand::new();
    let nothing = OverheadParts::default;
    // An address that is selected once is put into its register before each of three calls. One register is saved and
    // restored; its value is copied twice.
    let addresses = OverheadParts { saves: 1.0, restores: 4.0, copies: 0.4, remats: 0.4, ..nothing() };
    assert_parts(&by_hand.counts("llvm-greedy", &[])["addresses"], &addresses);
    // A constant is loaded again, which does not count as a move.
    for allocator in ["llvm-greedy", "spill-free"] {
        assert_parts(&by_hand.counts(allocator, &[])["constants"], &OverheadParts { remats: 1.0, ..nothing() });
    }
}

#[test]
fn blocks_on_edges_have_the_frequency_of_their_edge() {
    let by_hand = ByHand::new();
    let loops = |allocator: &str| by_hand.counts(allocator, &[])["loop"].clone();
    // Three copies in each of 32 rounds and one before, and no block on an edge.
    assert_parts(&loops("llvm-greedy"), &OverheadParts { copies: 97.0 * 0.2, ..OverheadParts::default() });
    // Four copies and a jump on the way back, 31 times, and a copy to the result.
    let ours = OverheadParts { copies: (4.0 * 31.0 + 1.0) * 0.2, other: 31.0 * 0.2, ..OverheadParts::default() };
    assert_parts(&loops("spill-free"), &ours);
}

#[test]
fn duplicated_tails_are_weighed_once() {
    for allocator in ["spill-free", "llvm-greedy"] {
        let tail = ByHand::new().counts(allocator, &[])["tail"].clone();
        assert_eq!(tail.fixed.loads, 2, "LLVM has duplicated the load in front of the return");
        assert_eq!(tail.weighted.loads, 1.0);
        assert_eq!((tail.overhead, tail.weighted.instructions), (0.0, tail.selected.weighted_instructions));
    }
}

/// LLVM's way out of SSA form splits edges and, in doing so, removes jumps to the next block.
#[test]
fn jumps_to_the_next_block_are_no_instructions() {
    let by_hand = ByHand::new();
    let checked = |allocator: &str| by_hand.counts(allocator, &[])["checked"].clone();
    let (ours, theirs) = (checked("tuned"), checked("llvm-greedy"));
    assert_eq!(
        (ours.fixed.instructions, ours.fixed.bytes),
        (theirs.fixed.instructions, theirs.fixed.bytes),
        "the code is the same"
    );
    assert_eq!((ours.overhead, ours.weighted.instructions), (theirs.overhead, theirs.weighted.instructions));
}

/// A loop with two entries, which goes on 99 times of 100. Its profile counts how often it comes to each entry, as it does
/// for the labels of computed jumps, and has lost one of them.
const TWO_ENTRIES: &str = r#"
target triple = "x86_64-unknown-linux-gnu"
define void @two_entries(i1 %at, ptr %p) {
  br i1 %at, label %one, label %other, !prof !0
one:
  store volatile i32 1, ptr %p
  br label %shared, !irr_loop !3
other:
  store volatile i32 2, ptr %p
  br label %shared, !irr_loop !4
shared:
  %next = load volatile i32, ptr %p
  %is.one = icmp eq i32 %next, 1
  br i1 %is.one, label %one, label %maybe, !prof !1
maybe:
  %is.other = icmp eq i32 %next, 2
  br i1 %is.other, label %other, label %done, !prof !2
done:
  ret void
}
!0 = !{!"branch_weights", i32 1, i32 1}
!1 = !{!"branch_weights", i32 50, i32 50}
!2 = !{!"branch_weights", i32 49, i32 1}
!3 = !{!"loop_header_weight", i64 5000}
!4 = !{!"loop_header_weight", i64 0}
"#;

#[test]
fn blocks_are_executed_as_often_as_control_flows_into_them() {
    let folder = TempDir::new().expect("a temporary folder");
    let module = folder.path().join("p.ll");
    fs::write(&module, TWO_ENTRIES).expect("the folder is writable");
    // The store and the jump in %one, the store in %other, three instructions in %shared, two in %maybe; two before and one
    // after.
    let expected = 2.0 * 50.5 + 49.5 + 3.0 * 100.0 + 2.0 * 50.0 + 2.0 + 1.0;
    for allocator in ["tuned", "llvm-greedy", "llvm-fast"] {
        let counts = &statistics(&module, allocator, &[]).functions[0].counts;
        let found = counts.selected.weighted_instructions;
        assert!((found - expected).abs() < 1e-3, "{allocator}: {found} is not {expected}");
    }
}
