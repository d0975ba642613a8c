//! Reading files, with the same error messages in all commands.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Why a file cannot be read. The messages do not repeat its name.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("no such file")]
    Missing,
    #[error("is a directory")]
    Directory,
    #[error("is not text (UTF-8)")]
    NotText,
    #[error("cannot be read: {0}")]
    Other(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Unreadable::Missing,
            io::ErrorKind::IsADirectory => Unreadable::Directory,
            _ => Unreadable::Other(error),
        }
    }
}

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// If it cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Unreadable> {
    if path.as_os_str() != "-" {
        return Ok(fs::read(path)?);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file, or of standard input for `-`.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn text(path: &Path) -> Result<String, Unreadable> {
    String::from_utf8(bytes(path)?).map_err(|_| Unreadable::NotText)
}

/// A file to be read piece by piece.
///
/// # Errors
/// If it cannot be opened, or is a folder.
pub fn open(path: &Path) -> Result<File, Unreadable> {
    let file = File::open(path)?;
    // A folder can be opened, but not read.
    if file.metadata()?.is_dir() { Err(Unreadable::Directory) } else { Ok(file) }
}
