#include "flags.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace chordal {
namespace {

// Visits the instructions of a block from the last to the first. Calls `Dead` with definitions of the flags that are not read,
// and `Visit` with each instruction, and whether the flags are live before it. (Nothing else overlaps the flags, so there is no
// need to ask LLVM.)
template <typename DeadT, typename VisitT> void forAll(MachineBasicBlock &MBB, MCRegister Flags, DeadT Dead, VisitT Visit) {
  bool Live = any_of(MBB.successors(), [&](const MachineBasicBlock *Next) { return Next->isLiveIn(Flags); });
  for (MachineInstr &MI : make_early_inc_range(reverse(MBB))) {
    bool Reads = false, Writes = false;
    for (MachineOperand &MO : MI.operands()) {
      if (MO.isRegMask())
        Writes |= MO.clobbersPhysReg(Flags);
      else if (MO.isReg() && MO.getReg() == Flags) {
        (MO.isDef() ? Writes : Reads) = true;
        if (MO.isDef() && !Live)
          Dead(MO);
      }
    }
    Live = Reads || (Live && !Writes);
    Visit(MI, Live);
  }
}

} // namespace

void markDeadFlags(MachineFunction &MF, Target &T) {
  for (MachineBasicBlock &MBB : MF)
    forAll(MBB, T.Flags, [](MachineOperand &Def) { Def.setIsDead(); }, [](MachineInstr &, bool) {});
}

void forAllWithoutFlags(MachineBasicBlock &MBB, Target &T, function_ref<void(MachineInstr &)> Visit) {
  forAll(MBB, T.Flags, [](MachineOperand &) {}, [&](MachineInstr &MI, bool InFront) {
    if (!InFront)
      Visit(MI);
  });
}

} // namespace chordal
