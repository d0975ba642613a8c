//! Reads assembly (AT&T syntax), and reports uses of registers that an allocator was not to use.
//!
//! Such registers still occur: they carry arguments and results, and some instructions take no others. But then the ABI or a
//! fixed operand has put the value there, or takes it from there. If instead one instruction names the register as its
//! destination and another names it as a source, these are a value's definition and use, and the register was the
//! allocator's choice. So:
//!
//! - If an instruction names an excluded register as its destination, no instruction may name it as a source, unless a call
//!   reads it in the end: LLVM's late copy propagation gives that register to a value that is copied to an argument.
//! - No instruction may modify such a register in place, except for sums into which LLVM takes an address computation apart
//!   late.
//!
//! A frame pointer is not a general-purpose register. Inline assembly may do anything.

use std::collections::BTreeMap;

/// The families of general-purpose registers, by their names for 64, 32, 16 and 8 bits.
const FAMILIES: [&[&str]; 15] = [
    &["rax", "eax", "ax", "al", "ah"],
    &["rbx", "ebx", "bx", "bl", "bh"],
    &["rcx", "ecx", "cx", "cl", "ch"],
    &["rdx", "edx", "dx", "dl", "dh"],
    &["rsi", "esi", "si", "sil"],
    &["rdi", "edi", "di", "dil"],
    &["rbp", "ebp", "bp", "bpl"],
    &["r8", "r8d", "r8w", "r8b"],
    &["r9", "r9d", "r9w", "r9b"],
    &["r10", "r10d", "r10w", "r10b"],
    &["r11", "r11d", "r11w", "r11b"],
    &["r12", "r12d", "r12w", "r12b"],
    &["r13", "r13d", "r13w", "r13b"],
    &["r14", "r14d", "r14w", "r14b"],
    &["r15", "r15d", "r15w", "r15b"],
];
const FRAME_POINTER: &str = "rbp";

/// The 64-bit name of a register's family, without the `%`.
fn family(name: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|names| names.contains(&name)).map(|names| names[0])
}

/// The families that the list of `count` registers leaves out, which is as `chordal list` shows it.
pub fn excluded(target: &str, count: &str) -> Vec<&'static str> {
    let kept: &[&str] = match (target, count) {
        ("-m64", "4") => &["rax", "rcx", "rbx", "rbp"],
        ("-m64", "8") => &["rax", "rcx", "rdx", "rsi", "rbx", "rbp", "r12", "r13"],
        ("-m64", "12") => &["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "rbx", "rbp", "r12", "r13", "r14"],
        ("-m32", "5") => &["rax", "rcx", "rdx", "rbx", "rsi"],
        ("-m32", "6") => &["rax", "rcx", "rdx", "rbx", "rsi", "rdi"],
        _ => panic!("no list of {count} registers for {target}"),
    };
    FAMILIES.iter().map(|names| names[0]).filter(|name| !kept.contains(name)).collect()
}

/// Where a register's content came from.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    /// From the ABI or a fixed operand, since the last label.
    Fixed,
    /// From an instruction that names the register.
    Chosen,
    /// From before the last label.
    Old,
}

/// The instructions that break the rule, one line each.
pub fn breaches(assembly: &str, excluded: &[&str]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut function = Function::default();
    for line in assembly.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            function.pass_label();
            if !label.starts_with(".L") {
                breaches.append(&mut function.breaches);
                function = Function::new(label, excluded);
            }
        } else if ["#APP", "#NO_APP"].contains(&line) {
            function.in_assembly = line == "#APP";
            function.pass_label();
        } else if !function.in_assembly && !line.starts_with(['.', '#']) {
            function.step(&Instruction::parse(line), line);
        }
    }
    function.pass_label();
    breaches.append(&mut function.breaches);
    breaches
}

#[derive(Default)]
struct Function {
    name: String,
    content: BTreeMap<&'static str, Content>,
    in_assembly: bool,
    /// The destination of the previous instruction, if that computes an address.
    address: Option<&'static str>,
    /// Instructions that read a register whose content may yet turn out to be an argument of a call.
    pending: Vec<(&'static str, String)>,
    breaches: Vec<String>,
}

impl Function {
    fn new(name: &str, excluded: &[&str]) -> Self {
        let content = excluded.iter().filter_map(|name| Some((family(name)?, Content::Fixed))).collect();
        Function { name: name.into(), content, ..Function::default() }
    }

    fn pass_label(&mut self) {
        self.content.values_mut().for_each(|content| *content = Content::Old);
        self.address = None;
        self.condemn(|_| true);
    }

    /// Declares pending reads of these registers breaches of the rule.
    fn condemn(&mut self, registers: impl Fn(&str) -> bool) {
        for (register, line) in self.pending.extract_if(.., |(register, _)| registers(register)) {
            self.breaches.push(format!("{}: {register}: {line}", self.name));
        }
    }

    fn step(&mut self, instruction: &Instruction, line: &str) {
        if instruction.makes_frame_pointer() {
            self.content.remove(FRAME_POINTER);
        }
        for (&register, &content) in &self.content {
            let reads = instruction.sources.contains(&register);
            let sum = self.address == Some(register) && instruction.starts_with(&["add", "inc", "dec"]);
            if instruction.updated.contains(&register) && !sum || content == Content::Old && reads && !instruction.is_move() {
                self.breaches.push(format!("{}: {register}: {line}", self.name));
            } else if content == Content::Chosen && reads {
                self.pending.push((register, line.to_owned()));
            }
        }
        let fixed_operands = instruction.fixed_operands();
        self.pending.retain(|(register, _)| !fixed_operands.contains(register));
        for register in fixed_operands {
            self.content.entry(register).and_modify(|content| *content = Content::Fixed);
        }
        if let Some(register) = instruction.destination {
            self.condemn(|condemned| condemned == register);
            self.content.entry(register).and_modify(|content| *content = Content::Chosen);
        }
        self.address = instruction.destination.filter(|_| instruction.starts_with(&["lea"]));
    }
}

/// An instruction, in its effects on general-purpose registers.
struct Instruction {
    mnemonic: String,
    /// The families that it reads, including those in addresses.
    sources: Vec<&'static str>,
    destination: Option<&'static str>,
    /// The families that it reads and then writes.
    updated: Vec<&'static str>,
    operands: Vec<String>,
}

impl Instruction {
    fn parse(line: &str) -> Self {
        let mut text = line.split(" #").next().unwrap_or_default().trim();
        for prefix in ["lock", "rep;", "repne;", "notrack"] {
            text = text.strip_prefix(prefix).unwrap_or(text).trim_start();
        }
        let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands = operands(rest);
        let mut instruction = Instruction {
            mnemonic: mnemonic.into(),
            sources: Vec::new(),
            destination: None,
            updated: Vec::new(),
            operands: operands.clone(),
        };
        if instruction.is_string_operation() {
            return instruction;
        }
        let Some((last, others)) = operands.split_last() else { return instruction };
        instruction.sources = others.iter().flat_map(|operand| registers(operand)).collect();
        let plain = last.strip_prefix('%').and_then(family);
        match plain {
            Some(register) if instruction.writes_last() && others.len() <= 1 && instruction.clears(last) => {
                instruction.sources.clear();
                instruction.destination = Some(register);
            }
            Some(register) if instruction.writes_last() => {
                instruction.destination = Some(register);
                if !instruction.overwrites_last() {
                    instruction.updated.push(register);
                }
            }
            _ => instruction.sources.extend(registers(last)),
        }
        if instruction.starts_with(&["xchg", "xadd"]) {
            instruction.updated.extend(operands.iter().filter_map(|operand| operand.strip_prefix('%').and_then(family)));
        }
        instruction
    }

    fn starts_with(&self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.mnemonic.starts_with(prefix))
    }

    /// Whether it is a string operation, which prints its fixed operands.
    fn is_string_operation(&self) -> bool {
        self.operands.iter().any(|operand| operand.starts_with("%es:(")) || self.starts_with(&["lods", "outs"])
    }

    fn is_move(&self) -> bool {
        ["movq", "movl", "movw", "movb"].contains(&self.mnemonic.as_str())
    }

    fn writes_last(&self) -> bool {
        let single = self.operands.len() == 1;
        let reads = ["cmp", "test", "push", "call", "j", "bt", "ucomis", "comis", "vucomis", "vcomis", "prefetch"];
        let fixed = single && self.starts_with(&["div", "idiv", "mul", "imul"]);
        !fixed && (!self.starts_with(&reads) || self.starts_with(&["cmpxchg", "btc", "btr", "bts"]))
    }

    /// Whether the last operand is written without being read.
    fn overwrites_last(&self) -> bool {
        let pure = [
            "mov", "lea", "pop", "set", "bsf", "bsr", "tzcnt", "lzcnt", "cvt", "vcvt", "pmovmsk", "vpmovmsk", "vmov", "pextr",
            "vpextr", "kmov", "rdtsc",
        ];
        self.starts_with(&pure) || self.operands.len() >= 3 && !self.starts_with(&["shld", "shrd"])
    }

    /// Whether the instruction makes its last operand zero or -1, whatever it was.
    fn clears(&self, last: &str) -> bool {
        self.starts_with(&["xor", "sub", "sbb"]) && self.operands.first().is_some_and(|first| first == last)
    }

    fn makes_frame_pointer(&self) -> bool {
        self.is_move() && self.operands.iter().map(String::as_str).eq(["%rsp", "%rbp"])
            || self.is_move() && self.operands.iter().map(String::as_str).eq(["%esp", "%ebp"])
    }

    /// The families that the instruction reads or writes without naming them.
    fn fixed_operands(&self) -> &'static [&'static str] {
        let single = self.operands.len() <= 1;
        let leaves = self.mnemonic == "jmp" && self.operands.iter().all(|target| !target.starts_with(".L"));
        if leaves || self.starts_with(&["call"]) {
            &["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"]
        } else if self.is_string_operation() {
            &["rcx", "rsi", "rdi"]
        } else if self.starts_with(&["cpuid", "rdtsc", "cmpxchg8b", "cmpxchg16b"]) {
            &["rax", "rbx", "rcx", "rdx"]
        } else if self.starts_with(&["ret", "cltd", "cqto", "cltq", "cwtl", "cwtd", "cmpxchg"])
            || single && self.starts_with(&["div", "idiv", "mul", "imul"])
        {
            &["rax", "rdx"]
        } else {
            &[]
        }
    }
}

/// The operands of an instruction, split at commas outside of parentheses.
fn operands(text: &str) -> Vec<String> {
    let (mut operands, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 => operands.push(String::new()),
            _ => {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                operands.last_mut().expect("there is one").push(letter);
            }
        }
    }
    operands.into_iter().map(|operand| operand.trim().to_owned()).filter(|operand| !operand.is_empty()).collect()
}

/// The families of all registers in an operand.
fn registers(operand: &str) -> impl Iterator<Item = &'static str> {
    operand.split('%').skip(1).filter_map(|rest| family(rest.split(|letter: char| !letter.is_alphanumeric()).next()?))
}
