//! Divides code among functions.
//!
//! Every byte belongs to one function at most, so that nothing is counted twice:
//!
//! - Of several symbols at one address (aliases, complete and base object constructors), the largest gets the function;
//!   among equals a global one, then the first in the symbol table.
//! - A symbol inside another function is one more entry to that function.
//! - A symbol without a size extends to the next one, or to the end of its section.

use super::CountError;
use super::object_file::{ObjectFile, Section, Symbol};
use std::cmp::Reverse;
use std::ops::Range;

/// A part of a section.
#[derive(Clone, Copy)]
pub struct Extent<'s> {
    section: &'s Section<'s>,
    start: usize,
    end: usize,
}

/// The code of a function.
pub struct FunctionExtent<'s> {
    pub symbol: &'s Symbol,
    pub extent: Extent<'s>,
}

/// The code of a file, divided among its functions.
#[derive(Default)]
pub struct Extents<'s> {
    /// Sorted by section and address.
    pub functions: Vec<FunctionExtent<'s>>,
    /// The bytes between and after them.
    pub gaps: Vec<Extent<'s>>,
}

impl<'s> Extent<'s> {
    pub fn bytes(&self) -> &'s [u8] {
        &self.section.bytes[self.start..self.end]
    }

    /// Whether a linker still has to fill in some of these bytes, given as offsets in the extent.
    pub fn is_relocated(&self, bytes: Range<usize>) -> bool {
        let relocations = &self.section.relocations;
        let first = relocations.partition_point(|&offset| offset < (self.start + bytes.start) as u64);
        relocations.get(first).is_some_and(|&offset| offset < (self.start + bytes.end) as u64)
    }
}

impl<'s> Extents<'s> {
    /// # Errors
    /// If there is no function, or a function extends beyond its section.
    pub fn of(file: &'s ObjectFile<'_>) -> Result<Self, CountError> {
        let mut extents = Extents::default();
        for section in &file.sections {
            extents.divide(section)?;
        }
        if extents.functions.is_empty() { Err(CountError::NoFunctions) } else { Ok(extents) }
    }

    fn divide(&mut self, section: &'s Section<'_>) -> Result<(), CountError> {
        let mut symbols: Vec<&Symbol> = section.symbols.iter().collect();
        symbols.sort_by_key(|symbol| (symbol.address, Reverse(symbol.size), !symbol.global));
        let mut done = 0;
        for (index, symbol) in symbols.iter().enumerate() {
            let next = symbols[index..].iter().find(|next| next.address > symbol.address);
            let (start, end) = range(section, symbol, next.copied())?;
            if start < done || start == end {
                continue;
            }
            self.gap(Extent { section, start: done, end: start });
            self.functions.push(FunctionExtent { symbol, extent: Extent { section, start, end } });
            done = end;
        }
        self.gap(Extent { section, start: done, end: section.bytes.len() });
        Ok(())
    }

    fn gap(&mut self, gap: Extent<'s>) {
        if gap.start < gap.end {
            self.gaps.push(gap);
        }
    }
}

/// Where in its section a function begins and ends; `next` is the next symbol at a higher address.
fn range(section: &Section<'_>, symbol: &Symbol, next: Option<&Symbol>) -> Result<(usize, usize), CountError> {
    let length = section.bytes.len() as u64;
    let start = symbol.address.wrapping_sub(section.address);
    let end = match (symbol.size, next) {
        (0, Some(next)) => next.address.wrapping_sub(section.address),
        (0, None) => length,
        (size, _) => start.saturating_add(size),
    };
    if start > end || end > length {
        return Err(CountError::Damaged(format!("function {} is not within its section", symbol.name)));
    }
    Ok((start as usize, end as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::count::Machine;

    const BYTES: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn symbol(name: &str, address: u64, size: u64, global: bool) -> Symbol {
        Symbol { name: name.into(), address: address.wrapping_add(0x1000), size, global }
    }

    fn file(symbols: Vec<Symbol>) -> ObjectFile<'static> {
        let section = Section { address: 0x1000, bytes: &BYTES, relocations: vec![], symbols };
        ObjectFile { machine: Machine::X86_64, sections: vec![section] }
    }

    /// The functions with their first byte and length, and the lengths of the gaps.
    fn divided(symbols: Vec<Symbol>) -> (Vec<(String, u8, usize)>, Vec<usize>) {
        let file = file(symbols);
        let extents = Extents::of(&file).expect("there are functions");
        let place = |f: &FunctionExtent<'_>| (f.symbol.name.clone(), f.extent.bytes()[0], f.extent.bytes().len());
        let functions = extents.functions.iter().map(place).collect();
        (functions, extents.gaps.iter().map(|gap| gap.bytes().len()).collect())
    }

    #[test]
    fn gaps_are_what_no_function_covers() {
        let (functions, gaps) = divided(vec![symbol("b", 8, 4, true), symbol("a", 2, 3, false)]);
        assert_eq!(functions, [("a".into(), 2, 3), ("b".into(), 8, 4)]);
        assert_eq!(gaps, [2, 3, 4]);
    }

    #[test]
    fn aliases_are_counted_once() {
        let aliases = vec![symbol("local", 0, 8, false), symbol("first", 0, 8, true), symbol("second", 0, 8, true)];
        assert_eq!(divided(aliases).0, [("first".into(), 0, 8)]);
        let label = vec![symbol("label", 0, 0, true), symbol("function", 0, 8, false)];
        assert_eq!(divided(label).0, [("function".into(), 0, 8)]);
    }

    #[test]
    fn entries_belong_to_the_function_around_them() {
        let (functions, gaps) = divided(vec![symbol("f", 0, 16, true), symbol("entry", 4, 4, true), symbol("label", 6, 0, true)]);
        assert_eq!(functions, [("f".into(), 0, 16)]);
        assert!(gaps.is_empty());
    }

    #[test]
    fn symbols_without_size_reach_to_the_next() {
        let (functions, gaps) = divided(vec![symbol("a", 0, 0, true), symbol("b", 4, 2, true), symbol("c", 10, 0, true)]);
        assert_eq!(functions, [("a".into(), 0, 4), ("b".into(), 4, 2), ("c".into(), 10, 6)]);
        assert_eq!(gaps, [4]);
    }

    #[test]
    fn relocations_are_found_by_their_place_in_the_section() {
        let mut file = file(vec![symbol("f", 4, 8, true)]);
        file.sections[0].relocations = vec![1, 6, 12];
        let extent = Extents::of(&file).expect("there is a function").functions[0].extent;
        assert!(extent.is_relocated(1..3) && extent.is_relocated(2..3) && extent.is_relocated(0..8));
        assert!(!extent.is_relocated(0..2) && !extent.is_relocated(3..8));
    }

    #[test]
    fn functions_beyond_their_section_are_damage() {
        for damaged in [symbol("f", 8, 9, true), symbol("f", 0, u64::MAX, true), symbol("f", 17, 0, true)] {
            assert!(matches!(Extents::of(&file(vec![damaged])), Err(CountError::Damaged(_))));
        }
        assert!(matches!(Extents::of(&file(vec![symbol("f", u64::MAX, 1, true)])), Err(CountError::Damaged(_))));
    }

    #[test]
    fn code_without_functions_is_refused() {
        assert!(matches!(Extents::of(&file(vec![])), Err(CountError::NoFunctions)));
        assert!(matches!(Extents::of(&file(vec![symbol("end", 16, 0, true)])), Err(CountError::NoFunctions)));
    }
}
