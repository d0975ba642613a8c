#include "flags.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace chordal {
namespace {

// Whether an instruction reads the flags, and whether it writes them. (Nothing else overlaps them, so there is no need to ask LLVM.)
struct Access {
  bool Reads = false, Writes = false;
};

Access access(const MachineInstr &MI, MCRegister Flags) {
  Access Found;
  for (const MachineOperand &MO : MI.operands()) {
    if (MO.isRegMask())
      Found.Writes |= MO.clobbersPhysReg(Flags);
    else if (MO.isReg() && MO.getReg() == Flags)
      (MO.isDef() ? Found.Writes : Found.Reads) = true;
  }
  return Found;
}

// Calls `Visit` with each instruction of a block, from the last to the first, and whether anybody wants the flags behind it and
// in front of it.
void forAll(MachineBasicBlock &MBB, Target &T, function_ref<void(MachineInstr &, bool Behind, bool InFront)> Visit) {
  bool Live = any_of(MBB.successors(), [&](const MachineBasicBlock *Next) { return Next->isLiveIn(T.Flags); });
  for (MachineInstr &MI : make_early_inc_range(reverse(MBB))) {
    bool Behind = Live;
    Access Found = access(MI, T.Flags);
    Live = Found.Reads || (Live && !Found.Writes);
    Visit(MI, Behind, Live);
  }
}

} // namespace

void markDeadFlags(MachineFunction &MF, Target &T) {
  for (MachineBasicBlock &MBB : MF)
    forAll(MBB, T, [&](MachineInstr &MI, bool Behind, bool) {
      if (Behind)
        return;
      for (MachineOperand &MO : MI.all_defs())
        if (MO.getReg() == T.Flags)
          MO.setIsDead();
    });
}

void forAllWithoutFlags(MachineBasicBlock &MBB, Target &T, function_ref<void(MachineInstr &)> Visit) {
  forAll(MBB, T, [&](MachineInstr &MI, bool, bool InFront) {
    if (!InFront)
      Visit(MI);
  });
}

} // namespace chordal
