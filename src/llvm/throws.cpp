#include "throws.h"
#include "ssa.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LivePhysRegs.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/MachineSSAUpdater.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

// A block that control may leave from a call for landing pads.
class Thrower {
public:
  Thrower(MachineBasicBlock &MBB, MachineInstr &Call)
      : MBB(MBB), Call(Call), MF(*MBB.getParent()), MRI(MF.getRegInfo()), TII(*MF.getSubtarget().getInstrInfo()),
        TRI(*MF.getSubtarget().getRegisterInfo()) {}

  bool run() {
    bool IsDone = true;
    for (MachineInstr &MI : make_early_inc_range(make_range(Call.getIterator(), MBB.instr_end())))
      for (MachineOperand &Def : MI.all_defs())
        if (Def.getReg().isVirtual() && isWanted(Def.getReg()))
          IsDone &= hoist(MI) || replace(MI);
    return IsDone;
  }

private:
  // Finds the blocks that a value is live into. Returns whether a landing pad of the block's call is among them, or has a φ that
  // takes the value.
  bool isWanted(Register Reg) {
    LiveInto = blocksLiveInto(Reg, MRI);
    return any_of(MBB.successors(), [&](MachineBasicBlock *S) {
      return S->isEHPad() && (LiveInto.contains(S) || takesInPhi(*S, Reg, MBB));
    });
  }

  bool isPad(const MachineBasicBlock &Block) const { return Block.isEHPad() && MBB.isSuccessor(&Block); }

  bool isBehindCall(const MachineInstr &MI) const {
    return MI.getParent() == &MBB && any_of(make_range(std::next(Call.getIterator()), MBB.instr_end()),
                                            [&](const MachineInstr &Other) { return &Other == &MI; });
  }

  // Moves a computation, and the computations that it reads, before the call.
  bool hoist(MachineInstr &MI) {
    bool SawStore = true;
    if (!MI.isSafeToMove(SawStore) || !all_of(MI.operands(), [&](const MachineOperand &MO) { return mayMove(MO); }))
      return false;
    for (const MachineOperand &Use : MI.all_uses())
      if (MachineInstr *Def = Use.getReg().isVirtual() ? MRI.getVRegDef(Use.getReg()) : nullptr; Def && isBehindCall(*Def))
        if (!hoist(*Def))
          return false;
    MachineInstr *Place = placeFor(MI);
    if (!Place)
      return false;
    MI.moveBefore(Place);
    return true;
  }

  bool mayMove(const MachineOperand &MO) const {
    if (!MO.isReg() || !MO.getReg().isPhysical())
      return !MO.isRegMask();
    Register StackPointer = MF.getSubtarget().getTargetLowering()->getStackPointerRegisterToSaveRestore();
    return MO.isDef() ? MO.isDead() : MRI.isReserved(MO.getReg()) && !TRI.regsOverlap(MO.getReg(), StackPointer);
  }

  // The instruction before which a computation can be inserted: the label before the call, or an earlier one if flags are live at
  // the label.
  MachineInstr *placeFor(const MachineInstr &MI) {
    LivePhysRegs Live(TRI);
    bool IsFound = false;
    for (MachineInstr &Above : make_range(Call.getReverseIterator(), MBB.instr_rend())) {
      bool IsRead = any_of(Above.all_defs(), [&](const MachineOperand &Def) {
        return Def.getReg().isVirtual() && MI.readsVirtualRegister(Def.getReg());
      });
      if (Above.isPHI() || IsRead || (IsFound && Above.isEHLabel()))
        return nullptr;
      Live.stepBackward(Above);
      IsFound |= Above.isEHLabel();
      if (IsFound && all_of(MI.all_defs(), [&](const MachineOperand &Def) {
            return !Def.getReg().isPhysical() || Live.available(MRI, Def.getReg());
          }))
        return &Above;
    }
    return nullptr;
  }

  // Replaces a copy from the call's result, in landing pads.
  bool replace(MachineInstr &MI) {
    const MachineInstr *Copy = &MI;
    while (Copy && Copy->isFullCopy() && Copy->getOperand(1).getReg().isVirtual())
      Copy = MRI.getVRegDef(Copy->getOperand(1).getReg());
    MachineInstr *Label = placeFor(MI);
    if (!Label || !Copy || !Copy->isFullCopy())
      return false;
    Register Reg = MI.getOperand(0).getReg();
    Register Known = MRI.cloneVirtualRegister(Reg);
    if (const MachineOperand *Passed = passedIn(Copy->getOperand(1).getReg()))
      BuildMI(MBB, Label, MI.getDebugLoc(), TII.get(TargetOpcode::COPY), Known).addReg(Passed->getReg(), {}, Passed->getSubReg());
    else
      BuildMI(MBB, Label, MI.getDebugLoc(), TII.get(TargetOpcode::IMPLICIT_DEF), Known);
    replaceAtPads(Reg, Known);
    return true;
  }

  // The value that a register has when the call is entered, if it is copied there.
  const MachineOperand *passedIn(MCRegister Reg) const {
    for (const MachineInstr &Above : make_range(std::next(Call.getReverseIterator()), MBB.instr_rend()))
      if (Above.modifiesRegister(Reg, &TRI))
        return Above.isCopy() && Above.getOperand(0).getReg() == Reg && Above.getOperand(1).getReg().isVirtual() ? &Above.getOperand(1)
                                                                                                                 : nullptr;
    return nullptr;
  }

  void replaceAtPads(Register Reg, Register Known) {
    MachineSSAUpdater Updater(MF);
    Updater.Initialize(Reg);
    Updater.AddAvailableValue(&MBB, Reg);
    SmallDenseMap<MachineBasicBlock *, Register, 2> AtPad;
    for (MachineBasicBlock *Pad : MBB.successors())
      if (Pad->isEHPad() && LiveInto.contains(Pad))
        Updater.AddAvailableValue(Pad, AtPad[Pad] = known(*Pad, Reg, Known));
    SmallVector<MachineOperand *, 8> Uses;
    for (MachineOperand &Use : MRI.use_operands(Reg))
      if (Use.getParent()->getParent() != &MBB || Use.getParent()->isPHI())
        Uses.push_back(&Use);
    for (MachineOperand *Use : Uses) {
      MachineInstr &MI = *Use->getParent();
      MachineBasicBlock &Block = *MI.getParent();
      if (MI.isDebugInstr())
        Use->setReg(Register());
      else if (MI.isPHI() ? takenFrom(*Use) == &MBB && isPad(Block) : AtPad.contains(&Block))
        Use->setReg(MI.isPHI() ? Known : AtPad[&Block]);
      else
        Updater.RewriteUse(*Use);
    }
  }

  // The value that a landing pad begins with: the one before the call, or a φ with those from its other predecessors.
  Register known(MachineBasicBlock &Pad, Register Reg, Register Known) {
    if (Pad.pred_size() == 1)
      return Known;
    Register Joined = MRI.cloneVirtualRegister(Reg);
    auto Phi = BuildMI(Pad, Pad.begin(), DebugLoc(), TII.get(TargetOpcode::PHI), Joined);
    for (MachineBasicBlock *Pred : Pad.predecessors())
      Phi.addReg(Pred == &MBB ? Known : Reg).addMBB(Pred);
    return Joined;
  }

  MachineBasicBlock &MBB;
  MachineInstr &Call;
  MachineFunction &MF;
  MachineRegisterInfo &MRI;
  const TargetInstrInfo &TII;
  const TargetRegisterInfo &TRI;
  // The blocks that the last value asked about is live into.
  BlockSet LiveInto;
};

} // namespace

MachineInstr *callThatThrows(MachineBasicBlock &MBB) {
  bool SeenLabel = false;
  for (MachineInstr &MI : reverse(MBB)) {
    if (MI.isEHLabel())
      SeenLabel = true;
    else if (SeenLabel && (MI.isCall() || MI.isInlineAsm()))
      return &MI;
  }
  return nullptr;
}

bool defineBeforeThrows(MachineFunction &MF) {
  bool IsDone = true;
  for (MachineBasicBlock &MBB : MF)
    if (any_of(MBB.successors(), [](const MachineBasicBlock *S) { return S->isEHPad(); }))
      if (MachineInstr *Call = callThatThrows(MBB))
        IsDone &= Thrower(MBB, *Call).run();
  return IsDone;
}

} // namespace chordal
