// The C interface between chordal and LLVM's machine code, mirrored one to one by ffi.rs: contract.rs reads the declarations
// below, and has both compilers assert them.
//
// The C++ side runs LLVM's passes, hands functions over as flat arrays, applies answers and counts. It decides nothing
// about registers. All arrays are borrowed: they live until the callback that received them returns.
#ifndef CHORDAL_BRIDGE_H
#define CHORDAL_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CH_NONE UINT32_MAX

typedef struct {
  const char *data; // UTF-8, not terminated
  size_t size;
} ChStr;

// A set of registers, one bit each.
typedef struct {
  uint64_t words[2];
} ChRegSet;

enum ChSwap { CH_SWAP_EXCHANGE = 0, CH_SWAP_XOR = 1, CH_SWAP_NEVER = 2 };

typedef struct {
  ChStr name;
  uint32_t swap;
} ChBank;

typedef struct {
  ChStr name;
  uint32_t bank; // CH_NONE: a status register
} ChReg;

typedef struct {
  ChStr name;
  uint32_t bank;
  uint32_t first_reg, end_reg; // into ChFile::orders
  uint32_t slot_size, slot_align;
} ChClass;

// The registers of one function's target as the function may use them.
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
  ChRegSet prefixed; // naming one takes a byte more
} ChFile;

typedef struct {
  uint32_t first_inst, end_inst;
  uint32_t first_edge, end_edge;
  ChRegSet live_in;
  double frequency;
  uint32_t throws; // instruction, or CH_NONE
  uint32_t landing_pad;
  uint32_t jump_target; // of inline assembly
} ChBlock;

typedef struct {
  uint32_t to;
  uint32_t block; // the number that a block on this (critical, splittable) edge gets, or CH_NONE
  double frequency;
} ChEdge;

typedef struct {
  uint32_t block, def;
  uint32_t first_arg, end_arg;
} ChPhi;

typedef struct {
  uint32_t pred;
  uint32_t value; // CH_NONE: undefined
} ChPhiArg;

enum ChInstKind { CH_OP = 0, CH_COPY = 1, CH_COPY_TO = 2, CH_COPY_FROM = 3 };
// Properties of an instruction, as in Rust's `InstFlags`, where they are described.
enum ChInstFlags {
  CH_TERMINATOR = 1,
  CH_LABEL = 2,
  CH_JUMPS = 4,
  CH_REMATERIALISABLE = 8,
  CH_RECOMPUTABLE = 16,
  CH_DEAR = 32,
  CH_STORABLE = 64,
  CH_GIVEN = 128,
  CH_MOVABLE = 256,
  CH_READS = 512,
  CH_WRITES = 1024,
};

typedef struct {
  uint32_t first_operand, end_operand;
  uint32_t pins; // into ChFunction::pins; 0 is the empty entry
  uint8_t kind;
  uint8_t reg; // the pinned register of CH_COPY_TO and CH_COPY_FROM
  uint16_t flags;
} ChInst;

enum ChRole { CH_USE = 0, CH_DEF = 1, CH_EARLY_DEF = 2 };

typedef struct {
  uint32_t value;
  uint16_t role;
  uint16_t reuse;         // index among the instruction's operands, or UINT16_MAX
  uint16_t reuse_instead; // likewise: the definition can reuse this one, if no operand is in memory
  uint8_t reuse_none;     // the definition can be anywhere, if no operand is in memory
  uint8_t foldable;       // the instruction can read this use from its spill slot, as the only one of its operands; or it can
                          // change what this definition reuses in their common slot
} ChOperand;

typedef struct {
  ChRegSet uses, defs, early_defs, clobbers;
} ChPins;

typedef struct {
  uint32_t value, block, index;
} ChDebugUse;

typedef struct {
  ChStr name;
  uint32_t file; // numbers the distinct register files of this run
  const ChFile *new_file; // null unless `file` is seen for the first time
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
  const uint32_t *classes; // one a value
  size_t num_values;
  const ChDebugUse *debug_uses;
  size_t num_debug_uses;
  uint32_t returns_twice;
  uint32_t goal; // CH_SPEED, …
  ChStr unsupported; // empty, or what the function contains that cannot be handed over
  uint64_t import_ns; // time taken to make these arrays
} ChFunction;

enum ChEditKind { CH_LOAD = 0, CH_STORE = 1, CH_MOVE = 2, CH_EXCHANGE = 3, CH_XOR = 4, CH_REMATERIALISE = 5, CH_PERFORM = 6, CH_STORE_CONSTANT = 7 };

typedef struct {
  uint32_t block, index; // before this instruction of the block
  uint8_t kind;
  uint8_t to, from; // registers; a store has `from` alone, a load `to` alone, and a rematerialisation `from` if it reads a value
  uint32_t object;  // slot, or the rematerialised or performed instruction
  uint32_t cls;     // of a performed instruction: whether it is to write no flags; of a stored constant: its instruction
} ChEdit;

typedef struct {
  uint32_t size, align;
  uint32_t given; // the instruction that loads from there, if it is none of the frame; else CH_NONE
} ChSlot;

enum ChGoal { CH_SPEED = 0, CH_SIZE = 1, CH_LEAST_SIZE = 2 }; // what the program wants of a function's code

enum ChOutcome { CH_FAILED = 0, CH_ALLOCATED = 1 };

// An allocation. A location is a register, or ~slot if negative; INT32_MIN is none: the operand of
// an instruction that is dropped, or an unknown debug location.
typedef struct {
  uint32_t outcome;
  const int32_t *locations; // one an operand
  const ChEdit *edits;
  size_t num_edits;
  const ChSlot *slots;
  size_t num_slots;
  const int32_t *debug_locations; // one a debug use
  ChRegSet usable;                // where operands without a defined value may point
} ChAnswer;

// What an allocator has caused, each instruction by its cost and the frequency of its block.
typedef struct {
  double reloads, stores, saves, restores, copies, exchanges;
  double remats, other; // differences to the selected code: negative if there are fewer of them, or at colder places
} ChOverhead;

// What was counted by block frequency.
typedef struct {
  double loads, stores, moves, xors, instructions;
  uint64_t selected_instructions; // before allocation, copies not counted
  double selected_weighted_instructions;
  ChOverhead overhead;
} ChWeights;

// What one pass over the final instructions of a function counted, and what was weighed before.
typedef struct {
  uint64_t loads, stores, moves, xors, instructions;
  ChWeights weights;
  double score;
  uint64_t spill_stores, spill_reloads, spill_folded, spill_slots, spill_slot_bytes, swaps;
  uint64_t frame_bytes;
} ChCounts;

typedef struct {
  double frequency;
  uint8_t returns;
  uint8_t head, tail; // there can be code before all other, and before the terminators
} ChFrameBlock;

enum ChEdgeKind { CH_EDGE_PLAIN = 0, CH_EDGE_SPLITTABLE = 1, CH_EDGE_INNER = 2 }; // inner: not from the block's end

typedef struct {
  uint32_t from, to;
  double frequency;
  uint32_t kind;
} ChFrameEdge;

// An allocated function before its prologue is inserted. The first block is the entry.
typedef struct {
  ChStr name;
  uint32_t goal; // CH_SPEED, …
  const ChFrameBlock *blocks;
  size_t num_blocks;
  const ChFrameEdge *edges;
  size_t num_edges;
  const uint8_t *wanted; // by callee-saved register and block, whether the program wants the register there
  size_t num_registers;
  double saves, restores; // executions, if the prologue saves one
} ChFrame;

// Where in a block the caller's content of a register is in its stack object.
enum ChSavedFlags { CH_SAVED_ARRIVING = 1, CH_SAVED_WITHIN = 2, CH_SAVED_LEAVING = 4 };

enum ChAllocator { CH_OURS = 0, CH_GREEDY = 1, CH_BASIC = 2, CH_PBQP = 3, CH_FAST = 4 };

// Where code will be in memory: as the module says, and if it says nothing, anywhere; where the linker puts it; anywhere.
enum ChRelocation { CH_AS_MODULE_SAYS = 0, CH_STATIC = 1, CH_PIC = 2 };
enum ChWarning { CH_WARN_OTHER = 0, CH_WARN_FRAME_SIZE = 1, CH_WARN_CALL = 2, CH_WARN_INLINE_ASM = 3 }; // call: of what its program warns of

typedef struct {
  uint32_t allocator;
  uint32_t relocation;   // CH_AS_MODULE_SAYS, …
  uint32_t schedule;     // run LLVM's scheduler before LLVM's allocator
  uint32_t object;       // emit an object file instead of assembly
  uint32_t function_sections, data_sections; // each function, each variable has a section of its own
  uint32_t addrsig;        // emit a table of the symbols whose addresses matter
  uint32_t call_site_info; // describe what calls pass, if there is debug information
  uint32_t ahead;        // with ours: hand all functions over before the first answer is wanted
  uint32_t separate_saves; // callee-saved registers are saved each for itself, where that is cheaper
  uint32_t verify;       // run LLVM's machine verifier on what an allocator left
  const ChStr *excluded; // registers that LLVM's allocator may not use
  size_t num_excluded;
  const ChStr *fallback; // functions that go to LLVM's greedy allocator, with all registers (not with CH_FAST)
  size_t num_fallback;
} ChOptions;

typedef struct {
  void *user;
  // Take a function over: its arrays may go afterwards.
  void (*import)(void *user, const ChFunction *function);
  // Begin to allocate it, now that these are gone.
  void (*allocate)(void *user);
  // What has come of the first function that was taken over and not asked about yet; it lives until the next call.
  void (*answer)(void *user, ChAnswer *answer);
  // A function is allocated: an answer has been applied (or the function was left to LLVM), or LLVM's allocator is done.
  // `ns` is the time for that, 0 for functions that fell back.
  void (*allocated)(void *user, ChStr function, uint64_t ns, ChStr verifier_report);
  // Where callee-saved registers are to be saved: by register and block, of the above; all 0 if by the prologue.
  void (*wrap)(void *user, const ChFrame *frame, uint8_t *saved);
  // That is done, in so much time.
  void (*wrapped)(void *user, ChStr function, uint64_t ns, ChStr verifier_report);
  // LLVM's allocator cannot do a function; what is emitted in the end will be of no use.
  void (*failed)(void *user, ChStr function, ChStr reason);
  // Final instructions counted.
  void (*counted)(void *user, ChStr function, const ChCounts *counts);
  // An error that LLVM reported, and a warning, with what it is about (CH_WARN_OTHER, …).
  void (*error)(void *user, ChStr message);
  void (*warning)(void *user, uint32_t about, ChStr message);
  // The bytes of a function's code, by its symbol (for ch_sizes).
  void (*size)(void *user, ChStr symbol, uint64_t bytes);
  // The finished assembly or object file.
  void (*emit)(void *user, ChStr output);
} ChCallbacks;

// Kinds of messages about a module that is read: of invalid bytes, of a module that LLVM's verifier rejects, of a file that is an index of
// ThinLTO (without text), and of what is read nonetheless.
enum ChReadMessage { CH_READ_INVALID = 0, CH_READ_BROKEN = 1, CH_READ_INDEX = 2, CH_READ_WARNING = 3 };

typedef struct {
  void *user;
  void (*message)(void *user, uint32_t kind, ChStr text);
} ChReader;

// Parse and verify a module (bitcode or text) in an LLVMContextRef. Returns an LLVMModuleRef, or null after one message about why not.
void *ch_read(void *context, ChStr name, ChStr bytes, const ChReader *reader);

// Generate code for a module (an LLVMModuleRef). Returns 0, or 1 after calling `error`.
int ch_codegen(void *module, const ChOptions *options, const ChCallbacks *callbacks);

// Find the size of each function in what ch_codegen printed, of the same module with the same relocation. Returns 0, or 1 if LLVM cannot
// read the text: it has instructions that its parser and its printer write differently.
int ch_sizes(void *module, uint32_t relocation, ChStr assembly, const ChCallbacks *callbacks);

// Write what LLVM is doing on this thread (the pass, and the function it runs on) into a buffer. Returns its length, 0 if that is not
// known. Meant for last words: it may be called by a handler of signals.
size_t ch_doing(char *buffer, size_t size);

// Set up LLVM's x86 target and route its fatal errors to `fatal` (which must not return). Call once.
void ch_initialise(void (*fatal)(ChStr message));

#ifdef __cplusplus
}
#endif
#endif
