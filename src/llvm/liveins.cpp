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
    for (const MachineBasicBlock &MBB : MF)
      pass(MBB);
    solve();
    for (MachineBasicBlock &MBB : MF) {
      list(MBB);
      flag(MBB);
    }
  }

private:
  Passage &of(const MachineBasicBlock &MBB) { return Passages[MBB.getNumber()]; }

  // All operands that name registers, or those that calls leave alone.
  template <class Each> static void operands(const MachineInstr &MI, Each Visit) {
    auto Concerns = [](const MachineOperand &MO) {
      return MO.isRegMask() || (MO.isReg() && !MO.isDebug() && MO.getReg().isPhysical());
    };
    for (ConstMIBundleOperands MO(MI); MO.isValid(); ++MO)
      if (Concerns(*MO))
        Visit(*MO);
  }

  template <class Each> void aliases(MCRegister Reg, Each Visit) const {
    for (MCRegAliasIterator Alias(Reg, &TRI, /*IncludeSelf=*/true); Alias.isValid(); ++Alias)
      Visit((*Alias).id());
  }

  void addReads(const MachineInstr &MI, BitVector &Live) const {
    operands(MI, [&](const MachineOperand &MO) {
      if (MO.isReg() && MO.readsReg())
        for (MCPhysReg Part : TRI.subregs_inclusive(MO.getReg()))
          Live.set(Part);
    });
  }

  void removeWritten(const MachineInstr &MI, BitVector &Live) const {
    operands(MI, [&](const MachineOperand &MO) {
      if (MO.isRegMask())
        Live.clearBitsNotInMask(MO.getRegMask());
      else if (MO.isDef())
        aliases(MO.getReg(), [&](unsigned Alias) { Live.reset(Alias); });
    });
  }

  void pass(const MachineBasicBlock &MBB) {
    Passage &P = of(MBB);
    for (BitVector *Set : {&P.Read, &P.Written, &P.In})
      Set->resize(TRI.getNumRegs());
    for (const MachineInstr &MI : reverse(MBB)) {
      removeWritten(MI, P.Read);
      operands(MI, [&](const MachineOperand &MO) {
        if (MO.isRegMask())
          P.Written.setBitsNotInMask(MO.getRegMask());
        else if (MO.isDef())
          aliases(MO.getReg(), [&](unsigned Alias) { P.Written.set(Alias); });
      });
      addReads(MI, P.Read);
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
    bool Wanted = MRI.isReserved(Reg);
    aliases(Reg, [&](unsigned Alias) { Wanted |= Live.test(Alias); });
    return !Wanted;
  }

  void flag(MachineBasicBlock &MBB) {
    BitVector Live = out(MBB);
    for (MachineInstr &MI : reverse(MBB)) {
      for (MIBundleOperands MO(MI); MO.isValid(); ++MO)
        if (MO->isReg() && MO->isDef() && !MO->isDebug() && MO->getReg())
          MO->setIsDead(isLast(Live, MO->getReg()));
      removeWritten(MI, Live);
      for (MIBundleOperands MO(MI); MO.isValid(); ++MO)
        if (MO->isReg() && MO->readsReg() && !MO->isDebug() && MO->getReg())
          MO->setIsKill(isLast(Live, MO->getReg()));
      addReads(MI, Live);
    }
  }

  MachineFunction &MF;
  const MachineRegisterInfo &MRI;
  const TargetRegisterInfo &TRI;
  std::vector<Passage> Passages;
  // The registers that the unwinder writes before it comes to a landing pad.
  std::array<MCRegister, 2> ByUnwinder = {};
};

} // namespace

void setLiveness(MachineFunction &MF) { Liveness(MF).run(); }

} // namespace chordal
