//! The records file: JSON Lines, one record a module, written as the modules are done, so that a long comparison can go on
//! where it was stopped.

use super::record::{Outcome, Record, Run, SCHEMA};
use crate::output;
use indexmap::IndexMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Records by the name of their module, and the file that new ones are added to.
#[derive(Debug)]
pub struct Journal {
    records: IndexMap<String, Record>,
    file: File,
}

impl Journal {
    /// Begins a new file, or goes on with one that may be there.
    ///
    /// # Errors
    /// If the file exists and must not, cannot be read or written, or has a line that is no record.
    pub fn open(path: &Path, resume: bool) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            // A device or a pipe has nothing to go on with.
            return Ok(Journal { records: IndexMap::new(), file: OpenOptions::new().write(true).open(path)? });
        }
        if !resume {
            return Ok(Journal { records: IndexMap::new(), file: File::create_new(path)? });
        }
        let records = match fs::read_to_string(path) {
            Ok(text) => parse(&text)?,
            Err(error) if error.kind() == ErrorKind::NotFound => IndexMap::new(),
            Err(error) => return Err(error),
        };
        // What is of no use any more is dropped, and nothing is lost if this is stopped half way.
        let mut tidied = Vec::new();
        for record in records.values() {
            write(&mut tidied, record)?;
        }
        Ok(Journal { records, file: output::begin(path, &tidied)? })
    }

    /// The runs of a module that need not be made again. What crashed or took too long may be tried again.
    pub fn known(&self, source: &str, fingerprint: &str) -> Vec<Run> {
        let record = self.records.get(source).filter(|record| record.fingerprint == fingerprint);
        let ended = |run: &&Run| !matches!(run.outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. });
        record.map_or_else(Vec::new, |record| record.runs.iter().filter(ended).cloned().collect())
    }

    /// Writes a record down. Runs that an earlier record of the same module has beyond it are kept.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let mut record = record.clone();
        for run in self.known(&record.source, &record.fingerprint) {
            let same = |other: &Run| other.allocator == run.allocator && other.registers == run.registers;
            if !record.runs.iter().any(same) {
                record.runs.push(run);
            }
        }
        write(&mut self.file, &record)?;
        self.records.insert(record.source.clone(), record);
        Ok(())
    }
}

fn write(file: &mut impl Write, record: &Record) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Reads the lines of a records file, of which a later one replaces an earlier one of the same module. A last line without an
/// end was being written when the process was stopped.
///
/// # Errors
/// If a line is no record; the message has its number.
pub fn parse(text: &str) -> io::Result<IndexMap<String, Record>> {
    let mut records = IndexMap::new();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    for (number, line) in whole.enumerate() {
        let invalid = |why: String| io::Error::new(ErrorKind::InvalidData, format!("line {}: {why}", number + 1));
        let record: Record = serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(invalid(format!("the schema is `{}`, not `{SCHEMA}`", record.schema)));
        }
        records.insert(record.source.clone(), record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(source: &str, allocators: &[&str]) -> Record {
        let run = |&allocator: &&str| Run {
            allocator: allocator.into(),
            registers: "all".into(),
            outcome: Outcome::Failed { message: "no".into() },
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

    #[test]
    fn what_was_written_is_known_again() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("records");
        let mut journal = Journal::open(&path, false)?;
        journal.add(&record("a", &["x"]))?;
        journal.add(&record("b", &["x"]))?;
        assert_eq!(Journal::open(&path, false).expect_err("it exists").kind(), ErrorKind::AlreadyExists);
        let mut journal = Journal::open(&path, true)?;
        journal.add(&record("a", &["y"]))?;
        let journal = Journal::open(&path, true)?;
        assert_eq!(allocators(&journal.known("a", "1")), ["y", "x"]);
        assert!(journal.known("a", "2").is_empty(), "the module has changed");
        assert_eq!(fs::read_to_string(&path)?.lines().count(), 2);
        Ok(())
    }

    #[test]
    fn half_a_line_is_forgotten_and_a_wrong_one_is_not() -> io::Result<()> {
        let mut text = Vec::new();
        write(&mut text, &record("a", &["x"]))?;
        let text = String::from_utf8(text).expect("JSON is text");
        assert_eq!(parse(&format!("{text}{{\"sch"))?.len(), 1);
        let error = parse(&format!("{text}{{}}\n")).expect_err("it is no record");
        assert!(error.to_string().starts_with("line 2: "), "{error}");
        Ok(())
    }
}
