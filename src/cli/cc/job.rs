//! The jobs of a driver: the commands that it would run.

use anyhow::{Context as _, Result};
use std::fmt;
use std::process::Command;

/// A command.
pub struct Job {
    pub words: Vec<String>,
}

/// Reads the commands of a plan, each of which is a line of quoted words.
pub fn jobs(plan: &str) -> Result<Vec<Job>> {
    let lines = plan.lines().filter(|line| is_job(line));
    let job = |line| {
        let words = shlex::split(line).filter(|words| words.len() > 1);
        Ok(Job { words: words.with_context(|| format!("cannot read what clang would do: {line}"))? })
    };
    lines.map(job).collect()
}

/// Whether a line of a plan is a command.
pub fn is_job(line: &str) -> bool {
    line.starts_with(" \"")
}

impl Job {
    /// Whether it is clang or flang itself, not another tool.
    pub fn is_compilers(&self) -> bool {
        ["-cc1", "-fc1"].contains(&self.words[1].as_str())
    }

    pub fn has(&self, word: &str) -> bool {
        self.is_compilers() && self.words.iter().any(|w| w == word)
    }

    /// Whether it makes assembly or an object from a source or IR.
    pub fn generates_code(&self) -> bool {
        self.has("-emit-obj") || self.has("-S")
    }

    /// The source that it compiles.
    pub fn source(&self) -> &str {
        self.words.last().expect("a job has words")
    }

    /// The words that follow a flag, at each of its occurrences.
    pub fn arguments<'a>(&'a self, flag: &'a str) -> impl Iterator<Item = &'a str> {
        self.words.windows(2).filter(move |pair| pair[0] == flag).map(|pair| pair[1].as_str())
    }

    pub fn argument(&self, flag: &str) -> Option<&str> {
        self.words.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1].as_str())
    }

    /// The job that makes bitcode instead of code.
    pub fn for_bitcode(&self, bitcode: &str) -> Job {
        let mut job = self.with_output(bitcode);
        for word in job.words.iter_mut().filter(|word| ["-emit-obj", "-S"].contains(&word.as_str())) {
            *word = "-emit-llvm-bc".into();
        }
        job
    }

    /// The job with another output.
    pub fn with_output(&self, output: &str) -> Job {
        let mut words = self.words.clone();
        if let Some(at) = words.iter().position(|word| word == "-o").filter(|at| at + 1 < words.len()) {
            words[at + 1] = output.to_owned();
        }
        Job { words }
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }
}

/// In clang's notation.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in &self.words {
            f.write_str(" \"")?;
            for c in word.chars() {
                if "\"\\$".contains(c) {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
            f.write_str("\"")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_as_they_are_written() {
        let line = " \"/usr/bin/clang\" \"-cc1\" \"-S\" \"-D\" \"A=\\\"a \\$b\\\\\\\"\" \"-o\" \"x.s\" \"x.c\"";
        let plan = format!("clang version 22.1.8\n (in-process)\n{line}\nclang: warning: something\n");
        let jobs = jobs(&plan).expect("it is a plan");
        let [job] = &jobs[..] else { panic!("there is one") };
        assert_eq!(job.words[4], "A=\"a $b\\\"");
        assert_eq!(job.to_string(), line);
        assert!(job.generates_code() && job.source() == "x.c" && job.argument("-o") == Some("x.s"));
        let bitcode = job.for_bitcode("x.bc");
        assert!(bitcode.has("-emit-llvm-bc") && !bitcode.generates_code() && bitcode.argument("-o") == Some("x.bc"));
    }
}
