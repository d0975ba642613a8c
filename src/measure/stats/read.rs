//! Finds and reads files of statistics.

use super::{SCHEMA, Statistics};
use crate::folder;
use serde::Deserialize;
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::io;
use std::path::{Path, PathBuf};

/// The files of statistics that a path stands for: see [`folder::files`].
///
/// # Errors
/// If a folder cannot be read.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    folder::files(path, &["json"])
}

/// Reads a file's text.
///
/// # Errors
/// If it is not JSON or has another schema; the message says so.
pub fn parse(text: &str) -> Result<Statistics, String> {
    match schema(document(text)?) {
        Some(schema) if schema == SCHEMA => serde_json::from_str(text).map_err(|error| error.to_string()),
        Some(schema) => Err(format!("the schema is `{schema}`, not `{SCHEMA}`")),
        None => Err(format!("names no schema: it is no {SCHEMA}")),
    }
}

/// The first document of a file. In a file with several, it tells the schema of all.
///
/// # Errors
/// If there is none, or it is broken; the message says which.
pub fn document(text: &str) -> Result<&RawValue, String> {
    let first = Deserializer::from_str(text).into_iter::<&RawValue>().next().ok_or("is empty")?;
    first.map_err(|error| broken(&error))
}

/// Says why a text is not JSON.
pub fn broken(error: &serde_json::Error) -> String {
    if error.is_eof() { format!("is cut short: {error}") } else { format!("is not JSON: {error}") }
}

/// The schema that a document names.
pub fn schema(document: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    serde_json::from_str::<Header>(document.get()).ok().map(|header| header.schema)
}
