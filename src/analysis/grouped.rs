//! Maps from dense keys to items, and to lists of items that are stored in one array (compressed sparse rows).

use cranelift_entity::{EntityRef, SecondaryMap};
use std::marker::PhantomData;
use std::ops::Range;

/// A map with the default item for each of `keys` keys. (`SecondaryMap::with_capacity` would still grow key by key.)
pub(crate) fn of_each<K: EntityRef, V: Clone + Default>(keys: usize) -> SecondaryMap<K, V> {
    each(keys, V::default())
}

/// A map with this item for each of `keys` keys.
pub(crate) fn each<K: EntityRef, V: Clone>(keys: usize, item: V) -> SecondaryMap<K, V> {
    let mut map = SecondaryMap::with_default(item);
    map.resize(keys);
    map
}

/// A list of items for each key, built from all pairs at once.
#[derive(Clone)]
pub(crate) struct Grouped<K, T> {
    /// The items of key `k` are `items[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    items: Vec<T>,
    key: PhantomData<K>,
}

/// A list of items for each key, written one after the other, in any order of keys.
pub(crate) struct Lists<K: EntityRef, T> {
    items: Vec<T>,
    /// For each key whose list has been written: where its items begin and end.
    rows: SecondaryMap<K, Option<(u32, u32)>>,
}

impl<K: EntityRef, T: Copy> Lists<K, T> {
    pub(crate) fn new(keys: usize) -> Self {
        Lists { items: Vec::new(), rows: of_each(keys) }
    }

    /// Adds items to the list of a key that has none yet, or whose list was written last. Returns the list.
    pub(crate) fn add(&mut self, key: K, items: impl IntoIterator<Item = T>) -> &mut [T] {
        let end = self.items.len() as u32;
        let (start, row_end) = self.rows[key].unwrap_or((end, end));
        debug_assert_eq!(row_end, end, "another list has been begun");
        self.items.extend(items);
        self.rows[key] = Some((start, self.items.len() as u32));
        &mut self.items[start as usize..]
    }

    /// Removes an item from the list, which must be the one written last.
    pub(crate) fn remove(&mut self, key: K, index: usize) {
        let (start, end) = self.rows[key].expect("the list has been written");
        debug_assert_eq!(end as usize, self.items.len(), "another list has been begun");
        self.items.remove(start as usize + index);
        self.rows[key] = Some((start, end - 1));
    }

    pub(crate) fn is_written(&self, key: K) -> bool {
        self.rows[key].is_some()
    }

    /// The key's items; empty if none have been written.
    pub(crate) fn get(&self, key: K) -> &[T] {
        self.rows[key].map_or(&[], |(start, end)| &self.items[start as usize..end as usize])
    }
}

impl<K: EntityRef, T: Copy> Grouped<K, T> {
    /// Groups the pairs by key (all below `keys`), keeping their order within a group: a counting sort.
    pub(crate) fn new(keys: usize, pairs: &[(K, T)]) -> Self {
        Self::from_pairs(keys, pairs.iter().copied())
    }

    /// As [`Self::new`], for pairs that are not in one slice.
    pub(crate) fn from_pairs(keys: usize, pairs: impl Iterator<Item = (K, T)> + Clone) -> Self {
        let mut starts: Vec<u32> = vec![0; keys + 1];
        // A placeholder for each item until it is placed.
        let Some((_, any)) = pairs.clone().next() else {
            return Grouped { starts, items: Vec::new(), key: PhantomData };
        };
        for (key, _) in pairs.clone() {
            starts[key.index() + 1] += 1;
        }
        // While items are being placed, `starts[k + 1]` is where the next one of key `k` goes; at the end, it is where they
        // end.
        let mut total = 0;
        for count in &mut starts[1..] {
            total += std::mem::replace(count, total);
        }
        let mut items = vec![any; total as usize];
        for (key, item) in pairs {
            let next = &mut starts[key.index() + 1];
            items[*next as usize] = item;
            *next += 1;
        }
        Grouped { starts, items, key: PhantomData }
    }

    /// The size of the lists in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.items[..])
    }

    pub(crate) fn get(&self, key: K) -> &[T] {
        &self.items[self.range(key)]
    }

    pub(crate) fn keys(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of items of all keys together.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The positions of a key's items among all items.
    pub(crate) fn range(&self, key: K) -> Range<usize> {
        self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize
    }
}
