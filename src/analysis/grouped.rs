//! Items, and lists of items, by a dense key; lists are all in one array (compressed sparse rows).

use cranelift_entity::{EntityRef, SecondaryMap};
use std::marker::PhantomData;
use std::ops::Range;

/// One item for each of so many keys. (A map with room for them would still be made larger key by key.)
pub(crate) fn of_each<K: EntityRef, V: Clone + Default>(keys: usize) -> SecondaryMap<K, V> {
    each(keys, V::default())
}

/// The same item for each of so many keys.
pub(crate) fn each<K: EntityRef, V: Clone>(keys: usize, item: V) -> SecondaryMap<K, V> {
    let mut map = SecondaryMap::with_default(item);
    map.resize(keys);
    map
}

/// For each key, a list of items.
#[derive(Clone)]
pub(crate) struct Grouped<K, T> {
    /// Key `k`'s items are `items[starts[k]..starts[k + 1]]`.
    starts: Vec<u32>,
    items: Vec<T>,
    key: PhantomData<K>,
}

/// Lists that are written one after the other, in any order of keys.
pub(crate) struct Lists<K: EntityRef, T> {
    items: Vec<T>,
    /// Of each key that has been written, where its items are.
    rows: SecondaryMap<K, Option<(u32, u32)>>,
}

impl<K: EntityRef, T: Copy> Lists<K, T> {
    pub(crate) fn new(keys: usize) -> Self {
        Lists { items: Vec::new(), rows: of_each(keys) }
    }

    /// Adds items to the list of a key that is new, or was written last. Answers the list.
    pub(crate) fn add(&mut self, key: K, items: impl IntoIterator<Item = T>) -> &mut [T] {
        let end = self.items.len() as u32;
        let (start, row_end) = self.rows[key].unwrap_or((end, end));
        debug_assert_eq!(row_end, end, "another list has been begun");
        self.items.extend(items);
        self.rows[key] = Some((start, self.items.len() as u32));
        &mut self.items[start as usize..]
    }

    /// Removes an item from the list that was written last.
    pub(crate) fn remove(&mut self, key: K, index: usize) {
        let (start, end) = self.rows[key].expect("the list has been written");
        debug_assert_eq!(end as usize, self.items.len(), "another list has been begun");
        self.items.remove(start as usize + index);
        self.rows[key] = Some((start, end - 1));
    }

    pub(crate) fn is_written(&self, key: K) -> bool {
        self.rows[key].is_some()
    }

    /// The key's items; none if nothing has been written.
    pub(crate) fn get(&self, key: K) -> &[T] {
        self.rows[key].map_or(&[], |(start, end)| &self.items[start as usize..end as usize])
    }
}

impl<K: EntityRef, T: Copy> Grouped<K, T> {
    /// Groups the pairs by key (keys are below `keys`), keeping their order within a group: a counting sort.
    pub(crate) fn new(keys: usize, pairs: &[(K, T)]) -> Self {
        Self::from_pairs(keys, pairs.iter().copied())
    }

    /// The same of pairs that are nowhere in one piece.
    pub(crate) fn from_pairs(keys: usize, pairs: impl Iterator<Item = (K, T)> + Clone) -> Self {
        let mut starts: Vec<u32> = vec![0; keys + 1];
        // Any item will do until each has found its place.
        let Some((_, any)) = pairs.clone().next() else {
            return Grouped { starts, items: Vec::new(), key: PhantomData };
        };
        for (key, _) in pairs.clone() {
            starts[key.index() + 1] += 1;
        }
        // Until all items have found their places, key `k`'s next one is at `starts[k + 1]`, and then its end.
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
