#include "weigh.h"
#include "instructions.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include "llvm/CodeGen/MachineMemOperand.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace chordal {
namespace {

// RegAllocScore's costs. An exchange is as much work as three copies.
constexpr double CopyCost = 0.2, LoadCost = 4.0, StoreCost = 1.0, CheapCost = 0.2, ExpensiveCost = 1.0, OtherCost = 0.2;
constexpr double ExchangeCost = 3 * CopyCost, XorCost = ExchangeCost / 3;

constexpr uint8_t ExchangeMark = 0x80;

// Calls and variable-sized objects move the stack pointer by pseudo-instructions of the selected program, which may become no
// instruction or several. No allocator causes that.
bool movesStackPointer(const MachineInstr &MI) {
  const TargetSubtargetInfo &ST = MI.getMF()->getSubtarget();
  return !MI.isCall() &&
         MI.modifiesRegister(ST.getTargetLowering()->getStackPointerRegisterToSaveRestore(), ST.getRegisterInfo());
}

// Whether an instruction reads only registers that have the same content throughout the function. This works before and after
// allocation: the frame's registers are reserved, and a register that is added to a symbol with special treatment by the linker
// is the base of position-independent code.
bool readsConstantsOnly(const MachineInstr &MI) {
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  bool IsBased = any_of(MI.operands(), [](const MachineOperand &MO) {
    return (MO.isGlobal() || MO.isSymbol() || MO.isCPI() || MO.isJTI() || MO.isBlockAddress()) && MO.getTargetFlags();
  });
  return IsBased || all_of(MI.all_uses(), [&](const MachineOperand &MO) {
           Register Reg = MO.getReg();
           return !Reg || MO.isUndef() || (Reg.isPhysical() && MRI.isReserved(Reg));
         });
}

bool readsConstantMemory(const MachineInstr &MI) {
  return MI.mayLoad() && !MI.isCall() &&
         (MI.isDereferenceableInvariantLoad() || any_of(MI.operands(), [](const MachineOperand &MO) { return MO.isCPI(); }));
}

// Like LLVM's isTriviallyReMaterializable, which knows only virtual registers.
bool isRematerialisable(const MachineInstr &MI) {
  return MI.getDesc().isRematerializable() && readsConstantsOnly(MI) && (!MI.mayLoad() || readsConstantMemory(MI));
}

// Copies, φs and the like may disappear.
bool maybeNothing(const MachineInstr &MI) { return MI.isTransient() || !printed(MI).Instructions; }

bool goesOnElsewhere(const MachineBasicBlock *MBB) { return MBB->succ_size() > 1; }

// Whether an instruction is a jump that branch folding removes after the prologue has been inserted: a jump to the next block, or
// the only instruction (apart from those for which `IsNothing` holds) of a block whose predecessors all end with branches that
// have another target. LLVM's way out of SSA form splits edges, which removes jumps of the first kind, and creates some of the
// second. Ours does neither.
bool isFoldable(const MachineInstr &MI, function_ref<bool(const MachineInstr &)> IsNothing) {
  const MachineBasicBlock &MBB = *MI.getParent();
  if (!MI.isUnconditionalBranch() || !MI.getOperand(0).isMBB())
    return false;
  if (MBB.isLayoutSuccessor(MI.getOperand(0).getMBB()))
    return true;
  bool IsAlone = all_of(MBB, [&](const MachineInstr &Other) { return &Other == &MI || IsNothing(Other); });
  return IsAlone && !MBB.pred_empty() && all_of(MBB.predecessors(), goesOnElsewhere);
}

void add(Program &P, const MachineInstr &MI, unsigned Instructions, double Frequency) {
  if (belongsToFrame(MI)) {
    P.Others += Frequency * Instructions;
  } else if (movesStackPointer(MI)) {
    return;
  } else if (isRematerialisable(MI)) {
    (MI.getDesc().isAsCheapAsAMove() ? P.CheapRemats : P.ExpensiveRemats) += Frequency;
  } else {
    P.Others += Frequency * Instructions;
    // A load that could be rematerialised can also be folded into its user.
    if (readsConstantMemory(MI))
      P.ExpensiveRemats += Frequency;
  }
}

class Weigher {
public:
  Weigher(const MachineFunction &MF, ChWeights &W) : W(W), Frame(MF.getFrameInfo()) {}

  void add(const MachineInstr &MI, double Frequency) {
    if (!isLeft(MI))
      return;
    Printed P = printed(MI);
    W.instructions += Frequency * P.Instructions;
    W.loads += Frequency * P.Loads;
    W.stores += Frequency * P.Stores;
    W.moves += Frequency * P.Move;
    W.xors += Frequency * P.Xor;
    if (!addAllocators(MI, Frequency))
      chordal::add(Left, MI, P.Instructions, Frequency);
  }

  // The instructions of the selected program that are left.
  Program Left;

private:
  // Whether an instruction has been added by the allocator. If so, it is counted as overhead.
  bool addAllocators(const MachineInstr &MI, double Frequency) {
    if (MI.getAsmPrinterFlags() & ExchangeMark) {
      W.overhead.exchanges += Frequency * (isExchange(MI) ? ExchangeCost : XorCost);
      return true;
    }
    if (MI.isCopy() || MI.isSubregToReg()) {
      W.overhead.copies += Frequency * CopyCost;
      return true;
    }
    if (unsigned Saved = calleeSaved(MI, Frame)) {
      W.overhead.saves += Frequency * Saved * MI.mayStore() * StoreCost;
      W.overhead.restores += Frequency * Saved * MI.mayLoad() * LoadCost;
      return true;
    }
    SpillAccess Spill = spillAccess(MI, Frame);
    W.overhead.reloads += Frequency * Spill.Loads * LoadCost;
    W.overhead.stores += Frequency * Spill.Stores * StoreCost;
    return Spill.Plain;
  }

  ChWeights &W;
  const MachineFrameInfo &Frame;
};

} // namespace

bool isLeft(const MachineInstr &MI) {
  return printed(MI).Instructions && !isFoldable(MI, [](const MachineInstr &Other) { return !printed(Other).Instructions; });
}

ChOverhead overheadOf(const MachineInstr &MI) {
  ChWeights W = {};
  Weigher(*MI.getMF(), W).add(MI, 1);
  return W.overhead;
}

void markAsExchange(MachineInstr &MI) { MI.setAsmPrinterFlag(ExchangeMark); }

Selection::Selection(const MachineFunction &MF, std::vector<double> OfBlocks)
    : Frequencies(std::move(OfBlocks)), Positions(Frequencies.size(), CH_NONE), Epoch(MF.getBlockNumberEpoch()) {
  unsigned Position = 0;
  for (const MachineBasicBlock &MBB : MF) {
    double Frequency = Frequencies[MBB.getNumber()];
    Positions[MBB.getNumber()] = Position++;
    for (const MachineInstr &MI : MBB) {
      if (maybeNothing(MI) || isFoldable(MI, maybeNothing))
        continue;
      unsigned Printed = printed(MI).Instructions;
      Instructions += Printed;
      Weighted += Frequency * Printed;
      add(Selected, MI, Printed, Frequency);
    }
  }
}

void Selection::acceptNumbers(const MachineFunction &MF) { Epoch = MF.getBlockNumberEpoch(); }

ChWeights Selection::weigh(const MachineFunction &MF) const {
  ChWeights W = {};
  W.selected_instructions = Instructions;
  W.selected_weighted_instructions = Weighted;
  std::vector<double> Frequency = frequencies(MF);
  Weigher Sum(MF, W);
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      Sum.add(MI, Frequency[MBB.getNumber()]);
  W.overhead.remats = CheapCost * (Sum.Left.CheapRemats - Selected.CheapRemats) +
                      ExpensiveCost * (Sum.Left.ExpensiveRemats - Selected.ExpensiveRemats);
  W.overhead.other = OtherCost * (Sum.Left.Others - Selected.Others);
  return W;
}

// New blocks may follow each other, and a prologue may contain a loop (to probe a large stack), so this takes several rounds.
std::vector<double> Selection::frequencies(const MachineFunction &MF) const {
  if (MF.getBlockNumberEpoch() != Epoch)
    report_fatal_error("function " + MF.getName() + ": LLVM has numbered blocks anew between allocation and the prologue");
  constexpr unsigned MaxRounds = 100;
  MachineBranchProbabilityInfo Probabilities;
  std::vector<double> All = Frequencies;
  All.resize(MF.getNumBlockIDs());
  bool Changed = true;
  for (unsigned Round = 0; Changed && Round < MaxRounds; ++Round) {
    Changed = false;
    for (const MachineBasicBlock &MBB : MF) {
      if (size_t(MBB.getNumber()) < Frequencies.size())
        continue;
      double Inflow = &MBB == &MF.front();
      for (const MachineBasicBlock *Pred : MBB.predecessors()) {
        BranchProbability Edge = Probabilities.getEdgeProbability(Pred, &MBB);
        Inflow += All[Pred->getNumber()] * Edge.getNumerator() / Edge.getDenominator();
      }
      Changed |= std::exchange(All[MBB.getNumber()], Inflow) != Inflow;
    }
  }
  return All;
}

} // namespace chordal
