//! The names of the tables and figures on the command line.

pub const SRA_TABLE_1: &str = "sra-table1";
pub const SRA_TABLE_2: &str = "sra-table2";
pub const SRA_TABLE_3: &str = "sra-table3";
pub const SRA_TABLE_4: &str = "sra-table4";
pub const SRA_FIGURE_10: &str = "sra-figure10";
pub const SRA_FIGURE_11: &str = "sra-figure11";
pub const SFE_RIVALS: &str = "sfe-rivals";
pub const SFE_FIGURE_10: &str = "sfe-figure10";
pub const SFE_FIGURE_11: &str = "sfe-figure11";
pub const SFE_FIGURE_12: &str = "sfe-figure12";
pub const DESTRUCTION: &str = "destruction";
pub const JOIN_SETS: &str = "join-sets";
pub const OPTIMALITY: &str = "optimality";
