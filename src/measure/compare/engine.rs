//! Runs many modules under many allocators, side by side.

use super::record::{Outcome, Record, Run, SCHEMA};
use super::worker::{self, Request, Settings};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// A module to be run.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name in the results.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Identifies the module's content and the settings of its runs: see [`Record::fingerprint`].
    pub fingerprint: String,
    /// Runs of an earlier comparison that need not be repeated.
    pub known: Vec<Run>,
}

/// Follows the progress of the runs.
pub trait Observer {
    /// A run has ended.
    fn run(&mut self, module: &str, run: &Run);

    /// All runs of a module have ended.
    ///
    /// # Errors
    /// If the record cannot be kept, which stops everything.
    fn record(&mut self, record: &Record) -> io::Result<()>;
}

/// Runs every request on every module, `side_by_side` of them at a time, except those whose runs are known. The records are
/// in the order of the modules, their runs in the order of the requests.
///
/// # Errors
/// If no process can be started or a record cannot be kept. A module that cannot be compiled is not an error but an outcome.
pub fn run(
    modules: &[Module],
    requests: &[Request],
    settings: &Settings,
    side_by_side: usize,
    observer: &mut dyn Observer,
) -> io::Result<Vec<Record>> {
    let mut collection = Collection::new(modules, requests);
    let tasks = collection.tasks();
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..side_by_side.clamp(1, tasks.len().max(1)) {
            let (sender, next, tasks) = (sender.clone(), &next, &tasks);
            thread::Builder::new().spawn_scoped(scope, move || {
                while let Some(&(module, request)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = worker::run(&modules[module].path, &requests[request], settings);
                    if sender.send((module, request, outcome)).is_err() {
                        break; // the receiver has stopped at an error
                    }
                }
            })?;
        }
        drop(sender);
        for (module, request, outcome) in results {
            collection.add(module, request, outcome?, observer)?;
        }
        Ok(())
    })
    .map(|()| collection.into_records())
}

/// The runs that have ended.
struct Collection<'m> {
    modules: &'m [Module],
    requests: &'m [Request],
    /// By module and request.
    runs: Vec<Vec<Option<Run>>>,
}

impl<'m> Collection<'m> {
    fn new(modules: &'m [Module], requests: &'m [Request]) -> Self {
        let known = |module: &Module, request: &Request| module.known.iter().find(|run| request.asks_for(run)).cloned();
        let runs = modules.iter().map(|module| requests.iter().map(|request| known(module, request)).collect());
        Collection { modules, requests, runs: runs.collect() }
    }

    /// The runs that are missing: indices of module and request.
    fn tasks(&self) -> Vec<(usize, usize)> {
        let all = (0..self.modules.len()).flat_map(|module| (0..self.requests.len()).map(move |request| (module, request)));
        all.filter(|&(module, request)| self.runs[module][request].is_none()).collect()
    }

    fn add(&mut self, module: usize, request: usize, outcome: Outcome, observer: &mut dyn Observer) -> io::Result<()> {
        let Request { allocator, registers } = self.requests[request].clone();
        let mut run = Run { allocator, registers, outcome };
        let Module { name, path, .. } = &self.modules[module];
        run.rename(&path.display().to_string(), name);
        observer.run(name, &run);
        self.runs[module][request] = Some(run);
        match self.record(module) {
            Some(record) => observer.record(&record),
            None => Ok(()),
        }
    }

    /// The record of a module, once none of its runs is missing.
    fn record(&self, module: usize) -> Option<Record> {
        if self.runs[module].iter().any(Option::is_none) {
            return None;
        }
        let runs = self.runs[module].iter().flatten().cloned().collect();
        let Module { name, fingerprint, .. } = &self.modules[module];
        Some(Record { schema: SCHEMA.into(), source: name.clone(), fingerprint: fingerprint.clone(), runs })
    }

    fn into_records(self) -> Vec<Record> {
        let record = |(module, runs): (&Module, Vec<Option<Run>>)| Record {
            schema: SCHEMA.into(),
            source: module.name.clone(),
            fingerprint: module.fingerprint.clone(),
            runs: runs.into_iter().flatten().collect(),
        };
        self.modules.iter().zip(self.runs).map(record).collect()
    }
}
