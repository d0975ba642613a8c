//! The text form of a register file, and the files that tests refer to by name.

use super::parse::{Line, Lines, ParseError, Reason, parse_u32};
use crate::machine::{Bank, BankInfo, ClassInfo, Reg, RegClass, RegInfo, RegSet, RegisterFile, SwapSupport};
use std::fmt;

/// Small enough to run out of registers, with every kind of line that a file can have except `prefixed` and `excluded`.
const TINY: &str = "target
  bank g exchange
  bank x xor
  bank f never beside g
  registers g a b c d s t
  registers x x0 x1 x2 x3
  registers f f0 f1 f2 f3 f4
  registers - flags
  class w g 8/8 a b c d s t
  class n g 1/1 a b c d
  class x x 16/16 x0 x1 x2 x3
  class f f 8/8 f0 f1 f2 f3 f4
  callee-saved s t
  status flags
";

/// As many registers as a large machine has.
const WIDE: &str = "target
  bank g exchange
  bank x xor
  registers g r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15
  registers x x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15
  registers - flags
  class w g 8/8 r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15
  class h g 4/4 r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15
  class n g 1/1 r0 r1 r2 r3
  class x x 16/16 x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15
  callee-saved r12 r13 r14 r15
  prefixed r8 r9 r10 r11 r12 r13 r14
  status flags
";

const BUILTIN: [(&str, &str); 2] = [("tiny", TINY), ("wide", WIDE)];

/// The built-in register file of this name.
pub fn builtin(name: &str) -> Option<RegisterFile> {
    let (_, text) = BUILTIN.iter().find(|(n, _)| *n == name)?;
    Some(parse_target(&mut Lines::new(text)).expect("the built-in files are well-formed"))
}

/// Reads the target section.
pub fn parse_target(lines: &mut Lines) -> Result<RegisterFile, ParseError> {
    let header = lines.next_line("`target`")?;
    match header.words[..] {
        ["target", name] => builtin(name).ok_or_else(|| header.error(Reason::unknown("built-in target", name))),
        ["target"] => {
            let mut file = RegisterFile::default();
            while let Some(line) = lines.next_unless("function") {
                file_line(&mut file, &line).map_err(|reason| line.error(reason))?;
            }
            Ok(file)
        }
        _ => Err(header.error(Reason::unexpected("`target` and at most one name", header.words[0]))),
    }
}

fn file_line(file: &mut RegisterFile, line: &Line) -> Result<(), Reason> {
    match line.words[..] {
        ["bank", name, swap] => {
            let swap = swap_support(swap)?;
            file.banks.push(BankInfo { name: name.to_string(), swap, beside: None });
        }
        ["bank", name, swap, "beside", other] => {
            let (swap, beside) = (swap_support(swap)?, Some(find_bank(file, other)?));
            file.banks.push(BankInfo { name: name.to_string(), swap, beside });
        }
        ["registers", "-", ref names @ ..] => add_registers(file, None, names)?,
        ["registers", bank, ref names @ ..] => add_registers(file, Some(find_bank(file, bank)?), names)?,
        ["class", name, bank, size, ref order @ ..] => add_class(file, name, bank, size, order)?,
        ["callee-saved", ref names @ ..] => file.callee_saved |= find_registers(file, names)?.into_iter().collect(),
        ["prefixed", ref names @ ..] => file.prefixed |= find_registers(file, names)?.into_iter().collect(),
        ["excluded", ref names @ ..] => file.excluded |= find_registers(file, names)?.into_iter().collect(),
        ["status", ref names @ ..] => file.status |= find_registers(file, names)?.into_iter().collect(),
        _ => return Err(Reason::unexpected("a line of a register file", line.words[0])),
    }
    Ok(())
}

fn add_registers(file: &mut RegisterFile, bank: Option<Bank>, names: &[&str]) -> Result<(), Reason> {
    for name in names {
        if file.by_name(name).is_some() {
            return Err(Reason::Twice { kind: "register", name: name.to_string() });
        }
        if file.regs.len() == RegSet::CAPACITY {
            return Err(Reason::TooManyRegisters);
        }
        file.regs.push(RegInfo { name: name.to_string(), bank });
    }
    Ok(())
}

fn add_class(file: &mut RegisterFile, name: &str, bank: &str, size: &str, order: &[&str]) -> Result<(), Reason> {
    if find_class(file, name).is_ok() {
        return Err(Reason::Twice { kind: "class", name: name.to_string() });
    }
    let bank = find_bank(file, bank)?;
    let sizes = size.split_once('/').and_then(|(size, align)| Some((parse_u32(size)?, parse_u32(align)?)));
    let (slot_size, slot_align) = sizes.ok_or_else(|| Reason::unexpected("slot size/alignment", size))?;
    let order = find_registers(file, order)?;
    let regs = order.iter().copied().collect();
    file.classes.push(ClassInfo { name: name.to_string(), bank, order, regs, slot_size, slot_align });
    Ok(())
}

pub fn find_register(file: &RegisterFile, name: &str) -> Result<Reg, Reason> {
    file.by_name(name).ok_or_else(|| Reason::unknown("register", name))
}

pub fn find_class(file: &RegisterFile, name: &str) -> Result<RegClass, Reason> {
    let mut classes = file.classes.iter();
    classes.find(|(_, c)| c.name == name).map(|(class, _)| class).ok_or_else(|| Reason::unknown("class", name))
}

fn find_registers(file: &RegisterFile, names: &[&str]) -> Result<Vec<Reg>, Reason> {
    names.iter().map(|name| find_register(file, name)).collect()
}

fn find_bank(file: &RegisterFile, name: &str) -> Result<Bank, Reason> {
    file.banks.iter().find(|(_, b)| b.name == name).map(|(bank, _)| bank).ok_or_else(|| Reason::unknown("bank", name))
}

fn swap_support(word: &str) -> Result<SwapSupport, Reason> {
    match word {
        "exchange" => Ok(SwapSupport::Exchange),
        "xor" => Ok(SwapSupport::Xor),
        "never" => Ok(SwapSupport::Never),
        _ => Err(Reason::unexpected("`exchange`, `xor` or `never`", word)),
    }
}

/// The target section; only its name if its content is that of a built-in file.
pub fn print_target(file: &RegisterFile) -> String {
    let text = Section(file).to_string();
    match BUILTIN.iter().find(|(_, builtin)| *builtin == text) {
        Some((name, _)) => format!("target {name}\n"),
        None => text,
    }
}

/// A register file written out in full.
struct Section<'a>(&'a RegisterFile);

impl fmt::Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.0;
        writeln!(f, "target")?;
        for bank in file.banks.values() {
            let swap = match bank.swap {
                SwapSupport::Exchange => "exchange",
                SwapSupport::Xor => "xor",
                SwapSupport::Never => "never",
            };
            let beside = bank.beside.map(|other| format!(" beside {}", file.banks[other].name)).unwrap_or_default();
            writeln!(f, "  bank {} {swap}{beside}", bank.name)?;
        }
        for run in file.regs.chunk_by(|a, b| a.bank == b.bank) {
            let bank = run[0].bank.map_or("-", |b| &file.banks[b].name);
            write_names(f, &format!("registers {bank}"), run.iter().map(|r| r.name.as_str()))?;
        }
        for class in file.classes.values() {
            let (name, bank) = (&class.name, &file.banks[class.bank].name);
            let head = format!("class {name} {bank} {}/{}", class.slot_size, class.slot_align);
            write_names(f, &head, class.order.iter().map(|&r| file.name(r)))?;
        }
        let sets = [
            ("callee-saved", file.callee_saved),
            ("prefixed", file.prefixed),
            ("excluded", file.excluded),
            ("status", file.status),
        ];
        for (head, set) in sets {
            if !set.is_empty() {
                write_names(f, head, set.iter().map(|r| file.name(r)))?;
            }
        }
        Ok(())
    }
}

fn write_names<'a>(f: &mut fmt::Formatter<'_>, head: &str, names: impl Iterator<Item = &'a str>) -> fmt::Result {
    write!(f, "  {head}")?;
    names.into_iter().try_for_each(|name| write!(f, " {name}"))?;
    writeln!(f)
}
