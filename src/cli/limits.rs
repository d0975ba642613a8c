//! What the compilation of a module may take.

use crate::llvm::Pace;
use crate::output::{self, printable};
use anyhow::{Context as _, Result};
use clap::Args;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether a limit has been passed.
const INTERVAL: Duration = Duration::from_millis(5);

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Fail if it takes longer than this
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// Fail if more memory than this is in use, LLVM's included
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,

    /// Take so many threads at most [default: as many as there are processors]
    ///
    /// One is LLVM's; the others allocate registers meanwhile, in functions that it has come by. The result is the same with any
    /// number of threads. Of this option and --in-turn, the last one counts.
    #[arg(short, long, value_name = "N", overrides_with = "in_turn", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Finish each function before the next one is begun
    ///
    /// On one thread, in less memory: otherwise LLVM selects instructions of all functions first. So it is done in any case where
    /// times and memory are measured, which is for statistics, unless --no-times is given. Some of LLVM's labels (.Ltmp1) have other
    /// numbers then.
    #[arg(long, overrides_with = "jobs")]
    in_turn: bool,
}

impl Limits {
    /// How functions follow each other, if they may be allocated beside each other.
    pub fn pace(&self) -> Pace {
        match self.jobs {
            _ if self.in_turn => Pace::InTurn,
            None => Pace::default(),
            Some(threads) => Pace::Ahead { beside: usize::from(threads) - 1 },
        }
    }

    /// From here on, the process ends with a message about the module where it passes a limit.
    ///
    /// # Errors
    /// If no thread can be made for that.
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

/// The bytes of the process that are in memory.
fn resident() -> Option<u64> {
    let pages: u64 = fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: it asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(size).ok()?)
}

/// The stack that a process has room for, whatever its limit was when it started.
const STACK: libc::rlim_t = 120 << 20;

/// Lets the stack grow so far, if the process may. LLVM's instruction selection calls itself for each of a chain of operands:
/// a loop of 10,000 φs takes more than the usual eight megabytes.
pub fn raise_stack_limit() {
    // SAFETY: the struct is plain numbers, written and read by these calls only.
    unsafe {
        let mut stack: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_STACK, &raw mut stack) == 0 && stack.rlim_cur < STACK.min(stack.rlim_max) {
            stack.rlim_cur = STACK.min(stack.rlim_max);
            libc::setrlimit(libc::RLIMIT_STACK, &raw const stack);
        }
    }
}
