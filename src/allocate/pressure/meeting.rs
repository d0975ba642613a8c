//! The registers of values that cross edges which can take no code.

use super::matching::{Order, Span, Want};
use crate::analysis::{Bundles, Meeting};
use crate::machine::{Function, RegSet, Value};

/// The wants of the terminators that compete with the values that cross a bundle. Registers for both are found together.
pub(in crate::allocate) fn read(function: &Function, meeting: &Meeting) -> Vec<Want> {
    let want = |&class| {
        let class = &function.file.classes[class];
        let domain = class.regs - meeting.occupied;
        Want { span: Span::Both, domain, current: None, order: Order::from_slice(&class.order) }
    };
    meeting.read.iter().map(want).collect()
}

/// The registers that a representative and all values that it stands for can be in.
pub(in crate::allocate) fn domain(function: &Function, bundles: &Bundles, meeting: &Meeting, value: Value) -> RegSet {
    let related = bundles.related(value).iter();
    related.fold(function.allowed(value), |set, &other| set & function.allowed(other)) - meeting.occupied
}

/// The want of a value that crosses: one of these registers.
pub(in crate::allocate) fn want(domain: RegSet, order: Order) -> Want {
    Want { span: Span::Both, domain, current: None, order }
}
