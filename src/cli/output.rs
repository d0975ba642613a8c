//! Writing results: whole files or none.

use anyhow::{Context as _, Result};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// A file, or standard output for `-`.
    pub fn new(path: &Path) -> Self {
        if path.as_os_str() == "-" { Destination::Stdout } else { Destination::File(path.to_owned()) }
    }
}

/// Writes all results, or, if one of them cannot be written, leaves no new file behind.
///
/// # Errors
/// If one cannot be written; the message names it.
pub fn write_all(results: &[(Destination, Vec<u8>)]) -> Result<()> {
    let mut prepared = Vec::new();
    for (destination, bytes) in results {
        match destination {
            Destination::Stdout => {}
            Destination::File(path) => {
                prepared.push((prepare(path, bytes).with_context(|| format!("{}: cannot be written", path.display()))?, path));
            }
        }
    }
    for (_, bytes) in results.iter().filter(|(destination, _)| *destination == Destination::Stdout) {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // A reader that has seen enough is content; the files are still wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => written.context("standard output")?,
        }
    }
    for ((file, target), path) in prepared {
        if let Some(file) = file {
            file.persist(target).map_err(|e| e.error).with_context(|| format!("{}: cannot be written", path.display()))?;
        }
    }
    Ok(())
}

/// Writes a temporary file beside the target, which is the path with its links followed. What exists and is not a file (a
/// device, a pipe) is written directly.
fn prepare(path: &Path, bytes: &[u8]) -> io::Result<(Option<NamedTempFile>, PathBuf)> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => {
            fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes)?;
            return Ok((None, target));
        }
        Ok(metadata) if metadata.permissions().readonly() => return Err(io::ErrorKind::PermissionDenied.into()),
        _ => {}
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The process's file mode mask still applies.
    let mut file =
        tempfile::Builder::new().prefix(".chordal-").permissions(fs::Permissions::from_mode(0o666)).tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok((Some(file), target))
}
