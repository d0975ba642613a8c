#include "records.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/StackMaps.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {

// The first operand that may be recorded. Those before it are what the instruction works with.
static unsigned firstRecorded(const MachineInstr &MI) {
  switch (MI.getOpcode()) {
  case TargetOpcode::STACKMAP:
    return StackMapOpers(&MI).getVarIdx();
  case TargetOpcode::PATCHPOINT:
    return PatchPointOpers(&MI).getVarIdx();
  default:
    return StatepointOpers(&MI).getVarIdx();
  }
}

bool isRecorder(const MachineInstr &MI) {
  return is_contained({TargetOpcode::STACKMAP, TargetOpcode::PATCHPOINT, TargetOpcode::STATEPOINT}, MI.getOpcode());
}

SmallVector<unsigned, 0> recordedOperands(const MachineInstr &MI) {
  SmallVector<unsigned, 0> Recorded;
  if (!isRecorder(MI))
    return Recorded;
  for (unsigned Index = MI.getNumOperands(), First = firstRecorded(MI); Index-- > First;) {
    const MachineOperand &MO = MI.getOperand(Index);
    if (MO.isReg() && MO.isUse() && !MO.isImplicit() && !MO.isUndef() && !MO.isTied() && !MO.getSubReg() && MO.getReg().isVirtual())
      Recorded.push_back(Index);
  }
  return Recorded;
}

MachineInstr *recordInMemory(MachineInstr &MI, unsigned Index, int Object) {
  return MI.getMF()->getSubtarget().getInstrInfo()->foldMemoryOperand(MI, {Index}, Object);
}

} // namespace chordal
