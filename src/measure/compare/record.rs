//! The record of a module under several allocators: the schema `chordal-compare/1`.

use crate::measure::stats::Statistics;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA: &str = "chordal-compare/1";

/// One module under every allocator and register list. In a records file, a line has only the runs that no earlier line with
/// the same fingerprint has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the input file, as given.
    pub source: String,
    /// Identifies the module, the settings of the runs and the compiler: if one of them changes, so does the fingerprint.
    pub fingerprint: String,
    /// In the order in which they were requested.
    pub runs: Vec<Run>,
}

/// One module under one allocator with one register list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the allocator, followed by the options that it was given.
    pub allocator: String,
    /// The registers as they were requested: `all`, a number or a list of names.
    pub registers: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The module was compiled.
    Done {
        /// Those of the repetition with the median allocation time.
        statistics: Box<Statistics>,
        /// Time of allocation in each repetition, in order. Empty with `--no-times`.
        allocation_ns: Vec<u64>,
    },
    /// The allocator does not exist with these registers or on this target.
    NotApplicable { message: String },
    /// The compiler gave up with a message.
    Failed { message: String },
    /// The compiler ended in another way: by a signal, or with a result that cannot be read.
    Crashed { message: String },
    /// The compiler was stopped because it took too long.
    TimedOut { message: String },
}

impl Outcome {
    /// For a run without statistics: how it ended, and the message.
    pub fn shortfall(&self) -> Option<(&'static str, &str)> {
        match self {
            Outcome::Done { .. } => None,
            Outcome::NotApplicable { message } => Some(("not applicable", message)),
            Outcome::Failed { message } => Some(("failed", message)),
            Outcome::Crashed { message } => Some(("crashed", message)),
            Outcome::TimedOut { message } => Some(("timed out", message)),
        }
    }
}

impl Run {
    /// The statistics, if the run has any.
    pub fn statistics(&self) -> Option<&Statistics> {
        match &self.outcome {
            Outcome::Done { statistics, .. } => Some(statistics),
            _ => None,
        }
    }

    /// Whether both are of the same allocator and registers.
    pub fn resembles(&self, other: &Run) -> bool {
        self.allocator == other.allocator && self.registers == other.registers
    }

    /// Changes the name by which the run calls its module: in statistics the source, in messages the prefix.
    pub fn rename(&mut self, from: &str, to: &str) {
        match &mut self.outcome {
            Outcome::Done { statistics, .. } => statistics.source = to.to_owned(),
            Outcome::NotApplicable { message }
            | Outcome::Failed { message }
            | Outcome::Crashed { message }
            | Outcome::TimedOut { message } => {
                if let Some(rest) = message.strip_prefix(from).filter(|rest| rest.starts_with(": ")) {
                    *message = format!("{to}{rest}");
                }
            }
        }
    }
}
