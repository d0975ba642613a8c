//! The command line, from outside: what it writes, what it says, and how it exits.

mod cc;
mod compare;
mod compile;
mod count;
mod diff;
mod folder;
mod messages;
mod outputs;
mod paper;
mod regress;
mod rust;
mod scripts;
