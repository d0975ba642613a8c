#include "liveins.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBundle.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

// The effect of a block, passed backwards, on the set of live registers. A register is a member with all its parts, as in LLVM's
// LivePhysRegs. Writing a part ends the liveness of every register that contains it.
struct Passage {
  PhysRegs Read, Written;
  // The registers that are live before the block.
  PhysRegs In;
};

class Liveness {
public:
  Liveness(MachineFunction &MF, Target &T)
      : MF(MF), MRI(MF.getRegInfo()), T(T), Passages(MF.getNumBlockIDs()), ByUnwinder(writtenByUnwinder(MF)) {
    for (unsigned Reg : MRI.getReservedRegs().set_bits())
      Reserved.insert(T.Registers.self(Reg));
  }

  bool run() {
    for (MachineBasicBlock &MBB : MF)
      pass(MBB);
    solve();
    for (MachineBasicBlock &MBB : MF) {
      list(MBB);
      flag(MBB);
    }
    return IsLost;
  }

private:
  Passage &of(const MachineBasicBlock &MBB) { return Passages[MBB.getNumber()]; }

  // The operands of an instruction, or of a bundle, that are registers or register masks.
  struct Operands {
    SmallVector<MachineOperand *, 8> Defs, Uses;
    // The register masks of calls, which say what they preserve.
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

  void addRead(PhysRegs &Live) const {
    for (const MachineOperand *MO : Current.Uses)
      Live.insert(T.Registers.parts(MO->getReg()));
  }

  // Removes the registers that the instruction writes and destroys.
  void removeWritten(PhysRegs &Live) const {
    for (const uint32_t *Mask : Current.Masks)
      Live -= T.destroyed(Mask);
    for (const MachineOperand *MO : Current.Defs)
      Live.remove(T.Registers.aliases(MO->getReg()));
  }

  void addWritten(PhysRegs &Written) const {
    for (const uint32_t *Mask : Current.Masks)
      Written |= T.destroyed(Mask);
    for (const MachineOperand *MO : Current.Defs)
      Written.insert(T.Registers.aliases(MO->getReg()));
  }

  void pass(MachineBasicBlock &MBB) {
    Passage &P = of(MBB);
    for (MachineInstr &MI : reverse(MBB)) {
      Current.read(MI);
      removeWritten(P.Read);
      addWritten(P.Written);
      addRead(P.Read);
    }
  }

  // The registers that are live after a block, without those that the unwinder writes for a landing pad.
  PhysRegs out(const MachineBasicBlock &MBB) {
    PhysRegs Out;
    for (const MachineBasicBlock *Succ : MBB.successors()) {
      PhysRegs In = of(*Succ).In;
      if (Succ->isEHPad())
        for (MCRegister Reg : ByUnwinder)
          if (In.overlaps(T.Registers.self(Reg)))
            In.remove(T.Registers.parts(Reg));
      Out |= In;
    }
    return Out;
  }

  // The least fixed point: each set follows from those of the successors. Reserved registers are in no list.
  void solve() {
    std::vector<const MachineBasicBlock *> Backwards;
    for (const MachineBasicBlock &MBB : reverse(MF))
      Backwards.push_back(&MBB);
    // Not every number is the number of a block.
    BitVector Stale(MF.getNumBlockIDs(), true);
    for (bool Changed = true; std::exchange(Changed, false);)
      for (const MachineBasicBlock *MBB : Backwards) {
        if (!Stale.test(MBB->getNumber()))
          continue;
        Stale.reset(MBB->getNumber());
        Passage &P = of(*MBB);
        PhysRegs In = out(*MBB);
        In -= P.Written;
        In |= P.Read;
        In -= Reserved;
        if (In == P.In)
          continue;
        P.In = In;
        Changed = true;
        for (const MachineBasicBlock *Pred : MBB->predecessors())
          Stale.set(Pred->getNumber());
      }
  }

  // A list names registers, but not their parts.
  void list(MachineBasicBlock &MBB) {
    const PhysRegs &In = of(MBB).In;
    MBB.clearLiveIns();
    T.Registers.forEach(In, [&](MCRegister Reg) {
      if (!In.overlaps(T.Registers.wholes(Reg)))
        MBB.addLiveIn(Reg);
    });
    MBB.sortUniqueLiveIns();
  }

  // Whether a register and all its parts are dead from here on.
  bool isLast(const PhysRegs &Live, MCRegister Reg) const {
    return !Reserved.overlaps(T.Registers.self(Reg)) && !Live.overlaps(T.Registers.aliases(Reg));
  }

  // Looks for a register that is read after a call that destroys it. The unwinder writes the registers, or parts of them, that a
  // landing pad reads.
  void findLost(const PhysRegs &Behind, const MachineBasicBlock &MBB) {
    PhysRegs Destroyed;
    for (const uint32_t *Mask : Current.Masks)
      Destroyed |= T.destroyed(Mask);
    for (const MachineOperand *MO : Current.Defs)
      Destroyed.remove(T.Registers.aliases(MO->getReg()));
    if (any_of(MBB.successors(), [](const MachineBasicBlock *Succ) { return Succ->isEHPad(); }))
      for (MCRegister Reg : ByUnwinder)
        Destroyed.remove(T.Registers.aliases(Reg));
    Destroyed -= Reserved;
    Destroyed &= Behind;
    // A register may be read of which only the low part has been written since: the part above it is unused.
    T.Registers.forEach(Destroyed, [&](MCRegister Reg) { IsLost |= T.lowPartOf(Reg) != CH_NONE; });
  }

  void flag(MachineBasicBlock &MBB) {
    PhysRegs Live = out(MBB);
    for (MachineInstr &MI : reverse(MBB)) {
      Current.read(MI);
      if (!Current.Masks.empty())
        findLost(Live, MBB);
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
  Target &T;
  PhysRegs Reserved;
  std::vector<Passage> Passages;
  // The operands of the instruction that is being passed.
  Operands Current;
  // Whether a register is read after a call that destroys it.
  bool IsLost = false;
  const SmallVector<MCRegister, 2> ByUnwinder;
};

} // namespace

SmallVector<MCRegister, 2> writtenByUnwinder(const MachineFunction &MF) {
  SmallVector<MCRegister, 2> Written;
  const Function &F = MF.getFunction();
  const TargetLowering &TLI = *MF.getSubtarget().getTargetLowering();
  if (!F.hasPersonalityFn())
    return Written;
  const auto *Personality = F.getPersonalityFn();
  for (MCRegister Reg : {TLI.getExceptionPointerRegister(Personality), TLI.getExceptionSelectorRegister(Personality)})
    if (Reg)
      Written.push_back(Reg);
  return Written;
}

bool setLiveness(MachineFunction &MF, Target &T) { return Liveness(MF, T).run(); }

} // namespace chordal
