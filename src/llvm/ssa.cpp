#include "ssa.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

using namespace llvm;

namespace chordal {

BlockSet blocksLiveInto(Register Value, const MachineRegisterInfo &MRI) {
  const MachineBasicBlock *Home = MRI.getVRegDef(Value)->getParent();
  BlockSet LiveInto;
  SmallVector<MachineBasicBlock *, 8> New;
  auto Add = [&](MachineBasicBlock *Block) {
    if (Block != Home && LiveInto.insert(Block).second)
      New.push_back(Block);
  };
  for (MachineOperand &Use : MRI.use_nodbg_operands(Value))
    Add(Use.getParent()->isPHI() ? takenFrom(Use) : Use.getParent()->getParent());
  while (!New.empty())
    for (MachineBasicBlock *Pred : New.pop_back_val()->predecessors())
      Add(Pred);
  return LiveInto;
}

MachineBasicBlock *takenFrom(const MachineOperand &Argument) {
  return Argument.getParent()->getOperand(Argument.getOperandNo() + 1).getMBB();
}

bool takesInPhi(const MachineBasicBlock &MBB, Register Value, const MachineBasicBlock &From) {
  return any_of(MBB.phis(), [&](const MachineInstr &Phi) {
    return any_of(Phi.uses(), [&](const MachineOperand &MO) { return MO.isReg() && MO.getReg() == Value && takenFrom(MO) == &From; });
  });
}

} // namespace chordal
