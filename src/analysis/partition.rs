use cranelift_entity::{EntityRef, PrimaryMap};

/// Entities partitioned into classes: union-find with path halving.
#[derive(Clone, Debug, Default)]
pub struct Partition<K: EntityRef> {
    parent: PrimaryMap<K, K>,
}

impl<K: EntityRef> Partition<K> {
    /// The first `count` entities, each in a class of its own.
    pub fn discrete(count: usize) -> Self {
        Partition { parent: (0..count).map(K::new).collect() }
    }

    /// Adds an entity, in a class of its own.
    pub fn add(&mut self) -> K {
        self.parent.push(self.parent.next_key())
    }

    /// The representative of the entity's class.
    pub fn find(&mut self, mut key: K) -> K {
        while self.parent[key] != key {
            self.parent[key] = self.parent[self.parent[key]];
            key = self.parent[key];
        }
        key
    }

    /// Merges the class of `child` into that of `root`, whose representative stays. Both must be representatives.
    pub fn attach(&mut self, child: K, root: K) {
        self.parent[child] = root;
    }
}
