// A register file as chordal sees it: families of aliasing registers ("roots") in banks.
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

// What the program wants of a function's code.
inline uint32_t goal(const llvm::MachineFunction &MF) {
  const llvm::Function &F = MF.getFunction();
  return F.hasMinSize() ? CH_LEAST_SIZE : F.hasOptSize() || F.hasFnAttribute(llvm::Attribute::Cold) ? CH_SIZE : CH_SPEED;
}

// The target of the functions with one subtarget, one set of reserved registers and one list of callee-saved ones.
class Target {
public:
  explicit Target(const llvm::MachineFunction &MF);

  // Whether a function may use this description.
  bool describes(const llvm::MachineFunction &MF) const;

  const ChFile &file() const { return File; }

  // The roots that a physical register overlaps; empty for those that are not allocated (stack pointer, segments, …).
  const ChRegSet &roots(llvm::MCRegister Reg) const { return Roots[Reg.id()]; }

  // The root that a register is the low part of, or CH_NONE.
  uint32_t lowPartOf(llvm::MCRegister Reg) const { return LowPartOf[Reg.id()]; }

  // The roots that a register mask does not preserve.
  const ChRegSet &clobbers(const uint32_t *Mask) { return masked(Mask).Roots; }

  // The registers that it does not preserve.
  const PhysRegs &destroyed(const uint32_t *Mask) { return masked(Mask).Registers; }

  // The exported number of a class, or CH_NONE.
  uint32_t classOf(const llvm::TargetRegisterClass *RC) const { return ClassOf[RC->getID()]; }
  const llvm::TargetRegisterClass *llvmClass(uint32_t Class) const { return LLVMClasses[Class]; }

  // The exported class of tiles of a shape, and the root of the register that a table lists at a place.
  uint32_t tilesOf(unsigned Shape) const { return FirstTiles + Shape; }
  unsigned tileRoot(unsigned Place) const { return FirstTileRoot + Place; }

  // The member of a class that is the low part of a root; none if the class has no such member.
  llvm::MCRegister view(const llvm::TargetRegisterClass *RC, unsigned Root) const { return Views[RC->getID()][Root]; }

  // LLVM's class of this name.
  const llvm::TargetRegisterClass *classNamed(llvm::StringRef Name);

  // Likewise, LLVM's instruction of this name.
  unsigned opcode(llvm::StringRef Name, const llvm::TargetInstrInfo &TII);

  const llvm::TargetRegisterInfo &TRI;

  const Overlaps Registers;

  // The status register.
  llvm::MCRegister Flags;

  // What Folder has found out about foldable operands: LLVM's answers depend on the subtarget.
  llvm::DenseMap<uint64_t, bool> Foldable;

  // What is known of opcodes' other forms (forms.cpp).
  llvm::DenseMap<unsigned, bool> Commutes;
  llvm::DenseMap<unsigned, int> Sums;
  llvm::DenseMap<unsigned, int> Repeats;

private:
  void addRoots(bool Is64Bit);
  void addClasses(const llvm::MachineFunction &MF);
  void addTiles();

  // What a register mask does not preserve. It is known by what it says: some masks are made for one function, and another one
  // may be found in their place later.
  struct Masked {
    std::vector<uint32_t> Mask;
    ChRegSet Roots;
    PhysRegs Registers;
  };
  const Masked &masked(const uint32_t *Mask);

  ChFile File = {};
  const llvm::TargetSubtargetInfo *Subtarget;
  llvm::BitVector Reserved;
  // As a list, since that of a function whose convention preserves fewer is the function's own.
  std::vector<llvm::MCPhysReg> CalleeSaved;
  // How many registers there are for matrix tiles of each shape.
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
