//! Allocates functions while LLVM is at work on others.

use super::answer::Arrays;
use super::fatal::with_function;
use crate::allocate::degraded::Degraded;
use crate::allocate::failure::{Failure, guarded};
use crate::allocate::pipeline::{self, Allocate, Report};
use crate::explain::listing::Model;
use crate::machine::{Edit, Function, Overlay, Value, print};
use crate::measure::meter;
use crate::measure::stats::{self, Counts};
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// An allocator outside of LLVM.
#[derive(Clone, Copy)]
pub struct Ours<'o> {
    pub allocator: &'o dyn Allocate,
    /// Whether its allocations are checked.
    pub check: bool,
    /// Whether interference graphs are measured.
    pub graphs: bool,
    /// Whether each callee-saved register is saved by itself, where that costs less.
    pub separate_saves: bool,
}

/// A function that could not be allocated.
#[derive(Clone, Debug)]
pub struct Failed {
    pub name: String,
    pub failure: Failure,
    /// The function in text form, if the failure is a defect of allocation.
    pub text: Option<String>,
}

/// The allocation of a function, as the bridge applies it, and its counts.
pub struct Allocation {
    pub name: String,
    pub answer: Arrays,
    pub counts: Counts,
    pub degraded: Vec<Degraded>,
    /// How it came about, if that is kept.
    pub model: Option<Box<Model>>,
}

pub type Outcome = Result<Allocation, Failed>;

/// A function to be allocated, and the time that its import took, in nanoseconds.
pub struct Job {
    pub function: Function,
    pub import_ns: u64,
    /// The variables that values are, if the function and its overlay are kept.
    pub names: Option<Vec<(Value, String)>>,
}

impl Job {
    fn run(self, ours: Ours<'_>) -> Outcome {
        let Job { function, import_ns, names } = self;
        match with_function(function.name.as_bytes(), || guarded(|| allocate(&function, import_ns, ours))) {
            Ok((overlay, report, answer, counts)) => {
                let (name, degraded) = (function.name.clone(), report.degraded.clone());
                let model = names.map(|names| Box::new(Model { function, overlay, report, names }));
                Ok(Allocation { name, answer, counts, degraded, model })
            }
            Err(failure) => {
                let text = matches!(failure, Failure::Defect(_)).then(|| print(&function));
                Err(Failed { name: function.name, failure, text })
            }
        }
    }
}

fn allocate(function: &Function, import_ns: u64, ours: Ours<'_>) -> Result<(Overlay, Report, Arrays, Counts), Failure> {
    let (overlay, report) = ours.allocator.allocate(function)?;
    let answer = Arrays::new(&overlay, function);
    let mut counts = Counts::default();
    let times = counts.time_ns.get_or_insert_default();
    times.add("import", import_ns);
    for (phase, time) in &report.phases {
        times.add(phase.name(), time.as_nanos() as u64);
    }
    if ours.check {
        let start = Instant::now();
        meter::apart(|| pipeline::check(function, &overlay))?;
        times.add(stats::CHECKER, start.elapsed().as_nanos() as u64);
    }
    if ours.graphs {
        counts.graphs = meter::apart(|| ours.allocator.graphs(function));
    }
    counts.degraded_functions = u64::from(!report.degraded.is_empty());
    enter_account(&mut counts, &overlay, &report);
    Ok((overlay, report, answer, counts))
}

/// Enters the counts that only the allocator knows. The rest is counted in the output.
fn enter_account(to: &mut Counts, overlay: &Overlay, report: &Report) {
    let edits = |wanted: fn(&Edit) -> bool| overlay.edits.iter().filter(|(_, edit)| wanted(edit)).count() as u64;
    to.spill.remats = edits(|edit| matches!(edit, Edit::Rematerialise { .. }));
    to.spill.copies = edits(|edit| matches!(edit, Edit::Move { .. }));
    to.spill.swaps = edits(|edit| matches!(edit, Edit::Swap { .. }));
    to.spill.values = report.spill.values;
    to.spill.cost = report.spill.certificate.map(|it| it.cost);
    to.spill.bound = report.spill.certificate.map(|it| it.bound);
    to.spill.partial_bounds = report.spill.certificate.map(|it| u64::from(!it.bounds_all));
    to.conversion = report.conversion;
    to.destruction = report.destruction;
    to.optimisations = report.spill.optimisations;
    to.recolouring = report.recolouring;
    to.elimination = report.elimination;
}

/// A job, and where its outcome goes.
type Sent = (Job, SyncSender<Outcome>);

/// The threads that allocate: others, or the asking one if the others have enough to do.
pub struct Workers<'w> {
    ours: Ours<'w>,
    /// Always there, until this is dropped.
    jobs: Option<SyncSender<Sent>>,
    /// The threads that dropping this waits for; none if a scope waits for them ([`Workers::with`]).
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Workers<'_> {
    fn drop(&mut self) {
        self.jobs = None;
        self.threads.drain(..).for_each(|thread| thread.join().expect("failures are outcomes"));
    }
}

/// The number of functions that may wait for each thread. LLVM is faster at some times, and allocation at others. The more
/// functions can wait, the less LLVM has to; but if allocation takes longest, LLVM's thread does not help with those that wait at
/// the end.
const WAITING: usize = 16;

/// The size of a thread's stack: that of a process's first thread, by default.
const STACK: usize = 8 << 20;

impl<'w> Workers<'w> {
    /// Runs something while this many other threads allocate.
    ///
    /// # Errors
    /// If the system makes no more threads.
    pub fn with<T>(ours: Ours<'w>, threads: usize, run: impl FnOnce(Workers<'w>) -> T) -> io::Result<T> {
        let (jobs, todo) = queue(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(ours, &todo))?;
            }
            Ok(run(Workers { ours, jobs: Some(jobs), threads: Vec::new() }))
        })
    }

    /// This many threads, which live as long as the struct.
    ///
    /// # Errors
    /// If the system makes no more threads.
    pub fn start(ours: Ours<'static>, threads: usize) -> io::Result<Workers<'static>> {
        let (jobs, todo) = queue(threads);
        let todo = Arc::new(todo);
        let mut workers = Workers { ours, jobs: Some(jobs), threads: Vec::with_capacity(threads) };
        for _ in 0..threads {
            let todo = todo.clone();
            workers.threads.push(thread::Builder::new().stack_size(STACK).spawn(move || work(ours, &todo))?);
        }
        Ok(workers)
    }

    /// Does a job, or passes its failure on. The outcome can be received.
    pub fn begin(&self, job: Result<Job, Failed>) -> Receiver<Outcome> {
        // (A channel without a bound would allocate room for thirty outcomes.)
        let (done, outcome) = mpsc::sync_channel(1);
        let sent = match job {
            Err(failed) => done.send(Err(failed)),
            Ok(job) => match self.jobs.as_ref().expect("it is there").try_send((job, done.clone())) {
                Ok(()) => Ok(()),
                Err(TrySendError::Full((job, _)) | TrySendError::Disconnected((job, _))) => done.send(job.run(self.ours)),
            },
        };
        sent.expect("the receiver is here");
        outcome
    }
}

fn queue(threads: usize) -> (SyncSender<Sent>, Mutex<Receiver<Sent>>) {
    let (jobs, todo) = mpsc::sync_channel(threads * WAITING);
    (jobs, Mutex::new(todo))
}

/// Does jobs until there will be no more.
fn work(ours: Ours<'_>, todo: &Mutex<Receiver<Sent>>) {
    let next = || todo.lock().ok()?.recv().ok();
    while let Some((job, done)) = next() {
        // (If LLVM has given up, nobody receives the outcome.)
        let _ = done.send(job.run(ours));
    }
}
