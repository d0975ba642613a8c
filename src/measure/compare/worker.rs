//! Runs one module under one allocator in a process of its own, so that a crash or an endless loop ends nothing else.

use super::record::{Outcome, Run};
use crate::measure::stats::{Counts, Statistics};
use crate::output;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt as _;

/// Exit status of a compiler that was used wrongly: this allocator or target does not have these registers or options.
const WRONG_USAGE: i32 = 2;

/// How runs are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The compiler: chordal itself.
    pub executable: PathBuf,
    /// Arguments for every run.
    pub arguments: Vec<String>,
    /// How often each run is repeated, at least once.
    pub repeat: usize,
    /// How long one repetition may take.
    pub time_limit: Duration,
}

/// An allocator and registers, as requested for every module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the allocator; options of its own may follow, separated by spaces.
    pub allocator: String,
    /// `all`, a number or a list of names.
    pub registers: String,
}

impl Request {
    /// Whether a run answers this request.
    pub fn asks_for(&self, run: &Run) -> bool {
        self.allocator == run.allocator && self.registers == run.registers
    }
}

/// Runs the compiler on a module `settings.repeat` times.
///
/// # Errors
/// If a process cannot be started or its files cannot be created. A failure within the process is an outcome.
pub fn run(module: &Path, request: &Request, settings: &Settings) -> io::Result<Outcome> {
    let mut repetitions: Vec<Statistics> = Vec::new();
    for _ in 0..settings.repeat {
        match once(module, request, settings)? {
            Ok(statistics) => repetitions.push(statistics),
            Err(outcome) => return Ok(outcome),
        }
    }
    let fixed: Vec<Counts> = repetitions.iter().map(|run| without_measurements(&run.total)).collect();
    if fixed.iter().any(|counts| *counts != fixed[0]) {
        return Ok(Outcome::Failed { message: "repetitions gave different code".into() });
    }
    let allocation_ns: Vec<u64> = repetitions.iter().filter_map(|run| run.total.allocation_ns()).collect();
    // Of an even number, the lower of the two in the middle: a median that was measured.
    repetitions.sort_by_key(|run| run.total.allocation_ns());
    let middle = (repetitions.len() - 1) / 2;
    Ok(Outcome::Done { statistics: Box::new(repetitions.swap_remove(middle)), allocation_ns })
}

/// The counts without times and memory: equal runs must agree in them.
fn without_measurements(counts: &Counts) -> Counts {
    let mut counts = counts.clone();
    counts.forget_measurements();
    counts
}

/// Runs the compiler once. An error is the outcome of a run without statistics.
fn once(module: &Path, request: &Request, settings: &Settings) -> io::Result<Result<Statistics, Outcome>> {
    let folder = output::temporary_folder().map_err(io::Error::other)?;
    let (statistics, messages) = (folder.path().join("statistics"), folder.path().join("messages"));
    let mut command = Command::new(&settings.executable);
    // The functions in turn, since whole runs go on side by side.
    command.args(["compile", "-o", "/dev/null", "--emit", "obj", "--in-turn", "--stats"]).arg(&statistics);
    command.arg("--allocator").args(request.allocator.split_whitespace());
    if request.registers != "all" {
        command.args(["--registers", &request.registers]);
    }
    // After `--`, since a module's name may begin with a dash.
    command.args(&settings.arguments).arg("--").arg(module);
    die_with_parent(&mut command);
    // A file, since a full pipe that nobody reads would block a process with many messages.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&messages)?);
    let mut child = command.spawn()?;
    let Some(status) = child.wait_timeout(settings.time_limit)? else {
        child.kill()?;
        child.wait()?;
        let message = format!("stopped after {} seconds", settings.time_limit.as_secs());
        return Ok(Err(Outcome::TimedOut { message }));
    };
    let messages = String::from_utf8_lossy(&fs::read(&messages)?).into_owned();
    Ok(outcome(status, &messages, || read(&statistics)))
}

/// Has a command end when the thread that started it ends, in whatever way.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
}

/// The statistics that an exit status and messages promise, or the outcome that they tell instead.
fn outcome(
    status: ExitStatus,
    messages: &str,
    statistics: impl FnOnce() -> Result<Statistics, NoStatistics>,
) -> Result<Statistics, Outcome> {
    match status.code() {
        Some(0) => statistics().map_err(|error| Outcome::Crashed { message: error.to_string() }),
        Some(1) => Err(Outcome::Failed { message: complaint(messages) }),
        Some(WRONG_USAGE) => Err(Outcome::NotApplicable { message: complaint(messages) }),
        _ => Err(Outcome::Crashed { message: format!("{}: {}", ending(status), complaint(messages)) }),
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("signal {signal}"),
        (code, None) => format!("exit status {}", code.unwrap_or_default()),
    }
}

/// The error among the messages; if there is none, the last message.
fn complaint(messages: &str) -> String {
    let lines = || messages.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find_map(|line| {
        let (prefix, message) = line.split_once("error: ")?;
        matches!(prefix, "" | "chordal: ").then_some(message)
    });
    error.or_else(|| lines().next_back()).unwrap_or("it said nothing").to_owned()
}

/// Why there are no statistics although the compiler says that it has done its work.
#[derive(Debug, thiserror::Error)]
enum NoStatistics {
    #[error("it left no statistics: {0}")]
    Absent(io::Error),
    #[error("it left broken statistics: {0}")]
    Broken(serde_json::Error),
}

fn read(statistics: &Path) -> Result<Statistics, NoStatistics> {
    let text = fs::read(statistics).map_err(NoStatistics::Absent)?;
    serde_json::from_slice(&text).map_err(NoStatistics::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(raw: i32, messages: &str) -> Outcome {
        outcome(ExitStatus::from_raw(raw), messages, || Err(NoStatistics::Absent(io::Error::other("gone"))))
            .expect_err("there are none")
    }

    #[test]
    fn crashes_and_endless_loops_are_outcomes() -> io::Result<()> {
        let settings = Settings {
            executable: Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/support/compiler.sh"),
            arguments: Vec::new(),
            repeat: 1,
            time_limit: Duration::from_secs(1),
        };
        let request = Request { allocator: "x".into(), registers: "all".into() };
        let outcome = |module: &str| run(Path::new(module), &request, &settings);
        assert_eq!(outcome("endless")?, Outcome::TimedOut { message: "stopped after 1 seconds".into() });
        assert_eq!(outcome("crash")?, Outcome::Crashed { message: "signal 11: oh".into() });
        let broken = outcome("broken")?;
        assert!(
            matches!(&broken, Outcome::Crashed { message } if message.starts_with("it left broken statistics")),
            "{broken:?}"
        );
        let silent = outcome("nothing")?;
        assert!(matches!(&silent, Outcome::Crashed { message } if message.starts_with("it left no statistics")), "{silent:?}");
        Ok(())
    }

    #[test]
    fn exit_statuses_are_told_apart() {
        let message = "a.bc: function f: no".to_owned();
        let warned = "chordal: warning: a.bc: function g: left\nchordal: error: a.bc: function f: no\n";
        assert_eq!(ended(1 << 8, warned), Outcome::Failed { message });
        let message = "invalid value".to_owned();
        assert_eq!(ended(2 << 8, "error: invalid value\n\nUsage: chordal"), Outcome::NotApplicable { message });
        let message = "signal 11: it said nothing".to_owned();
        assert_eq!(ended(11, ""), Outcome::Crashed { message });
        let message = "exit status 101: last words".to_owned();
        assert_eq!(ended(101 << 8, "first words\nlast words\n"), Outcome::Crashed { message });
        let message = "it left no statistics: gone".to_owned();
        assert_eq!(ended(0, ""), Outcome::Crashed { message });
    }
}
