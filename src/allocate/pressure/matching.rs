//! Registers for all values at one instruction at once: a matching.

use crate::machine::{Reg, RegSet};
use smallvec::SmallVec;

/// When a register is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allocate) enum Span {
    /// While operands are read.
    Before,
    /// When definitions are written, and from then on.
    After,
    /// Throughout the instruction.
    Both,
}

impl Span {
    fn covers(self) -> [bool; 2] {
        [self != Span::After, self != Span::Before]
    }
}

/// A need for a register.
#[derive(Clone, Debug)]
pub(in crate::allocate) struct Want {
    pub(in crate::allocate) span: Span,
    /// The registers that will do.
    pub(in crate::allocate) domain: RegSet,
    /// The register in which the value is; staying costs nothing.
    pub(in crate::allocate) current: Option<Reg>,
    /// The registers of the domain in the order in which they are tried.
    pub(in crate::allocate) order: Order,
}

/// Registers, best first. Few classes have more than sixteen, which would take heap memory.
pub(in crate::allocate) type Order = SmallVec<[Reg; 16]>;

/// A matching in progress: which want has which register before and after.
#[derive(Clone)]
struct Matching {
    owner: [[Option<u16>; RegSet::CAPACITY]; 2],
    chosen: Vec<Option<Reg>>,
}

/// Finds a register for each want, such that no two have one register at one time; `None` if there is no way.
///
/// Wants that can stay where they are stay. Then those that span the whole instruction and have the fewest choices come
/// first, displacing others along augmenting paths (Kuhn's algorithm). Since a register has two halves, a displaced pair
/// needs two paths. So this is exact as long as the wants that span only one half are alike; otherwise a search finds the
/// rare solutions that augmenting paths miss.
pub(in crate::allocate) fn fit(wants: &[Want]) -> Option<Vec<Reg>> {
    augmented(wants).or_else(|| searched(wants))
}

/// Whether augmenting paths alone find a register for each want.
pub(in crate::allocate) fn fit_by_augmenting(wants: &[Want]) -> bool {
    augmented(wants).is_some()
}

fn augmented(wants: &[Want]) -> Option<Vec<Reg>> {
    let mut matching = Matching { owner: [[None; RegSet::CAPACITY], [None; RegSet::CAPACITY]], chosen: vec![None; wants.len()] };
    let mut rest = Vec::new();
    for (index, want) in wants.iter().enumerate() {
        match want.current.filter(|&reg| want.domain.contains(reg) && matching.is_free(want.span, reg)) {
            Some(reg) if want.span == Span::Both => matching.take(index, want.span, reg),
            _ => rest.push(index),
        }
    }
    rest.sort_by_key(|&index| (wants[index].span != Span::Both, wants[index].domain.len(), index));
    for index in rest {
        let want = &wants[index];
        let free = |reg: &Reg| want.domain.contains(*reg) && matching.is_free(want.span, *reg);
        match want.current.into_iter().chain(want.order.iter().copied()).find(free) {
            Some(reg) => matching.take(index, want.span, reg),
            None => matching.augment(wants, index, &mut { RegSet::EMPTY }).then_some(())?,
        }
    }
    matching.chosen.into_iter().collect()
}

/// Backtracks over all placements, the want with the fewest free registers first. It gives up after more steps than any
/// instruction was seen to need whose wants fit.
fn searched(wants: &[Want]) -> Option<Vec<Reg>> {
    const STEPS: u32 = 20_000;
    let mut matching = Matching { owner: [[None; RegSet::CAPACITY], [None; RegSet::CAPACITY]], chosen: vec![None; wants.len()] };
    matching.search(wants, &mut { STEPS }).then(|| matching.chosen.into_iter().flatten().collect())
}

impl Matching {
    fn search(&mut self, wants: &[Want], steps: &mut u32) -> bool {
        let free = |index: usize| -> Vec<Reg> {
            let want = &wants[index];
            want.order.iter().copied().filter(|&reg| want.domain.contains(reg) && self.is_free(want.span, reg)).collect()
        };
        let open = (0..wants.len()).filter(|&index| self.chosen[index].is_none());
        let Some((registers, index)) = open.map(|index| (free(index), index)).min_by_key(|(registers, _)| registers.len()) else {
            return true;
        };
        for reg in registers {
            *steps = steps.saturating_sub(1);
            self.take(index, wants[index].span, reg);
            if *steps > 0 && self.search(wants, steps) {
                return true;
            }
            self.release(index);
        }
        false
    }

    fn is_free(&self, span: Span, reg: Reg) -> bool {
        (0..2).all(|half| !span.covers()[half] || self.owner[half][reg.index()].is_none())
    }

    fn take(&mut self, index: usize, span: Span, reg: Reg) {
        for half in 0..2 {
            if span.covers()[half] {
                self.owner[half][reg.index()] = Some(index as u16);
            }
        }
        self.chosen[index] = Some(reg);
    }

    fn release(&mut self, index: usize) {
        if let Some(reg) = self.chosen[index].take() {
            for half in &mut self.owner {
                if half[reg.index()] == Some(index as u16) {
                    half[reg.index()] = None;
                }
            }
        }
    }

    /// Gives a want a register by moving others out of its way, without returning to the registers in `visited`.
    fn augment(&mut self, wants: &[Want], index: usize, visited: &mut RegSet) -> bool {
        let want = &wants[index];
        for &reg in &want.order {
            if visited.contains(reg) || !want.domain.contains(reg) {
                continue;
            }
            visited.insert(reg);
            let before = self.clone();
            let mut owners: Vec<u16> =
                (0..2).filter(|&half| want.span.covers()[half]).filter_map(|half| self.owner[half][reg.index()]).collect();
            owners.dedup();
            for &owner in &owners {
                self.release(usize::from(owner));
            }
            self.take(index, want.span, reg);
            if owners.iter().all(|&owner| self.place(wants, usize::from(owner), visited)) {
                return true;
            }
            *self = before;
        }
        false
    }

    fn place(&mut self, wants: &[Want], index: usize, visited: &mut RegSet) -> bool {
        let want = &wants[index];
        let free = |reg: &Reg| want.domain.contains(*reg) && self.is_free(want.span, *reg);
        match want.order.iter().copied().find(free) {
            Some(reg) => {
                self.take(index, want.span, reg);
                true
            }
            None => self.augment(wants, index, visited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(span: Span, registers: &[usize], current: Option<usize>) -> Want {
        let order: Order = registers.iter().map(|&r| Reg::new(r)).collect();
        Want { span, domain: order.iter().copied().collect(), current: current.map(Reg::new), order }
    }

    /// Whether some assignment of `wants` to their domains has no conflict, by trying them all.
    fn possible(wants: &[Want], chosen: &mut Vec<Reg>) -> bool {
        let Some(want) = wants.get(chosen.len()) else { return true };
        want.order.clone().into_iter().any(|reg| {
            let clash = chosen
                .iter()
                .zip(wants)
                .any(|(&other, w)| other == reg && (0..2).any(|half| w.span.covers()[half] && want.span.covers()[half]));
            if clash {
                return false;
            }
            chosen.push(reg);
            let found = possible(wants, chosen);
            chosen.pop();
            found
        })
    }

    #[test]
    fn what_can_stay_stays() {
        let wants = [want(Span::Both, &[0, 1], Some(1)), want(Span::After, &[0, 1], None)];
        assert_eq!(fit(&wants), Some(vec![Reg::new(1), Reg::new(0)]));
    }

    #[test]
    fn a_wide_value_makes_room_for_a_narrow_one() {
        let wants = [want(Span::Both, &[0, 1, 2], Some(0)), want(Span::After, &[0], None)];
        assert_eq!(fit(&wants).unwrap()[1], Reg::new(0));
    }

    #[test]
    fn a_dying_value_shares_with_a_definition() {
        let wants = [want(Span::Before, &[0], Some(0)), want(Span::After, &[0], None)];
        assert_eq!(fit(&wants), Some(vec![Reg::new(0), Reg::new(0)]));
    }

    #[test]
    fn agrees_with_exhaustive_search() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut fits, mut fails) = (0, 0);
        for _ in 0..20_000 {
            let count = 1 + random(5) as usize;
            let wants: Vec<Want> = (0..count)
                .map(|_| {
                    let span = [Span::Before, Span::After, Span::Both][random(3) as usize];
                    let registers: Vec<usize> = (0..4).filter(|_| random(2) == 0).collect();
                    want(span, &registers, None)
                })
                .collect();
            let expected = possible(&wants, &mut Vec::new());
            match fit(&wants) {
                Some(chosen) => {
                    assert!(expected);
                    for (i, a) in chosen.iter().enumerate() {
                        assert!(wants[i].domain.contains(*a));
                        for (j, b) in chosen.iter().enumerate().skip(i + 1) {
                            let together = (0..2).any(|h| wants[i].span.covers()[h] && wants[j].span.covers()[h]);
                            assert!(a != b || !together);
                        }
                    }
                    fits += 1;
                }
                None => {
                    assert!(!expected);
                    fails += 1;
                }
            }
        }
        assert!(fits > 1000 && fails > 1000);
    }
}
