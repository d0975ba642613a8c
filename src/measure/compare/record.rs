//! What comparing modules under several allocators came to: the schema `chordal-compare/1`.

use crate::measure::stats::Statistics;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA: &str = "chordal-compare/1";

/// One module under every allocator and register list. In a records file, a line has the runs that no earlier one of the same
/// fingerprint has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the input file, as given.
    pub source: String,
    /// Tells whether the module, the settings of the runs and the compiler are still those of this record.
    pub fingerprint: String,
    /// In the order in which they were asked for.
    pub runs: Vec<Run>,
}

/// One module under one allocator, held to one register list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the allocator, behind it options that it was given.
    pub allocator: String,
    /// The registers as they were asked for: `all`, a number or a list of names.
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
        /// Of the repetition with the median allocation time.
        statistics: Box<Statistics>,
        /// Time of allocation in each repetition, in order. Empty with `--no-times`.
        allocation_ns: Vec<u64>,
    },
    /// The allocator does not exist with these registers or on this target.
    NotApplicable { message: String },
    /// The compiler gave up with a message.
    Failed { message: String },
    /// The compiler ended otherwise: by a signal, or with a result that cannot be read.
    Crashed { message: String },
    /// The compiler was stopped because it took too long.
    TimedOut { message: String },
}

impl Outcome {
    /// How a run ended that came to nothing, and what was said of it.
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
    /// What was counted, if the run came to an end.
    pub fn statistics(&self) -> Option<&Statistics> {
        match &self.outcome {
            Outcome::Done { statistics, .. } => Some(statistics),
            _ => None,
        }
    }

    /// Whether both are of the same allocator with the same registers.
    pub fn resembles(&self, other: &Run) -> bool {
        self.allocator == other.allocator && self.registers == other.registers
    }

    /// Has it call its module by another name.
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
