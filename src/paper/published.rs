//! The numbers that the papers print, transcribed: none of them is measured by us.
//!
//! SRA is *The Designing and Implementation of a SSA-based register allocator* \[PP05\], SFE is *SSA Elimination after
//! Register Allocation* \[PP09\], JSR is *Eliminating Redundant Join-Set Computations in Static Single Assignment* \[FA05\]. The
//! charts of the first two are lost, since only their texts are left. Their Figures 10 to 12 are known from what the texts
//! say about them, except Figure 10 of SFE, which is a table.

/// The stand-ins in our corpus for programs of the papers, which are named by their numbers in SPEC CPU 2000. A stand-in is
/// a program of the same kind; neither code nor inputs are the same. A program without one has no known free counterpart.
const STAND_INS: &[(&str, &str)] = &[
    ("164.gzip", "gzip"),
    ("256.bzip2", "bzip2"),
    ("197.parser", "link-grammar"),
    ("254.gap", "gap"),
    ("253.perlbmk", "perl"),
    ("176.gcc", "tcc"),
    ("186.crafty", "phalanx"),
    ("255.vortex", "sqlite"),
];

/// The program that stands in for one of the papers.
pub fn stand_in(benchmark: &str) -> Option<&'static str> {
    STAND_INS.iter().find(|(theirs, _)| *theirs == benchmark).map(|(_, ours)| *ours)
}

/// A quantity for each of SRA's programs, in the order of [`SRA_PROGRAMS`].
pub type Row<T> = [T; 10];

/// The columns of the tables of SRA.
pub const SRA_PROGRAMS: Row<&str> =
    ["164.gzip", "175.vpr", "181.mcf", "197.parser", "256.bzip2", "300.twolf", "186.crafty", "179.art", "188.ammp", "183.equake"];

/// SRA Table 1: edges between virtual and physical registers, and edges of the complete interference graph.
pub struct GraphTable {
    pub value_register: Row<u64>,
    pub interference: Row<u64>,
    /// The second divided by the first, as printed.
    pub ratio: Row<f64>,
}

pub const TABLE_1: GraphTable = GraphTable {
    value_register: [25716, 198816, 6508, 138304, 20978, 206267, 213653, 15285, 176899, 15742],
    interference: [339771, 3538532, 67353, 1224197, 499925, 5243067, 2445314, 191638, 1453721, 301670],
    ratio: [13.21, 17.80, 10.35, 8.85, 23.83, 25.42, 11.44, 12.54, 8.22, 19.16],
};

/// One allocator's lines of SRA Tables 2 to 4.
pub struct Allocation {
    /// Our name for the allocator.
    pub allocator: &'static str,
    /// Spilled variables, and slots on the stack; in Table 3 only.
    pub spilled: Option<[Row<u64>; 2]>,
    pub stores: Row<u64>,
    pub loads: Row<u64>,
    pub moves: Row<u64>,
    pub xors: Row<u64>,
    pub seconds: Row<f64>,
    /// Time under linear scan divided by time under this allocator, as printed.
    pub ratio: Option<Row<f64>>,
}

/// One of SRA Tables 2 to 4.
pub struct CountTable {
    /// The number of registers. (In Table 2, `crafty` had eight as well: it could not do with fewer.)
    pub registers: u32,
    /// Ch-O1, Ch-O2, Ch-O3, linear scan.
    pub allocations: [Allocation; 4],
}

/// SRA Table 2.
pub const TABLE_2: CountTable = CountTable {
    registers: 4,
    allocations: [
        Allocation {
            allocator: "ch-o1",
            spilled: None,
            stores: [1516, 8060, 547, 4812, 1263, 13571, 6857, 748, 3370, 555],
            loads: [2077, 16277, 899, 9085, 1883, 23688, 15142, 1050, 6749, 1068],
            moves: [684, 7563, 221, 3754, 566, 6088, 7024, 427, 3687, 814],
            xors: [221, 849, 55, 474, 125, 1219, 1518, 13, 314, 27],
            seconds: [135.574, 520.678, 538.992, 48.022, 679.478, 22.034, 6.518, 402.654, 19.948, 19.768],
            ratio: Some([1.08, 1.08, 1.02, 1.02, 1.39, 1.24, 1.14, 1.04, 0.99, 1.12]),
        },
        Allocation {
            allocator: "ch-o2",
            spilled: None,
            stores: [1516, 8467, 548, 4939, 1264, 13592, 6862, 749, 3373, 556],
            loads: [2078, 16586, 900, 9171, 1885, 23701, 15150, 1053, 6753, 1070],
            moves: [652, 6862, 203, 3571, 512, 5446, 6120, 318, 3437, 457],
            xors: [86, 492, 13, 174, 50, 514, 951, 4, 106, 4],
            seconds: [133.476, 519.426, 538.374, 48.914, 673.588, 21.373, 6.442, 400.966, 19.202, 19.655],
            ratio: Some([1.10, 1.09, 1.02, 1.00, 1.41, 1.28, 1.15, 1.05, 1.02, 1.12]),
        },
        Allocation {
            allocator: "ch-o3",
            spilled: None,
            stores: [1254, 6982, 482, 4420, 1095, 10812, 6213, 624, 3186, 546],
            loads: [1836, 15196, 827, 8690, 1734, 22028, 14578, 927, 6535, 1057],
            moves: [630, 6704, 193, 3478, 493, 4996, 5997, 310, 3366, 440],
            xors: [62, 468, 19, 114, 35, 433, 771, 18, 115, 4],
            seconds: [129.784, 471.407, 502.60, 47.845, 655.875, 20.963, 6.409, 375.760, 19.156, 19.102],
            ratio: Some([1.13, 1.19, 1.09, 1.02, 1.44, 1.30, 1.16, 1.12, 1.03, 1.16]),
        },
        Allocation {
            allocator: "linear-scan",
            spilled: None,
            stores: [1664, 9093, 576, 5346, 1380, 13820, 8673, 789, 3771, 738],
            loads: [2260, 16592, 911, 9318, 2064, 24314, 15996, 1099, 6583, 1278],
            moves: [201, 3597, 77, 1631, 197, 2554, 2190, 176, 1810, 218],
            xors: [23, 363, 7, 75, 29, 325, 621, 1, 82, 1],
            seconds: [146.708, 564.297, 549.378, 48.817, 947.494, 27.266, 7.428, 421.587, 19.712, 22.186],
            ratio: None,
        },
    ],
};

/// SRA Table 3.
pub const TABLE_3: CountTable = CountTable {
    registers: 8,
    allocations: [
        Allocation {
            allocator: "ch-o1",
            spilled: Some([
                [247, 1657, 93, 750, 288, 3326, 3222, 138, 637, 150],
                [84, 394, 100, 96, 202, 385, 421, 104, 74, 169],
            ]),
            stores: [780, 5274, 364, 2970, 699, 13479, 6914, 437, 2252, 362],
            loads: [1173, 12126, 617, 6363, 1171, 22333, 15265, 738, 4746, 782],
            moves: [916, 8118, 257, 4627, 685, 7158, 6534, 380, 4046, 482],
            xors: [356, 1170, 94, 666, 245, 2245, 2211, 189, 634, 124],
            seconds: [89.93, 375.38, 541.87, 41.79, 453.12, 16.27, 44.46, 330.97, 18.20, 17.51],
            ratio: Some([1.15, 1.03, 0.98, 1.16, 1.35, 1.07, 1.10, 0.97, 1.00, 0.98]),
        },
        Allocation {
            allocator: "ch-o2",
            spilled: Some([
                [247, 1657, 93, 750, 288, 3326, 3223, 139, 636, 150],
                [84, 392, 100, 92, 202, 384, 421, 105, 74, 169],
            ]),
            stores: [780, 5275, 364, 2970, 699, 13489, 6911, 438, 2255, 362],
            loads: [1174, 12130, 617, 6365, 1172, 22332, 15224, 739, 4811, 782],
            moves: [823, 7269, 216, 4302, 599, 6048, 2190, 388, 3693, 467],
            xors: [71, 474, 25, 147, 53, 814, 621, 18, 124, 1],
            seconds: [88.83, 378.22, 536.43, 41.41, 448.78, 16.28, 44.41, 317.99, 18.13, 17.32],
            ratio: Some([1.16, 1.03, 0.99, 1.18, 1.36, 1.06, 1.10, 1.01, 1.00, 0.99]),
        },
        Allocation {
            allocator: "ch-o3",
            spilled: Some([[192, 1509, 75, 673, 247, 2231, 2664, 125, 613, 146], [66, 316, 82, 77, 164, 285, 308, 95, 67, 165]]),
            stores: [699, 4559, 344, 2876, 637, 7179, 6213, 401, 2241, 359],
            loads: [1092, 11413, 597, 6274, 1109, 15985, 14578, 701, 4797, 779],
            moves: [807, 7246, 201, 4232, 602, 5896, 5997, 352, 3623, 461],
            xors: [53, 423, 25, 99, 38, 472, 771, 18, 109, 1],
            seconds: [88.78, 374.87, 537.94, 41.12, 443.81, 16.04, 45.06, 305.77, 18.04, 17.02],
            ratio: Some([1.16, 1.04, 0.99, 1.18, 1.38, 1.08, 1.08, 1.05, 1.01, 1.01]),
        },
        Allocation {
            allocator: "linear-scan",
            spilled: Some([
                [301, 2241, 120, 990, 369, 3643, 5260, 197, 717, 252],
                [107, 421, 127, 177, 245, 405, 526, 159, 102, 271],
            ]),
            stores: [855, 5368, 401, 3315, 802, 8511, 8673, 507, 2503, 494],
            loads: [1253, 11146, 622, 6264, 1312, 16610, 15996, 733, 4511, 970],
            moves: [219, 3326, 90, 1575, 180, 2688, 2190, 164, 1836, 160],
            xors: [23, 363, 7, 75, 29, 325, 621, 18, 82, 1],
            seconds: [103.13, 388.05, 533.27, 48.71, 611.15, 17.36, 48.83, 322.28, 18.15, 17.18],
            ratio: None,
        },
    ],
};

/// SRA Table 4.
pub const TABLE_4: CountTable = CountTable {
    registers: 29,
    allocations: [
        Allocation {
            allocator: "ch-o1",
            spilled: None,
            stores: [517, 3037, 231, 2113, 379, 4618, 3416, 291, 1778, 219],
            loads: [740, 7989, 406, 4407, 521, 9678, 12342, 508, 3630, 548],
            moves: [1001, 9790, 331, 5599, 756, 8233, 8352, 532, 4489, 503],
            xors: [395, 1365, 115, 579, 365, 1026, 2862, 129, 529, 184],
            seconds: [78.576, 341.041, 378.432, 38.191, 437.874, 14.529, 31.599, 298.511, 17.822, 16.983],
            ratio: Some([0.896, 0.96, 1.01, 1.11, 0.92, 0.95, 0.88, 1.00, 0.98, 0.95]),
        },
        Allocation {
            allocator: "ch-o2",
            spilled: None,
            stores: [517, 3049, 231, 2120, 379, 4698, 3381, 291, 1779, 218],
            loads: [740, 8004, 406, 4398, 511, 9732, 12318, 508, 3631, 540],
            moves: [1001, 8491, 270, 5171, 693, 7828, 7431, 448, 4076, 506],
            xors: [395, 471, 31, 129, 65, 763, 852, 18, 118, 1],
            seconds: [77.232, 350.267, 367.978, 38.409, 436.557, 14.570, 29.886, 298.793, 17.763, 16.390],
            ratio: Some([0.911, 0.93, 1.03, 1.11, 0.92, 0.95, 0.93, 1.00, 0.99, 0.99]),
        },
        Allocation {
            allocator: "ch-o3",
            spilled: None,
            stores: [517, 3037, 231, 2111, 372, 4887, 3391, 289, 1778, 219],
            loads: [739, 7991, 406, 4403, 514, 10404, 12315, 506, 3629, 548],
            moves: [896, 8353, 259, 5097, 669, 7769, 7316, 415, 3979, 490],
            xors: [53, 435, 34, 120, 65, 667, 708, 21, 118, 1],
            seconds: [76.945, 346.275, 368.010, 37.782, 436.126, 14.544, 29.534, 292.089, 17.720, 16.414],
            ratio: Some([0.915, 0.94, 1.04, 1.12, 0.92, 0.95, 0.94, 1.02, 0.99, 0.99]),
        },
        Allocation {
            allocator: "linear-scan",
            spilled: None,
            stores: [472, 3062, 231, 2118, 368, 4553, 3380, 292, 1780, 228],
            loads: [726, 7480, 405, 4365, 491, 9849, 12187, 473, 3671, 552],
            moves: [282, 3707, 140, 2056, 277, 3864, 2939, 224, 4076, 210],
            xors: [23, 363, 7, 75, 29, 325, 621, 18, 82, 1],
            seconds: [70.419, 326.552, 381.434, 42.584, 402.785, 13.880, 27.751, 298.707, 17.494, 16.204],
            ratio: None,
        },
    ],
};

impl CountTable {
    /// The lines of an allocator.
    ///
    /// # Panics
    /// If the table has none.
    pub fn of(&self, allocator: &str) -> &Allocation {
        let found = self.allocations.iter().find(|allocation| allocation.allocator == allocator);
        found.expect("the table has the allocators of the paper")
    }

    /// The change of a quantity from one allocator's code to another's, over all programs.
    pub fn change(&self, from: &str, to: &str, quantity: impl Fn(&Allocation) -> f64) -> f64 {
        quantity(self.of(to)) / quantity(self.of(from)) - 1.0
    }

    /// Time under linear scan divided by time under another allocator, over all programs.
    pub fn speed_up(&self, allocator: &str) -> f64 {
        let seconds = |allocator| self.of(allocator).seconds.iter().sum::<f64>();
        seconds("linear-scan") / seconds(allocator)
    }
}

impl Allocation {
    pub fn accesses(&self) -> f64 {
        sum(&self.stores) + sum(&self.loads)
    }

    /// Moves and exclusive-ors: the instructions that move values between registers.
    pub fn transfers(&self) -> f64 {
        sum(&self.moves) + sum(&self.xors)
    }
}

/// The sum over all programs.
pub fn sum(row: &Row<u64>) -> f64 {
    row.iter().sum::<u64>() as f64
}

/// A column of SFE Figure 10.
pub struct Transfers {
    pub program: &'static str,
    /// Location transfer graphs, in thousands.
    pub graphs: f64,
    /// The share of graphs that are potential spills, in per cent.
    pub potential_spills: f64,
    /// Edges of all graphs, in thousands.
    pub edges: f64,
    /// The share of edges that are memory transfers, in per cent.
    pub memory_transfers: f64,
}

const fn transfers(program: &'static str, graphs: f64, potential_spills: f64, edges: f64, memory_transfers: f64) -> Transfers {
    Transfers { program, graphs, potential_spills, edges, memory_transfers }
}

/// SFE Figure 10; its `cfg` is taken to be 186.crafty. 181.mcf and 183.equake are only in the totals of the text.
pub const FIGURE_10: &[Transfers] = &[
    transfers("176.gcc", 72.6, 3.3, 586.2, 56.4),
    transfers("253.perlbmk", 40.3, 5.0, 256.3, 41.7),
    transfers("254.gap", 22.1, 9.8, 150.8, 43.5),
    transfers("177.mesa", 15.6, 2.3, 96.9, 50.6),
    transfers("255.vortex", 15.8, 9.3, 121.5, 47.1),
    transfers("300.twolf", 6.8, 6.5, 58.0, 57.3),
    transfers("186.crafty", 7.7, 14.9, 124.2, 66.8),
    transfers("175.vpr", 4.5, 13.5, 101.7, 75.4),
    transfers("188.ammp", 4.0, 7.9, 29.6, 37.4),
    transfers("197.parser", 5.2, 6.5, 35.5, 42.8),
    transfers("164.gzip", 0.9, 10.9, 11.1, 63.6),
    transfers("256.bzip2", 0.73, 22.7, 14.3, 71.8),
    transfers("179.art", 0.36, 9.2, 2.7, 46.0),
];

/// SFE 7: totals of Figure 10 over the whole suite.
pub const ALL_GRAPHS: f64 = 197_568.0;
pub const ALL_EDGES: f64 = 1_601_110.0;
pub const ALL_MEMORY_TRANSFERS: f64 = 855_414.0;
pub const ALL_POTENTIAL_SPILLS: f64 = 11_802.0;

/// SFE 7, on Figure 11: shares of compilation time.
pub const ALLOCATION_SHARE: f64 = 0.28;
pub const METHOD_I_SHARE: f64 = 0.002;
pub const CRITICAL_EDGES_SHARE: f64 = 0.005;
pub const COALESCING_SHARE: f64 = 0.016;
pub const ELIMINATION_SHARE: f64 = 0.025;

/// SFE 7, on Figure 12: the change that each optimisation brings, on top of those before it.
pub const HOISTING_STORES: f64 = -0.12;
pub const HOISTING_SPILL_CODE: f64 = -0.05;
pub const MEMORY_COALESCING_SPILL_CODE: f64 = -0.026;
pub const LOWERING_SPILL_CODE: f64 = -0.078;
pub const LOWERING_MOVES: f64 = -0.05;
/// SFE 1: all three together.
pub const ALL_ACCESSES: f64 = -0.09;
/// SFE 7: run time before divided by run time after all three.
pub const OPTIMISATIONS_SPEED_UP: f64 = 1.019;

/// SFE 1: the additional lines of spill code that one register fewer costs, and that spilling on demand costs at least.
pub const SPARE_REGISTER: f64 = 0.052;
pub const ON_DEMAND: f64 = 0.002;

/// SRA, abstract: speed-up over linear scan with four registers, without and with aggressive coalescing.
pub const SPEED_UP: f64 = 1.092;
pub const SPEED_UP_COALESCED: f64 = 1.130;

/// JSR Tables 2 and 3.
pub struct JoinSetTables {
    pub programs: [JoinSetCounts; 6],
    /// As printed, though one number is not the mean of the six: see the test below.
    pub average: JoinSetCounts,
}

/// A row of both tables: all worklists; those of variables with A(x) ⊆ A(y), with A(x) = A(y) and with A(x) ⊂ A(y) for some
/// y; of the last, the mean difference in size and the mean share of the larger set that is saved.
pub struct JoinSetCounts {
    pub program: &'static str,
    pub worklists: u64,
    pub redundant: u64,
    pub redundant_percent: f64,
    pub equal: u64,
    pub equal_percent: f64,
    pub subsets: u64,
    pub difference: f64,
    pub saved_percent: f64,
}

impl JoinSetCounts {
    const fn new(program: &'static str, [worklists, redundant, equal, subsets]: [u64; 4], percents: [f64; 4]) -> Self {
        let [redundant_percent, equal_percent, difference, saved_percent] = percents;
        Self { program, worklists, redundant, redundant_percent, equal, equal_percent, subsets, difference, saved_percent }
    }
}

pub const JOIN_SETS: JoinSetTables = JoinSetTables {
    programs: [
        JoinSetCounts::new("164.gzip", [2787, 220, 89, 131], [7.89, 3.19, 6.79, 38.38]),
        JoinSetCounts::new("181.mcf", [246, 51, 22, 29], [20.73, 8.94, 3.45, 42.99]),
        JoinSetCounts::new("197.parser", [17567, 698, 526, 172], [3.97, 2.99, 2.65, 52.10]),
        JoinSetCounts::new("254.gap", [115686, 3555, 1928, 1627], [3.07, 1.67, 4.34, 45.35]),
        JoinSetCounts::new("255.vortex", [37372, 1294, 751, 543], [3.46, 2.01, 5.00, 53.14]),
        JoinSetCounts::new("256.bzip2", [12089, 348, 177, 171], [2.88, 1.46, 5.65, 41.33]),
    ],
    average: JoinSetCounts::new("average", [30958, 1028, 582, 446], [3.32, 1.88, 5.58, 45.55]),
};

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: [&CountTable; 3] = [&TABLE_2, &TABLE_3, &TABLE_4];

    #[test]
    fn sizes_of_graphs_have_the_printed_ratios() {
        for (index, program) in SRA_PROGRAMS.iter().enumerate() {
            let ratio = TABLE_1.interference[index] as f64 / TABLE_1.value_register[index] as f64;
            assert!((ratio - TABLE_1.ratio[index]).abs() < 0.011, "{program}: {ratio} is printed as {}", TABLE_1.ratio[index]);
        }
    }

    #[test]
    fn times_have_the_printed_ratios() {
        for table in TABLES {
            let linear_scan = table.of("linear-scan");
            for allocation in &table.allocations {
                for (index, printed) in allocation.ratio.iter().flatten().enumerate() {
                    let ratio = linear_scan.seconds[index] / allocation.seconds[index];
                    let place = (table.registers, allocation.allocator, SRA_PROGRAMS[index]);
                    assert!((ratio - printed).abs() < 0.013, "{place:?}: {ratio} is printed as {printed}");
                }
            }
        }
    }

    #[test]
    fn shares_of_graphs_add_up_to_the_printed_totals() {
        // Two small programs are only in the totals.
        let nearly = |sum: f64, total: f64| sum < total && sum > 0.97 * total;
        let total = |column: fn(&Transfers) -> f64| FIGURE_10.iter().map(column).sum::<f64>() * 1000.0;
        assert!(nearly(total(|t| t.graphs), ALL_GRAPHS));
        assert!(nearly(total(|t| t.edges), ALL_EDGES));
        assert!(nearly(total(|t| t.edges * t.memory_transfers / 100.0), ALL_MEMORY_TRANSFERS));
        assert!(nearly(total(|t| t.graphs * t.potential_spills / 100.0), ALL_POTENTIAL_SPILLS));
    }

    #[test]
    fn shares_of_time_add_up_to_the_printed_sum() {
        let sum = METHOD_I_SHARE + CRITICAL_EDGES_SHARE + COALESCING_SHARE + ELIMINATION_SHARE;
        assert!((sum - 0.048).abs() < 1e-9, "{sum}");
    }

    /// All averages are those of the six rows except the mean difference, which is a fifth of their sum.
    #[test]
    fn join_sets_have_the_printed_averages() {
        let JoinSetTables { programs, average } = &JOIN_SETS;
        let sum = |column: fn(&JoinSetCounts) -> f64| programs.iter().map(column).sum::<f64>();
        let worklists = sum(|it| it.worklists as f64);
        assert!((worklists / 6.0 - average.worklists as f64).abs() < 1.0);
        assert!((100.0 * sum(|it| it.redundant as f64) / worklists - average.redundant_percent).abs() < 0.01);
        assert!((100.0 * sum(|it| it.equal as f64) / worklists - average.equal_percent).abs() < 0.01);
        assert!((sum(|it| it.saved_percent) / 6.0 - average.saved_percent).abs() < 0.01);
        assert!((sum(|it| it.difference) / 5.0 - average.difference).abs() < 0.01);
        for it in programs {
            assert_eq!(it.redundant, it.equal + it.subsets, "{}", it.program);
            assert!((100.0 * it.redundant as f64 / it.worklists as f64 - it.redundant_percent).abs() < 0.01, "{}", it.program);
            assert!((100.0 * it.equal as f64 / it.worklists as f64 - it.equal_percent).abs() < 0.01, "{}", it.program);
        }
    }

    #[test]
    fn stand_ins_are_for_programs_of_the_papers() {
        let known = |name: &str| SRA_PROGRAMS.contains(&name) || FIGURE_10.iter().any(|column| column.program == name);
        for (theirs, _) in STAND_INS {
            assert!(known(theirs), "{theirs}");
        }
        assert_eq!(stand_in("255.vortex"), Some("sqlite"));
        assert_eq!(stand_in("300.twolf"), None);
    }
}
