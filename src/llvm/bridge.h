// The C interface between chordal and LLVM's machine code.
//
// The C++ side runs LLVM's passes, hands functions over as flat arrays, applies allocations and counts instructions. It makes no
// decision about registers. All arrays are borrowed: they live until the callback that received them returns.
//
// ffi.rs declares the same in Rust. The build script (contract.rs) reads the structs and enums below, and has both compilers assert
// that the two sides agree.
#ifndef CHORDAL_BRIDGE_H
#define CHORDAL_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// No index.
#define CH_NONE UINT32_MAX

typedef struct {
  const char *data; // UTF-8, not terminated
  size_t size;
} ChStr;

// A set of registers, a bit for each.
typedef struct {
  uint64_t words[2];
} ChRegSet;

// How two registers of a bank are swapped: by one instruction, by three exclusive-ors, or not at all.
enum ChSwap { CH_SWAP_EXCHANGE = 0, CH_SWAP_XOR = 1, CH_SWAP_NEVER = 2 };

typedef struct {
  ChStr name;
  uint32_t swap;   // a ChSwap
  uint32_t beside; // a bank whose registers can hold what is in this one's, or CH_NONE
} ChBank;

typedef struct {
  ChStr name;
  uint32_t bank; // CH_NONE for a status register
} ChReg;

typedef struct {
  ChStr name;
  uint32_t bank;
  uint32_t first_reg, end_reg; // its registers in allocation order, in ChFile::orders
  uint32_t slot_size, slot_align;
} ChClass;

// A register file: the registers of a target as some functions may use them.
typedef struct {
  const ChBank *banks;
  size_t num_banks;
  const ChReg *regs;
  size_t num_regs;
  const ChClass *classes;
  size_t num_classes;
  const uint8_t *orders;
  size_t num_orders;
  ChRegSet callee_saved;
  ChRegSet prefixed; // an instruction that names one is a byte longer
} ChFile;

typedef struct {
  uint32_t first_inst, end_inst;
  uint32_t first_edge, end_edge;
  ChRegSet live_in;
  double frequency;     // executions for each execution of the function
  uint32_t throws;      // the instruction that control leaves from for landing pads, or CH_NONE
  uint32_t landing_pad; // a bool
} ChBlock;

typedef struct {
  uint32_t to;
  uint32_t block; // the number of the block that is put on the edge if it is critical and can be split; else CH_NONE
  double frequency;
} ChEdge;

typedef struct {
  uint32_t block, def;
  uint32_t first_arg, end_arg;
} ChPhi;

typedef struct {
  uint32_t pred;
  uint32_t value; // CH_NONE if it is undefined
} ChPhiArg;

// An instruction of the program, or a copy: between values, to a physical register, from one.
enum ChInstKind { CH_OP = 0, CH_COPY = 1, CH_COPY_TO = 2, CH_COPY_FROM = 3 };
// Properties of an instruction. Rust's `InstFlags` describes them.
enum ChInstFlags {
  CH_TERMINATOR = 1,
  CH_LABEL = 2,
  CH_REMATERIALISABLE = 4,
  CH_RECOMPUTABLE = 8,
  CH_DEAR = 16,
  CH_STORABLE = 32,
  CH_GIVEN = 64,
  CH_MOVABLE = 128,
  CH_READS = 256,
  CH_WRITES = 512,
  CH_NARROWS = 1024,
  CH_EXTENDS = 2048,
  CH_WIDENS = 4096,
  CH_RECORDED = 8192,
};

typedef struct {
  uint32_t first_operand, end_operand;
  uint32_t pins; // an index into ChFunction::pins, whose first entry is empty
  uint8_t kind;  // a ChInstKind
  uint8_t reg;   // the physical register of CH_COPY_TO and CH_COPY_FROM
  uint16_t flags; // a set of ChInstFlags
} ChInst;

// Whether an operand is read, written, or written while others are still being read.
enum ChRole { CH_USE = 0, CH_DEF = 1, CH_EARLY_DEF = 2 };

typedef struct {
  uint32_t value;
  uint16_t role;          // a ChRole
  uint16_t reuse;         // of a definition: the operand of the instruction whose register it overwrites, or UINT16_MAX
  uint16_t reuse_instead; // others of the first 16 operands that it can overwrite instead, a bit each
  uint8_t reuse_none;     // a bool: it can be in any register if no operand is in memory
  uint8_t foldable;       // a bool: the instruction can read this use from its spill slot, if it reads no other operand from one
                          // and overwrites another; or it can change the use that this definition overwrites in their common slot
} ChOperand;

// The physical registers of an instruction.
typedef struct {
  ChRegSet uses, defs, early_defs, clobbers;
} ChPins;

// A value is this variable of the source somewhere.
typedef struct {
  uint32_t value;
  ChStr variable;
} ChName;

// A debugger looks for a value before the instruction of this index in the block.
typedef struct {
  uint32_t value, block, index;
} ChDebugUse;

typedef struct {
  ChStr name;
  uint32_t file;          // the number of its register file, of those of this run
  const ChFile *new_file; // the register file, if it is new; else null
  const ChBlock *blocks;
  size_t num_blocks;
  const ChEdge *edges;
  size_t num_edges;
  const ChPhi *phis;
  size_t num_phis;
  const ChPhiArg *phi_args;
  size_t num_phi_args;
  const ChInst *insts;
  size_t num_insts;
  const ChOperand *operands;
  size_t num_operands;
  const ChPins *pins;
  size_t num_pins;
  const uint32_t *classes; // one for each value
  size_t num_values;
  const ChDebugUse *debug_uses;
  size_t num_debug_uses;
  const ChName *names; // if code is listed, by value
  size_t num_names;
  uint32_t returns_twice; // a bool
  uint32_t goal;          // a ChGoal
  ChStr unsupported;      // the construct that cannot be handed over; empty if there is none
  uint64_t import_ns;     // the time that it took to make the arrays
} ChFunction;

// An instruction that allocation adds, as Rust's `Edit` describes them.
enum ChEditKind { CH_LOAD = 0, CH_STORE = 1, CH_MOVE = 2, CH_EXCHANGE = 3, CH_XOR = 4, CH_REMATERIALISE = 5, CH_PERFORM = 6, CH_STORE_CONSTANT = 7 };

typedef struct {
  uint32_t block, index; // where it goes: before this instruction of the block
  uint8_t kind;          // a ChEditKind
  uint8_t to, from; // registers: a store has only `from`, a load only `to`, and a rematerialisation `from` if it reads a value
  uint32_t object;  // the slot, or the instruction that is rematerialised or performed
  uint32_t cls;     // the class; of a performed instruction, whether it must not write flags; of a stored constant, its instruction
} ChEdit;

typedef struct {
  uint32_t size, align;
  uint32_t given; // CH_NONE if the slot is in the frame; else the instruction that loads from where it is
} ChSlot;

// The goal that the program sets for a function's code: that it is fast, or small if that costs little, or as small as possible.
enum ChGoal { CH_SPEED = 0, CH_SIZE = 1, CH_LEAST_SIZE = 2 };

// What becomes of a function: it has no code, which is an error; it is allocated; it is left to LLVM's greedy allocator.
enum ChOutcome { CH_FAILED = 0, CH_ALLOCATED = 1, CH_LEFT = 2 };

// An allocation. A location is a register, or ~slot if it is negative. INT32_MIN is no location: that of an operand of a dropped
// instruction, or of a variable that the debugger cannot find.
typedef struct {
  uint32_t outcome;         // a ChOutcome
  ChStr reason;             // why the function is left to LLVM
  const int32_t *locations; // one for each operand
  const ChEdit *edits;
  size_t num_edits;
  const ChSlot *slots;
  size_t num_slots;
  const int32_t *debug_locations; // one for each debug use
  ChRegSet usable;                // the registers that operands without a defined value may name
} ChAnswer;

// The instructions that an allocator has added, each counted by its cost and the frequency of its block.
typedef struct {
  double reloads, stores, saves, restores, copies, exchanges;
  double remats, other; // compared with the selected code: negative if there are fewer of them, or in colder blocks
} ChOverhead;

// Counts of instructions, each by the frequency of its block.
typedef struct {
  double loads, stores, moves, xors, instructions;
  uint64_t selected_instructions; // before allocation, without copies
  double selected_weighted_instructions;
  ChOverhead overhead;
} ChWeights;

// The counts of a function's final instructions, with the weights from before.
typedef struct {
  uint64_t loads, stores, moves, xors, instructions;
  ChWeights weights;
  double score;
  uint64_t spill_stores, spill_reloads, spill_folded, spill_slots, spill_slot_bytes, swaps;
  uint64_t frame_bytes;
} ChCounts;

typedef struct {
  double frequency;
  uint8_t returns;    // a bool
  uint8_t head, tail; // bools: code can be inserted before all other, and before the terminators
} ChFrameBlock;

// An edge of a frame. No block can be put on a plain one. An inner one does not leave from the end of its block.
enum ChEdgeKind { CH_EDGE_PLAIN = 0, CH_EDGE_SPLITTABLE = 1, CH_EDGE_INNER = 2 };

typedef struct {
  uint32_t from, to;
  double frequency;
  uint32_t kind; // a ChEdgeKind
} ChFrameEdge;

// What an instruction of an allocated function is to the allocator: an access to a spill slot may be part of an instruction of the
// program.
enum ChPart {
  CH_PART_PROGRAM = 0,
  CH_PART_RELOAD = 1,
  CH_PART_STORE = 2,
  CH_PART_FOLDED = 3,
  CH_PART_SAVE = 4,
  CH_PART_RESTORE = 5,
  CH_PART_COPY = 6,
  CH_PART_EXCHANGE = 7,
};

// A place in the source. Without a line, there is none.
typedef struct {
  ChStr folder, file;
  uint32_t line;
} ChPlace;

typedef struct {
  ChStr text;       // in the assembler's words where it has them
  ChPlace place;    // where it comes from
  ChPlace inlined;  // the place in the function itself into which that was inlined, if it was
  int32_t origin;   // of our allocation: the instruction of the imported function, or ~edit; INT32_MIN for the frame's
  uint32_t part;    // a ChPart
  double cost;      // what allocation costs by it
} ChListedInst;

typedef struct {
  uint32_t position; // of the block among those that were selected, or CH_NONE if it is new
  uint32_t first_inst, end_inst;
  uint32_t first_succ, end_succ; // indices of listed blocks, in ChListing::succs
  double frequency;
} ChListedBlock;

// The code of an allocated function after its prologue was inserted.
typedef struct {
  const ChListedBlock *blocks;
  size_t num_blocks;
  const ChListedInst *insts;
  size_t num_insts;
  const uint32_t *succs;
  size_t num_succs;
} ChListing;

// An allocated function before its prologue is inserted: the question where to save callee-saved registers. The first block is the
// entry.
typedef struct {
  ChStr name;
  uint32_t goal; // a ChGoal
  const ChFrameBlock *blocks;
  size_t num_blocks;
  const ChFrameEdge *edges;
  size_t num_edges;
  const uint8_t *wanted; // for each callee-saved register and block, a bool: the code there uses the register
  size_t num_registers;
  double saves, restores; // how often each is executed if the prologue saves a register
} ChFrame;

// Where in a block the stack object of a callee-saved register holds the caller's content: at the head, within it, at its end.
enum ChSavedFlags { CH_SAVED_ARRIVING = 1, CH_SAVED_WITHIN = 2, CH_SAVED_LEAVING = 4 };

// Who allocates: we, an allocator of LLVM, or, in the plug-in, LLVM as it would without us.
enum ChAllocator { CH_OURS = 0, CH_GREEDY = 1, CH_BASIC = 2, CH_PBQP = 3, CH_FAST = 4, CH_NOBODY = 5 };

// Where code will be in memory: as the module says, or anywhere if it does not say; where the linker puts it; anywhere.
enum ChRelocation { CH_AS_MODULE_SAYS = 0, CH_STATIC = 1, CH_PIC = 2 };

// The subject of a warning. A call is one of a function that the program warns of.
enum ChWarning { CH_WARN_OTHER = 0, CH_WARN_FRAME_SIZE = 1, CH_WARN_CALL = 2, CH_WARN_INLINE_ASM = 3 };

// How to generate code. What is not a number or an array is a bool.
typedef struct {
  uint32_t allocator;      // a ChAllocator
  uint32_t relocation;     // a ChRelocation
  uint32_t schedule;       // run LLVM's scheduler before LLVM's allocator
  uint32_t object;         // emit an object file instead of assembly
  uint32_t function_sections, data_sections; // give each function, each variable a section of its own
  uint32_t addrsig;        // emit a table of the symbols whose addresses are significant
  uint32_t call_site_info; // describe the arguments of calls, if there is debug information
  uint32_t ahead;          // with CH_OURS: hand all functions over before the first answer is needed
  uint32_t separate_saves; // save each callee-saved register by itself, where that is cheaper
  uint32_t verify;         // run LLVM's machine verifier after allocation
  const ChStr *excluded;   // registers that LLVM's allocator may not use
  size_t num_excluded;
  const ChStr *fallback;   // of LLVM's allocators but CH_FAST: functions that are left to LLVM's greedy allocator, with all registers
  size_t num_fallback;
  uint32_t list;    // report the code of allocated functions, and the variables that values are
  uint32_t remarks; // report LLVM's optimisation remarks about allocation
  ChStr rule;       // how the allocator chooses what is in memory, for remarks
} ChOptions;

typedef struct {
  void *user; // passed to each of these
  // Copies a function, whose arrays may be freed afterwards.
  void (*import)(void *user, const ChFunction *function);
  // Begins to allocate that function, after its arrays have been freed.
  void (*allocate)(void *user);
  // Answers with the allocation of the first function that was imported and not answered yet. It lives until the next call.
  void (*answer)(void *user, ChAnswer *answer);
  // Reports that a function is allocated: an answer has been applied, LLVM's allocator is done, or the function was left to LLVM.
  // `ns` is the time that this took, 0 for functions that were left to LLVM.
  void (*allocated)(void *user, ChStr function, uint64_t ns, ChStr verifier_report);
  // Answers where callee-saved registers are to be saved: a set of ChSavedFlags for each register and block, in the order of
  // `wanted`; all empty if the prologue is to save the register.
  void (*wrap)(void *user, const ChFrame *frame, uint8_t *saved);
  // Reports that this has been done.
  void (*wrapped)(void *user, ChStr function, uint64_t ns, ChStr verifier_report);
  // Reports that LLVM's allocator cannot do a function. The output will be of no use.
  void (*failed)(void *user, ChStr function, ChStr reason);
  // Reports the counts of a function's final instructions.
  void (*counted)(void *user, ChStr function, const ChCounts *counts);
  // Reports an error of LLVM's, and a warning with its subject (a ChWarning).
  void (*error)(void *user, ChStr message);
  void (*warning)(void *user, uint32_t about, ChStr message);
  // Reports the size of a function's code in bytes, by its symbol. (Called by ch_sizes.)
  void (*size)(void *user, ChStr symbol, uint64_t bytes);
  // Takes the finished assembly or object file.
  void (*emit)(void *user, ChStr output);
  // Reports the code of an allocated function, if it was asked for.
  void (*listed)(void *user, ChStr function, const ChListing *listing);
  // Takes the finished remarks, as YAML.
  void (*remarks)(void *user, ChStr yaml);
} ChCallbacks;

// Messages about a module that is read: its bytes are invalid, LLVM's verifier rejects it, it is an index of ThinLTO (without
// text), or there is a warning, and it has been read nonetheless.
enum ChReadMessage { CH_READ_INVALID = 0, CH_READ_BROKEN = 1, CH_READ_INDEX = 2, CH_READ_WARNING = 3 };

typedef struct {
  void *user;
  void (*message)(void *user, uint32_t kind, ChStr text);
} ChReader;

// Parses and verifies a module (bitcode or text) in an LLVMContextRef. Returns an LLVMModuleRef, or null after one message that says
// why not.
void *ch_read(void *context, ChStr name, ChStr bytes, const ChReader *reader);

// Leaves only one function's code in a module (an LLVMModuleRef): what else it defines, it only declares afterwards. Returns a bool: no
// if the module does not define the function.
uint32_t ch_keep_only(void *module, ChStr function);

// Generates code for a module (an LLVMModuleRef), which is of no use afterwards. Returns 0, or 1 after calling `error`.
int ch_codegen(void *module, const ChOptions *options, const ChCallbacks *callbacks);

// Finds the size of each function in the assembly that ch_codegen emitted for a module, with the same relocation. Returns 0, or 1 if
// LLVM cannot read the text: its parser and its printer write some instructions differently. A zero byte has to follow the text.
int ch_sizes(void *module, uint32_t relocation, ChStr assembly, const ChCallbacks *callbacks);

// Writes the pass that LLVM runs on this thread, and the function that it runs on, into a buffer. Returns the length, 0 if they are
// not known. A signal handler may call it, to say what crashed.
size_t ch_doing(char *buffer, size_t size);

// --- The plug-in: a process of LLVM's generates code, and our allocation is in it.

// How severe a message about a module is.
enum ChSeverity { CH_ERROR = 0, CH_WARN = 1 };

// The other side of the plug-in. A guest is a module whose code is being generated.
typedef struct {
  // Begins with a module for a target, before anything else is known about it. Fills the options and the callbacks, which live until
  // `end`. `whole` is a bool: the thread generates the code of this module only.
  void *(*begin)(ChStr triple, uint32_t whole, ChOptions *options, ChCallbacks *callbacks);
  // Looks at the module (an LLVMModuleRef) before code generation.
  void (*look)(void *guest, void *module);
  // All functions are done. `report` is called with each message about the module, a ChSeverity and a text.
  void (*finish)(void *guest, void *user, void (*report)(void *user, uint32_t severity, ChStr text));
  // The guest is of no use any more.
  void (*end)(void *guest);
} ChHost;

// The plug-in's own options of LLVM's command line (-mllvm).
enum ChOption { CH_OPTION_ALLOCATOR = 0, CH_OPTION_REGISTERS = 1, CH_OPTION_OPTIONS = 2, CH_OPTION_STATS = 3 };

// The value of such an option (a ChOption), empty if it is not given.
ChStr ch_option(uint32_t option);

// Has our allocation take part in all code that LLVM generates in this process from now on. To be called once.
void ch_join(const ChHost *host);

// The callback of a plug-in that generates the code of a whole module: parameters and result are those of LLVM's PreCodeGenCallback.
uint8_t ch_generate_whole(void *module, void *target_machine, uint32_t file_type, void *stream);

// Sets up LLVM's target and routes LLVM's fatal errors to `fatal`, which must not return. To be called once.
void ch_initialise(void (*fatal)(ChStr message));

#ifdef __cplusplus
}
#endif
#endif
