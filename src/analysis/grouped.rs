//! Lists of items by a dense key, all in one array (compressed sparse rows).

use cranelift_entity::EntityRef;
use std::marker::PhantomData;
use std::ops::Range;

/// For each key, a list of items.
#[derive(Clone)]
pub(crate) struct Grouped<K, T> {
    /// Key `k`'s items are `items[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    items: Vec<T>,
    key: PhantomData<K>,
}

impl<K: EntityRef, T: Copy> Grouped<K, T> {
    /// Groups the pairs by key (keys are below `keys`), keeping their order within a group: a counting sort.
    pub(crate) fn new(keys: usize, pairs: &[(K, T)]) -> Self {
        Self::from_pairs(keys, pairs.iter().copied())
    }

    /// The same of pairs that are nowhere in one piece.
    pub(crate) fn from_pairs(keys: usize, pairs: impl Iterator<Item = (K, T)> + Clone) -> Self {
        let mut starts = vec![0u32; keys + 1];
        for (key, _) in pairs.clone() {
            starts[key.index() + 1] += 1;
        }
        for k in 0..keys {
            starts[k + 1] += starts[k];
        }
        let mut next = starts.clone();
        // Any items will do until each has found its place.
        let mut items = pairs.clone().next().map_or_else(Vec::new, |(_, item)| vec![item; next[keys] as usize]);
        for (key, item) in pairs {
            let at = &mut next[key.index()];
            items[*at as usize] = item;
            *at += 1;
        }
        Grouped { starts, items, key: PhantomData }
    }

    /// What it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.items[..])
    }

    pub(crate) fn get(&self, key: K) -> &[T] {
        &self.items[self.range(key)]
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many items all keys have together.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Where a key's items are among all items.
    pub(crate) fn range(&self, key: K) -> Range<usize> {
        self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize
    }
}
