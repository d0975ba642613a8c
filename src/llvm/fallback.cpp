#include "fallback.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineOptimizationRemarkEmitter.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace chordal {
namespace {

// A pass manager for one function that is in the middle of another pipeline, of which it borrows passes that hold state. (LLVM's own
// manager for functions, legacy::FunctionPassManager, owns all of its passes.)
class Detour : public Pass, public PMDataManager, public PMTopLevelManager {
public:
  static char ID;
  explicit Detour(ArrayRef<ImmutablePass *> Borrowed) : Pass(PT_PassManager, ID), PMTopLevelManager(new FPPassManager()) {
    setTopLevelManager(this);
    setResolver(new AnalysisResolver(*this));
    for (ImmutablePass *P : Borrowed)
      addImmutablePass(P);
    NumBorrowed = Borrowed.size();
  }
  ~Detour() override { getImmutablePasses().erase(getImmutablePasses().begin(), getImmutablePasses().begin() + NumBorrowed); }

  void add(Pass *P) { schedulePass(P); }

  void run(Function &F) {
    Module &M = *F.getParent();
    for (ImmutablePass *Own : drop_begin(getImmutablePasses(), NumBorrowed))
      Own->doInitialization(M);
    for (PMDataManager *Managed : PassManagers) {
      auto *Manager = static_cast<FPPassManager *>(Managed);
      Manager->doInitialization(M);
      initializeAllAnalysisInfo();
      Manager->runOnFunction(F);
      Manager->cleanup();
      Manager->doFinalization(M);
    }
  }

  PMDataManager *getAsPMDataManager() override { return this; }
  Pass *getAsPass() override { return this; }
  PassManagerType getTopLevelPassManagerType() override { return PMT_FunctionPassManager; }
  Pass *createPrinterPass(raw_ostream &, const std::string &) const override { return nullptr; }
  void getAnalysisUsage(AnalysisUsage &AU) const override { AU.setPreservesAll(); }

private:
  size_t NumBorrowed;
};
char Detour::ID = 0;

class Choice : public MachineFunctionPass {
public:
  static char ID;
  Choice(Run &R, Pass *ForFallback, Pass *ForOthers)
      : MachineFunctionPass(ID), R(R), ForFallback(static_cast<FunctionPass *>(ForFallback)),
        ForOthers(static_cast<FunctionPass *>(ForOthers)) {}
  StringRef getPassName() const override { return ForFallback->getPassName(); }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    ForFallback->getAnalysisUsage(AU);
    ForOthers->getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    FunctionPass &Chosen = R.fallsBack(MF) ? *ForFallback : *ForOthers;
    // The pass asks for its analyses through our resolver, which has them because our getAnalysisUsage has requested them.
    Chosen.setResolver(getResolver());
    bool Changed = Chosen.runOnFunction(MF.getFunction());
    Chosen.releaseMemory();
    Chosen.setResolver(nullptr);
    return Changed;
  }

private:
  Run &R;
  std::unique_ptr<FunctionPass> ForFallback, ForOthers;
};
char Choice::ID = 0;

} // namespace

void allocateGreedily(MachineFunction &MF, Target &T, ImmutablePass &MachineModuleInfo, ImmutablePass &Config) {
  Detour Passes({&MachineModuleInfo, &Config});
  auto Add = [&](std::initializer_list<AnalysisID> IDs) { for_each(IDs, [&](AnalysisID ID) { Passes.add(Pass::createPass(ID)); }); };
  Add({&LiveVariablesID, &PHIEliminationID, &TwoAddressInstructionPassID, &RegisterCoalescerID, &RenameIndependentSubregsID,
       &MachineSchedulerID});
  for (Pass *Early : x86::passesBeforeGreedy(MF))
    Passes.add(Early);
  Passes.add(createGreedyRegisterAllocator());
  Add({&VirtRegRewriterID, &StackSlotColoringID});
  Passes.run(MF.getFunction());
  x86::zeroByExclusiveOr(MF, T);
}

void reportFallback(MachineFunction &MF, StringRef Reason) {
  MachineOptimizationRemarkEmitter Emitter(MF, nullptr);
  DiagnosticLocation Place(MF.getFunction().getSubprogram());
  Emitter.emit([&] {
    return MachineOptimizationRemarkMissed("chordal", "Fallback", Place, &MF.front()) << "left to LLVM's greedy allocator: " << Reason;
  });
}

FunctionPass *createChoice(Run &R, Pass *ForFallback, Pass *ForOthers) { return new Choice(R, ForFallback, ForOthers); }

} // namespace chordal
