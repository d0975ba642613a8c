//! The records file: JSON Lines, a line written whenever a module is done, so that a long comparison can continue where it
//! was stopped.
//!
//! A line has those runs of a module that no earlier line has. Lines are only ever added, by one process at a time, so that
//! no measurement is lost. A module is known by its content, whatever its name and place.

use super::record::{Outcome, Record, Run, SCHEMA};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use thiserror::Error;

/// The contents of a records file, and the file itself, open for more.
#[derive(Debug)]
pub struct Journal {
    /// By fingerprint: each run, and the name that its module had then.
    runs: HashMap<String, Vec<(String, Run)>>,
    file: File,
}

/// Why a records file cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("there is such a file already")]
    Exists,
    #[error("{} is adding to these records: let it end, or name another file", process(*.0))]
    InUse(libc::pid_t),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Names the process that holds a lock. The system gives no number for one on another machine or outside this container.
fn process(number: libc::pid_t) -> String {
    if number > 0 { format!("process {number}") } else { "another process".into() }
}

impl Journal {
    /// Begins a new file, or continues one if `resume` is set and it exists.
    ///
    /// # Errors
    /// If the file exists and must not, is in use by another process, cannot be read or written, or has a line that is no
    /// record.
    pub fn open(path: &Path, resume: bool) -> Result<Self, OpenError> {
        let mut options = OpenOptions::new();
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            // A device or a pipe has no earlier records.
            return Ok(Journal { runs: HashMap::new(), file: options.write(true).open(path)? });
        }
        options.read(true).append(true);
        let options = if resume { options.create(true) } else { options.create_new(true) };
        let mut file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OpenError::Exists,
            _ => error.into(),
        })?;
        lock(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = finished(&bytes);
        let records = parse(&bytes[..whole])?;
        file.set_len(whole as u64)?;
        if bytes[..whole].last().is_some_and(|&byte| byte != b'\n') {
            file.write_all(b"\n")?;
        }
        let mut journal = Journal { runs: HashMap::new(), file };
        records.into_iter().for_each(|record| journal.remember(record));
        Ok(journal)
    }

    /// The runs of a module that need not be made again, with messages that call the module by this name. Runs that crashed
    /// or took too long are not among them: they may be tried again.
    pub fn known(&self, fingerprint: &str, name: &str) -> Vec<Run> {
        let named = |(source, run): &(String, Run)| {
            let mut run = run.clone();
            run.rename(source, name);
            run
        };
        self.runs.get(fingerprint).into_iter().flatten().filter(|(_, run)| has_ended(run)).map(named).collect()
    }

    /// Writes those runs of a record that are not in the file yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let known = self.runs.get(&record.fingerprint);
        let is_known =
            |run: &Run| known.is_some_and(|runs| runs.iter().any(|(_, other)| has_ended(other) && other.resembles(run)));
        let runs = record.runs.iter().filter(|run| !is_known(run)).cloned().collect();
        let record = Record { runs, ..record.clone() };
        self.file.write_all(&line(&record)?)?;
        self.remember(record);
        Ok(())
    }

    /// Takes in a record; a later run replaces an earlier one of the same allocator and registers.
    fn remember(&mut self, record: Record) {
        let runs = self.runs.entry(record.fingerprint).or_default();
        for run in record.runs {
            runs.retain(|(_, other)| !other.resembles(&run));
            runs.push((record.source.clone(), run));
        }
    }
}

fn has_ended(run: &Run) -> bool {
    !matches!(run.outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. })
}

/// Locks a file for this process until it is closed or the process ends, in whatever way.
///
/// Such a lock belongs to the process, so that others can be told its number. Its one weakness does not matter here: it
/// would end early if the process opened and closed the file a second time, which no code does.
fn lock(file: &File) -> Result<(), OpenError> {
    loop {
        // SAFETY: zero is a valid value of every field; zeroed offsets stand for the whole file.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        // SAFETY: the lock outlives this call, and the one below.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EAGAIN) => {}
            // The file system has no locks. Since files are opened for appending, no lines are lost even so.
            Some(libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP) => return Ok(()),
            _ => return Err(error.into()),
        }
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) } != 0 {
            return Err(io::Error::last_os_error().into());
        }
        // If nobody has the lock now, its process has just ended: try again.
        if lock.l_type != libc::F_UNLCK as libc::c_short {
            return Err(OpenError::InUse(lock.l_pid));
        }
    }
}

/// The length of the part of a file that is read: all but the beginning of a record at its end, which was being written when
/// the process was stopped. Anything else there is not ours to cut off, and is left for [`parse`] to refuse.
fn finished(bytes: &[u8]) -> usize {
    let start = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let (last, beginning) = (&bytes[start..], format!("{{\"schema\":\"{SCHEMA}\"").into_bytes());
    let is_record = last.starts_with(&beginning) || beginning.starts_with(last);
    let is_whole = serde_json::from_slice::<Record>(last).is_ok();
    if is_record && !is_whole { start } else { bytes.len() }
}

fn line(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// The records of a file, line by line.
fn parse(bytes: &[u8]) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let invalid = |why: String| io::Error::new(ErrorKind::InvalidData, format!("line {}: {why}", number + 1));
        let record: Record = serde_json::from_slice(line).map_err(|error| invalid(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(invalid(format!("the schema is `{}`, not `{SCHEMA}`", record.schema)));
        }
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Result = std::result::Result<(), OpenError>;

    fn record(source: &str, allocators: &[&str]) -> Record {
        let run = |&allocator: &&str| Run {
            allocator: allocator.into(),
            registers: "all".into(),
            outcome: Outcome::Failed { message: format!("{source}: no") },
        };
        Record {
            schema: SCHEMA.into(),
            source: source.into(),
            fingerprint: "1".into(),
            runs: allocators.iter().map(run).collect(),
        }
    }

    fn allocators(runs: &[Run]) -> Vec<&str> {
        runs.iter().map(|run| run.allocator.as_str()).collect()
    }

    fn timed_out(allocator: &str) -> Record {
        let mut record = record("a", &[allocator]);
        record.runs[0].outcome = Outcome::TimedOut { message: "too long".into() };
        record
    }

    #[test]
    fn modules_are_known_by_their_content() -> Result {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("records");
        let mut journal = Journal::open(&path, false)?;
        journal.add(&record("a", &["x"]))?;
        assert!(matches!(Journal::open(&path, false), Err(OpenError::Exists)));
        journal.add(&Record { fingerprint: "2".into(), ..record("a", &["x"]) })?;
        drop(journal);
        let mut journal = Journal::open(&path, true)?;
        assert_eq!(journal.known("1", "b"), record("b", &["x"]).runs, "messages have the name that is asked for");
        journal.add(&record("b", &["x", "y"]))?;
        assert!(journal.known("3", "a").is_empty(), "the module has changed");
        drop(journal);
        let added = fs::read_to_string(&path)?.lines().nth(2).map(str::to_owned).expect("a third line");
        assert_eq!(parse(added.as_bytes())?, [record("b", &["y"])], "only what was not there");
        let journal = Journal::open(&path, true)?;
        assert_eq!(allocators(&journal.known("1", "a")), ["x", "y"]);
        assert_eq!(allocators(&journal.known("2", "a")), ["x"], "what the module was before is still there");
        Ok(())
    }

    #[test]
    fn what_came_to_nothing_is_made_again_and_written_down() -> Result {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("records");
        let mut journal = Journal::open(&path, false)?;
        journal.add(&timed_out("x"))?;
        assert!(journal.known("1", "a").is_empty());
        journal.add(&record("a", &["x"]))?;
        drop(journal);
        assert_eq!(Journal::open(&path, true)?.known("1", "a"), record("a", &["x"]).runs);
        Ok(())
    }

    #[test]
    fn half_a_record_is_dropped_and_nothing_else_is() -> Result {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("records");
        let whole = line(&record("a", &["x"]))?;
        let whole = String::from_utf8(whole).expect("JSON is text");
        let opened = |text: &str| -> std::result::Result<String, OpenError> {
            fs::write(&path, text)?;
            let opened = Journal::open(&path, true).map(drop);
            let left = fs::read_to_string(&path)?;
            assert!(opened.is_ok() || left == text, "a file that is refused stays as it is: {left}");
            opened.map(|()| left)
        };
        assert_eq!(opened(&format!("{whole}{{\"sch"))?, whole);
        assert_eq!(opened(&format!("{whole}{}", &whole[..whole.len() / 2]))?, whole);
        assert_eq!(opened(whole.trim_end())?, whole, "a whole one is kept");
        for wrong in ["{}\n", "{}", "\n", "shopping list", "{\"schema\":\"chordal-stats/1\"}"] {
            let error = opened(&format!("{whole}{wrong}")).expect_err("it is no record").to_string();
            assert!(error.starts_with("line 2: "), "{error}");
        }
        assert!(opened("shopping list").is_err());
        Ok(())
    }
}
