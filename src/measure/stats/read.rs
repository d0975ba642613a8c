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

/// Why a text is not a file of statistics.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the schema is `{0}`, not `{SCHEMA}`")]
    OtherSchema(String),
    #[error("names no schema: it is no {SCHEMA}")]
    NoSchema,
    #[error(transparent)]
    Invalid(serde_json::Error),
}

/// Why a text is not JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    #[error("is empty")]
    Empty,
    #[error("is cut short: {0}")]
    CutShort(serde_json::Error),
    #[error("is not JSON: {0}")]
    Broken(serde_json::Error),
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() { JsonError::CutShort(error) } else { JsonError::Broken(error) }
    }
}

/// Reads a file's text.
///
/// # Errors
/// If it is no JSON, or of another schema.
pub fn parse(text: &str) -> Result<Statistics, ParseError> {
    match schema(document(text)?) {
        Some(schema) if schema == SCHEMA => serde_json::from_str(text).map_err(ParseError::Invalid),
        Some(schema) => Err(ParseError::OtherSchema(schema)),
        None => Err(ParseError::NoSchema),
    }
}

/// The first document of a file. In a file with several, it tells the schema of all.
///
/// # Errors
/// If there is none.
pub fn document(text: &str) -> Result<&RawValue, JsonError> {
    let first = Deserializer::from_str(text).into_iter::<&RawValue>().next().ok_or(JsonError::Empty)?;
    Ok(first?)
}

/// The schema that a document names.
pub fn schema(document: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    serde_json::from_str::<Header>(document.get()).ok().map(|header| header.schema)
}
