// The model of a register file: families of aliasing registers ("roots"), in banks.
#ifndef CHORDAL_TARGET_H
#define CHORDAL_TARGET_H

#include "bridge.h"
#include "overlaps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <deque>
#include <string>
#include <vector>

namespace chordal {

inline ChStr str(llvm::StringRef S) { return {S.data(), S.size()}; }

inline void insert(ChRegSet &Set, unsigned Root) { Set.words[Root / 64] |= uint64_t(1) << (Root % 64); }
inline void remove(ChRegSet &Set, unsigned Root) { Set.words[Root / 64] &= ~(uint64_t(1) << (Root % 64)); }
inline bool contains(const ChRegSet &Set, unsigned Root) { return Set.words[Root / 64] >> (Root % 64) & 1; }
inline void unite(ChRegSet &Set, const ChRegSet &Other) {
  Set.words[0] |= Other.words[0];
  Set.words[1] |= Other.words[1];
}

// The goal that the program sets for a function's code (a ChGoal).
inline uint32_t goal(const llvm::MachineFunction &MF) {
  const llvm::Function &F = MF.getFunction();
  return F.hasMinSize() ? CH_LEAST_SIZE : F.hasOptSize() || F.hasFnAttribute(llvm::Attribute::Cold) ? CH_SIZE : CH_SPEED;
}

// The target of all functions with one subtarget, one set of reserved registers and one list of callee-saved registers.
class Target {
public:
  explicit Target(const llvm::MachineFunction &MF);

  // Whether a function may use this description.
  bool describes(const llvm::MachineFunction &MF) const;

  const ChFile &file() const { return File; }

  // The roots that a physical register overlaps. Registers that are not allocated overlap none (stack pointer, segments, …).
  const ChRegSet &roots(llvm::MCRegister Reg) const { return Roots[Reg.id()]; }

  // The root that a register is the low part of, or CH_NONE.
  uint32_t lowPartOf(llvm::MCRegister Reg) const { return LowPartOf[Reg.id()]; }

  // The sizes of the widest values in each bank, in bits.
  using Widths = llvm::SmallVector<unsigned, 8>;

  // The roots of which a register mask does not preserve as many low bits as the widest values of their banks have. (Of vector
  // registers, some conventions preserve the low 128 bits.)
  ChRegSet clobbers(const uint32_t *Mask, const Widths &Widest);

  // The registers that a register mask does not preserve.
  const PhysRegs &destroyed(const uint32_t *Mask) { return masked(Mask).Destroyed; }

  // The exported number of a class, or CH_NONE.
  uint32_t classOf(const llvm::TargetRegisterClass *RC) const { return ClassOf[RC->getID()]; }
  const llvm::TargetRegisterClass *llvmClass(uint32_t Class) const { return LLVMClasses[Class]; }

  // The exported class of tiles of a shape, and the root of the register at a place in the table of shapes.
  uint32_t tilesOf(unsigned Shape) const { return FirstTiles + Shape; }
  unsigned tileRoot(unsigned Place) const { return FirstTileRoot + Place; }

  // The member of a class that is the low part of a root; none if the class has no such member.
  llvm::MCRegister view(const llvm::TargetRegisterClass *RC, unsigned Root) const { return Views[RC->getID()][Root]; }

  // LLVM's class of this name.
  const llvm::TargetRegisterClass *classNamed(llvm::StringRef Name);

  // LLVM's instruction of this name.
  unsigned opcode(llvm::StringRef Name, const llvm::TargetInstrInfo &TII);

  const llvm::TargetRegisterInfo &TRI;

  const Overlaps Registers;

  // The status register.
  llvm::MCRegister Flags;

  // The operands that Folder has found foldable, or not. LLVM's answers depend on the subtarget.
  llvm::DenseMap<uint64_t, bool> Foldable;

  // The same in whichever form the instructions are.
  llvm::DenseMap<uint64_t, bool> FoldableAlways;

  // Other forms of instructions, as far as they have been found out (forms.cpp, x86/forms.cpp).
  llvm::DenseMap<uint64_t, bool> Exchanges;
  llvm::DenseMap<unsigned, int> Loose;
  llvm::DenseMap<unsigned, int> Repeats;

private:
  void addRoots(bool Is64Bit);
  void addClasses(const llvm::MachineFunction &MF);
  void addTiles();

  // The registers that a register mask does not preserve. A mask is identified by its content: some masks are made for one
  // function, and the memory of one may be another's later.
  struct Masked {
    std::vector<uint32_t> Mask;
    PhysRegs Destroyed;
    // Of the widths that were asked for last.
    Widths Widest;
    ChRegSet Roots;
  };
  Masked &masked(const uint32_t *Mask);
  llvm::MCRegister lowBits(unsigned Root, unsigned Bits) const;

  ChFile File = {};
  const llvm::TargetSubtargetInfo *Subtarget;
  llvm::BitVector Reserved;
  // A copy of the list, because a function whose convention preserves fewer registers has a list of its own.
  std::vector<llvm::MCPhysReg> CalleeSaved;
  // The number of registers for matrix tiles of each shape.
  std::vector<unsigned> TileSets;
  uint32_t FirstTiles = CH_NONE;
  unsigned FirstTileRoot = 0;
  std::vector<llvm::MCRegister> RootRegs;
  std::vector<ChRegSet> Roots;
  std::vector<uint32_t> LowPartOf;
  std::vector<uint32_t> ClassOf;
  std::vector<const llvm::TargetRegisterClass *> LLVMClasses;
  std::vector<std::vector<llvm::MCRegister>> Views;
  std::deque<Masked> Masks;
  std::vector<ChReg> Regs;
  std::vector<ChClass> Classes;
  std::vector<uint8_t> Orders;
  std::deque<std::string> Names;
  llvm::StringMap<const llvm::TargetRegisterClass *> ClassNames;
  llvm::StringMap<unsigned> Opcodes;
};

} // namespace chordal
#endif
