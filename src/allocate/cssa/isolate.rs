//! Inserting the copies of Method I that could not be coalesced.

use super::{Conventional, ConversionCounts, Isolation, Web, Webs, is_entered_without_code};
use crate::machine::{Block, Function, InstKind, Operand, Phi, Point, RegClass, Rewriter, Value};
use cranelift_entity::packed_option::PackedOption;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A copy to insert: `to := from`.
struct InsertedCopy {
    at: Point,
    /// For an argument, at the end of a block; otherwise for a definition, at the head: heads come first.
    tail: bool,
    to: Value,
    from: Value,
}

/// Inserts the copies, to webs of this function or new ones.
pub(super) fn insert(function: &Function, webs: Webs, isolations: &[Isolation]) -> Conventional {
    let rewriter = Rewriter::new(function);
    let mut isolator = Isolator { function, rewriter, webs, alike: HashMap::new(), copies: Vec::new(), without_code: Vec::new() };
    // New names take the numbers of what stood for them.
    let own: Vec<Option<Web>> = isolations.iter().map(|it| isolator.webs.of[it.stand_in?].expand()).collect();
    for (isolation, own) in isolations.iter().zip(own) {
        isolator.isolate(isolation, own);
    }
    let Isolator { mut rewriter, webs, copies, without_code, .. } = isolator;
    write(function, &mut rewriter, copies);
    let counts = ConversionCounts::default();
    Conventional { function: rewriter.new, webs: webs.of, web_count: webs.count, without_code, counts }
}

/// What φs take over edges that can take no code: each argument by the point where it departs, and the class.
type Signature = (RegClass, Vec<(Point, PackedOption<Value>)>);

/// The web of φs with one signature.
struct Shared {
    web: Web,
    /// The copies of the arguments, in the order of the signature.
    copies: Vec<PackedOption<Value>>,
    /// The last block with a φ of the web; a second one there would be live together with the first.
    block: Block,
}

struct Isolator<'f> {
    function: &'f Function,
    rewriter: Rewriter<'f>,
    webs: Webs,
    /// What is computed goto in the program has, at each label, a φ for each variable, and all take the same values from the
    /// same jumps. They share the copies of their arguments, or there were as many at each jump as there are labels.
    alike: HashMap<Signature, Vec<Shared>>,
    copies: Vec<InsertedCopy>,
    without_code: Vec<Value>,
}

impl Isolator<'_> {
    /// Gives the φ its new names, of this web if it is there already, and lists the copies to them.
    fn isolate(&mut self, isolation: &Isolation, own: Option<Web>) {
        let &Isolation { block, row, whole, ref columns, .. } = isolation;
        let phi = &self.function.blocks[block].phis[row];
        let without_code = is_entered_without_code(self.function, block);
        let web = if without_code {
            self.copy_alike(block, row)
        } else {
            let web = match own {
                Some(own) => own,
                None if whole => self.webs.fresh(),
                None => self.webs.of[phi.def].expect("a φ's definition is in a web"),
            };
            for &column in columns {
                let copy = self.copy_argument(block, phi, column, web, without_code);
                self.rewriter.new.blocks[block].phis[row].args[column] = copy;
            }
            web
        };
        if whole {
            let from = self.name(self.function.values[phi.def].class, web, without_code);
            self.copies.push(InsertedCopy { at: self.function.head(block), tail: false, to: phi.def, from });
            self.rewriter.new.blocks[block].phis[row].def = from;
        }
    }

    /// Copies the arguments of a φ on edges that can take no code, unless one that takes the same has been there before.
    fn copy_alike(&mut self, block: Block, row: usize) -> Web {
        let data = &self.function.blocks[block];
        let phi = &data.phis[row];
        let mut columns: Vec<(Point, usize)> =
            data.preds.iter().enumerate().map(|(column, &pred)| (self.function.departure(pred, block), column)).collect();
        columns.sort_unstable();
        let args = columns.iter().map(|&(point, column)| (point, phi.args[column])).collect();
        let signature = (self.function.values[phi.def].class, args);
        let known = self.alike.get(&signature).and_then(|webs| webs.iter().position(|shared| shared.block != block));
        let place = known.unwrap_or_else(|| {
            let web = self.webs.fresh();
            let copies = columns.iter().map(|&(_, column)| self.copy_argument(block, phi, column, web, true)).collect();
            let webs = self.alike.entry(signature.clone()).or_default();
            webs.push(Shared { web, copies, block });
            webs.len() - 1
        });
        let shared = &mut self.alike.get_mut(&signature).expect("it is there by now")[place];
        shared.block = block;
        for (&copy, &(_, column)) in shared.copies.iter().zip(&columns) {
            self.rewriter.new.blocks[block].phis[row].args[column] = copy;
        }
        shared.web
    }

    /// The copy of a φ's argument, if it has one in this column.
    fn copy_argument(&mut self, block: Block, phi: &Phi, column: usize, web: Web, without_code: bool) -> PackedOption<Value> {
        let Some(from) = phi.args[column].expand() else { return None.into() };
        // A copy holds all of what it copies, also where the φ is narrower.
        let (narrow, wide) = (self.function.values[phi.def].class, self.function.values[from].class);
        let to = self.name(self.function.file.wider(narrow, wide), web, without_code);
        let at = self.function.departure(self.function.blocks[block].preds[column], block);
        self.copies.push(InsertedCopy { at, tail: true, to, from });
        to.into()
    }

    /// A new value of a web.
    fn name(&mut self, class: RegClass, web: Web, without_code: bool) -> Value {
        let value = self.rewriter.value(class);
        self.webs.of[value] = web.into();
        if without_code {
            self.without_code.push(value);
        }
        value
    }
}

/// Writes the function with the copies in their places.
fn write(function: &Function, rewriter: &mut Rewriter, mut copies: Vec<InsertedCopy>) {
    // Of the φs that take one value, the first one's copy comes last, so that the value's live range may end there: that
    // copy, which is the first one to be looked at, can be taken back.
    copies.sort_by_key(|copy| (copy.at, copy.tail.then_some(Reverse(copy.to))));
    let mut copies = copies.into_iter().peekable();
    let mut insert_up_to = |rewriter: &mut Rewriter, point: Point| {
        while let Some(copy) = copies.next_if(|copy| copy.at <= point) {
            rewriter.insert(InstKind::Copy, &[Operand::defining(copy.to), Operand::using(copy.from)]);
        }
    };
    for block in function.blocks.keys() {
        rewriter.begin(block);
        for (index, inst) in function.block_insts(block).enumerate() {
            insert_up_to(rewriter, Point { block, index: index as u32 });
            rewriter.copy(inst, function.operands(inst));
        }
        insert_up_to(rewriter, Point { block, index: function.blocks[block].insts.len() as u32 });
        rewriter.end();
    }
}
