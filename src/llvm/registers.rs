//! The general-purpose registers that an allocation may use: `--registers`.

use super::module::Target;
use crate::machine::{Function, RegSet, RegisterFile};
use std::convert::Infallible;
use std::str::FromStr;

/// The name of the bank that a request restricts.
const BANK: &str = "general";

/// The name of the request for all registers of a target.
pub const ALL_REGISTERS: &str = "all";

/// A request for general-purpose registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterRequest {
    /// All of the target's registers.
    All,
    /// The published list of this many registers.
    Count(usize),
    /// Exactly these registers.
    List(Vec<String>),
}

/// Why a request cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("there is no published list of {count} registers for {target}, only of {known}")]
    NoList { count: usize, target: &'static str, known: String },
    #[error("{target} has no general-purpose register `{name}`; it has {known}")]
    Unknown { name: String, target: &'static str, known: String },
    #[error("`{0}` is named twice")]
    Twice(String),
    #[error("{target} code needs at least {least} registers, not {count}")]
    TooFew { count: usize, least: usize, target: &'static str },
    #[error("at least one of {0} is needed: some instructions take no others")]
    NoByteRegister(String),
}

impl FromStr for RegisterRequest {
    type Err = Infallible;

    /// `all`, a number, or names separated by commas or spaces.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        if text == ALL_REGISTERS {
            return Ok(RegisterRequest::All);
        }
        Ok(match text.parse() {
            Ok(count) => RegisterRequest::Count(count),
            Err(_) => {
                let names = text.split([',', ' ']).filter(|name| !name.is_empty());
                RegisterRequest::List(names.map(|name| name.trim_start_matches('%').to_lowercase()).collect())
            }
        })
    }
}

impl RegisterRequest {
    /// The names of the registers on a target; none if there is no restriction.
    ///
    /// # Errors
    /// If there is no such list, a name is no general-purpose register of the target, or code cannot be compiled with them.
    pub fn resolve(&self, target: Target) -> Result<Option<Vec<String>>, RequestError> {
        match self {
            RegisterRequest::All => Ok(None),
            RegisterRequest::Count(count) => published(*count, target).map(Some),
            RegisterRequest::List(names) => validated(names, target).map(Some),
        }
    }
}

fn published(count: usize, target: Target) -> Result<Vec<String>, RequestError> {
    let lists = target.published_registers();
    let list = lists.iter().find(|list| list.len() == count).ok_or_else(|| RequestError::NoList {
        count,
        target: target.name(),
        known: lists.iter().map(|list| list.len().to_string()).collect::<Vec<_>>().join(", "),
    })?;
    Ok(list.iter().map(|&name| name.to_owned()).collect())
}

fn validated(names: &[String], target: Target) -> Result<Vec<String>, RequestError> {
    let known = target.general_registers();
    for (index, name) in names.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            return Err(RequestError::Unknown { name: name.clone(), target: target.name(), known: known.join(" ") });
        }
        if names[..index].contains(name) {
            return Err(RequestError::Twice(name.clone()));
        }
    }
    let least = target.published_registers()[0].len();
    if names.len() < least {
        return Err(RequestError::TooFew { count: names.len(), least, target: target.name() });
    }
    let byte_registers = target.byte_registers();
    if !names.iter().any(|name| byte_registers.contains(&name.as_str())) {
        return Err(RequestError::NoByteRegister(byte_registers.join(" ")));
    }
    Ok(names.to_vec())
}

impl Target {
    /// The target's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Target::X86_64 => "x86-64",
            Target::I386 => "i386",
        }
    }

    /// The lists that `--registers N` names, shortest first. LLVM's greedy allocator can compile all of SQLite with each.
    pub fn published_registers(self) -> &'static [&'static [&'static str]] {
        match self {
            Target::X86_64 => &[
                &["rax", "rcx", "rbx", "rbp"],
                &["rax", "rcx", "rdx", "rsi", "rbx", "rbp"],
                &["rax", "rcx", "rdx", "rsi", "rbx", "rbp", "r12", "r13"],
                &["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "rbx", "rbp", "r12", "r13", "r14"],
                &["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "rbp", "r12", "r13", "r14", "r15"],
            ],
            Target::I386 => &[
                &["eax", "ecx", "edx", "ebx", "esi"],
                &["eax", "ecx", "edx", "ebx", "esi", "edi"],
                &["eax", "ecx", "edx", "ebx", "esi", "edi", "ebp"],
            ],
        }
    }

    /// All general-purpose registers that values can live in: the longest published list.
    pub fn general_registers(self) -> &'static [&'static str] {
        self.published_registers()[self.published_registers().len() - 1]
    }

    /// The registers whose second byte has a name.
    fn byte_registers(self) -> &'static [&'static str] {
        match self {
            Target::X86_64 => &["rax", "rbx", "rcx", "rdx"],
            Target::I386 => &["eax", "ebx", "ecx", "edx"],
        }
    }
}

/// A register file without the general-purpose registers that are not named.
pub(super) fn restricted(all: &RegisterFile, names: &[String]) -> RegisterFile {
    let mut file = all.clone();
    let kept: RegSet = names.iter().filter_map(|name| file.by_name(name)).collect();
    for class in file.classes.values_mut().filter(|class| all.banks[class.bank].name == BANK) {
        class.order.retain(|&reg| kept.contains(reg));
        file.excluded |= class.regs - kept;
        class.regs = class.regs & kept;
    }
    file
}

/// The restricted file with the further registers that a function needs; `None` if it needs none. A class of its values that has
/// no register left, because an instruction takes no others, keeps its own.
pub(super) fn completed(restricted: &RegisterFile, all: &RegisterFile, function: &Function) -> Option<RegisterFile> {
    let mut file: Option<RegisterFile> = None;
    for class in function.values.values().map(|value| value.class).filter(|&class| restricted.classes[class].regs.is_empty()) {
        let file = file.get_or_insert_with(|| restricted.clone());
        file.classes[class] = all.classes[class].clone();
        file.excluded = file.excluded - all.classes[class].regs;
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, target: Target) -> Result<Option<Vec<String>>, RequestError> {
        text.parse::<RegisterRequest>().unwrap().resolve(target)
    }

    #[test]
    fn published_lists_are_valid_lists() {
        for target in [Target::X86_64, Target::I386] {
            for list in target.published_registers() {
                assert_eq!(resolve(&list.len().to_string(), target), resolve(&list.join(","), target));
            }
        }
    }

    #[test]
    fn all_is_no_restriction() {
        assert_eq!(resolve("all", Target::X86_64), Ok(None));
        assert_eq!(resolve(" all ", Target::I386), Ok(None));
    }

    #[test]
    fn lists_that_cannot_work() {
        let message = |text: &str, target| resolve(text, target).unwrap_err().to_string();
        assert_eq!(message("5", Target::X86_64), "there is no published list of 5 registers for x86-64, only of 4, 6, 8, 12, 15");
        assert!(
            message("rax,rcx,rbx,zax", Target::X86_64).starts_with("x86-64 has no general-purpose register `zax`; it has rax")
        );
        assert!(message("rax,rcx,rbx,rsp", Target::X86_64).contains("no general-purpose register `rsp`"));
        assert!(message("rax rcx rbx rbp", Target::I386).contains("no general-purpose register `rax`"));
        assert_eq!(message("rax,rbx,rcx", Target::X86_64), "x86-64 code needs at least 4 registers, not 3");
        assert_eq!(message("eax ebx ecx edx", Target::I386), "i386 code needs at least 5 registers, not 4");
        assert_eq!(message("", Target::I386), "i386 code needs at least 5 registers, not 0");
        assert_eq!(message("rax,rbx,rcx,rax", Target::X86_64), "`rax` is named twice");
        assert!(message("rsi,rdi,r8,r9", Target::X86_64).contains("at least one of rax rbx rcx rdx"));
    }
}
