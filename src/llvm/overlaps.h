// Sets of physical registers, parts of others among them, and which of them overlap.
#ifndef CHORDAL_OVERLAPS_H
#define CHORDAL_OVERLAPS_H

#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <array>
#include <vector>

namespace chordal {

// As large as the largest number of registers there may be, so that it takes no memory of its own.
class PhysRegs {
public:
  static constexpr unsigned Most = 512;

  bool contains(llvm::MCRegister Reg) const { return Words[Reg.id() / 64] >> (Reg.id() % 64) & 1; }
  void insert(llvm::MCRegister Reg) { Words[Reg.id() / 64] |= uint64_t(1) << (Reg.id() % 64); }

  bool operator==(const PhysRegs &Other) const { return Words == Other.Words; }
  PhysRegs &operator|=(const PhysRegs &Other) {
    for (unsigned W = 0; W < Words.size(); ++W)
      Words[W] |= Other.Words[W];
    return *this;
  }
  PhysRegs &operator-=(const PhysRegs &Other) {
    for (unsigned W = 0; W < Words.size(); ++W)
      Words[W] &= ~Other.Words[W];
    return *this;
  }
  bool overlaps(const PhysRegs &Other) const {
    uint64_t Common = 0;
    for (unsigned W = 0; W < Words.size(); ++W)
      Common |= Words[W] & Other.Words[W];
    return Common;
  }

  // Calls a function for each member, in ascending order.
  template <typename F> void forEach(F Call) const {
    for (unsigned W = 0; W < Words.size(); ++W)
      for (uint64_t Rest = Words[W]; Rest; Rest &= Rest - 1)
        Call(llvm::MCRegister(64 * W + llvm::countr_zero(Rest)));
  }

private:
  std::array<uint64_t, Most / 64> Words = {};
};

// Of each register, the others that concern it. LLVM's iterators find them anew each time.
class Overlaps {
public:
  explicit Overlaps(const llvm::TargetRegisterInfo &TRI) : NumRegs(TRI.getNumRegs()), Of(NumRegs) {
    if (NumRegs > PhysRegs::Most)
      llvm::report_fatal_error("this LLVM's target has more registers than chordal knows of");
    for (llvm::MCRegister Reg = 1; Reg.id() < NumRegs; Reg = Reg.id() + 1) {
      for (llvm::MCRegAliasIterator Alias(Reg, &TRI, /*IncludeSelf=*/true); Alias.isValid(); ++Alias)
        Of[Reg.id()].Aliases.insert(*Alias);
      for (llvm::MCPhysReg Part : TRI.subregs_inclusive(Reg))
        Of[Reg.id()].Parts.insert(Part);
      for (llvm::MCPhysReg Whole : TRI.superregs(Reg))
        Of[Reg.id()].Wholes.insert(Whole);
    }
  }

  // All that have anything in common with a register, itself among them.
  const PhysRegs &aliases(llvm::MCRegister Reg) const { return Of[Reg.id()].Aliases; }
  // A register and its parts.
  const PhysRegs &parts(llvm::MCRegister Reg) const { return Of[Reg.id()].Parts; }
  // What a register is a part of.
  const PhysRegs &wholes(llvm::MCRegister Reg) const { return Of[Reg.id()].Wholes; }

  // What a register mask does not preserve.
  PhysRegs clobbered(const uint32_t *Mask) const {
    PhysRegs Set;
    for (llvm::MCRegister Reg = 1; Reg.id() < NumRegs; Reg = Reg.id() + 1)
      if (llvm::MachineOperand::clobbersPhysReg(Mask, Reg))
        Set.insert(Reg);
    return Set;
  }

private:
  struct Sets {
    PhysRegs Aliases, Parts, Wholes;
  };
  unsigned NumRegs;
  std::vector<Sets> Of;
};

} // namespace chordal
#endif
