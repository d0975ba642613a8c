//! Writing results: either all files of a command are written, or none, and no temporary files remain.
//!
//! Each file is written next to its target under another name. When all files of a command have been written, they are
//! renamed, so that a reader finds either the old file or the new one. The renames follow each other at once, in the order
//! given. If the process is killed between them, the later files are still the old ones; so a file that describes another
//! (statistics) comes last. A target that exists but is not a file (a device, a pipe) is written to directly, before the
//! renames: if that fails, all files are the old ones.

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use tempfile::{NamedTempFile, TempDir};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// A file, or standard output for `-` and the system's names for it: whatever that is redirected to must not be
    /// replaced.
    pub fn new(path: &Path) -> Self {
        const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if STDOUT.iter().any(|name| path == Path::new(name)) { Destination::Stdout } else { Destination::File(path.to_owned()) }
    }

    /// Whether writing one would overwrite the other, even if they have different names.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Destination::Stdout, Destination::Stdout) => true,
            (Destination::File(path), Destination::File(other)) => is_same_file(path, other),
            // Standard output may be redirected to the file.
            (Destination::Stdout, Destination::File(path)) | (Destination::File(path), Destination::Stdout) => {
                is_same_file(path, Path::new("/dev/stdout"))
            }
        }
    }
}

/// Whether two paths lead to the same file. Devices and pipes keep nothing and do not count as files.
pub fn is_same_file(path: &Path, other: &Path) -> bool {
    let (path, other) = (target(path), target(other));
    match (fs::metadata(&path), fs::metadata(&other)) {
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        (Err(_), Err(_)) => place(&path) == place(&other),
        _ => false,
    }
}

/// The path of a file that need not exist, with links and detours in its folder resolved.
fn place(path: &Path) -> PathBuf {
    let folder = fs::canonicalize(folder(path));
    folder.ok().zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
}

/// Writes all results. If one of them cannot be written, none of the new files remains.
///
/// # Errors
/// If one cannot be written; the message names it.
pub fn write_all(results: &[(Destination, Vec<u8>)]) -> Result<()> {
    let mut written = Vec::new();
    for (destination, bytes) in results {
        if let Destination::File(path) = destination {
            written.push((Written::new(path, bytes).with_context(|| cannot(path))?, path));
        }
    }
    for (_, bytes) in results.iter().filter(|(destination, _)| *destination == Destination::Stdout) {
        print(bytes)?;
    }
    // A device may be full. Files, which are written already and need only their names, therefore come after all devices.
    written.sort_by_key(|(written, _)| matches!(written, Written::Beside { .. }));
    let temporary = temporary();
    for (written, path) in written {
        written.keep(&temporary).with_context(|| cannot(path))?;
    }
    Ok(())
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

/// Writes to standard output.
///
/// # Errors
/// If writing fails. A closed pipe is not a failure: the reader has seen enough.
pub fn print(bytes: &[u8]) -> Result<()> {
    // SAFETY: it only reads a number that was written before `main`.
    if unsafe { chordal_stdout_was_closed() } != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF)).context("standard output");
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

unsafe extern "C" {
    /// Defined in `output.c`.
    fn chordal_stdout_was_closed() -> libc::c_int;
}

/// A text with control characters escaped: names of files and functions may contain any, and some would steer a terminal.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

/// A result that is not yet in its final place.
enum Written {
    Beside {
        file: NamedTempFile,
        target: PathBuf,
    },
    /// The target is not a file; it is written to in [`Written::keep`].
    Through {
        bytes: Vec<u8>,
        target: PathBuf,
    },
    /// The target is a descriptor with which the process was started; it is written to in [`Written::keep`].
    To {
        bytes: Vec<u8>,
        open: File,
    },
}

/// A new handle of an open descriptor, if a path is the system's name for one. The descriptor's file is not replaced;
/// writing continues where others have stopped.
fn descriptor(path: &Path) -> Option<io::Result<File>> {
    let number: libc::c_int =
        ["/dev/fd", "/proc/self/fd"].iter().find_map(|folder| path.strip_prefix(folder).ok())?.to_str()?.parse().ok()?;
    // SAFETY: it duplicates the descriptor, or fails if there is none.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    // SAFETY: nobody else owns the duplicate.
    Some(if copy < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { File::from_raw_fd(copy) }) })
}

impl Written {
    fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        if let Some(open) = descriptor(path) {
            return Ok(Written::To { bytes: bytes.to_vec(), open: open? });
        }
        let target = target(path);
        let mode = match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => return Ok(Written::Through { bytes: bytes.to_vec(), target }),
            Ok(metadata) if metadata.permissions().readonly() => return Err(io::ErrorKind::PermissionDenied.into()),
            Ok(metadata) => Some(metadata.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut temporary = temporary();
        // The process's file mode mask still applies.
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".chordal-").permissions(Permissions::from_mode(0o666));
        let mut file = builder.tempfile_in(folder(&target)).map_err(nameless)?;
        temporary.insert(file.path().to_owned());
        drop(temporary);
        if let Some(mode) = mode {
            file.as_file().set_permissions(mode)?;
        }
        file.write_all(bytes).map_err(nameless)?;
        Ok(Written::Beside { file, target })
    }

    fn keep(self, _temporary: &Temporary) -> io::Result<()> {
        match self {
            Written::Beside { file, target } => file.persist(target).map(drop).map_err(|error| error.error),
            Written::Through { bytes, target } => OpenOptions::new().write(true).open(target)?.write_all(&bytes),
            Written::To { bytes, mut open } => open.write_all(&bytes),
        }
    }
}

/// The error without the name of the temporary file, which means nothing to the user.
fn nameless(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why),
        None => error,
    }
}

/// The path with its links followed, including a last link to a file that does not exist yet.
fn target(path: &Path) -> PathBuf {
    const LONGEST: usize = 40;
    let mut target = path.to_owned();
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return target; // A descriptor's link to a pipe leads to no path.
    }
    for _ in 0..LONGEST {
        match fs::read_link(&target) {
            Ok(link) => target = folder(&target).join(link),
            Err(_) => break,
        }
    }
    target
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Files and folders to remove if a signal ends the process. While this lock is held, nobody else renames or creates
/// temporary files.
type Temporary = MutexGuard<'static, BTreeSet<PathBuf>>;

fn temporary() -> Temporary {
    static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder for temporary files. It is removed when it is dropped, or when a signal ends the process.
///
/// # Errors
/// If it cannot be created.
pub fn temporary_folder() -> Result<TemporaryFolder> {
    let mut temporary = temporary();
    let made = tempfile::Builder::new().prefix("chordal-").tempdir();
    let folder = made.context("no folder for temporary files can be made")?;
    temporary.insert(folder.path().to_owned());
    Ok(TemporaryFolder(folder))
}

#[derive(Debug)]
pub struct TemporaryFolder(TempDir);

impl TemporaryFolder {
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Makes the process remove its temporary files and folders if a signal ends it, as the signal demands. Signals that it was
/// started to ignore (`nohup`) stay ignored.
///
/// # Errors
/// If no handler can be installed, or no thread can be started.
pub fn clean_up_when_interrupted() -> io::Result<()> {
    // A file that grows beyond the limit (`ulimit -f`) is to be a failure with a message, as on a full device.
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let (sender, receiver) = mpsc::channel::<Signals>();
    // The thread is started first: if that failed after the handlers were installed, signals would have no effect.
    thread::Builder::new().spawn(move || {
        let signal = receiver.recv().ok().and_then(|mut signals| signals.forever().next());
        if let Some(signal) = signal {
            // The lock is never released: nothing may be created any more.
            let temporary = temporary();
            remove(&temporary);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    let ends = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, libc::SIGXCPU];
    let signals = Signals::new(ends.into_iter().filter(|&signal| !is_ignored(signal)))?;
    sender.send(signals).map_err(io::Error::other)
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: with a null action, the call only reads the present one, which it writes in full if the signal exists.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends the process with a message and exit status 1, and removes temporary files.
pub fn give_up(message: &str) -> ! {
    let temporary = temporary();
    remove(&temporary);
    eprintln!("{message}");
    // SAFETY: it ends the process. Handlers and destructors must not run, as other threads are still at work.
    unsafe { libc::_exit(1) }
}

fn remove(temporary: &Temporary) {
    for path in temporary.iter() {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn file(path: PathBuf, text: &str) -> (Destination, Vec<u8>) {
        (Destination::File(path), text.into())
    }

    #[test]
    fn modes_are_kept_and_links_followed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::write(path("secret"), "old")?;
        fs::set_permissions(path("secret"), Permissions::from_mode(0o600))?;
        symlink("secret", path("link"))?;
        symlink("nothing yet", path("dangling"))?;
        write_all(&[file(path("link"), "new"), file(path("dangling"), "made")])?;
        assert_eq!(fs::read(path("secret"))?, b"new");
        assert_eq!(fs::metadata(path("secret"))?.mode() & 0o777, 0o600);
        assert_eq!(fs::read(path("nothing yet"))?, b"made");
        assert!(fs::symlink_metadata(path("link"))?.is_symlink() && fs::symlink_metadata(path("dangling"))?.is_symlink());
        Ok(())
    }

    #[test]
    fn nothing_is_left_where_one_cannot_be_written() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        let error = write_all(&[file(path("a"), "a"), file(path("none/b"), "b")]).expect_err("there is no such folder");
        assert!(error.to_string().contains("none/b: cannot be written"), "{error}");
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn files_are_known_by_what_they_are() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub"))?;
        fs::write(path("one"), "")?;
        fs::hard_link(path("one"), path("also one"))?;
        symlink("one", path("link"))?;
        symlink("new", path("dangling"))?;
        for (a, b) in [("one", "sub/../one"), ("one", "also one"), ("one", "link"), ("new", "dangling"), ("new", "sub/../new")] {
            assert!(is_same_file(&path(a), &path(b)), "{a}, {b}");
        }
        for (a, b) in [("one", "new"), ("new", "newer"), ("one", "sub")] {
            assert!(!is_same_file(&path(a), &path(b)), "{a}, {b}");
        }
        assert!(!is_same_file(Path::new("/dev/null"), Path::new("/dev/null")));
        Ok(())
    }
}
