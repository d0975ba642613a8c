//! The switches that chordal's allocators are made of: each once, with its name, its values and the allocators that read it.
//!
//! The options of the command line, `chordal list`, the options in statistics and the tests' variants are made from this table.
//! An option is one switch, or several that belong together; `--set NAME=VALUE` reaches each by itself.

use super::choices::{self, Choice};
use super::option_error::OptionError;
use crate::allocate::allocators::{AssignmentStrategy, DominanceOrder, Preset};
use crate::allocate::cssa::Coalescing;
use crate::allocate::destruct;
use crate::allocate::spill::strategies;
use clap::builder::{TypedValueParser as _, ValueParser};
use std::time::Duration;

/// A choice that an allocator makes.
pub struct Switch {
    pub name: &'static str,
    /// The American spelling of the name, which statistics keep.
    american: Option<&'static str>,
    pub about: &'static str,
    readers: Readers,
    /// Whether statistics state it only of allocators that read it. (They have always stated the others of all.)
    stated_if_read: bool,
    setting: &'static dyn Setting,
}

/// The allocators that read a switch. The others do the same whatever it says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    All,
    DominanceOrder,
    LoadLowering,
    StoreHoisting,
    SplitRanges,
    Prices,
    Solver,
    Destruction,
}

/// How a switch is read from, and written to, an allocator's choices.
trait Setting: Sync {
    fn get(&self, preset: &Preset) -> String;
    fn get_json(&self, preset: &Preset) -> serde_json::Value;
    /// Sets a value that [`Self::canonical`] knows. Does nothing if the allocator has no such choice.
    fn set(&self, preset: &mut Preset, value: &str);
    /// The name of a value, if it is one.
    fn canonical(&self, value: &str) -> Option<String>;
    /// The names of all values; none if they are numbers.
    fn values(&self) -> Vec<&'static str>;
    fn parser(&self) -> ValueParser;
    fn placeholder(&self) -> &'static str;
}

/// One of a few values.
struct OneOf<C> {
    get: fn(&Preset) -> C,
    set: fn(&mut Preset, C),
}

impl<C: Choice> Setting for OneOf<C> {
    fn get(&self, preset: &Preset) -> String {
        (self.get)(preset).name().into()
    }

    fn get_json(&self, preset: &Preset) -> serde_json::Value {
        (self.get)(preset).in_json()
    }

    fn set(&self, preset: &mut Preset, value: &str) {
        (self.set)(preset, C::named(value).expect("it is a value's name"));
    }

    fn canonical(&self, value: &str) -> Option<String> {
        C::named(value).map(|choice| choice.name().into())
    }

    fn values(&self) -> Vec<&'static str> {
        C::ALL.iter().map(|&(_, name, _)| name).collect()
    }

    fn parser(&self) -> ValueParser {
        choices::parser::<C>().map(|choice| choice.name().to_owned()).into()
    }

    fn placeholder(&self) -> &'static str {
        C::PLACEHOLDER
    }
}

/// The time that integer programs of one function may take.
struct SolverSeconds;

impl Setting for SolverSeconds {
    fn get(&self, preset: &Preset) -> String {
        preset.spill.solver.as_secs().to_string()
    }

    fn get_json(&self, preset: &Preset) -> serde_json::Value {
        preset.spill.solver.as_secs().into()
    }

    fn set(&self, preset: &mut Preset, value: &str) {
        preset.spill.solver = Duration::from_secs(value.parse().expect("it is a number"));
    }

    fn canonical(&self, value: &str) -> Option<String> {
        value.parse::<u32>().ok().filter(|&seconds| seconds > 0).map(|seconds| seconds.to_string())
    }

    fn values(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn parser(&self) -> ValueParser {
        clap::value_parser!(u32).range(1..).map(|seconds: u32| seconds.to_string()).into()
    }

    fn placeholder(&self) -> &'static str {
        "SECONDS"
    }
}

/// An option of the command line.
pub enum CliOption {
    /// A switch.
    Single(Switch),
    /// Several on|off switches, of which each value of the option turns on the first few.
    Levels { name: &'static str, about: &'static str, levels: &'static [Level], switches: &'static [Switch] },
    /// Several switches, as NAME=VALUE.
    Keys { name: &'static str, about: &'static str, switches: &'static [Switch] },
    /// Switches that `--set` alone knows.
    Unlisted(&'static [Switch]),
}

/// A value of [`CliOption::Levels`].
pub struct Level {
    pub name: &'static str,
    /// How many of the switches are on.
    pub on: usize,
    pub about: &'static str,
}

/// A switch whose place among an allocator's choices is a field.
macro_rules! field {
    ($($field:ident).+) => {
        &OneOf { get: |preset| preset.$($field).+, set: |preset, value| preset.$($field).+ = value }
    };
}

/// A switch whose place is a field of [`DominanceOrder`].
macro_rules! order_field {
    ($get:ident: $($field:ident).+) => {
        &OneOf { get: |preset| preset.assignment.$get(), set: |preset, value| in_order(preset, |order| order.$($field).+ = value) }
    };
}

/// A switch whose place is a field of [`destruct::Policy`].
macro_rules! destruction_field {
    ($field:ident) => {
        &OneOf {
            get: |preset| destruction(preset).$field,
            set: |preset, value| {
                if let Coalescing::Destruction(policy) = &mut preset.coalescing {
                    policy.$field = value;
                }
            },
        }
    };
}

/// A switch, all of it stated.
const fn switch(name: &'static str, readers: Readers, setting: &'static dyn Setting, about: &'static str) -> Switch {
    Switch { name, american: None, about, readers, stated_if_read: false, setting }
}

/// All options, in the order in which the help shows them.
pub static OPTIONS: &[CliOption] = &[
    CliOption::Single(
        switch(
            "spill",
            Readers::DominanceOrder,
            &OneOf {
                get: |preset| preset.assignment.spilling().unwrap_or(strategies::WEIGHT),
                set: |preset, value| in_order(preset, |order| order.spilling = value),
            },
            "Which values are spilled",
        )
        .stated_if_read(),
    ),
    CliOption::Single(
        switch("effort", Readers::Prices, field!(spill.effort), "How long prices look for something better").stated_if_read(),
    ),
    CliOption::Single(
        switch(
            "solver-seconds",
            Readers::Solver,
            &SolverSeconds,
            "How long integer programs of one function may take, in spilling and in coalescing",
        )
        .stated_if_read(),
    ),
    CliOption::Single(switch(
        "rematerialise",
        Readers::All,
        field!(spill.rematerialise),
        "Whether constants and addresses are computed again instead of being spilled",
    )),
    CliOption::Levels {
        name: "memory-operands",
        about: "Which instructions access memory themselves, in place of a load or a store",
        levels: &[
            Level { name: "none", on: 0, about: "Copies only" },
            Level { name: "spilled", on: 1, about: "Those that read spilled values, or change them" },
            Level { name: "all", on: 2, about: "Also those that read arguments on the stack and constants in memory" },
        ],
        switches: &[
            switch(
                "fold",
                Readers::All,
                field!(spill.fold),
                "Whether instructions read spilled operands directly from memory, or change them there",
            ),
            switch(
                "read-in-place",
                Readers::SplitRanges,
                field!(spill.read_in_place),
                "Whether instructions read arguments on the stack, and constants in memory, from there",
            ),
        ],
    },
    CliOption::Levels {
        name: "prepare",
        about: "How the program is changed before allocation",
        levels: &[
            Level { name: "none", on: 0, about: "Not at all" },
            Level { name: "copies", on: 1, about: "Values are read in place of their copies" },
            Level {
                name: "all",
                on: 5,
                about: "Also, values wait in excluded registers, and instructions move and get other forms to save copies and \
                        registers",
            },
        ],
        switches: &[
            switch(
                "merge-copies",
                Readers::All,
                field!(merge_copies),
                "Whether values are read in place of their copies, and constants computed where they are copied to",
            ),
            switch(
                "park",
                Readers::All,
                field!(park),
                "Whether values wait in registers that --registers excludes, where the program has put them or needs them",
            ),
            switch(
                "sink",
                Readers::All,
                field!(sink),
                "Whether two-address instructions move past the other uses of the value that they overwrite",
            ),
            switch(
                "delay",
                Readers::All,
                field!(delay),
                "Whether computations move down to the first use of their result where registers are scarce",
            ),
            switch(
                "forms",
                Readers::All,
                field!(forms),
                "Whether two-address instructions get other forms (operands exchanged, three addresses) where that saves a copy",
            ),
        ],
    },
    CliOption::Levels {
        name: "splits",
        about: "Which values have several names, which recolouring can give different registers",
        levels: &[
            Level { name: "none", on: 0, about: "Those only that assignment moves" },
            Level {
                name: "all",
                on: 2,
                about: "Also those that a two-address instruction overwrites, and arguments that cannot stay where they come in",
            },
        ],
        switches: &[
            switch(
                "split-ties",
                Readers::DominanceOrder,
                order_field!(split_ties: assign.split_ties),
                "Whether the value that a two-address instruction overwrites has another name for its later uses",
            ),
            switch(
                "split-arguments",
                Readers::DominanceOrder,
                order_field!(split_arguments: assign.split_arguments),
                "Whether an argument has another name from where it cannot stay in the register that it comes in, if control seldom \
                 comes there",
            ),
        ],
    },
    CliOption::Keys {
        name: "phi-memory",
        about: "What phis do with memory",
        switches: &[
            switch(
                "eliminate",
                Readers::DominanceOrder,
                order_field!(elimination: elimination),
                "How phis between values in memory are eliminated. All but spill-free give each value a slot of its own, and imply \
                 --spill weight where live ranges would be split",
            ),
            switch(
                "store-hoist",
                Readers::StoreHoisting,
                field!(spill.store_hoist),
                "Whether a phi's argument that goes to memory is stored once, after its definition",
            ),
            switch(
                "load-lower",
                Readers::LoadLowering,
                field!(spill.load_lower),
                "When a phi whose arguments are in memory is put there too, and loaded before its uses",
            ),
            switch(
                "memory-coalesce",
                Readers::All,
                field!(spill.memory_coalesce),
                "Whether copies from a spill slot to the same slot are dropped",
            ),
        ],
    },
    CliOption::Single(switch(
        "share-slots",
        Readers::All,
        field!(spill.share_slots),
        "Whether spilled values that are not live at once share a slot, if no phi relates them",
    )),
    CliOption::Single(
        switch(
            "cssa",
            Readers::DominanceOrder,
            &OneOf {
                get: |preset| preset.coalescing,
                set: |preset, value| {
                    if preset.assignment.dominance_order().is_some() {
                        preset.coalescing = value;
                    }
                },
            },
            "Which copies that isolate phis are taken back, so that values related by a phi can share one slot",
        )
        .stated_if_read(),
    ),
    CliOption::Single(switch(
        "pins",
        Readers::DominanceOrder,
        order_field!(pins: assign.pins),
        "What happens to values whose registers are taken by calls, the ABI or instructions",
    )),
    CliOption::Single(switch(
        "coalesce",
        Readers::DominanceOrder,
        &OneOf {
            get: |preset| preset.assignment.coalescing(),
            set: |preset, value| in_order(preset, |order| order.coalesce(value)),
        },
        "How copies between registers disappear",
    )),
    CliOption::Single(switch(
        "swap",
        Readers::DominanceOrder,
        field!(swap),
        "How registers trade contents when a parallel copy forms a cycle",
    )),
    CliOption::Keys {
        name: "out-of-ssa",
        about: "How the program leaves SSA form before allocation, and what allocates registers then",
        switches: &[
            switch(
                "after",
                Readers::Destruction,
                &OneOf {
                    get: |preset| preset.assignment,
                    set: |preset, value| {
                        if matches!(preset.coalescing, Coalescing::Destruction(_)) {
                            preset.assignment = value;
                        }
                    },
                },
                "What allocates registers then",
            )
            .stated_if_read(),
            switch(
                "interference",
                Readers::Destruction,
                destruction_field!(notion),
                "When two variables interfere, so that they cannot be one",
            )
            .stated_if_read(),
            switch(
                "virtualise",
                Readers::Destruction,
                destruction_field!(virtualize),
                "Whether copies that isolate phis are inserted only if they stay",
            )
            .in_american("virtualize")
            .stated_if_read(),
            switch(
                "liveness",
                Readers::Destruction,
                destruction_field!(liveness),
                "How it is found out whether a variable is live somewhere",
            )
            .stated_if_read(),
            switch(
                "merge",
                Readers::Destruction,
                destruction_field!(merging),
                "In which order copies' two sides become one variable",
            )
            .stated_if_read(),
        ],
    },
    CliOption::Unlisted(&[
        switch(
            "block-order",
            Readers::DominanceOrder,
            order_field!(block_order: assign.order),
            "In which order blocks get registers, and from where the values that are live into a block come",
        )
        .stated_if_read(),
        switch(
            "weigh-size",
            Readers::All,
            field!(spill.weigh_size),
            "Whether instructions cost a little however seldom they are executed and however little they do",
        ),
        switch(
            "spare-jumps",
            Readers::All,
            field!(spare_jumps),
            "Whether copies avoid edges on which they would need a block of their own, and a jump, where that costs less",
        ),
        switch(
            "register-slots",
            Readers::All,
            field!(register_slots),
            "Whether what is spilled goes to free registers of another bank (masks of AVX-512 to general registers), not to memory",
        ),
        switch(
            "separate-saves",
            Readers::All,
            field!(separate_saves),
            "Whether each callee-saved register is saved for itself, where that costs less, and not by the prologue",
        ),
    ]),
];

/// All switches.
pub fn switches() -> impl Iterator<Item = &'static Switch> {
    OPTIONS.iter().flat_map(CliOption::switches)
}

fn in_order(preset: &mut Preset, change: impl FnOnce(&mut DominanceOrder)) {
    if let Some(order) = preset.assignment.dominance_order_mut() {
        change(order);
    }
}

fn destruction(preset: &Preset) -> destruct::Policy {
    match preset.coalescing {
        Coalescing::Destruction(policy) => policy,
        _ => destruct::Policy::REFINED,
    }
}

impl CliOption {
    /// The allocators that read its switches, in words; nothing if all do, or one switch has other readers than another.
    pub fn condition(&self) -> Option<&'static str> {
        let condition = self.switches()[0].condition();
        condition.filter(|_| self.switches().iter().all(|switch| switch.condition() == condition))
    }

    pub fn switches(&self) -> &[Switch] {
        match self {
            CliOption::Single(switch) => std::slice::from_ref(switch),
            CliOption::Levels { switches, .. } | CliOption::Keys { switches, .. } | CliOption::Unlisted(switches) => switches,
        }
    }
}

impl Switch {
    const fn stated_if_read(self) -> Switch {
        Switch { stated_if_read: true, ..self }
    }

    const fn in_american(self, name: &'static str) -> Switch {
        Switch { american: Some(name), ..self }
    }

    /// The name of the field that states it in statistics.
    pub fn field(&self) -> String {
        self.old_name().replace('-', "_")
    }

    /// The name of the option that it once was.
    pub fn old_name(&self) -> &'static str {
        self.american.unwrap_or(self.name)
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.american == Some(name)
    }

    /// The name of an allocator's choice.
    pub fn get(&self, preset: &Preset) -> String {
        self.setting.get(preset)
    }

    /// An allocator's choice as statistics state it.
    pub fn get_json(&self, preset: &Preset) -> serde_json::Value {
        self.setting.get_json(preset)
    }

    /// Makes the choice of this name. Does nothing if the allocator has no such choice.
    ///
    /// # Panics
    /// If it is not what [`Self::read`] makes of a value.
    pub fn set(&self, preset: &mut Preset, value: &str) {
        self.setting.set(preset, value);
    }

    /// The name of a value, which may be in American spelling.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn read(&self, value: &str) -> Result<String, OptionError> {
        let none = || OptionError::NoChoice { switch: self.name, choices: self.choices(), value: value.to_owned() };
        self.setting.canonical(value).ok_or_else(none)
    }

    /// The names of all values; none if they are numbers.
    pub fn values(&self) -> Vec<&'static str> {
        self.setting.values()
    }

    /// The values as a help text names them.
    pub fn choices(&self) -> String {
        let values = self.values();
        if values.is_empty() { self.setting.placeholder().into() } else { values.join("|") }
    }

    pub fn parser(&self) -> ValueParser {
        self.setting.parser()
    }

    pub fn placeholder(&self) -> &'static str {
        self.setting.placeholder()
    }

    /// Whether an allocator may do something else if this is set otherwise.
    pub fn is_read_by(&self, preset: &Preset) -> bool {
        self.readers.include(preset)
    }

    /// The allocators that read it, in words; nothing if all do.
    pub fn condition(&self) -> Option<&'static str> {
        self.readers.condition()
    }

    /// Whether statistics state it of an allocator.
    pub fn is_stated_of(&self, preset: &Preset) -> bool {
        !self.stated_if_read || self.is_read_by(preset)
    }
}

impl Readers {
    fn include(self, preset: &Preset) -> bool {
        let AssignmentStrategy::DominanceOrder(order) = preset.assignment else {
            return match self {
                Readers::All => true,
                Readers::Destruction => matches!(preset.coalescing, Coalescing::Destruction(_)),
                _ => false,
            };
        };
        match self {
            Readers::All | Readers::DominanceOrder => true,
            Readers::LoadLowering => !order.spilling.splits() || order.spilling == strategies::SECOND_CHANCE,
            Readers::StoreHoisting => match order.spilling.splits() {
                true => order.spilling == strategies::SECOND_CHANCE,
                false => order.elimination.is_frugal(),
            },
            Readers::SplitRanges => order.spilling.splits(),
            Readers::Prices => order.spilling.has_prices(),
            Readers::Solver => preset.assignment.needs_solver(),
            Readers::Destruction => false,
        }
    }

    /// These allocators, in words.
    fn condition(self) -> Option<&'static str> {
        Some(match self {
            Readers::All => return None,
            Readers::DominanceOrder => "SSA-based allocators",
            Readers::LoadLowering => {
                "allocators that spill values for all their lives, or give them a second chance (as with --spill weight, second-chance)"
            }
            Readers::StoreHoisting => {
                "allocators that spill values for all their lives to slots that phis share, or give them a second chance (as with \
                 --spill weight, second-chance)"
            }
            Readers::SplitRanges => "allocators that spill values for parts of their lives (as with --spill priced)",
            Readers::Prices => "allocators that spill by prices (--spill priced, optimal)",
            Readers::Solver => "allocators that solve integer programs (--spill optimal, --coalesce optimal)",
            Readers::Destruction => "out-of-ssa",
        })
    }
}
