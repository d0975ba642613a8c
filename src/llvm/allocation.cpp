#include "allocation.h"
#include "apply.h"
#include "fallback.h"
#include "frequencies.h"
#include "jumps.h"
#include "unwind.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace chordal {
namespace {

// The exported functions that have no answer yet. Functions come to both passes in the same order.
using Waiting = std::deque<Export>;

// Exports a function, and starts its allocation.
class HandOver : public MachineFunctionPass {
public:
  static char ID;
  HandOver(Run &R, std::shared_ptr<Waiting> Exports) : MachineFunctionPass(ID), R(R), Exports(Exports) {}
  StringRef getPassName() const override { return "chordal register allocation: hand over"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    std::vector<double> Frequencies = frequencies(MF, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI());
    R.Selected.emplace_back(MF, Frequencies);
    chordal_meter_start();
    uint64_t Start = nanoseconds();
    MF.getRegInfo().freezeReservedRegs();
    auto [Number, New] = R.target(MF);
    Target &T = *R.Targets[Number];
    Export &E = Exports->emplace_back(MF, T, Frequencies);
    ChFunction View = E.view();
    View.file = Number;
    View.new_file = New ? &T.file() : nullptr;
    std::vector<ChName> Names;
    if (R.Options.list)
      Names = E.names();
    View.names = Names.data(), View.num_names = Names.size();
    View.import_ns = nanoseconds() - Start;
    R.Callbacks.import(R.Callbacks.user, &View);
    E.release();
    R.Callbacks.allocate(R.Callbacks.user);
    return true;
  }

private:
  Run &R;
  std::shared_ptr<Waiting> Exports;
};
char HandOver::ID = 0;

// A pass over the module: no function goes on before all have come this far.
class Gather : public ModulePass {
public:
  static char ID;
  Gather() : ModulePass(ID) {}
  StringRef getPassName() const override { return "chordal register allocation: all functions are handed over"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override { AU.setPreservesAll(); }
  bool runOnModule(Module &) override { return false; }
};
char Gather::ID = 0;

// Applies the answer about a function.
class TakeBack : public MachineFunctionPass {
public:
  static char ID;
  TakeBack(Run &R, std::shared_ptr<Waiting> Exports) : MachineFunctionPass(ID), R(R), Exports(Exports) {}
  StringRef getPassName() const override { return "chordal register allocation: take back"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<TargetPassConfig>();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    if (Exports->empty())
      report_fatal_error("function " + MF.getName() + ": LLVM has made it when all others were selected: only --in-turn can do it");
    ChAnswer Answer = {};
    R.Callbacks.answer(R.Callbacks.user, &Answer);
    if (Answer.outcome == CH_LEFT) {
      Target &T = Exports->front().T;
      Exports->pop_front();
      leave(MF, T, Answer.reason);
      return true;
    }
    uint64_t Start = nanoseconds();
    Applied Result = {};
    Export &E = Exports->front();
    if (R.Options.list)
      R.Origin = std::make_unique<Origins>();
    if (Answer.outcome == CH_ALLOCATED && !(Result = apply(E, Answer, R.Origin.get())).Failure.empty())
      R.error(("function " + MF.getName() + ": " + Result.Failure).str());
    bool Done = Answer.outcome == CH_ALLOCATED && Result.Failure.empty();
    if (!Done)
      gut(MF, E.T);
    Exports->pop_front();
    uint64_t Time = nanoseconds() - Start;
    std::string Report = (R.Options.verify || Result.IsDoubtful) && Done ? verify(MF, "after chordal") : "";
    R.Callbacks.allocated(R.Callbacks.user, str(MF.getName()), Time, str(Report));
    return true;
  }

private:
  // Leaves a function to LLVM's greedy allocator.
  void leave(MachineFunction &MF, Target &T, ChStr Reason) {
    R.Left.insert(&MF.getFunction());
    reportFallback(MF, StringRef(Reason.data, Reason.size));
    unsigned Epoch = MF.getBlockNumberEpoch();
    allocateGreedily(MF, T, getAnalysis<MachineModuleInfoWrapperPass>(), getAnalysis<TargetPassConfig>());
    // What LiveVariables depends on has numbered the blocks once more, in the order that they were in.
    if (MF.getBlockNumberEpoch() == Epoch + 1)
      R.Selected.front().acceptNumbers(MF);
    std::string Report = R.Options.verify ? verify(MF, "after LLVM's allocator") : "";
    R.Callbacks.allocated(R.Callbacks.user, str(MF.getName()), 0, str(Report));
  }

  Run &R;
  std::shared_ptr<Waiting> Exports;
};
char TakeBack::ID = 0;

} // namespace

void insertAllocation(TargetPassConfig &TPC, Run &R) {
  auto Exports = std::make_shared<Waiting>();
  TPC.insertPass(&ProcessImplicitDefsID, IdentifyingPassPtr(createDropUnthrown()));
  TPC.insertPass(&ProcessImplicitDefsID, IdentifyingPassPtr(createEndAtJumps()));
  auto Insert = [&](Pass *P) { TPC.insertPass(&UnreachableMachineBlockElimID, IdentifyingPassPtr(P)); };
  Insert(new HandOver(R, Exports));
  if (R.Ahead)
    Insert(new Gather());
  Insert(new TakeBack(R, Exports));
}

} // namespace chordal
