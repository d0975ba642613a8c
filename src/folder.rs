//! Finding input files in folders.

use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The files that a path stands for, in order: the path itself or, if it is a folder, all files in it and below whose names
/// have one of the extensions.
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
        // A link to a file counts as a file. A link to a folder is not followed, as it may lead in a circle.
        if is_wanted(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
