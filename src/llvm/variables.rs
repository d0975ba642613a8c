//! Functions before SSA form: LLVM IR as `clang -O0` writes it, where variables are in memory. And functions in SSA form as
//! they would be without, where what φs relate is one variable.

use super::module::Module;
use crate::machine::{Block, Edges, Unpromoted, Variable};
use cranelift_entity::EntityRef;
use inkwell::basic_block::BasicBlock;
use inkwell::llvm_sys::core::{
    LLVMGetNumOperands, LLVMGetNumSuccessors, LLVMGetOperand, LLVMGetSuccessor, LLVMIsAArgument, LLVMIsUndef,
};
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use inkwell::types::{AnyType, AnyTypeEnum};
use inkwell::values::{AsValueRef, BasicValue, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, PhiValue};
use std::collections::{BTreeMap, HashMap};

/// The functions that a module defines.
pub fn unpromoted(module: &Module) -> Vec<Unpromoted> {
    module.functions().map(|function| Reader::new(function).read(function)).collect()
}

/// The functions that a module defines, with a variable for each web of values that φs relate. (Where a variable is exposed
/// is not said.)
pub fn without_phis(module: &Module) -> Vec<Unpromoted> {
    module.functions().map(|function| Reader::new(function).read_webs(function)).collect()
}

struct Reader<'m> {
    /// The blocks in the order in which the entry reaches them first, which numbers them.
    blocks: Vec<BasicBlock<'m>>,
    number: HashMap<LLVMBasicBlockRef, Block>,
    graph: Edges,
}

impl<'m> Reader<'m> {
    fn new(function: FunctionValue<'m>) -> Self {
        let mut reader = Reader { blocks: Vec::new(), number: HashMap::new(), graph: Edges::default() };
        reader.number(function.get_first_basic_block().expect("the function is defined"));
        let mut edges = Vec::new();
        while let Some(&from) = reader.blocks.get(edges.len()) {
            let mut succs: Vec<Block> = successors(from).into_iter().map(|to| reader.number(to)).collect();
            succs.sort_unstable();
            succs.dedup();
            edges.push(succs);
        }
        reader.graph = Edges::new(edges);
        reader
    }

    fn number(&mut self, block: BasicBlock<'m>) -> Block {
        *self.number.entry(block.as_mut_ptr()).or_insert_with(|| {
            self.blocks.push(block);
            Block::new(self.blocks.len() - 1)
        })
    }

    fn read(self, function: FunctionValue<'m>) -> Unpromoted {
        let mut variables = Variables::new(self.blocks[0]);
        let mut phis = 0;
        for (number, block) in self.blocks.iter().enumerate() {
            for inst in block.get_instructions() {
                phis += usize::from(inst.get_opcode() == InstructionOpcode::Phi);
                variables.instruction(inst, Block::new(number));
            }
        }
        self.unpromoted(function, variables.promotable(), Vec::new(), phis)
    }

    /// Reads a function of which φs are variables.
    fn read_webs(self, function: FunctionValue<'m>) -> Unpromoted {
        let mut webs = Webs::default();
        for (number, block) in self.blocks.iter().enumerate() {
            for inst in block.get_instructions() {
                match PhiValue::try_from(inst) {
                    Ok(phi) => webs.relate(phi, &self.number),
                    Err(()) => webs.define(inst, Block::new(number)),
                }
            }
        }
        let (variables, temporaries) = webs.variables();
        self.unpromoted(function, variables, temporaries, 0)
    }

    fn unpromoted(
        self,
        function: FunctionValue<'m>,
        variables: Vec<Variable>,
        temporaries: Vec<Block>,
        phis: usize,
    ) -> Unpromoted {
        Unpromoted {
            name: function.get_name().to_string_lossy().into_owned(),
            graph: self.graph,
            block_names: self.blocks.iter().map(|block| block.get_name().to_string_lossy().into_owned()).collect(),
            variables,
            temporaries,
            phis,
        }
    }
}

/// The values that φs relate, while a function is being read.
#[derive(Default)]
struct Webs {
    /// A number for each value.
    index: HashMap<LLVMValueRef, usize>,
    /// For each value, another one of its web, or itself.
    parent: Vec<usize>,
    /// Whether the value is a φ, or the argument of one.
    related: Vec<bool>,
    /// The blocks in which values are assigned.
    assigned: Vec<(usize, Block)>,
}

impl Webs {
    fn number(&mut self, value: LLVMValueRef) -> usize {
        *self.index.entry(value).or_insert_with(|| {
            self.parent.push(self.parent.len());
            self.related.push(false);
            self.parent.len() - 1
        })
    }

    fn root(&mut self, mut value: usize) -> usize {
        while self.parent[value] != value {
            self.parent[value] = self.parent[self.parent[value]];
            value = self.parent[value];
        }
        value
    }

    /// Notes what an instruction defines. (The address of a variable in memory is no register.)
    fn define(&mut self, inst: InstructionValue, block: Block) {
        let is_value = !matches!(inst.get_type().as_any_type_enum(), AnyTypeEnum::VoidType(_));
        if is_value && inst.get_opcode() != InstructionOpcode::Alloca {
            let value = self.number(inst.as_value_ref());
            self.assigned.push((value, block));
        }
    }

    /// Unites a φ with its arguments. Constants are assigned where control comes from, parameters in the entry.
    fn relate(&mut self, phi: PhiValue, blocks: &HashMap<LLVMBasicBlockRef, Block>) {
        let web = self.number(phi.as_value_ref());
        self.related[web] = true;
        for (argument, from) in phi.get_incomings() {
            let Some(&from) = blocks.get(&from.as_mut_ptr()) else { continue };
            if argument.as_instruction_value().is_some() {
                let argument = self.number(argument.as_value_ref());
                self.related[argument] = true;
                let [web, argument] = [web, argument].map(|value| self.root(value));
                self.parent[argument] = web;
            } else if !is_undefined(argument.as_value_ref()) {
                self.assigned.push((web, if is_parameter(argument.as_value_ref()) { Block::new(0) } else { from }));
            }
        }
    }

    /// The webs, and the blocks of values that are in none.
    fn variables(mut self) -> (Vec<Variable>, Vec<Block>) {
        let mut blocks: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
        let mut temporaries = Vec::new();
        for (value, block) in std::mem::take(&mut self.assigned) {
            if self.related[value] {
                blocks.entry(self.root(value)).or_default().push(block);
            } else {
                temporaries.push(block);
            }
        }
        let variable = |mut assigned: Vec<Block>| {
            assigned.sort_unstable();
            assigned.dedup();
            Variable { name: String::new(), assigned, exposed: Vec::new() }
        };
        (blocks.into_values().map(variable).collect(), temporaries)
    }
}

/// The variables of the entry block, while those that can be promoted are being found.
struct Variables<'m> {
    index: HashMap<LLVMValueRef, usize>,
    allocas: Vec<InstructionValue<'m>>,
    variables: Vec<Option<Variable>>,
}

impl<'m> Variables<'m> {
    fn new(entry: BasicBlock<'m>) -> Self {
        let allocas: Vec<InstructionValue> =
            entry.get_instructions().filter(|inst| inst.get_opcode() == InstructionOpcode::Alloca).collect();
        let variable = |alloca: &InstructionValue| {
            let name = alloca.get_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Some(Variable { name, assigned: Vec::new(), exposed: Vec::new() })
        };
        Variables {
            index: allocas.iter().enumerate().map(|(index, alloca)| (alloca.as_value_ref(), index)).collect(),
            variables: allocas.iter().map(variable).collect(),
            allocas,
        }
    }

    /// Notes the accesses of an instruction to variables, and which variables it keeps in memory.
    fn instruction(&mut self, inst: InstructionValue, block: Block) {
        for (operand, value) in operands(inst).into_iter().enumerate() {
            let Some(&index) = self.index.get(&value) else { continue };
            let Some(variable) = &mut self.variables[index] else { continue };
            let written = variable.assigned.last() == Some(&block);
            match access(self.allocas[index], inst, operand) {
                Access::Load if !written && variable.exposed.last() != Some(&block) => variable.exposed.push(block),
                Access::Store if !written => variable.assigned.push(block),
                Access::Load | Access::Store | Access::Nothing => {}
                Access::Other => self.variables[index] = None,
            }
        }
    }

    fn promotable(self) -> Vec<Variable> {
        self.variables.into_iter().flatten().collect()
    }
}

/// How an instruction uses a variable that is one of its operands.
enum Access {
    Load,
    Store,
    /// It marks where the variable's life begins or ends.
    Nothing,
    /// A use that LLVM's isAllocaPromotable refuses, or that unoptimised code does not have.
    Other,
}

fn access(alloca: InstructionValue, inst: InstructionValue, operand: usize) -> Access {
    let variable = alloca.get_allocated_type().map(|variable| variable.as_any_type_enum());
    let whole = |accessed| inst.get_volatile() == Ok(false) && variable == Ok(accessed);
    match (inst.get_opcode(), operand) {
        (InstructionOpcode::Load, 0) if whole(inst.get_type()) => Access::Load,
        (InstructionOpcode::Store, 1) if stored_type(inst).is_some_and(whole) => Access::Store,
        (InstructionOpcode::Call, _) if is_lifetime_marker(inst) => Access::Nothing,
        _ => Access::Other,
    }
}

fn stored_type<'m>(store: InstructionValue<'m>) -> Option<AnyTypeEnum<'m>> {
    Some(store.get_operand(0)?.value()?.get_type().as_any_type_enum())
}

fn is_lifetime_marker(call: InstructionValue) -> bool {
    let called = CallSiteValue::try_from(call).ok().and_then(|call| call.get_called_fn_value());
    called.is_some_and(|called| called.get_name().to_bytes().starts_with(b"llvm.lifetime."))
}

/// The operands of all kinds, of which inkwell knows only some.
fn operands(inst: InstructionValue) -> Vec<LLVMValueRef> {
    let inst = inst.as_value_ref();
    // SAFETY: the instruction is alive, and has operands of these numbers.
    unsafe { (0..LLVMGetNumOperands(inst) as u32).map(|operand| LLVMGetOperand(inst, operand)).collect() }
}

fn is_undefined(value: LLVMValueRef) -> bool {
    // SAFETY: the value is alive.
    unsafe { LLVMIsUndef(value) != 0 }
}

fn is_parameter(value: LLVMValueRef) -> bool {
    // SAFETY: the value is alive.
    unsafe { !LLVMIsAArgument(value).is_null() }
}

fn successors(block: BasicBlock) -> Vec<BasicBlock> {
    let terminator = block.get_terminator().expect("the module is well-formed").as_value_ref();
    // SAFETY: the terminator is alive, and has successors of these numbers.
    let found = unsafe { (0..LLVMGetNumSuccessors(terminator)).map(|to| BasicBlock::new(LLVMGetSuccessor(terminator, to))) };
    found.map(|to| to.expect("a successor is a block")).collect()
}
