//! The options of allocators.

use super::allocators::Configured;
use super::choices::{self, Choice as _};
use super::option_error::OptionError;
use super::switches::{self, CliOption, OPTIONS, Switch};
use crate::allocate::allocators::{AssignmentStrategy, Preset};
use crate::allocate::pipeline::Strategy;
use crate::allocate::spill::strategies;
use crate::llvm::{Algorithm, Stock};
use crate::measure::stats::{Options, OwnOptions};
use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use indexmap::IndexMap;

const HEADING: &str = "Options of chordal's allocators (each has its own defaults; see `chordal list`)";
const SET: &str = "set";

/// Choices that override an allocator's own, in the order in which they are made.
#[derive(Clone, Default)]
pub struct AllocatorOptions(Vec<Given>);

/// An option that was given.
#[derive(Clone)]
struct Given {
    /// The option, as it was written.
    option: String,
    changes: Vec<Change>,
}

/// A switch and a value for it.
#[derive(Clone)]
struct Change {
    switch: &'static Switch,
    value: String,
}

impl Args for AllocatorOptions {
    fn augment_args(command: Command) -> Command {
        let listed = OPTIONS.iter().filter_map(argument).map(|argument| argument.help_heading(HEADING));
        let any = ValueParser::new(|text: &str| change(text, switches::switches()));
        let set = Arg::new(SET).long(SET).value_name("NAME=VALUE").hide(true).action(ArgAction::Append).value_parser(any);
        let gone = replaced().into_iter().map(|(name, _)| Arg::new(name).long(name).hide(true).num_args(0..=1));
        command.args(listed).arg(set).args(gone)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AllocatorOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        if let Some((name, now)) = replaced().into_iter().find(|(name, _)| matches.contains_id(name)) {
            return Err(Error::raw(ErrorKind::ValueValidation, format!("`--{name}` is {now}")));
        }
        let mut given: Vec<Given> = OPTIONS.iter().flat_map(|option| option.given(matches)).collect();
        given.extend(changes(SET, matches));
        Ok(AllocatorOptions(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The option as clap's.
fn argument(option: &'static CliOption) -> Option<Arg> {
    let argument = Arg::new(option.name()?).long(option.name()?);
    Some(match option {
        CliOption::Single(switch) => {
            let is_plain = switch.placeholder() == "on|off";
            let argument = argument.help(with_condition(switch.about, switch.condition()));
            argument.value_name(switch.placeholder()).value_parser(switch.parser()).hide_possible_values(is_plain)
        }
        CliOption::Levels { about, levels, switches, .. } => {
            let values = levels.iter().map(|level| {
                let last = level.on.checked_sub(1).and_then(|last| switches[last].condition());
                let condition = last.filter(|_| last != option.condition());
                PossibleValue::new(level.name).help(with_condition(level.about, condition))
            });
            let parser = PossibleValuesParser::new(values);
            argument.help(with_condition(about, option.condition())).value_name("WHICH").value_parser(parser)
        }
        CliOption::Keys { about, switches, .. } => {
            let about = with_condition(about, option.condition());
            let lines = switches.iter().map(|switch| {
                let condition = switch.condition().filter(|_| option.condition().is_none());
                format!("\n- {}={}: {}", switch.name, switch.choices(), with_condition(switch.about, condition))
            });
            let names: Vec<&str> = switches.iter().map(|switch| switch.name).collect();
            let parser = ValueParser::new(|text: &str| change(text, switches.iter()));
            let argument = argument.help(format!("{about}: {}", names.join(", ")));
            argument
                .long_help(format!("{about}\n{}", lines.collect::<String>()))
                .value_name("NAME=VALUE,...")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(parser)
        }
        CliOption::Unlisted(_) => return None,
    })
}

/// A help text that says which allocators read what it is about.
fn with_condition(about: &str, condition: Option<&str>) -> String {
    condition.map_or_else(|| about.to_owned(), |condition| format!("{about} [for {condition}]"))
}

/// Reads NAME=VALUE for one of some switches.
fn change(text: &str, switches: impl Iterator<Item = &'static Switch>) -> Result<Change, OptionError> {
    let (name, value) = text.split_once('=').ok_or(OptionError::NoValue)?;
    let switches: Vec<&Switch> = switches.collect();
    let switch = *switches.iter().find(|switch| switch.is_called(name)).ok_or_else(|| {
        let names: Vec<&str> = switches.iter().map(|switch| switch.name).collect();
        OptionError::NoSwitch { name: name.to_owned(), known: names.join(", ") }
    })?;
    Ok(Change { switch, value: switch.read(value)? })
}

/// The changes that an option with NAME=VALUE was given.
fn changes(option: &str, matches: &ArgMatches) -> impl Iterator<Item = Given> {
    let changes = matches.get_many::<Change>(option).into_iter().flatten().cloned();
    changes.map(move |change| Given { option: format!("--{option} {}", change.switch.name), changes: vec![change] })
}

/// The options that there once were, and what is said to those who still give them.
fn replaced() -> Vec<(&'static str, String)> {
    let mut replaced = vec![("frugal", "gone: whether slots are shared follows from `--phi-memory eliminate=HOW`".to_owned())];
    for option in OPTIONS {
        for switch in option.switches() {
            let by_itself = format!("`--set {}={}`", switch.name, switch.choices());
            let now = match option {
                CliOption::Single(_) => continue,
                CliOption::Levels { name, levels, .. } => {
                    let levels: Vec<&str> = levels.iter().map(|level| level.name).collect();
                    format!("now part of `--{name} {}`; by itself, it is {by_itself}", levels.join("|"))
                }
                CliOption::Keys { name, .. } => format!("now `--{name} {}={}`", switch.name, switch.choices()),
                CliOption::Unlisted(_) => format!("no longer an option; for experiments, there is {by_itself}"),
            };
            replaced.push((switch.old_name(), now));
        }
    }
    replaced
}

impl CliOption {
    fn name(&self) -> Option<&'static str> {
        match self {
            CliOption::Single(switch) => Some(switch.name),
            CliOption::Levels { name, .. } | CliOption::Keys { name, .. } => Some(name),
            CliOption::Unlisted(_) => None,
        }
    }

    /// The values that it was given.
    fn given(&'static self, matches: &ArgMatches) -> Vec<Given> {
        let Some(name) = self.name() else { return Vec::new() };
        match self {
            CliOption::Single(switch) => {
                let value = matches.get_one::<String>(name).cloned();
                let given = |value| Given { option: format!("--{name}"), changes: vec![Change { switch, value }] };
                value.map(given).into_iter().collect()
            }
            CliOption::Levels { levels, switches, .. } => {
                let level = matches
                    .get_one::<String>(name)
                    .map(|value| levels.iter().find(|level| level.name == value).expect("other names are no possible values"));
                let value = |on: bool| if on { "on" } else { "off" };
                let given = |on: usize, level: &str| Given {
                    option: format!("--{name} {level}"),
                    changes: (0..).zip(*switches).map(|(k, switch)| Change { switch, value: value(k < on).into() }).collect(),
                };
                level.map(|level| given(level.on, level.name)).into_iter().collect()
            }
            CliOption::Keys { .. } => changes(name, matches).collect(),
            CliOption::Unlisted(_) => Vec::new(),
        }
    }

    /// An allocator's choices as arguments, as far as it reads them. The switches that are `known` are left out.
    fn arguments(&self, preset: &Preset, known: impl Fn(&Switch) -> bool) -> Vec<String> {
        let read = |switch: &&Switch| switch.is_read_by(preset);
        let said: Vec<String> = self
            .switches()
            .iter()
            .filter(read)
            .filter(|switch| !known(switch))
            .map(|switch| format!("{}={}", switch.name, switch.get(preset)))
            .collect();
        let Some(first) = said.first() else { return Vec::new() };
        let by_itself = || said.iter().map(|change| format!("--{SET} {change}")).collect();
        match self {
            CliOption::Single(_) => vec![format!("--{}", first.replacen('=', " ", 1))],
            CliOption::Keys { name, .. } => vec![format!("--{name} {}", said.join(","))],
            CliOption::Levels { name, levels, switches, .. } => {
                let is_on = |switch: &Switch| switch.get(preset) == "on";
                let mut levels = levels.iter();
                let level = levels.find(|level| {
                    (0..).zip(*switches).filter(|(_, switch)| read(switch)).all(|(k, switch)| is_on(switch) == (k < level.on))
                });
                level.map_or_else(by_itself, |level| vec![format!("--{name} {}", level.name)])
            }
            CliOption::Unlisted(_) => by_itself(),
        }
    }
}

impl Given {
    /// An error if the allocator, with all its options, does not read this one.
    fn check(&self, preset: &Preset) -> Result<(), OptionError> {
        let is_unread = |change: &&Change| !change.switch.is_read_by(preset);
        let condition = |change: &Change| change.switch.condition().expect("the others are read by all");
        let (option, allocator) = (self.option.clone(), preset.name);
        if self.changes.iter().all(|change| is_unread(&change)) {
            return Err(OptionError::Unread { option, allocator, condition: condition(&self.changes[0]) });
        }
        match self.changes.iter().filter(is_unread).find(|change| change.value == "on") {
            Some(change) => {
                let (switch, condition) = (change.switch.name, condition(change));
                Err(OptionError::PartlyUnread { option, switch, allocator, condition })
            }
            None => Ok(()),
        }
    }
}

impl AllocatorOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If it does not read one of them, or they contradict each other.
    pub fn apply(&self, mut preset: Preset) -> Result<Preset, OptionError> {
        let changes = || self.0.iter().flat_map(|given| &given.changes);
        changes().for_each(|change| change.switch.set(&mut preset, &change.value));
        // Moving memory to memory needs values that are in memory all their lives.
        if let Some(order) = preset.assignment.dominance_order_mut()
            && !changes().any(|change| change.switch.name == "spill")
            && order.spilling.splits()
            && !order.elimination.is_frugal()
        {
            order.spilling = strategies::WEIGHT;
        }
        self.0.iter().try_for_each(|given| given.check(&preset))?;
        check_shared_slots(&preset.assignment)?;
        OptionError::unless_solvable(preset.assignment.needs_solver())?;
        Ok(preset)
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&str> {
        self.0.first().map(|given| given.option.split(' ').next().unwrap_or_default())
    }
}

/// An error if values move between registers and slots that φs would have to move between slots as well.
fn check_shared_slots(assignment: &AssignmentStrategy) -> Result<(), OptionError> {
    match assignment.spilling() {
        Some(how) if how.splits() && !assignment.elimination().is_frugal() => {
            Err(OptionError::NoSharedSlots { spilling: how.name(), elimination: assignment.elimination().name() })
        }
        _ => Ok(()),
    }
}

/// Choices about LLVM's allocators.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of LLVM's allocators")]
pub struct StockOptions {
    /// Whether LLVM's scheduler runs before its allocator, as it does in llc; chordal's allocators do without [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true, value_parser = choices::parser::<bool>())]
    llvm_schedule: Option<bool>,
}

impl StockOptions {
    /// The allocator as the options make it.
    ///
    /// # Errors
    /// If an option is not for this allocator.
    pub fn apply(&self, algorithm: Algorithm) -> Result<Stock, OptionError> {
        if algorithm != Algorithm::Fast {
            return Ok(Stock { algorithm, schedule: self.llvm_schedule != Some(false) });
        }
        match self.given() {
            Some(option) => Err(OptionError::NeverScheduled(option)),
            None => Ok(Stock { algorithm, schedule: false }),
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        self.llvm_schedule.map(|_| "--llvm-schedule")
    }
}

/// The choices that an allocator works by, as statistics state them.
pub fn of(allocator: &Configured) -> Option<Options> {
    match allocator {
        Configured::Ours(Strategy::Phases(preset)) => Some(Options::Own(Box::new(describe(preset)))),
        Configured::Ours(Strategy::Regalloc2(_)) => None,
        Configured::Llvm(stock) => Some(Options::Other(IndexMap::from([("llvm_schedule".to_owned(), stock.schedule)]))),
    }
}

fn describe(preset: &Preset) -> OwnOptions {
    let mut fields = stated(preset);
    fields.insert("frugal".into(), preset.assignment.elimination().is_frugal().into());
    fields.entry("spill").or_insert_with(|| "requested".into());
    serde_json::from_value(fields.into()).expect("statistics have a field for each switch")
}

/// The switches that statistics state of an allocator, by their fields.
fn stated(preset: &Preset) -> serde_json::Map<String, serde_json::Value> {
    let stated = switches::switches().filter(|switch| switch.is_stated_of(preset));
    stated.map(|switch| (switch.field(), switch.get_json(preset))).collect()
}

/// An allocator as arguments, with the choices that differ from its own.
pub fn command(name: &str, allocator: &Configured) -> String {
    let mut words = vec![format!("--allocator {name}")];
    if let Configured::Ours(Strategy::Phases(preset)) = allocator
        && let Some(own) = Preset::named(preset.name)
    {
        let is_own = |switch: &Switch| switch.get(preset) == switch.get(&own);
        words.extend(OPTIONS.iter().flat_map(|option| option.arguments(preset, is_own)));
    }
    words.join(" ")
}

/// The choices that one of chordal's allocators reads, as arguments, one an option; without those that it has in common with
/// another one, if there is one. (A switch that the other does not read counts as off there.)
pub fn arguments(preset: &Preset, other: Option<&Preset>) -> Vec<String> {
    let is_known = |switch: &Switch| {
        other.is_some_and(|other| {
            let value = switch.get(preset);
            switch.get(other) == value && (switch.is_read_by(other) || value == "off")
        })
    };
    let listed = OPTIONS.iter().filter(|option| option.name().is_some());
    listed.flat_map(|option| option.arguments(preset, is_known)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::allocators::PRESETS;
    use crate::cli::allocators::configured;

    /// Every allocator, and every allocator with each of its switches set otherwise.
    fn variants() -> Vec<Preset> {
        let mut variants = PRESETS.to_vec();
        for preset in PRESETS {
            for switch in switches::switches().filter(|switch| switch.is_read_by(preset)) {
                for value in switch.values() {
                    let mut variant = *preset;
                    switch.set(&mut variant, value);
                    variants.push(variant);
                }
            }
        }
        variants.retain(|preset| check_shared_slots(&preset.assignment).is_ok());
        variants
    }

    #[test]
    fn every_switch_has_a_field_in_statistics() {
        for preset in variants() {
            let serde_json::Value::Object(written) = serde_json::to_value(describe(&preset)).expect("JSON") else {
                panic!("options are an object")
            };
            for (field, value) in stated(&preset) {
                assert_eq!(written.get(&field), Some(&value), "{field} of {}", preset.name);
            }
        }
    }

    #[test]
    fn what_a_switch_is_set_to_it_has() {
        for preset in PRESETS {
            for switch in switches::switches().filter(|switch| switch.is_read_by(preset)) {
                for value in switch.values() {
                    let mut variant = *preset;
                    switch.set(&mut variant, value);
                    assert_eq!(switch.get(&variant), value, "{} of {}", switch.name, preset.name);
                    assert_eq!(switch.read(value), Ok(value.to_owned()));
                }
            }
        }
    }

    /// Whoever follows the message about a bug has the allocator that shows it.
    #[test]
    fn arguments_say_what_an_allocator_is() {
        for preset in variants() {
            let written = command(preset.name, &Configured::Ours(preset.into()));
            let words = written.trim_start_matches("--allocator ");
            match configured(words) {
                Ok(Configured::Ours(Strategy::Phases(read))) => assert_eq!(describe(&read), describe(&preset), "{written}"),
                Ok(_) => panic!("{written} is another allocator"),
                Err(why) => assert_eq!(why, OptionError::NoSolver, "{written}"),
            }
        }
    }

    #[test]
    fn names_are_one_thing_each() {
        let mut names: Vec<_> = switches::switches().map(|switch| switch.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), switches::switches().count());
    }
}
