//! `chordal cargo`: cargo whose linker generates the code of Rust crates, with the plug-in.

use super::Failure;
use super::driver::{Driver, Language, become_it, plugin};
use crate::plugin::settings::Settings;
use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::process::Command;

const AFTER_HELP: &str = "\
rustc leaves code generation to lld (-C linker-plugin-lto), which loads chordal as a plug-in. The flags are added to those in
RUSTFLAGS; flags in cargo's configuration files do not count then, as cargo's documentation says of that variable. Rust's
standard library is machine code already, and stays as it is.

Environment: CHORDAL_ALLOCATOR and so on, as for `chordal cc`; CARGO [default: cargo].

Examples:
  chordal cargo build --release
  chordal cargo test --release
  CHORDAL_STATS=$PWD/stats chordal cargo build --release && chordal stats stats

Needs clang 22 and lld 22 (Debian: packages clang-22 and lld-22), and a rustc whose LLVM is not newer.";

/// Build Rust with chordal: run cargo, and have lld generate code with chordal in it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Cargo's arguments
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<OsString>,
}

/// Becomes cargo.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    Settings::check().map_err(Failure::Usage)?;
    let clang = Driver::find(Language::C)?;
    check_linker(&clang)?;
    check_compiler()?;
    let flags = [
        "linker-plugin-lto".to_owned(),
        format!("linker={}", clang.program.display()),
        "link-arg=-fuse-ld=lld".to_owned(),
        format!("link-arg=-Wl,--load-pass-plugin={}", plugin()?.display()),
    ];
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(&arguments.arguments).env("CARGO_ENCODED_RUSTFLAGS", encoded(&flags)?).env_remove("RUSTFLAGS");
    Err(become_it(&mut cargo).into())
}

/// The user's flags and ours, as cargo's variable has them: separated by a character that no flag contains.
fn encoded(ours: &[String]) -> Result<String> {
    const SEPARATOR: &str = "\u{1f}";
    let variable = |name: &str| match env::var(name) {
        Ok(value) => Ok(value),
        Err(env::VarError::NotPresent) => Ok(String::new()),
        Err(error) => Err(anyhow!(error).context(name.to_owned())),
    };
    let given = variable("CARGO_ENCODED_RUSTFLAGS")?;
    let given =
        if given.is_empty() { variable("RUSTFLAGS")?.split_whitespace().collect::<Vec<_>>().join(SEPARATOR) } else { given };
    let ours = ours.iter().flat_map(|flag| ["-C", flag]);
    Ok(Some(&*given).filter(|given| !given.is_empty()).into_iter().chain(ours).collect::<Vec<_>>().join(SEPARATOR))
}

/// Checks that clang has an lld.
fn check_linker(clang: &Driver) -> Result<()> {
    let found = clang.command().arg("-print-prog-name=ld.lld").output().with_context(|| clang.program.display().to_string())?;
    let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    // The name alone means that it is not among clang's own programs, nor elsewhere.
    if !path.contains('/') {
        bail!("{} has no lld: install that of LLVM 22 (Debian: package lld-22)", clang.program.display());
    }
    Ok(())
}

/// Checks that lld can read what rustc writes.
fn check_compiler() -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(&rustc).arg("-vV").output().with_context(|| rustc.display().to_string())?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.lines().find_map(|line| line.strip_prefix("LLVM version: ")).unwrap_or_default();
    let major: Option<u32> = version.split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major| major > 22) {
        bail!("{} has LLVM {version}, whose bitcode lld 22 may not read", rustc.display());
    }
    Ok(())
}
