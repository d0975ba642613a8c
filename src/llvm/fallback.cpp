#include "fallback.h"
#include "llvm/CodeGen/LiveDebugVariables.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/VirtRegMap.h"

using namespace llvm;

namespace chordal {
namespace {

class Choice : public MachineFunctionPass {
public:
  static char ID;
  Choice(Run &R, Pass *ForFallback, Pass *ForOthers)
      : MachineFunctionPass(ID), R(R), ForFallback(static_cast<FunctionPass *>(ForFallback)),
        ForOthers(static_cast<FunctionPass *>(ForOthers)) {}
  StringRef getPassName() const override { return ForFallback->getPassName(); }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    ForFallback->getAnalysisUsage(AU);
    if (ForOthers)
      ForOthers->getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    FunctionPass *Chosen = R.fallsBack(MF) ? ForFallback.get() : ForOthers.get();
    if (!Chosen) {
      restoreDebugValues();
      return false;
    }
    // The pass asks for its analyses through our resolver, which has them because our getAnalysisUsage has requested them.
    Chosen->setResolver(getResolver());
    bool Changed = Chosen->runOnFunction(MF.getFunction());
    Chosen->releaseMemory();
    Chosen->setResolver(nullptr);
    return Changed;
  }

private:
  // LLVM's analysis of debug values removes them from every function. Its rewriter puts them back.
  void restoreDebugValues() {
    if (ForFallback->getPassID() != &VirtRegRewriterID)
      return;
    VirtRegMap &VRM = getAnalysis<VirtRegMapWrapperLegacy>().getVRM();
    getAnalysis<LiveDebugVariablesWrapperLegacy>().getLDV().emitDebugValues(&VRM);
  }

  Run &R;
  std::unique_ptr<FunctionPass> ForFallback, ForOthers;
};
char Choice::ID = 0;

} // namespace

FunctionPass *createChoice(Run &R, Pass *ForFallback, Pass *ForOthers) { return new Choice(R, ForFallback, ForOthers); }

} // namespace chordal
