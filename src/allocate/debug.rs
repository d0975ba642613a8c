//! Finds where the debugger's variables are.
//!
//! Phases know the name of a value that a debug use stands behind, but where a value is split, or in memory for a part of its life,
//! that name may be gone although its content is still somewhere: in its home, or in a register that nothing reads any more. The
//! checker knows all places that hold a value at a point.
//!
//! Requires: a correct overlay, in which some debug uses have no location.
//! Ensures: if any of those is of a live value, each has a location if some place holds its value; a register if one does. Nothing
//! else changes. (To follow values takes as long as to check them, and hardly any function has live ones that are lost.)

use crate::analysis::Liveness;
use crate::check::{self, Watcher, Whereabouts};
use crate::machine::{Block, DebugUse, Edit, Function, Inst, Location, Overlay, Point};

/// Finds the debug uses that have no location.
pub(super) fn locate(function: &Function, overlay: &mut Overlay) {
    if overlay.debug_locations.iter().all(Option::is_some) {
        return;
    }
    let live = Liveness::new(function).at_debug_uses(function);
    if !overlay.debug_locations.iter().zip(live).any(|(location, live)| live && location.is_none()) {
        return;
    }
    let mut search = Search { function, next: 0, found: vec![None; function.debug_uses.len()] };
    check::watch(function, overlay, &mut search);
    for (known, found) in overlay.debug_locations.iter_mut().zip(search.found) {
        *known = known.or(found);
    }
}

struct Search<'a> {
    function: &'a Function,
    /// The next debug use. (They are in the order of points.)
    next: usize,
    found: Vec<Option<Location>>,
}

impl Search<'_> {
    fn at(&mut self, whereabouts: Whereabouts<'_>, point: Point) {
        while let Some(&DebugUse { value, at }) = self.function.debug_uses.get(self.next).filter(|debug| debug.at <= point) {
            // One at a block without code is passed by.
            if at == point {
                let is_register = |place: &Location| matches!(place, Location::Reg(_));
                self.found[self.next] = whereabouts.of(value).max_by_key(is_register);
            }
            self.next += 1;
        }
    }
}

impl Watcher for Search<'_> {
    fn edit(&mut self, _: Whereabouts<'_>, _: &(Point, Edit)) {}

    fn inst(&mut self, whereabouts: Whereabouts<'_>, block: Block, inst: Inst) {
        let index = inst.as_u32() - self.function.blocks[block].insts.start;
        self.at(whereabouts, Point { block, index });
    }

    fn end(&mut self, whereabouts: Whereabouts<'_>, block: Block) {
        self.at(whereabouts, Point { block, index: self.function.blocks[block].insts.len() as u32 });
    }
}
