//! Folders of inputs.

use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The files that a path stands for: itself, or all in a folder and below it whose names end in one of these, in order.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(path: &Path, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_wanted = |path: &Path| path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted));
    let mut files = Vec::new();
    for entry in WalkDir::new(path).sort_by_file_name() {
        let path = entry?.into_path();
        // (A link to a file is a file; one to a folder may lead in a circle.)
        if is_wanted(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
