#include "unwind.h"
#include "throws.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

using namespace llvm;

namespace chordal {

namespace {

class DropUnthrown : public MachineFunctionPass {
public:
  static char ID;
  DropUnthrown() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "chordal: drop edges that no exception takes"; }

  bool runOnMachineFunction(MachineFunction &MF) override {
    bool Changed = false;
    for (MachineBasicBlock &MBB : MF) {
      SmallVector<MachineBasicBlock *, 2> Pads;
      copy_if(MBB.successors(), std::back_inserter(Pads), [](MachineBasicBlock *S) { return S->isEHPad(); });
      if (Pads.empty() || callThatThrows(MBB))
        continue;
      for (MachineBasicBlock *Pad : Pads) {
        Pad->removePHIsIncomingValuesForPredecessor(MBB);
        MBB.removeSuccessor(Pad, /*NormalizeSuccProbs=*/true);
      }
      Changed = true;
    }
    return Changed;
  }
};
char DropUnthrown::ID = 0;

} // namespace

FunctionPass *createDropUnthrown() { return new DropUnthrown(); }

} // namespace chordal
