#include "count.h"
#include "instructions.h"
#include "llvm/CodeGen/MachineFrameInfo.h"

using namespace llvm;

namespace llvm {
// LLVM exports this metric but installs no header for it. The layout is that of lib/CodeGen/RegAllocScore.h.
class RegAllocScore final {
  double CopyCounts = 0, LoadCounts = 0, StoreCounts = 0, CheapRematCounts = 0, LoadStoreCounts = 0, ExpensiveRematCounts = 0;

public:
  double getScore() const;
};
RegAllocScore calculateRegAllocScore(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI);
} // namespace llvm

namespace chordal {
namespace {

void add(ChCounts &C, const MachineInstr &MI, const MachineFrameInfo &Frame) {
  Printed P = printed(MI);
  if (!P.Instructions)
    return;
  C.instructions += P.Instructions;
  C.loads += P.Loads;
  C.stores += P.Stores;
  C.moves += P.Move;
  C.xors += P.Xor;
  C.swaps += isExchange(MI);
  SpillAccess Spill = spillAccess(MI, Frame);
  C.spill_reloads += Spill.Loads;
  C.spill_stores += Spill.Stores;
  C.spill_folded += (Spill.Loads || Spill.Stores) && !Spill.Plain;
}

} // namespace

ChCounts count(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI) {
  const MachineFrameInfo &Frame = MF.getFrameInfo();
  ChCounts C = {};
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      add(C, MI, Frame);
  C.score = calculateRegAllocScore(MF, MBFI).getScore();
  // Negative indices are fixed objects: the slots of callee-saved registers that are pushed. Registers that are saved separately
  // have other slots.
  for (int I = 0; I < Frame.getObjectIndexEnd(); ++I)
    if (Frame.isSpillSlotObjectIndex(I) && !Frame.isDeadObjectIndex(I) && !isCalleeSavedSlot(I, Frame)) {
      ++C.spill_slots;
      C.spill_slot_bytes += Frame.getObjectSize(I);
    }
  C.frame_bytes = Frame.getStackSize();
  return C;
}

} // namespace chordal
