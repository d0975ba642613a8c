//! Looking up ascending values in an ascending list.

use crate::machine::Value;

/// Looks up values, each once and in ascending order, in an ascending list.
pub(in crate::allocate::spill) struct Ascending<'a> {
    values: &'a [Value],
    /// The number of list entries up to the value that was looked up last.
    passed: usize,
}

impl<'a> Ascending<'a> {
    pub(in crate::allocate::spill) fn new(values: &'a [Value]) -> Self {
        Ascending { values, passed: 0 }
    }

    /// The index of a value in the list, if it is there.
    pub(in crate::allocate::spill) fn index_of(&mut self, value: Value) -> Option<usize> {
        // Most of the time, it is the next one.
        if self.values.get(self.passed).is_some_and(|&next| next < value) {
            self.pass(value);
        }
        let index = self.passed;
        let is_there = self.values.get(index) == Some(&value);
        self.passed += usize::from(is_there);
        is_there.then_some(index)
    }

    pub(in crate::allocate::spill) fn contains(&mut self, value: Value) -> bool {
        self.index_of(value).is_some()
    }

    /// Passes all entries less than a value.
    fn pass(&mut self, value: Value) {
        let left = &self.values[self.passed..];
        // It is seldom far, so the search doubles its distance.
        let mut near = 1;
        while left.get(near).is_some_and(|&it| it <= value) {
            near *= 2;
        }
        self.passed += left[..left.len().min(near)].partition_point(|&it| it < value);
    }
}

#[cfg(test)]
mod tests {
    use super::Ascending;
    use crate::machine::Value;

    #[test]
    fn values_are_found_in_ascending_order() {
        let list = [1, 2, 5, 6, 7, 8, 20, 21].map(Value::from_u32);
        let mut ascending = Ascending::new(&list);
        let found = [0, 2, 3, 8, 9, 21, 22].map(|value| ascending.index_of(Value::from_u32(value)));
        assert_eq!(found, [None, Some(1), None, Some(5), None, Some(7), None]);
        assert!(!Ascending::new(&[]).contains(Value::from_u32(0)));
    }
}
