//! The sets of live values of all blocks, as [`super::Liveness`] builds and keeps them.
//!
//! They are built for 64 values at a time, one bit each. Where many values live long, this costs a fraction of what
//! collecting pairs of block and value would, and it never costs more. They are kept as ascending lists. Where lists are
//! long, blocks with equal sets share one: thousands of values that live through thousands of blocks are listed once rather
//! than once per block.

use super::grouped::of_each;
use crate::machine::{Block, Value};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::ops::Range;

/// Some values of a group, one bit each.
pub(super) type Bits = u64;

/// The number of values in a group; they have consecutive numbers.
pub(super) const GROUP: usize = Bits::BITS as usize;

/// Lists are shared if their average length is more than this. Below, finding out which sets are equal would cost more than
/// writing them.
const LONG: usize = 64;

/// The bit of a value in its group.
pub(super) fn bit(value: Value) -> Bits {
    1 << (value.index() % GROUP)
}

/// Sets of values, one for each block, under construction: one group of values after the other.
pub(super) struct Sets {
    /// For each block, its values in the current group.
    here: SecondaryMap<Block, Bits>,
    /// For one group after the other, the blocks that have values of it. The current group is at the end.
    blocks: Vec<Block>,
    /// For all earlier groups, the values of the corresponding block.
    bits: Vec<Bits>,
    /// For each earlier group, where its part of `blocks` and `bits` ends.
    ends: Vec<usize>,
}

impl Sets {
    pub(super) fn new(blocks: usize) -> Self {
        Sets { here: of_each(blocks), blocks: Vec::with_capacity(blocks), bits: Vec::with_capacity(blocks), ends: Vec::new() }
    }

    /// Adds values of the current group to a block's set. Returns those that are new in it.
    pub(super) fn add(&mut self, block: Block, bits: Bits) -> Bits {
        let here = &mut self.here[block];
        let new = bits & !*here;
        if *here == 0 && new != 0 {
            self.blocks.push(block);
        }
        *here |= new;
        new
    }

    /// Ends the current group.
    pub(super) fn end(&mut self) {
        for &block in &self.blocks[self.bits.len()..] {
            self.bits.push(std::mem::take(&mut self.here[block]));
        }
        self.ends.push(self.blocks.len());
    }

    /// The values of each block, ascending.
    pub(super) fn by_block(self, blocks: usize) -> LiveLists {
        let mut counts = vec![0; blocks];
        let mut len = 0;
        for (block, bits) in self.blocks.iter().zip(&self.bits) {
            counts[block.index()] += bits.count_ones();
            len += bits.count_ones() as usize;
        }
        if len <= LONG * blocks {
            let (mut lists, items) = laid_out(counts.into_iter());
            let items = self.fill(&mut lists, items, |_| true);
            return LiveLists { lists, items, starts: Vec::new(), len };
        }
        let listed_for = self.equal(blocks);
        let is_listed = |block: Block| listed_for[block.index()] == block;
        let own = counts.iter().zip(listed_for.iter().enumerate());
        let (mut lists, items) = laid_out(own.map(|(&count, (at, block))| if block.index() == at { count } else { 0 }));
        let items = self.fill(&mut lists, items, is_listed);
        let lists = listed_for.iter().map(|block| lists[block.index()].clone()).collect();
        let starts = counts.iter().scan(0, |end, &count| Some(std::mem::replace(end, *end + count as usize))).collect();
        LiveLists { lists, items, starts, len }
    }

    /// Writes the lists of those blocks that are listed. Their ranges are empty and have room after them.
    fn fill(&self, lists: &mut [Range<u32>], items: usize, is_listed: impl Fn(Block) -> bool) -> Vec<Value> {
        let mut items = vec![Value::new(0); items];
        for (group, range) in self.groups() {
            for at in range.filter(|&at| is_listed(self.blocks[at])) {
                let end = &mut lists[self.blocks[at].index()].end;
                for bit in ones(self.bits[at]) {
                    items[*end as usize] = Value::new(group * GROUP + bit);
                    *end += 1;
                }
            }
        }
        items
    }

    /// The groups, each with its range of `blocks` and `bits`.
    fn groups(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end).enumerate()
    }

    /// For each block, the first block that is found to have an equal set.
    ///
    /// Blocks are partitioned into classes, which each group refines: blocks of a class stay together if they have the same
    /// values in the group, and follow each other in its list, as neighbours usually do. Some equal sets are therefore not
    /// found, which costs no more than the space of their lists.
    fn equal(&self, blocks: usize) -> Vec<Block> {
        /// The values of a group that a block of the class was last found to have, and the class of such blocks from then
        /// on. The default is no values, which no block in a group's list has.
        #[derive(Clone, Copy, Default)]
        struct Part {
            group: usize,
            bits: Bits,
            class: usize,
        }
        let mut class_of = vec![0; blocks];
        let mut parts = vec![Part::default()];
        for (group, range) in self.groups() {
            for (block, &bits) in self.blocks[range.clone()].iter().zip(&self.bits[range]) {
                let class = &mut class_of[block.index()];
                let part = &mut parts[*class];
                if (part.group, part.bits) == (group, bits) {
                    *class = part.class;
                } else {
                    let new = parts.len();
                    parts[std::mem::replace(class, new)] = Part { group, bits, class: new };
                    parts.push(Part::default());
                }
            }
        }
        let mut first = vec![None; parts.len()];
        let blocks = class_of.into_iter().enumerate();
        blocks.map(|(block, class)| *first[class].get_or_insert(Block::new(block))).collect()
    }
}

/// The values of each block, ascending.
#[derive(Debug)]
pub(super) struct LiveLists {
    /// Where each block's values are in `items`. Blocks may share a range.
    lists: Vec<Range<u32>>,
    items: Vec<Value>,
    /// If blocks share ranges: where each block's values would begin if none did. Otherwise empty.
    starts: Vec<usize>,
    len: usize,
}

impl LiveLists {
    pub(super) fn get(&self, block: Block) -> &[Value] {
        let list = &self.lists[block.index()];
        &self.items[list.start as usize..list.end as usize]
    }

    /// Where a block's values would be if the lists of all blocks followed each other.
    pub(super) fn range(&self, block: Block) -> Range<usize> {
        let list = &self.lists[block.index()];
        let start = self.starts.get(block.index()).map_or(list.start as usize, |&start| start);
        start..start + list.len()
    }

    /// The number of values of all blocks together.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Replaces the lists of some blocks. `ends` names the blocks, ascending, each with the end of its list, ascending, in
    /// `values`.
    pub(super) fn replace(&mut self, values: &[Value], ends: &[(Block, usize)]) {
        if ends.is_empty() {
            return;
        }
        let replaced: usize = ends.iter().map(|&(block, _)| self.lists[block.index()].len()).sum();
        self.len = self.len + values.len() - replaced;
        let mut others = ends.iter().scan(0, |start, &(block, end)| Some((block, std::mem::replace(start, end)..end))).peekable();
        if self.starts.is_empty() {
            let mut items = Vec::with_capacity(self.len);
            for (index, list) in self.lists.iter_mut().enumerate() {
                let start = items.len() as u32;
                match others.next_if(|(block, _)| block.index() == index) {
                    Some((_, range)) => items.extend_from_slice(&values[range]),
                    None => items.extend_from_slice(&self.items[list.start as usize..list.end as usize]),
                }
                *list = start..items.len() as u32;
            }
            self.items = items;
        } else {
            // Other blocks may share the old lists, so these stay where they are.
            let before = self.items.len() as u32;
            self.items.extend_from_slice(values);
            others.for_each(|(block, it)| self.lists[block.index()] = before + it.start as u32..before + it.end as u32);
            let lengths = self.lists.iter().scan(0, |end, list| Some(std::mem::replace(end, *end + list.len())));
            self.starts = lengths.collect();
        }
    }
}

/// Equality of the sets, no matter which lists are shared.
impl PartialEq for LiveLists {
    fn eq(&self, other: &Self) -> bool {
        let said = |lists: &LiveLists, block: usize| (lists.range(Block::new(block)), lists.get(Block::new(block)).to_vec());
        self.lists.len() == other.lists.len() && (0..self.lists.len()).all(|block| said(self, block) == said(other, block))
    }
}

/// Empty ranges with room for `counts` items each, one after the other; and the total.
fn laid_out(counts: impl Iterator<Item = u32>) -> (Vec<Range<u32>>, usize) {
    let mut end = 0;
    let lists = counts.map(|count| {
        let start = end;
        end += count;
        start..start
    });
    (lists.collect(), end as usize)
}

/// The numbers of the bits that are set, ascending.
fn ones(mut bits: Bits) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each block, the set of those of three hundred values for which the rule holds.
    fn sets(blocks: usize, is_in: impl Fn(usize, usize) -> bool) -> LiveLists {
        let mut sets = Sets::new(blocks);
        for group in (0..300).collect::<Vec<usize>>().chunks(GROUP) {
            for block in 0..blocks {
                for &value in group.iter().filter(|&&value| is_in(block, value)) {
                    sets.add(Block::new(block), bit(Value::new(value)));
                }
            }
            sets.end();
        }
        sets.by_block(blocks)
    }

    fn check(lists: &LiveLists, blocks: usize, is_in: impl Fn(usize, usize) -> bool) {
        let mut end = 0;
        for block in 0..blocks {
            let expected: Vec<Value> = (0..300).filter(|&value| is_in(block, value)).map(Value::new).collect();
            assert_eq!(lists.get(Block::new(block)), expected);
            assert_eq!(lists.range(Block::new(block)), end..end + expected.len());
            end += expected.len();
        }
        assert_eq!(lists.len(), end);
    }

    #[test]
    fn short_lists_are_not_shared() {
        let is_in = |block: usize, value: usize| value % 16 == block % 4;
        let lists = sets(8, is_in);
        check(&lists, 8, is_in);
        assert!(lists.starts.is_empty());
    }

    #[test]
    fn blocks_of_equal_long_sets_share_a_list() {
        let is_in = |block: usize, value: usize| block != 3 && value != 5 + (block / 4) * 100;
        let lists = sets(12, is_in);
        check(&lists, 12, is_in);
        assert_eq!(lists.items.len(), 3 * 299);
    }

    #[test]
    fn some_lists_are_replaced_shared_or_not() {
        for (blocks, is_long) in [(8, false), (12, true)] {
            let is_in = |block: usize, value: usize| if is_long { value != 5 + block / 4 } else { value % 16 == block % 4 };
            let mut lists = sets(blocks, is_in);
            lists.replace(&[1, 7, 2].map(Value::new), &[(Block::new(2), 2), (Block::new(5), 3)]);
            check(&lists, blocks, |block, value| match block {
                2 => value == 1 || value == 7,
                5 => value == 2,
                _ => is_in(block, value),
            });
        }
    }

    #[test]
    fn sets_that_differ_in_one_group_are_apart_again() {
        // Sets that differ in a value of the first group and in the last group; block 2 has an empty one.
        let is_in = |block: usize, value: usize| block != 2 && value != block % 3 && (value < 256 || block.is_multiple_of(2));
        let lists = sets(30, is_in);
        check(&lists, 30, is_in);
    }
}
