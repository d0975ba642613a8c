//! The values that allocators' switches can have, as the command line names them.

use crate::allocate::allocators::{AssignmentStrategy, Elimination, RegisterCoalescing};
use crate::allocate::assign::{BlockOrder, PinPolicy};
use crate::allocate::cssa::Coalescing;
use crate::allocate::destruct::{Merging, Notion, Source};
use crate::allocate::eliminate::SwapPolicy;
use crate::allocate::spill::strategies::{self, SpillStrategy};
use crate::allocate::spill::{Effort, LoadLowering};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A choice between a few possibilities.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Each with its name, and what it is in a line.
    const ALL: &[(Self, &str, &str)];

    /// American spellings, which are still understood, each with the name that it stands for.
    const AMERICAN: &[(&str, &str)] = &[];

    /// The name of the value in help texts.
    const PLACEHOLDER: &str = "HOW";

    /// The name on the command line.
    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(choice, ..)| *choice == self);
        found.expect("every choice has a name").1
    }

    /// The choice of this name, in either spelling.
    fn named(name: &str) -> Option<Self> {
        let british = Self::AMERICAN.iter().find(|(american, _)| *american == name).map_or(name, |(_, british)| british);
        Self::ALL.iter().find(|(_, own, _)| *own == british).map(|&(choice, ..)| choice)
    }

    /// How statistics write it.
    fn in_json(self) -> serde_json::Value {
        self.name().into()
    }
}

/// Reads the name of a choice.
pub fn parser<C: Choice>() -> impl TypedValueParser<Value = C> {
    let values = C::ALL.iter().map(|&(_, name, about)| {
        let american = C::AMERICAN.iter().filter(move |(_, british)| *british == name).map(|(american, _)| american);
        PossibleValue::new(name).help(about).aliases(american)
    });
    PossibleValuesParser::new(values).map(|given| C::named(&given).expect("other names are no possible values"))
}

impl Choice for bool {
    const ALL: &[(Self, &str, &str)] = &[(true, "on", "Yes"), (false, "off", "No")];
    const PLACEHOLDER: &str = "on|off";

    fn in_json(self) -> serde_json::Value {
        self.into()
    }
}

impl Choice for Elimination {
    const ALL: &[(Self, &str, &str)] = &[
        (Elimination::SpillFree, "spill-free", "Without moving memory to memory: phi-related values share a slot"),
        (Elimination::SpareRegister, "spare-register", "Memory moves through a register of each bank that is kept free for it"),
        (
            Elimination::OnDemand,
            "on-demand",
            "Memory moves through a register that is free, or is spilled for it; edges in an order that keeps one free",
        ),
        (
            Elimination::Brisk,
            "brisk",
            "Memory moves through a register that is free, or is spilled for it, all at one point (Brisk)",
        ),
    ];
}

impl Choice for SpillStrategy {
    const PLACEHOLDER: &str = "WHICH";
    const ALL: &[(Self, &str, &str)] = &SPILL_STRATEGIES;
}

const SPILL_STRATEGIES: [(SpillStrategy, &str, &str); strategies::ALL.len()] = {
    let mut rows = [(strategies::WEIGHT, "", ""); strategies::ALL.len()];
    let mut row = 0;
    while row < rows.len() {
        let strategy = strategies::ALL[row];
        rows[row] = (strategy, strategy.name, strategy.about);
        row += 1;
    }
    rows
};

/// The ways in which values related by φs come to share slots. The others are for variables that share registers.
impl Choice for Coalescing {
    const PLACEHOLDER: &str = "WHICH";
    const ALL: &[(Self, &str, &str)] = &[
        (Coalescing::Nothing, "none", "None: phi-lifting alone"),
        (Coalescing::PhiMem, "phi-mem", "Those whose two classes do not interfere, in the order of the phis (PhiMemCoalesce)"),
        (Coalescing::Pairwise, "pairwise", "Those of arguments that do not interfere with their phi's class (Budimlic)"),
        (Coalescing::ByPhi, "by-phi", "As pairwise, but all of a phi is isolated where some of it would not be enough"),
        (
            Coalescing::Value,
            "value",
            "Those whose two classes are not live together with different values (Boissinot and others)",
        ),
    ];
}

impl Choice for BlockOrder {
    const ALL: &[(Self, &str, &str)] = &[
        (BlockOrder::Frequency, "frequency", "In reverse postorder; values stay where the most frequent predecessor leaves them"),
        (
            BlockOrder::DominatorTree,
            "dominator-tree",
            "In preorder of the dominator tree; values stay where the immediate dominator leaves them",
        ),
    ];
}

/// The strategies that can follow when a program has left SSA form.
impl Choice for AssignmentStrategy {
    const AMERICAN: &[(&str, &str)] = &[("graph-coloring", "graph-colouring")];
    const ALL: &[(Self, &str, &str)] = &[
        (AssignmentStrategy::LinearScan, "linear-scan", "Linear scan, as linear-scan does it"),
        (
            AssignmentStrategy::GraphColouring,
            "graph-colouring",
            "Iterated register coalescing, as irc does it (George and Appel)",
        ),
    ];
}

impl Choice for Notion {
    const ALL: &[(Self, &str, &str)] = &[
        (Notion::Value, "value", "If they are live together, unless one is a copy of the other, however many copies lie between"),
        (Notion::Chaitin, "chaitin", "If they are live together, unless one is copied to the other (Chaitin)"),
        (Notion::Intersection, "intersection", "If they are live together"),
    ];
}

impl Choice for Source {
    const ALL: &[(Self, &str, &str)] = &[
        (Source::Check, "check", "Checked when it is asked for, by the loops around (Boissinot and others)"),
        (Source::Sets, "sets", "By sets of live variables, one a block"),
    ];
}

impl Choice for Merging {
    const ALL: &[(Self, &str, &str)] = &[
        (Merging::ByWeight, "weight", "One copy after the other, those first that are executed most"),
        (Merging::AtOnce, "at-once", "All at once; what interferes then is taken out again (Rastello)"),
    ];
}

impl Choice for LoadLowering {
    const ALL: &[(Self, &str, &str)] = &[
        (LoadLowering::Off, "off", "Never"),
        (LoadLowering::Counted, "on", "If its arguments' loads are more than its uses"),
        (
            LoadLowering::Weighted,
            "weighted",
            "If the loads and stores that it saves are executed more often than those that it costs",
        ),
    ];
}

impl Choice for RegisterCoalescing {
    const AMERICAN: &[(&str, &str)] = &[("recolor", "recolour")];
    const ALL: &[(Self, &str, &str)] = &[
        (RegisterCoalescing::Nothing, "none", "Colours are chosen without regard to copies"),
        (RegisterCoalescing::Preference, "preference", "Colours are chosen with regard to copies"),
        (RegisterCoalescing::Punctual, "punctual", "At each point, as little as possible is moved (Pereira and Palsberg)"),
        (
            RegisterCoalescing::Units,
            "units",
            "What a phi or a copy relates is recoloured together once all have registers (Hack, Grund and Goos; the lecture's)",
        ),
        (
            RegisterCoalescing::Chunks,
            "recolour",
            "All that copies relate is recoloured together once all have registers (Hack and Goos)",
        ),
        (
            RegisterCoalescing::Exchanges,
            "exchange",
            "After `recolour`, two registers change places along what copies relate, as long as that saves copies",
        ),
        (
            RegisterCoalescing::Optimal,
            "optimal",
            "After `exchange`, the cheapest colouring there is, by integer programming (Grund and Hack; not in every build)",
        ),
    ];
}

impl Choice for PinPolicy {
    const ALL: &[(Self, &str, &str)] = &[
        (PinPolicy::Avoid, "avoid", "Values are kept off registers that are occupied anywhere in their live range, or spilled"),
        (PinPolicy::Repair, "repair", "Values move to other registers when theirs is taken"),
        (
            PinPolicy::Hold,
            "hold",
            "As with `repair`; a value that is copied to a register of the program may be there itself as long as its copy is needed",
        ),
        (PinPolicy::Permute, "perm", "All live values may move before each instruction that takes registers (the lecture's)"),
    ];
}

impl Choice for Effort {
    const PLACEHOLDER: &str = "LEVEL";
    const ALL: &[(Self, &str, &str)] = &[
        (
            Effort::Least,
            "0",
            "Values take their places one after the other, and that is all; in large functions, blocks that are alike are decided about together",
        ),
        (
            Effort::Usual,
            "1",
            "Seven rounds of prices, twenty-four where loops are so hot that it matters, eighty where it still does; blocks as with 0",
        ),
        (Effort::More, "2", "Twenty-four rounds; every block is decided about"),
        (Effort::Most, "3", "Eighty rounds; every block is decided about"),
    ];
}

impl Choice for SwapPolicy {
    const ALL: &[(Self, &str, &str)] = &[
        (SwapPolicy::Auto, "auto", "By moves through a free register if there is one, else by swaps"),
        (SwapPolicy::Exchange, "xchg", "By exchange instructions; vectors, which have none, by three exclusive-ors"),
        (SwapPolicy::Xor, "xor", "By three exclusive-ors; by an exchange where they would overwrite live flags"),
    ];
}
