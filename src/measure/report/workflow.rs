//! Workflow commands of GitHub Actions: lines on standard output that become annotations of a run.

use crate::measure::stats::Place;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Notice,
    Warning,
    Error,
}

/// A message about a workflow run, at a line of the sources if it has a place. Its texts may contain any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub level: Level,
    pub place: Option<Place>,
    pub title: String,
    pub message: String,
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, "::{level} ")?;
        if let Some(Place { file, line }) = &self.place {
            write!(f, "file={},line={line},", property(file))?;
        }
        write!(f, "title={}::{}", property(&self.title), data(&self.message))
    }
}

/// Escapes a message, which must be one line; the escapes begin with a percent sign.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property: commas separate properties, and colons end them.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_is_escaped() {
        let (title, message) = ("a::b, 5%".into(), "c::d, 5%\r\ne %0A".into());
        let mut annotation = Annotation { level: Level::Error, place: None, title, message };
        assert_eq!(annotation.to_string(), "::error title=a%3A%3Ab%2C 5%25::c::d, 5%25%0D%0Ae %250A");
        annotation.place = Some(Place { file: "a,b.c".into(), line: 7 });
        assert!(annotation.to_string().starts_with("::error file=a%2Cb.c,line=7,title=a"), "{annotation}");
    }
}
