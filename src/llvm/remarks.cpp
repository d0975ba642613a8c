#include "remarks.h"
#include "instructions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineOptimizationRemarkEmitter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"

using namespace llvm;

namespace chordal {
namespace {

// As LLVM's greedy allocator names itself.
constexpr char PassName[] = "regalloc";

using NV = DiagnosticInfoOptimizationBase::Argument;

// Accesses of one kind, and how often they are executed for each execution of the function.
struct Accesses {
  unsigned Number = 0;
  double Executed = 0;

  void add(double Frequency) {
    ++Number;
    Executed += Frequency;
  }

  void tell(MachineOptimizationRemarkMissed &R, StringRef Name, StringRef Total, StringRef Words, StringRef TotalWords) const {
    if (Number)
      R << NV(("Num" + Name).str(), Number) << (" " + Words + " ").str() << NV(("Total" + Total + "Cost").str(), float(Executed))
        << (" total " + TotalWords + " cost ").str();
  }
};

// What LLVM's greedy allocator tells of a function or a loop, by the same names.
struct Sums {
  Accesses Spills, FoldedSpills, Reloads, FoldedReloads, Copies;

  bool isEmpty() const { return !(Spills.Number + FoldedSpills.Number + Reloads.Number + FoldedReloads.Number + Copies.Number); }

  void add(const MachineInstr &MI, double Frequency) {
    SpillAccess Access = spillAccess(MI, MI.getMF()->getFrameInfo());
    if (Access.Stores)
      (Access.Plain ? Spills : FoldedSpills).add(Frequency);
    if (Access.Loads)
      (Access.Plain ? Reloads : FoldedReloads).add(Frequency);
    if (MI.isCopy() && isLeft(MI))
      Copies.add(Frequency);
  }

  void tell(MachineOptimizationRemarkMissed &R) const {
    Spills.tell(R, "Spills", "Spills", "spills", "spills");
    FoldedSpills.tell(R, "FoldedSpills", "FoldedSpills", "folded spills", "folded spills");
    Reloads.tell(R, "Reloads", "Reloads", "reloads", "reloads");
    FoldedReloads.tell(R, "FoldedReloads", "FoldedReloads", "folded reloads", "folded reloads");
    Copies.tell(R, "VRCopies", "Copies", "virtual registers copies", "copies");
  }
};

// A value that is in memory somewhere: what accesses its slot.
struct SpilledValue {
  Accesses Stores, Reloads, Folded;
  double Cost = 0, Dearest = -1;
  const MachineInstr *First = nullptr, *DearestAt = nullptr;
};

// The place in the source of a function.
DebugLoc placeOf(const MachineFunction &MF) {
  const DISubprogram *Place = MF.getFunction().getSubprogram();
  if (!Place)
    return {};
  return DILocation::get(Place->getContext(), Place->getLine(), 1, const_cast<DISubprogram *>(Place));
}

template <typename Iterator> DebugLoc firstPlace(Iterator At, Iterator End) {
  At = std::find_if(At, End, [](const MachineInstr &MI) { return MI.getDebugLoc() && !MI.isDebugInstr(); });
  return At == End ? DebugLoc() : At->getDebugLoc();
}

// The place of what allocation has inserted: a store belongs to what is before it, a reload to what follows; else to the function.
DebugLoc placeOf(const MachineInstr &MI) {
  const MachineBasicBlock &MBB = *MI.getParent();
  DebugLoc Before = firstPlace(MachineBasicBlock::const_reverse_iterator(MI), MBB.rend());
  DebugLoc Behind = firstPlace(MachineBasicBlock::const_iterator(MI), MBB.end());
  if (MI.mayStore() && !MI.mayLoad())
    std::swap(Before, Behind);
  return Behind ? Behind : Before ? Before : placeOf(*MBB.getParent());
}

class Remarker {
public:
  Remarker(const MachineFunction &MF, const Selection &Selected)
      : MF(MF), Frame(MF.getFrameInfo()), Frequencies(Selected.frequencies(MF)) {}

  void remarkSums() const {
    Sums All;
    for (const MachineBasicBlock &MBB : MF)
      add(All, MBB);
    if (All.isEmpty())
      return;
    // LLVM's analyses of loops take functions that they could change.
    auto &Changeable = const_cast<MachineFunction &>(MF);
    MachineDominatorTree Dominators(Changeable);
    MachineLoopInfo Loops(Dominators);
    for (const MachineLoop *Loop : Loops.getLoopsInPreorder()) {
      Sums OfLoop;
      for (const MachineBasicBlock *MBB : Loop->getBlocks())
        add(OfLoop, *MBB);
      if (!OfLoop.isEmpty())
        say("LoopSpillReloadCopies", Loop->getStartLoc(), Loop->getHeader(), OfLoop, "generated in loop");
    }
    say("SpillReloadCopies", placeOf(MF), &MF.front(), All, "generated in function");
  }

  void remarkValues(StringRef Rule) {
    MapVector<int, SpilledValue> Values;
    for (const MachineBasicBlock &MBB : MF)
      for (const MachineInstr &MI : MBB)
        for (const MachineMemOperand *Memory : MI.memoperands())
          if (std::optional<int> Slot = stackObject(Memory);
              Slot && Frame.isSpillSlotObjectIndex(*Slot) && !isCalleeSavedSlot(Slot, Frame))
            access(Values[*Slot], MI, Frequencies[MBB.getNumber()]);
    for (const auto &[Slot, Value] : Values)
      if (Value.First)
        say(Value, Rule);
  }

private:
  void add(Sums &To, const MachineBasicBlock &MBB) const {
    for (const MachineInstr &MI : MBB)
      To.add(MI, Frequencies[MBB.getNumber()]);
  }

  void access(SpilledValue &Value, const MachineInstr &MI, double Frequency) const {
    SpillAccess Access = spillAccess(MI, Frame);
    if (!Access.Loads && !Access.Stores)
      return;
    ChOverhead Cost = overheadOf(MI);
    double Here = Frequency * (Cost.reloads + Cost.stores);
    (!Access.Plain ? Value.Folded : Access.Loads ? Value.Reloads : Value.Stores).add(Frequency);
    Value.Cost += Here;
    if (!Value.First)
      Value.First = &MI;
    if (Access.Loads && Here > Value.Dearest)
      Value.Dearest = Here, Value.DearestAt = &MI;
  }

  void say(StringRef Name, DebugLoc At, const MachineBasicBlock *MBB, const Sums &Told, StringRef Where) const {
    MachineOptimizationRemarkMissed R(PassName, Name, At, MBB);
    Told.tell(R);
    R << Where;
    MF.getFunction().getContext().diagnose(R);
  }

  void say(const SpilledValue &Value, StringRef Rule) const {
    MachineOptimizationRemarkMissed R(PassName, "SpilledValue", placeOf(*Value.First), Value.First->getParent());
    R << "a value is in memory: " << NV("Stores", Value.Stores.Number) << " stores, " << NV("Reloads", Value.Reloads.Number)
      << " reloads and " << NV("Folded", Value.Folded.Number) << " operands in memory cost " << NV("Cost", float(Value.Cost))
      << " executions a call";
    if (Value.DearestAt)
      if (DebugLoc At = placeOf(*Value.DearestAt))
        R << ", most of them at line " << NV("DearestLine", At.getLine());
    R << ". " << NV("Reason", Rule);
    MF.getFunction().getContext().diagnose(R);
  }

  const MachineFunction &MF;
  const MachineFrameInfo &Frame;
  std::vector<double> Frequencies;
};

} // namespace

bool wantsRemarks(const MachineFunction &MF) {
  LLVMContext &Context = MF.getFunction().getContext();
  return Context.getLLVMRemarkStreamer() || Context.getDiagHandlerPtr()->isMissedOptRemarkEnabled(PassName);
}

void remark(const MachineFunction &MF, const Selection &Selected, StringRef Rule, bool Sums) {
  Remarker R(MF, Selected);
  if (Sums)
    R.remarkSums();
  R.remarkValues(Rule);
}

} // namespace chordal
