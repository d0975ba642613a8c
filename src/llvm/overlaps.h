// Sets of physical registers, including parts of others, and the registers that overlap.
#ifndef CHORDAL_OVERLAPS_H
#define CHORDAL_OVERLAPS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <array>
#include <vector>

namespace chordal {

// Registers of one family, which overlap each other directly or through others. A family is in one word of every set, so each
// operand affects one word of a set.
struct Relatives {
  unsigned Word;
  uint64_t Bits;
};

// A set of registers, of fixed size, so that it needs no memory of its own. Only Overlaps knows the bits of registers.
class PhysRegs {
public:
  static constexpr unsigned NumWords = 8;

  void insert(Relatives Some) { Words[Some.Word] |= Some.Bits; }
  void remove(Relatives Some) { Words[Some.Word] &= ~Some.Bits; }
  bool overlaps(Relatives Some) const { return Words[Some.Word] & Some.Bits; }

  bool operator==(const PhysRegs &Other) const { return Words == Other.Words; }
  PhysRegs &operator|=(const PhysRegs &Other) {
    for (unsigned W = 0; W < NumWords; ++W)
      Words[W] |= Other.Words[W];
    return *this;
  }
  PhysRegs &operator-=(const PhysRegs &Other) {
    for (unsigned W = 0; W < NumWords; ++W)
      Words[W] &= ~Other.Words[W];
    return *this;
  }
  PhysRegs &operator&=(const PhysRegs &Other) {
    for (unsigned W = 0; W < NumWords; ++W)
      Words[W] &= Other.Words[W];
    return *this;
  }

  // Calls a function for each member's bit, in ascending order.
  template <typename F> void forEachBit(F Call) const {
    for (unsigned W = 0; W < NumWords; ++W)
      for (uint64_t Rest = Words[W]; Rest; Rest &= Rest - 1)
        Call(64 * W + llvm::countr_zero(Rest));
  }

private:
  std::array<uint64_t, NumWords> Words = {};
};

// The registers that overlap each register. LLVM's iterators compute them anew each time.
class Overlaps {
public:
  explicit Overlaps(const llvm::TargetRegisterInfo &TRI) : Of(TRI.getNumRegs()) {
    for (llvm::MCRegister Reg = 1; Reg.id() < Of.size(); Reg = Reg.id() + 1)
      if (!Of[Reg.id()].Self)
        place(family(Reg, TRI));
    for (llvm::MCRegister Reg = 1; Reg.id() < Of.size(); Reg = Reg.id() + 1) {
      Sets &S = Of[Reg.id()];
      for (llvm::MCRegAliasIterator Alias(Reg, &TRI, /*IncludeSelf=*/true); Alias.isValid(); ++Alias)
        S.Aliases |= Of[*Alias].Self;
      for (llvm::MCPhysReg Part : TRI.subregs_inclusive(Reg))
        S.Parts |= Of[Part].Self;
      for (llvm::MCPhysReg Whole : TRI.superregs(Reg))
        S.Wholes |= Of[Whole].Self;
    }
  }

  Relatives self(llvm::MCRegister Reg) const { return {Of[Reg.id()].Word, Of[Reg.id()].Self}; }
  // The registers that overlap a register, itself among them.
  Relatives aliases(llvm::MCRegister Reg) const { return {Of[Reg.id()].Word, Of[Reg.id()].Aliases}; }
  // A register and its parts.
  Relatives parts(llvm::MCRegister Reg) const { return {Of[Reg.id()].Word, Of[Reg.id()].Parts}; }
  // The registers that a register is a part of.
  Relatives wholes(llvm::MCRegister Reg) const { return {Of[Reg.id()].Word, Of[Reg.id()].Wholes}; }

  // Calls a function for each member of a set, family by family.
  template <typename F> void forEach(const PhysRegs &Set, F Call) const {
    Set.forEachBit([&](unsigned Bit) { Call(ByBit[Bit]); });
  }

  // The registers that a register mask does not preserve.
  PhysRegs clobbered(const uint32_t *Mask) const {
    PhysRegs Set;
    for (llvm::MCRegister Reg = 1; Reg.id() < Of.size(); Reg = Reg.id() + 1)
      if (llvm::MachineOperand::clobbersPhysReg(Mask, Reg))
        Set.insert(self(Reg));
    return Set;
  }

private:
  using Family = llvm::SmallVector<llvm::MCRegister, 16>;

  struct Sets {
    unsigned Word = 0;
    uint64_t Self = 0, Aliases = 0, Parts = 0, Wholes = 0;
  };

  static Family family(llvm::MCRegister First, const llvm::TargetRegisterInfo &TRI) {
    Family All = {First};
    for (size_t Next = 0; Next < All.size(); ++Next)
      for (llvm::MCRegAliasIterator Alias(All[Next], &TRI, /*IncludeSelf=*/false); Alias.isValid(); ++Alias)
        if (!llvm::is_contained(All, llvm::MCRegister(*Alias)))
          All.push_back(*Alias);
    return All;
  }

  void place(const Family &All) {
    if (ByBit.size() / 64 != (ByBit.size() + All.size() - 1) / 64)
      ByBit.resize(llvm::alignTo(ByBit.size(), 64));
    if (All.size() > 64 || ByBit.size() + All.size() > 64 * PhysRegs::NumWords)
      llvm::report_fatal_error("this LLVM's target has more registers than chordal knows of");
    for (llvm::MCRegister Reg : All) {
      Of[Reg.id()].Word = ByBit.size() / 64;
      Of[Reg.id()].Self = uint64_t(1) << (ByBit.size() % 64);
      ByBit.push_back(Reg);
    }
  }

  std::vector<Sets> Of;
  std::vector<llvm::MCRegister> ByBit;
};

} // namespace chordal
#endif
