#include "liveins.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBundle.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

// What passing a block backwards does to the set of live registers. A register is a member with all its parts, as in LLVM's
// LivePhysRegs; writing a part ends all that has it.
struct Passage {
  BitVector Read, Written;
  // Live before the block.
  BitVector In;
};

class Liveness {
public:
  explicit Liveness(MachineFunction &MF)
      : MF(MF), MRI(MF.getRegInfo()), TRI(*MF.getSubtarget().getRegisterInfo()), Passages(MF.getNumBlockIDs()) {
    const Function &F = MF.getFunction();
    const TargetLowering &TLI = *MF.getSubtarget().getTargetLowering();
    if (F.hasPersonalityFn())
      ByUnwinder = {TLI.getExceptionPointerRegister(F.getPersonalityFn()), TLI.getExceptionSelectorRegister(F.getPersonalityFn())};
  }

  void run() {
    for (MachineBasicBlock &MBB : MF)
      pass(MBB);
    solve();
    for (MachineBasicBlock &MBB : MF) {
      list(MBB);
      flag(MBB);
    }
  }

private:
  Passage &of(const MachineBasicBlock &MBB) { return Passages[MBB.getNumber()]; }

  // The operands of an instruction, or of a bundle, that concern registers.
  struct Operands {
    SmallVector<MachineOperand *, 8> Defs, Uses;
    // What calls destroy, as masks of what they leave alone.
    SmallVector<const uint32_t *, 1> Masks;

    void read(MachineInstr &MI) {
      Defs.clear();
      Uses.clear();
      Masks.clear();
      if (!MI.isBundledWithSucc()) {
        for (MachineOperand &MO : MI.operands())
          add(MO);
        return;
      }
      for (MIBundleOperands MO(MI); MO.isValid(); ++MO)
        add(*MO);
    }

  private:
    void add(MachineOperand &MO) {
      if (MO.isRegMask()) {
        Masks.push_back(MO.getRegMask());
      } else if (MO.isReg() && MO.getReg() && !MO.isDebug()) {
        if (MO.isDef())
          Defs.push_back(&MO);
        if (MO.readsReg())
          Uses.push_back(&MO);
      }
    }
  };

  MCRegAliasIterator aliases(MCRegister Reg) const { return MCRegAliasIterator(Reg, &TRI, /*IncludeSelf=*/true); }

  void addRead(BitVector &Live) const {
    for (const MachineOperand *MO : Current.Uses)
      if (!Live.test(MO->getReg().id()))
        for (MCPhysReg Part : TRI.subregs_inclusive(MO->getReg()))
          Live.set(Part);
  }

  void removeWritten(BitVector &Live) const {
    for (const uint32_t *Mask : Current.Masks)
      Live.clearBitsNotInMask(Mask);
    for (const MachineOperand *MO : Current.Defs)
      for (MCRegAliasIterator Alias = aliases(MO->getReg()); Alias.isValid(); ++Alias)
        Live.reset((*Alias).id());
  }

  void pass(MachineBasicBlock &MBB) {
    Passage &P = of(MBB);
    for (BitVector *Set : {&P.Read, &P.Written, &P.In})
      Set->resize(TRI.getNumRegs());
    for (MachineInstr &MI : reverse(MBB)) {
      Current.read(MI);
      removeWritten(P.Read);
      for (const uint32_t *Mask : Current.Masks)
        P.Written.setBitsNotInMask(Mask);
      for (const MachineOperand *MO : Current.Defs)
        for (MCRegAliasIterator Alias = aliases(MO->getReg()); Alias.isValid(); ++Alias)
          P.Written.set((*Alias).id());
      addRead(P.Read);
    }
  }

  // What is live behind a block. What the unwinder leaves for a landing pad is not.
  BitVector out(const MachineBasicBlock &MBB) {
    BitVector Out(TRI.getNumRegs());
    for (const MachineBasicBlock *Succ : MBB.successors()) {
      const BitVector &In = of(*Succ).In;
      if (!Succ->isEHPad()) {
        Out |= In;
        continue;
      }
      BitVector Rest = In;
      for (MCRegister Reg : ByUnwinder)
        if (Reg && In.test(Reg))
          for (MCPhysReg Part : TRI.subregs_inclusive(Reg))
            Rest.reset(Part);
      Out |= Rest;
    }
    return Out;
  }

  // The least sets of which each follows from those behind it. Reserved registers are in no list.
  void solve() {
    const BitVector &Reserved = MRI.getReservedRegs();
    std::vector<const MachineBasicBlock *> Backwards;
    for (const MachineBasicBlock &MBB : reverse(MF))
      Backwards.push_back(&MBB);
    // Not every number is that of a block.
    BitVector Stale(MF.getNumBlockIDs(), true);
    for (bool Changed = true; std::exchange(Changed, false);)
      for (const MachineBasicBlock *MBB : Backwards) {
        if (!Stale.test(MBB->getNumber()))
          continue;
        Stale.reset(MBB->getNumber());
        Passage &P = of(*MBB);
        BitVector In = out(*MBB);
        In.reset(P.Written);
        In |= P.Read;
        In.reset(Reserved);
        if (In == P.In)
          continue;
        P.In = std::move(In);
        Changed = true;
        for (const MachineBasicBlock *Pred : MBB->predecessors())
          Stale.set(Pred->getNumber());
      }
  }

  // A list names registers without their parts.
  void list(MachineBasicBlock &MBB) {
    const BitVector &In = of(MBB).In;
    MBB.clearLiveIns();
    for (unsigned Reg : In.set_bits())
      if (none_of(TRI.superregs(Reg), [&](MCPhysReg Whole) { return In.test(Whole); }))
        MBB.addLiveIn(MCRegister(Reg));
  }

  // Whether nothing behind wants a register, or a part of it.
  bool isLast(const BitVector &Live, MCRegister Reg) const {
    if (MRI.isReserved(Reg))
      return false;
    for (MCRegAliasIterator Alias = aliases(Reg); Alias.isValid(); ++Alias)
      if (Live.test((*Alias).id()))
        return false;
    return true;
  }

  void flag(MachineBasicBlock &MBB) {
    BitVector Live = out(MBB);
    for (MachineInstr &MI : reverse(MBB)) {
      Current.read(MI);
      for (MachineOperand *MO : Current.Defs)
        MO->setIsDead(isLast(Live, MO->getReg()));
      removeWritten(Live);
      for (MachineOperand *MO : Current.Uses)
        MO->setIsKill(isLast(Live, MO->getReg()));
      addRead(Live);
    }
  }

  MachineFunction &MF;
  const MachineRegisterInfo &MRI;
  const TargetRegisterInfo &TRI;
  std::vector<Passage> Passages;
  // Of the instruction that is being passed.
  Operands Current;
  // The registers that the unwinder writes before it comes to a landing pad.
  std::array<MCRegister, 2> ByUnwinder = {};
};

} // namespace

void setLiveness(MachineFunction &MF) { Liveness(MF).run(); }

} // namespace chordal
