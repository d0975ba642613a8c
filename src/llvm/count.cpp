#include "count.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace llvm {
// LLVM exports this metric but installs no header for it; the layout is that of lib/CodeGen/RegAllocScore.h.
class RegAllocScore final {
  double CopyCounts = 0, LoadCounts = 0, StoreCounts = 0, CheapRematCounts = 0, LoadStoreCounts = 0, ExpensiveRematCounts = 0;

public:
  double getScore() const;
};
RegAllocScore calculateRegAllocScore(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI);
} // namespace llvm

namespace chordal {
namespace {

// RegAllocScore's weights.
constexpr double CopyWeight = 0.2, LoadWeight = 4.0, StoreWeight = 1.0;
// A swap is as much work as three copies.
constexpr double SwapWeight = 3 * CopyWeight;

bool isXor(StringRef Opcode) {
  for (StringRef Prefix : {"XOR", "VXOR", "PXOR", "VPXOR", "KXOR", "MMX_PXOR"})
    if (Opcode.starts_with(Prefix))
      return true;
  return false;
}

class Counter {
public:
  Counter(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI)
      : MF(MF), MBFI(MBFI), TII(*MF.getSubtarget().getInstrInfo()), Frame(MF.getFrameInfo()) {}

  ChCounts run() {
    for (const MachineBasicBlock &MBB : MF) {
      Frequency = MBFI.getBlockFreqRelativeToEntryBlock(&MBB);
      for (const MachineInstr &MI : MBB)
        if (!MI.isMetaInstruction() && !MI.isDebugInstr() && !MI.isCFIInstruction())
          add(MI);
    }
    C.score = calculateRegAllocScore(MF, MBFI).getScore();
    // Negative indices are fixed objects: the slots of pushed callee-saved registers.
    for (int I = 0; I < Frame.getObjectIndexEnd(); ++I)
      if (Frame.isSpillSlotObjectIndex(I) && !Frame.isDeadObjectIndex(I)) {
        ++C.spill_slots;
        C.spill_slot_bytes += Frame.getObjectSize(I);
      }
    C.frame_bytes = Frame.getStackSize();
    return C;
  }

private:
  void add(const MachineInstr &MI) {
    auto Once = [&](uint64_t &Static, double &Weighted) {
      ++Static;
      Weighted += Frequency;
    };
    Once(C.instructions, C.weighted_instructions);
    if (!MI.isCall() && !MI.isInlineAsm()) {
      if (MI.mayLoad())
        Once(C.loads, C.weighted_loads);
      if (MI.mayStore())
        Once(C.stores, C.weighted_stores);
    }
    StringRef Name = TII.getName(MI.getOpcode());
    if (TII.isCopyInstr(MI)) {
      Once(C.moves, C.weighted_moves);
      C.overhead += Frequency * CopyWeight;
    }
    if (isXor(Name))
      Once(C.xors, C.weighted_xors);
    if (Name.starts_with("XCHG") && Name.contains("rr") && !MI.mayLoadOrStore()) {
      ++C.swaps;
      C.overhead += Frequency * SwapWeight;
    }
    addSpill(MI);
  }

  // Accesses to spill slots, told from their memory operands.
  void addSpill(const MachineInstr &MI) {
    bool Loads = false, Stores = false;
    for (const MachineMemOperand *Access : MI.memoperands()) {
      auto *Source = dyn_cast_or_null<FixedStackPseudoSourceValue>(Access->getPseudoValue());
      if (!Source || !Frame.isSpillSlotObjectIndex(Source->getFrameIndex()))
        continue;
      Loads |= Access->isLoad();
      Stores |= Access->isStore();
    }
    int Index;
    bool Plain = TII.isLoadFromStackSlotPostFE(MI, Index) || TII.isStoreToStackSlotPostFE(MI, Index);
    if ((Loads || Stores) && !Plain)
      ++C.spill_folded;
    C.spill_reloads += Loads;
    C.spill_stores += Stores;
    C.overhead += Frequency * (Loads * LoadWeight + Stores * StoreWeight);
  }

  const MachineFunction &MF;
  const MachineBlockFrequencyInfo &MBFI;
  const TargetInstrInfo &TII;
  const MachineFrameInfo &Frame;
  ChCounts C = {};
  double Frequency = 0;
};

} // namespace

ChCounts count(const MachineFunction &MF, const MachineBlockFrequencyInfo &MBFI) { return Counter(MF, MBFI).run(); }

} // namespace chordal
