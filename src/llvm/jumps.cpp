#include "jumps.h"
#include "ssa.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineJumpTableInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/MachineSSAUpdater.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace chordal {
namespace {

bool names(const MachineInstr &MI, const MachineBasicBlock &Target) {
  return any_of(MI.operands(), [&](const MachineOperand &MO) { return MO.isMBB() && MO.getMBB() == &Target; });
}

class EndAtJumps : public MachineFunctionPass {
public:
  static char ID;
  EndAtJumps() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "chordal: end blocks where inline assembly jumps"; }

  bool runOnMachineFunction(MachineFunction &MF) override {
    SmallVector<MachineInstr *, 8> Jumps;
    for (MachineBasicBlock &MBB : MF)
      if (MBB.mayHaveInlineAsmBr())
        for (MachineInstr &MI : MBB)
          if (isJumpingAssembly(MI))
            Jumps.push_back(&MI);
    for (MachineInstr *Jump : Jumps)
      endBlock(*Jump);
    for (MachineInstr *Jump : Jumps)
      for (const MachineOperand &Def : Jump->all_defs())
        if (Def.getReg().isVirtual())
          copyOutput(*Jump, Def.getReg());
    if (!Jumps.empty())
      MF.RenumberBlocks();
    return !Jumps.empty();
  }

private:
  // The copies of a value, by block.
  using CopyIn = SmallDenseMap<MachineBasicBlock *, Register, 4>;

  // Moves what follows the assembly to a block of its own.
  static void endBlock(MachineInstr &Jump) {
    MachineBasicBlock &MBB = *Jump.getParent();
    if (jumpAtEnd(MBB) == &Jump || any_of(MBB.successors(), [](MachineBasicBlock *S) { return S->isEHPad(); }))
      return;
    MachineBasicBlock &Rest = *MBB.splitAt(Jump);
    BranchProbability FallsThrough = BranchProbability::getOne();
    for (const MachineOperand &MO : Jump.operands()) {
      if (!MO.isMBB() || MBB.isSuccessor(MO.getMBB()))
        continue;
      MachineBasicBlock &Target = *MO.getMBB();
      BranchProbability Jumps = Rest.getSuccProbability(find(Rest.successors(), &Target));
      MBB.addSuccessor(&Target, Jumps);
      if (reaches(Rest, Target)) {
        addToPhis(Target, Rest, MBB);
        continue;
      }
      FallsThrough -= Jumps;
      Rest.removeSuccessor(&Target, /*NormalizeSuccProbs=*/true);
      Target.replacePhiUsesWith(&Rest, &MBB);
    }
    MBB.setSuccProbability(find(MBB.successors(), &Rest), FallsThrough);
    MBB.normalizeSuccProbs();
  }

  // Whether a block's terminators go to another one, or the block's end does.
  static bool reaches(MachineBasicBlock &MBB, MachineBasicBlock &Target) {
    return any_of(MBB.terminators(), [&](const MachineInstr &MI) { return names(MI, Target); }) ||
           (MBB.isLayoutSuccessor(&Target) && MBB.canFallThrough());
  }

  // Has φs take the same from a new predecessor as from a known one.
  static void addToPhis(MachineBasicBlock &MBB, MachineBasicBlock &Known, MachineBasicBlock &New) {
    for (MachineInstr &Phi : MBB.phis())
      for (unsigned I = 1, End = Phi.getNumOperands(); I < End; I += 2)
        if (Phi.getOperand(I + 1).getMBB() == &Known)
          MachineInstrBuilder(*MBB.getParent(), Phi).add(Phi.getOperand(I)).addMBB(&New);
  }

  // Copies what the assembly defines, in all successors where it is wanted.
  static void copyOutput(MachineInstr &Jump, Register Output) {
    MachineBasicBlock &MBB = *Jump.getParent();
    MachineFunction &MF = *MBB.getParent();
    MachineRegisterInfo &MRI = MF.getRegInfo();
    const MCInstrDesc &Copy = MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY);
    SmallVector<MachineOperand *, 8> Uses(make_pointer_range(MRI.use_operands(Output)));
    BlockSet LiveInto = blocksLiveInto(Output, MRI);
    MachineSSAUpdater Updater(MF);
    Updater.Initialize(Output);
    CopyIn Copies;
    for (MachineBasicBlock *Target : SmallVector<MachineBasicBlock *, 4>(MBB.successors())) {
      bool IsTaken = takesInPhi(*Target, Output, MBB);
      if (!IsTaken && !LiveInto.contains(Target))
        continue;
      if (IsTaken || Target->pred_size() > 1)
        Target = splitEdge(MBB, *Target, -1);
      Register Copied = Copies[Target] = MRI.cloneVirtualRegister(Output);
      BuildMI(*Target, Target->SkipPHIsAndLabels(Target->begin()), Jump.getDebugLoc(), Copy, Copied).addReg(Output);
      Updater.AddAvailableValue(Target, Copied);
    }
    for (MachineOperand *Use : Uses)
      rewrite(*Use, Copies, Updater);
    MRI.clearKillFlags(Output);
  }

  // Has a use of what the assembly defines read the copy that reaches it, or a φ of copies. (A debug instruction asks for no φ.)
  static void rewrite(MachineOperand &Use, const CopyIn &Copies, MachineSSAUpdater &Updater) {
    const MachineInstr &MI = *Use.getParent();
    MachineBasicBlock *Block = Use.getParent()->getParent();
    if (Register Copied = Copies.lookup(Block); Copied && !MI.isPHI())
      Use.setReg(Copied);
    else if (!MI.isDebugInstr())
      Updater.RewriteUse(Use);
    else
      Use.setReg(Updater.HasValueForBlock(Block) ? Updater.GetValueAtEndOfBlock(Block) : Register());
  }
};
char EndAtJumps::ID = 0;

} // namespace

bool isJumpingAssembly(const MachineInstr &MI) { return MI.getOpcode() == TargetOpcode::INLINEASM_BR; }

bool isAlwaysTaken(const MachineInstr &MI) {
  return MI.isUnconditionalBranch() && none_of(MI.operands(), [](const MachineOperand &MO) { return MO.isReg() || MO.isRegMask(); });
}

MachineInstr *jumpAtEnd(MachineBasicBlock &MBB) {
  for (MachineInstr &MI : reverse(MBB))
    if (!MI.isDebugInstr() && !isAlwaysTaken(MI))
      return isJumpingAssembly(MI) ? &MI : nullptr;
  return nullptr;
}

FunctionPass *createEndAtJumps() { return new EndAtJumps(); }

MachineBasicBlock *splitEdge(MachineBasicBlock &From, MachineBasicBlock &To, int JumpTable) {
  MachineFunction &MF = *From.getParent();
  MachineBasicBlock *New = MF.CreateMachineBasicBlock(From.getBasicBlock());
  MF.insert(From.isLayoutSuccessor(&To) ? To.getIterator() : MF.end(), New);
  MachineInstr *Jump = jumpAtEnd(From);
  if (Jump && names(*Jump, To)) {
    New->setIsInlineAsmBrIndirectTarget();
    New->setLabelMustBeEmitted();
  }
  for (MachineInstr &MI : make_range(Jump ? Jump->getIterator() : From.getFirstTerminator(), From.end()))
    for (MachineOperand &MO : MI.operands())
      if (MO.isMBB() && MO.getMBB() == &To)
        MO.setMBB(New);
  if (JumpTable >= 0)
    MF.getJumpTableInfo()->ReplaceMBBInJumpTable(JumpTable, &To, New);
  From.replaceSuccessor(&To, New);
  New->addSuccessor(&To);
  To.replacePhiUsesWith(&From, New);
  if (!New->isLayoutSuccessor(&To))
    MF.getSubtarget().getInstrInfo()->insertUnconditionalBranch(*New, &To, DebugLoc());
  return New;
}

} // namespace chordal
