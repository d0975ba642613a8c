//! Insertion of the copies that could not be coalesced.
//!
//! φs on edges without code need special care. All of their arguments are copied, since they must be in one place with the
//! φ; and φs that take the same values share these copies.

use super::{Conventional, ConversionCounts, Isolation, Web, Webs, is_entered_without_code};
use crate::machine::{Block, Function, InstKind, Operand, Phi, Point, RegClass, Rewriter, Value};
use cranelift_entity::packed_option::PackedOption;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A copy to insert.
struct InsertedCopy {
    at: Point,
    /// Whether it is the copy of an argument, where control departs. Otherwise it is that of a definition, at the head of a
    /// block. At one point, the latter come first.
    tail: bool,
    to: Value,
    from: Value,
}

/// Inserts the copies. The new names join webs that there are, or form new ones.
pub(super) fn insert(function: &Function, webs: Webs, isolations: &[Isolation]) -> Conventional {
    let rewriter = Rewriter::new(function);
    let mut isolator =
        Isolator { function, rewriter, webs, shared_webs: HashMap::new(), copies: Vec::new(), without_code: Vec::new() };
    // Stand-ins are numbered beyond the function's values, and new names are about to take these numbers.
    let own: Vec<Option<Web>> = isolations.iter().map(|it| isolator.webs.of[it.stand_in?].expand()).collect();
    for (isolation, own) in isolations.iter().zip(own) {
        isolator.isolate(isolation, own);
    }
    let Isolator { mut rewriter, webs, copies, without_code, .. } = isolator;
    write(function, &mut rewriter, copies);
    let counts = ConversionCounts::default();
    Conventional { function: rewriter.new, webs: webs.of, web_count: webs.count, without_code, counts }
}

/// The signature of φs on edges without code: their class, and each argument with the point at which it departs.
type Signature = (RegClass, Vec<(Point, PackedOption<Value>)>);

/// A web of φs that have the same signature.
struct SharedWeb {
    web: Web,
    /// The copies of the arguments, in the order of the signature.
    copies: Vec<PackedOption<Value>>,
    /// The last block with a φ of the web. A second φ there would be live together with the first, so it needs another web.
    block: Block,
}

struct Isolator<'f> {
    function: &'f Function,
    rewriter: Rewriter<'f>,
    webs: Webs,
    /// The webs of φs on edges without code. A computed goto gives every label a φ for each variable, and the φs of all
    /// labels take the same values from the same jumps. If they did not share the copies of their arguments, each jump would
    /// have as many copies of each variable as there are labels.
    shared_webs: HashMap<Signature, Vec<SharedWeb>>,
    copies: Vec<InsertedCopy>,
    without_code: Vec<Value>,
}

impl Isolator<'_> {
    /// Gives a φ its new names, and lists their copies. `own` is the web of its stand-in, if it has one.
    fn isolate(&mut self, isolation: &Isolation, own: Option<Web>) {
        let &Isolation { block, row, with_definition, ref columns, .. } = isolation;
        let phi = &self.function.blocks[block].phis[row];
        let without_code = is_entered_without_code(self.function, block);
        let web = if without_code {
            self.share_copies(block, row)
        } else {
            let web = match own {
                Some(own) => own,
                None if with_definition => self.webs.fresh(),
                None => self.webs.of[phi.def].expect("a φ's definition is in a web"),
            };
            for &column in columns {
                let copy = self.copy_argument(block, phi, column, web, without_code);
                self.rewriter.new.blocks[block].phis[row].args[column] = copy;
            }
            web
        };
        if with_definition {
            let from = self.name(self.function.values[phi.def].class, web, without_code);
            self.copies.push(InsertedCopy { at: self.function.head(block), tail: false, to: phi.def, from });
            self.rewriter.new.blocks[block].phis[row].def = from;
        }
    }

    /// Copies the arguments of a φ on edges without code, unless they were copied for a φ with the same signature. Returns
    /// its web.
    fn share_copies(&mut self, block: Block, row: usize) -> Web {
        let data = &self.function.blocks[block];
        let phi = &data.phis[row];
        let mut columns: Vec<(Point, usize)> =
            data.preds.iter().enumerate().map(|(column, &pred)| (self.function.departure(pred, block), column)).collect();
        columns.sort_unstable();
        let args = columns.iter().map(|&(point, column)| (point, phi.args[column])).collect();
        let signature = (self.function.values[phi.def].class, args);
        let known = self.shared_webs.get(&signature).and_then(|webs| webs.iter().position(|shared| shared.block != block));
        let place = known.unwrap_or_else(|| {
            let web = self.webs.fresh();
            let copies = columns.iter().map(|&(_, column)| self.copy_argument(block, phi, column, web, true)).collect();
            let webs = self.shared_webs.entry(signature.clone()).or_default();
            webs.push(SharedWeb { web, copies, block });
            webs.len() - 1
        });
        let shared = &mut self.shared_webs.get_mut(&signature).expect("it is there by now")[place];
        shared.block = block;
        for (&copy, &(_, column)) in shared.copies.iter().zip(&columns) {
            self.rewriter.new.blocks[block].phis[row].args[column] = copy;
        }
        shared.web
    }

    /// Copies the argument of a φ in this column, if it is defined there, and returns the copy.
    fn copy_argument(&mut self, block: Block, phi: &Phi, column: usize, web: Web, without_code: bool) -> PackedOption<Value> {
        let Some(from) = phi.args[column].expand() else { return None.into() };
        // A copy holds the whole of its source, even if the φ is narrower.
        let (narrow, wide) = (self.function.values[phi.def].class, self.function.values[from].class);
        let to = self.name(self.function.file.wider(narrow, wide), web, without_code);
        let at = self.function.departure(self.function.blocks[block].preds[column], block);
        self.copies.push(InsertedCopy { at, tail: true, to, from });
        to.into()
    }

    /// Makes a new value in a web.
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
    // If several φs take one value, the copy for the first φ comes last, so that the value's live range may end there. That
    // copy is the first that [`phi_mem`](super::phi_mem) looks at, and it can then be taken back.
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
