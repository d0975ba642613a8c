// The bridge's knowledge of x86: its registers, instructions and options.
//
// The rest of the bridge uses only LLVM's target-independent interfaces, and this one. To support another processor means to
// write these functions for it, and to add its triples to module.rs and its registers to registers.rs. LLVM installs no headers
// for a target's registers and instructions, so they are found by name (Target::classNamed, Target::opcode).
#ifndef CHORDAL_X86_H
#define CHORDAL_X86_H

#include "tiles.h"
#include "../target.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include <array>
#include <optional>
#include <vector>

namespace chordal::x86 {

// --- The code generator (generator.cpp)

// Sets LLVM's target up. To be called once.
void initialise();

// Whether there is code for a triple's processor.
bool isTarget(const llvm::Triple &T);

// Sets LLVM's options of this target, before passes are made; `Greedy` says whether LLVM's greedy allocator is one of these.
void configure(bool Greedy);

// The passes that LLVM runs before its greedy allocator because of what a function contains.
std::vector<llvm::Pass *> passesBeforeGreedy(const llvm::MachineFunction &MF);

// Whether LLVM will make functions of its own when it is nearly done with all others: thunks for indirect branches.
bool makesThunks(const llvm::Module &M);

// --- Registers (registers.cpp)

// The banks, in the order in which ChFile lists them. The bank of matrix tiles is there only if a function has tiles.
enum Bank { General, Vector, Mask, X87, MMX, Tile, NumBanks };
llvm::ArrayRef<ChBank> banks(bool HasTiles);

// The widest register of a family of aliasing ones; its bank is CH_NONE if it is the status register.
struct Root {
  llvm::MCRegister Reg;
  uint32_t Bank;
};

// The families, by bank. The status register is the last.
std::vector<Root> roots(Target &T, bool Is64Bit, bool HasTiles);

// Whether naming a register takes a byte more.
bool isPrefixed(llvm::MCRegister Reg, const llvm::TargetRegisterInfo &TRI);

// The class of general-purpose registers that are as wide as those of a class, without its restrictions.
const llvm::TargetRegisterClass *unrestricted(const llvm::TargetRegisterClass *RC, Target &T);

// The class of general-purpose registers that values of a class of mask registers are moved to and from.
const llvm::TargetRegisterClass *classBeside(const llvm::TargetRegisterClass *RC, Target &T);

// --- Swaps (swaps.cpp)

// Whether two registers of a class are swapped by way of memory: no instruction exchanges tiles, or computes their exclusive-or.
bool isSwappedInMemory(const llvm::TargetRegisterClass *RC, const llvm::TargetRegisterInfo &TRI);

// Inserts an exchange of two general-purpose registers, given by their roots, that hold values of a class.
llvm::MachineInstr &exchange(llvm::MachineBasicBlock &MBB, llvm::MachineBasicBlock::iterator At, const llvm::TargetRegisterClass *RC,
                             unsigned X, unsigned Y, Target &T);

// Inserts `To ^= From`, of whole registers of a class.
llvm::MachineInstr &exclusiveOr(llvm::MachineBasicBlock &MBB, llvm::MachineBasicBlock::iterator At,
                                const llvm::TargetRegisterClass *RC, unsigned To, unsigned From, Target &T);

// --- Other forms of two-address instructions (forms.cpp)

// Whether there is a form of the instruction in which its definition may be in any register, if all that it reads is defined. It
// may load a constant first, which the instruction itself would read from memory.
bool hasThreeAddresses(llvm::MachineInstr &MI, Target &T);

// Inserts an instruction in that form before MI, all of whose operands are in physical registers; null if LLVM has none after all.
// The caller erases MI.
llvm::MachineInstr *withThreeAddresses(llvm::MachineInstr &MI, Target &T);

// Whether an instruction computes its result from one register, for hardly more than a move costs, and writes no flags, or has a
// form with three addresses, which writes none.
bool isCheap(llvm::MachineInstr &MI, Target &T);

// Whether such an instruction reads its one register a second time with this operand: as the index of an address, and its base.
bool isIndexToo(llvm::MachineInstr &MI, unsigned Index, Target &T);

// Whether an instruction only extends the number that it reads, or moves it and zeroes the rest of the register.
bool isExtension(const llvm::MachineInstr &MI, Target &T);

// --- Constants (constants.cpp)

// Whether one instruction writes to memory the constant that MI computes, as wide as registers of this class are there.
bool isStorable(const llvm::MachineInstr &MI, const llvm::TargetRegisterClass &RC, const llvm::TargetRegisterInfo &TRI);

// Inserts a store of that constant to a stack object.
void storeConstant(llvm::MachineBasicBlock &MBB, llvm::MachineBasicBlock::iterator At, const llvm::MachineInstr &MI, int Object,
                   Target &T);

// --- Zeroes (zeroes.cpp)

// Makes the insertion of a byte into a zeroed register the zero extension that it was before X86FixupSetCC, which runs before
// allocation. That pass counts on the allocator to write the byte (a condition) into the zeroed register itself. Here a value
// has a whole register, so zero and byte would take two, and a copy.
void extendInsteadOfZeroing(llvm::MachineFunction &MF, Target &T);

// Makes each zero that is not of 32 bits by one instruction. Selected code zeroes 32 bits, and takes a part of the register,
// or all of it, in another instruction; but only a constant that one instruction makes can be rematerialised.
void zeroInOneInstruction(llvm::MachineFunction &MF, Target &T);

// Makes such zeroes by exclusive-or again where the flags are dead. The function is in physical registers, and its live-in lists
// are right.
void zeroByExclusiveOr(llvm::MachineFunction &MF, Target &T);

// --- Shorter instructions (shorten.cpp)

// Moves only the low halves of registers whose upper halves are zero, where that takes a byte less. To be called when the function
// will not change any more.
void shortenMoves(llvm::MachineFunction &MF, Target &T);

// --- Pairs of mask registers, which one instruction writes at once (pairs.cpp)

// Has the definition of a pair write the first pair that there is, from which its halves are copied at once: values have one
// register each.
void splitPair(llvm::MachineInstr &MI, Target &T);

// --- Addresses (addresses.cpp)

// The operands of an address: base, scale, index, displacement, segment.
constexpr unsigned AddressOperands = 5;

// The address of a stack object.
std::array<llvm::MachineOperand, AddressOperands> addressOf(int Object);

// Whether an instruction has that address, from its operand `First` on.
bool hasAddress(const llvm::MachineInstr &MI, unsigned First, int Object);

// Whether an instruction may read a part of its memory operand that an immediate chooses, if the operand is in a bank: a part of
// a vector, which has another displacement.
bool readsParts(uint32_t Bank);

// --- What an instruction counts as (opcodes.cpp)

struct Accesses {
  bool Loads, Stores;
};

// Facts about an opcode that LLVM does not tell.
struct OpcodeFacts {
  unsigned Instructions; // that are printed for it
  bool Copy, Xor, Exchange;
  std::optional<Accesses> Memory; // its accesses, if LLVM is wrong about them
};
const OpcodeFacts &factsOf(const llvm::MachineInstr &MI);

} // namespace chordal::x86
#endif
