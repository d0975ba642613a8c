//! The registers of what crosses edges that can take no code.

use super::matching::{Order, Span, Want};
use crate::analysis::{Bundles, Meeting};
use crate::machine::{Function, RegSet, Value};

/// What the terminators want beside what crosses a bundle: these registers are found together.
pub(in crate::allocate) fn read(function: &Function, meeting: &Meeting) -> Vec<Want> {
    let want = |&class| {
        let class = &function.file.classes[class];
        let domain = class.regs - meeting.occupied;
        Want { span: Span::Both, domain, current: None, order: Order::from_slice(&class.order) }
    };
    meeting.read.iter().map(want).collect()
}

/// The registers that a representative and what it stands for can all be in.
pub(in crate::allocate) fn domain(function: &Function, bundles: &Bundles, meeting: &Meeting, value: Value) -> RegSet {
    let related = bundles.related(value).iter();
    related.fold(function.allowed(value), |set, &other| set & function.allowed(other)) - meeting.occupied
}

/// One of these registers for what crosses.
pub(in crate::allocate) fn want(domain: RegSet, order: Order) -> Want {
    Want { span: Span::Both, domain, current: None, order }
}
