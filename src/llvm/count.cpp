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

bool startsWith(StringRef Opcode, ArrayRef<StringRef> Prefixes) {
  return any_of(Prefixes, [&](StringRef Prefix) { return Opcode.starts_with(Prefix); });
}

bool isXor(StringRef Opcode) {
  return startsWith(Opcode, {"XOR", "LOCK_XOR", "VXOR", "PXOR", "VPXOR", "KXOR", "MMX_PXOR"});
}

// LLVM makes no copies with these, but turns copies into them to stay in the integer domain; isCopyInstr does not know them.
bool isIntegerVectorCopy(StringRef Opcode) {
  return startsWith(Opcode, {"MOVDQArr", "MOVDQUrr", "VMOVDQArr", "VMOVDQAYrr", "VMOVDQUrr", "VMOVDQUYrr"});
}

// Lowered to two instructions when they are printed: a call behind the address of its argument, or `call` and `pop`.
bool isReadOfProgramCounter(StringRef Opcode) { return Opcode == "MOVPC32r"; }
bool isAddressAndCall(StringRef Opcode) { return startsWith(Opcode, {"TLS_addr", "TLS_base_addr", "TLS_desc"}); }

struct Accesses {
  bool Loads, Stores;
};

// What LLVM knows of instructions as intrinsics only, it marks as reading and writing any memory, or as neither, although
// the effects are others. By the processor's manual:
std::optional<Accesses> correction(StringRef Opcode) {
  if (startsWith(Opcode, {"PREFETCH", "VGATHERPF", "VSCATTERPF", "CLDEMOTE"}))
    return Accesses{false, false};
  if (startsWith(Opcode, {"LDMXCSR", "VLDMXCSR", "FXRSTOR", "XRSTOR", "LDTILECFG", "CLFLUSH", "CLWB", "INVPCID", "UMONITOR"}))
    return Accesses{true, false};
  if (startsWith(Opcode, {"FXSAVE", "XSAVEC", "XSAVES", "STTILECFG", "MMX_MOVNTQ", "MOVDIRI", "WRSS", "WRUSS"}))
    return Accesses{false, true};
  if (startsWith(Opcode, {"MOVDIR64B", "ENQCMD", "OR32mi8Locked"}))
    return Accesses{true, true};
  if (Opcode.contains("MASKMOV"))
    return Accesses{Opcode.ends_with("rm"), !Opcode.ends_with("rm")};
  if (Opcode.starts_with("VEXTRACT"))
    return Accesses{false, Opcode.contains("mri")};
  return std::nullopt;
}

Accesses accesses(const MachineInstr &MI, StringRef Opcode) {
  // A tail call is a jump. It may read its target from memory, but it writes no return address.
  if ((MI.isCall() && !MI.isReturn()) || MI.isInlineAsm())
    return {false, false};
  // `pop` reads the program counter.
  if (isReadOfProgramCounter(Opcode))
    return {true, false};
  if (auto Known = correction(Opcode))
    return *Known;
  bool HasMemory = any_of(MI.getDesc().operands(), [](auto &Operand) { return Operand.OperandType == MCOI::OPERAND_MEMORY; });
  // Such as fences and traps: side effects are all that is known of them.
  if (MI.getDesc().hasUnmodeledSideEffects() && !HasMemory)
    return {false, false};
  return {MI.mayLoad(), MI.mayStore()};
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
    StringRef Name = TII.getName(MI.getOpcode());
    Once(C.instructions, C.weighted_instructions);
    if (isReadOfProgramCounter(Name) || isAddressAndCall(Name))
      Once(C.instructions, C.weighted_instructions);
    auto [Loads, Stores] = accesses(MI, Name);
    if (Loads)
      Once(C.loads, C.weighted_loads);
    if (Stores)
      Once(C.stores, C.weighted_stores);
    if (TII.isCopyInstr(MI) || isIntegerVectorCopy(Name)) {
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
