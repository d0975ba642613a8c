#include "stock.h"
#include "fallback.h"
#include "frequencies.h"
#include "x86/x86.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/RegAllocRegistry.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include <mutex>

using namespace llvm;

// The registry is LLVM's. Without this, a library with hidden symbols would have one of its own.
extern template class llvm::RegisterRegAllocBase<RegisterRegAlloc>;

namespace chordal {
namespace {

// A pass that preserves all analyses.
class Observer : public MachineFunctionPass {
public:
  explicit Observer(char &ID, Run &R) : MachineFunctionPass(ID), R(R) {}
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

protected:
  void fail(const MachineFunction &MF, StringRef Reason) { R.Callbacks.failed(R.Callbacks.user, str(MF.getName()), str(Reason)); }

  Run &R;
};

// Marks the beginning of the work that our own allocation does.
class Begin : public Observer {
public:
  static char ID;
  explicit Begin(Run &R) : Observer(ID, R) {}
  StringRef getPassName() const override { return "chordal: allocation begins"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    Observer::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    R.Selected.emplace_back(MF, frequencies(MF, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI()));
    if (R.Options.allocator != CH_GREEDY && !R.fallsBack(MF) && x86::usesTiles(MF))
      refuse(MF);
    R.Allocating = true;
    chordal_meter_start();
    R.AllocationStart = nanoseconds();
    return false;
  }

private:
  // Only the greedy pipeline configures matrix tiles. With basic and PBQP, LLVM generates wrong code for them; with fast, it
  // crashes.
  void refuse(const MachineFunction &MF) {
    StringRef Reason = "a value of register class TILE";
    if (R.Options.allocator == CH_FAST)
      report_fatal_error("function " + MF.getName() + ": " + Reason);
    fail(MF, Reason);
  }
};
char Begin::ID = 0;

// Marks the point where every virtual register has been replaced.
class End : public Observer {
public:
  static char ID;
  explicit End(Run &R) : Observer(ID, R) {}
  StringRef getPassName() const override { return "chordal: allocation ends"; }
  bool runOnMachineFunction(MachineFunction &MF) override {
    uint64_t Time = nanoseconds() - R.AllocationStart;
    R.Allocating = false;
    std::string Failure = std::exchange(R.Failure, {});
    if (!Failure.empty()) {
      // LLVM's result is wrong then, but its other passes accept it.
      fail(MF, Failure);
      return false;
    }
    std::string Report = R.Options.verify ? verify(MF, "after LLVM's allocator") : "";
    R.Callbacks.allocated(R.Callbacks.user, str(MF.getName()), R.fallsBack(MF) ? 0 : Time, str(Report));
    return false;
  }
};
char End::ID = 0;

// Makes the excluded registers look occupied by something else in the whole function. LLVM has no option for that, and its
// allocators recompute the reserved registers; but all of them ask the live intervals of register units whether a physical
// register is free. Operands that name an excluded register remain as they are.
class Hold : public Observer {
public:
  static char ID;
  explicit Hold(Run &R) : Observer(ID, R) {}
  StringRef getPassName() const override { return "chordal: hold to registers"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<LiveIntervalsWrapperPass>();
    Observer::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    if (R.fallsBack(MF))
      return false;
    LiveIntervals &LIS = getAnalysis<LiveIntervalsWrapperPass>().getLIS();
    const TargetRegisterInfo &TRI = *MF.getSubtarget().getRegisterInfo();
    std::vector<SlotIndex> Bounds = bounds(MF, *LIS.getSlotIndexes());
    for (MCPhysReg Reg = 1; Reg < TRI.getNumRegs(); ++Reg)
      if (isExcluded(TRI.getName(Reg)))
        for (MCRegUnit Unit : TRI.regunits(Reg))
          occupy(LIS.getRegUnit(Unit), Bounds, LIS);
    return false;
  }

private:
  bool isExcluded(StringRef Register) const {
    return any_of(ArrayRef(R.Options.excluded, R.Options.num_excluded),
                  [&](ChStr Name) { return Register.equals_insensitive(StringRef(Name.data, Name.size)); });
  }

  // The points where the segments that occupy a register meet: after every copy. LLVM lets a value that begins as the copy of a
  // physical register share it, unless a segment of the register begins within the value.
  static std::vector<SlotIndex> bounds(const MachineFunction &MF, SlotIndexes &Indexes) {
    std::vector<SlotIndex> Bounds = {Indexes.getZeroIndex()};
    for (const MachineBasicBlock &MBB : MF)
      for (const MachineInstr &MI : MBB)
        if (MI.isCopyLike())
          Bounds.push_back(Indexes.getInstructionIndex(MI).getNextIndex());
    Bounds.push_back(Indexes.getLastIndex());
    return Bounds;
  }

  static void occupy(LiveRange &Unit, ArrayRef<SlotIndex> Bounds, LiveIntervals &LIS) {
    Unit.clear();
    for (unsigned I = 1; I < Bounds.size(); ++I)
      Unit.addSegment({Bounds[I - 1], Bounds[I], Unit.getNextValue(Bounds[I - 1], LIS.getVNInfoAllocator())});
  }
};
char Hold::ID = 0;

// Checks PBQP's result. If no choice of registers is free of conflicts, it takes one with conflicts without saying so.
class Review : public Observer {
public:
  static char ID;
  explicit Review(Run &R) : Observer(ID, R) {}
  StringRef getPassName() const override { return "chordal: review of the allocation"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<LiveIntervalsWrapperPass>();
    AU.addRequired<VirtRegMapWrapperLegacy>();
    Observer::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    uint64_t Start = nanoseconds();
    if (!R.fallsBack(MF) && conflicts(MF))
      R.error("ran out of registers during register allocation");
    R.AllocationStart += nanoseconds() - Start; // this is not part of the allocation
    return false;
  }

private:
  bool conflicts(const MachineFunction &MF) {
    LiveIntervals &LIS = getAnalysis<LiveIntervalsWrapperPass>().getLIS();
    const VirtRegMap &VRM = getAnalysis<VirtRegMapWrapperLegacy>().getVRM();
    const MachineRegisterInfo &MRI = MF.getRegInfo();
    const TargetRegisterInfo &TRI = *MF.getSubtarget().getRegisterInfo();
    std::vector<std::vector<LiveRange::Segment>> Taken(TRI.getNumRegUnits());
    for (unsigned I = 0; I < MRI.getNumVirtRegs(); ++I) {
      Register Reg = Register::index2VirtReg(I);
      if (!VRM.hasPhys(Reg) || !LIS.hasInterval(Reg))
        continue;
      const LiveInterval &Interval = LIS.getInterval(Reg);
      if (Interval.empty()) {
        // This is fine for values that are never read, which PBQP places anywhere.
        if (any_of(MRI.use_nodbg_operands(Reg), [](const MachineOperand &MO) { return MO.readsReg(); }))
          return true;
        continue;
      }
      for (MCRegUnit Unit : TRI.regunits(VRM.getPhys(Reg))) {
        if (Interval.overlaps(LIS.getRegUnit(Unit)))
          return true;
        append_range(Taken[static_cast<unsigned>(Unit)], Interval.segments);
      }
    }
    return any_of(Taken, overlap);
  }

  static bool overlap(std::vector<LiveRange::Segment> &Segments) {
    sort(Segments);
    for (unsigned I = 1; I < Segments.size(); ++I)
      if (Segments[I].start < Segments[I - 1].end)
        return true;
    return false;
  }
};
char Review::ID = 0;

// Creates one of the allocators that work on live intervals.
FunctionPass *createAllocator(uint32_t Allocator) {
  switch (Allocator) {
  case CH_BASIC:
    return createBasicRegisterAllocator();
  case CH_PBQP:
    return createDefaultPBQPRegisterAllocator();
  default:
    return createGreedyRegisterAllocator();
  }
}

// The allocator of the pipeline that this thread makes next, if it is not to be LLVM's choice. (LLVM's registry of allocators takes
// functions without a context.)
thread_local FunctionPass *NextAllocator;

FunctionPass *nextAllocator() {
  FunctionPass *Next = std::exchange(NextAllocator, nullptr);
  return Next ? Next : createGreedyRegisterAllocator();
}

// The fast allocator has its own pipeline after the same instruction selection: no live intervals, no coalescing, no scheduling,
// and no rewriter.
void configureFast(TargetPassConfig &TPC, Run &R) {
  TPC.substitutePass(&PHIEliminationID, IdentifyingPassPtr(new Begin(R)));
  TPC.insertPass(&Begin::ID, IdentifyingPassPtr(&PHIEliminationID));
  TPC.insertPass(useAllocator(createFastRegisterAllocator()), IdentifyingPassPtr(new End(R)));
}

} // namespace

AnalysisID useAllocator(FunctionPass *Allocator) {
  static std::once_flag Once;
  std::call_once(Once, [] { RegisterRegAlloc::setDefault(nextAllocator); });
  NextAllocator = Allocator;
  return Allocator->getPassID();
}

void configureStock(TargetPassConfig &TPC, Run &R) {
  if (R.Options.allocator == CH_FAST)
    return configureFast(TPC, R);
  FunctionPass *Allocator = createAllocator(R.Options.allocator);
  if (R.Options.num_fallback)
    Allocator = createChoice(R, createGreedyRegisterAllocator(), Allocator);
  AnalysisID AllocatorID = useAllocator(Allocator);
  if (R.Options.allocator == CH_PBQP)
    TPC.insertPass(AllocatorID, IdentifyingPassPtr(new Review(R)));
  TPC.insertPass(&UnreachableMachineBlockElimID, IdentifyingPassPtr(new Begin(R)));
  if (R.Options.schedule)
    TPC.insertPass(&MachineSchedulerID, IdentifyingPassPtr(new Hold(R)));
  else
    TPC.substitutePass(&MachineSchedulerID, IdentifyingPassPtr(new Hold(R)));
  TPC.insertPass(&StackSlotColoringID, IdentifyingPassPtr(new End(R)));
}

} // namespace chordal
