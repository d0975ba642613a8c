//! Results of phases and of the pipeline, as text.

use super::presets::spill_free;
use chordal::allocate::allocators::Preset;
use chordal::allocate::dump::edit;
use chordal::allocate::eliminate::SwapPolicy;
use chordal::allocate::pipeline::{Report, allocate};
use chordal::allocate::spill::Spilled;
use chordal::machine::{Edit, Function, Inst, Location, Overlay, Point, Value, print};
use cranelift_entity::EntityRef;

pub fn v(index: usize) -> Value {
    Value::new(index)
}

/// The blocks of the text form, without the parts that no phase changes.
pub fn blocks(function: &Function) -> String {
    let text = print(function);
    let start = text.find("\nb0:").expect("every function has an entry") + 1;
    text[start..].replace(" origin=none", "").lines().map(|line| without_origin(line) + "\n").collect()
}

fn without_origin(line: &str) -> String {
    line.split(' ').filter(|word| !word.starts_with("origin=")).collect::<Vec<_>>().join(" ")
}

/// An allocation that the checker accepts, with a policy for swaps.
pub fn allocated(function: &Function, swap: SwapPolicy) -> (Overlay, Report) {
    let preset = Preset { swap, ..spill_free() };
    allocate(function, preset).unwrap_or_else(|failure| panic!("{failure}\n{}", print(function)))
}

/// Edits in the form `b1.0 move b a`, target first.
pub fn edits(function: &Function, overlay: &Overlay) -> Vec<String> {
    let line = |(at, change): &(Point, Edit)| format!("{}.{} {}", at.block, at.index, edit(&function.file, change));
    overlay.edits.iter().map(line).collect()
}

/// The registers of an instruction's operands.
pub fn registers(function: &Function, overlay: &Overlay, inst: usize) -> Vec<String> {
    let name = |location: &Option<Location>| match location {
        Some(Location::Reg(reg)) => function.file.name(*reg).to_string(),
        Some(Location::Slot(slot)) => slot.to_string(),
        None => "nowhere".to_string(),
    };
    overlay.operands(function, Inst::new(inst)).iter().map(name).collect()
}

pub fn spilled_values(spilled: &Spilled) -> Vec<Value> {
    spilled.memory.slot_of.iter().filter(|(_, slot)| slot.is_some()).map(|(value, _)| value).collect()
}
