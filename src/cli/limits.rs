//! Limits of time, memory and threads for the compilation of a module.

use crate::llvm::Pace;
use crate::output::{self, printable};
use anyhow::{Context as _, Result};
use clap::Args;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How often the limits are checked.
const INTERVAL: Duration = Duration::from_millis(5);

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Fail if compilation takes longer than this
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// Fail if more memory than this is in use, LLVM's included
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,

    #[command(flatten)]
    threads: Threads,
}

/// Which threads allocate, and when.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct Threads {
    /// Use at most this many threads [default: one for each processor]
    ///
    /// One thread is LLVM's; the others allocate registers meanwhile, in functions that LLVM has already passed. The result
    /// does not depend on their number. Of this option and --in-turn, the last one counts.
    #[arg(short, long, value_name = "N", overrides_with = "in_turn", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Finish each function before beginning the next
    ///
    /// This takes one thread and less memory; otherwise LLVM first selects the instructions of all functions. It is always
    /// so if times and memory are measured, that is, for statistics without --no-times. Some of LLVM's labels (.Ltmp1) are
    /// then numbered otherwise.
    #[arg(long, overrides_with = "jobs")]
    in_turn: bool,
}

impl Threads {
    /// How functions follow each other, if nothing forbids allocating several at a time.
    pub fn pace(&self) -> Pace {
        match self.jobs {
            _ if self.in_turn => Pace::InTurn,
            None => Pace::default(),
            Some(threads) => Pace::Ahead { beside: usize::from(threads) - 1 },
        }
    }
}

impl Limits {
    /// How functions follow each other, if nothing forbids allocating several at a time.
    pub fn pace(&self) -> Pace {
        self.threads.pace()
    }

    /// From now on, ends the process with a message about the module when it exceeds a limit.
    ///
    /// # Errors
    /// If no thread can be started for the watch.
    pub fn watch(&self, module: &str) -> Result<()> {
        let (timeout, most) = (self.timeout.map(Duration::from_secs), self.memory_limit);
        if timeout.is_none() && most.is_none() {
            return Ok(());
        }
        let module = printable(module);
        let start = Instant::now();
        let watching = thread::Builder::new().spawn(move || {
            loop {
                if let Some(limit) = timeout.filter(|limit| start.elapsed() > *limit) {
                    output::give_up(&format!(
                        "chordal: error: {module}: it takes more than {} seconds (--timeout)",
                        limit.as_secs()
                    ));
                }
                if let Some(limit) = most.filter(|limit| resident().is_some_and(|bytes| bytes > limit << 20)) {
                    output::give_up(&format!(
                        "chordal: error: {module}: it takes more than {limit} MiB of memory (--memory-limit)"
                    ));
                }
                thread::sleep(INTERVAL);
            }
        });
        watching.map(drop).context("nobody can watch the limits")
    }
}

/// The bytes of the process that are in physical memory.
fn resident() -> Option<u64> {
    let pages: u64 = fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: sysconf only returns a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(size).ok()?)
}

/// The size to which the stack may grow, if the process may raise its limit so far.
const STACK: libc::rlim_t = 120 << 20;

/// Raises the limit of the stack to [`STACK`], if the process may. LLVM's instruction selection recurses along a chain of
/// operands: a loop of 10,000 φs takes more than the usual eight megabytes.
pub fn raise_stack_limit() {
    // SAFETY: the struct consists of plain numbers, read and written only by these calls.
    unsafe {
        let mut stack: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_STACK, &raw mut stack) == 0 && stack.rlim_cur < STACK.min(stack.rlim_max) {
            stack.rlim_cur = STACK.min(stack.rlim_max);
            libc::setrlimit(libc::RLIMIT_STACK, &raw const stack);
        }
    }
}
