#include "wrap.h"
#include "instructions.h"
#include "jumps.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineBranchProbabilityInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachinePostDominators.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCDwarf.h"

using namespace llvm;

namespace chordal {
namespace {

// Whether registers can be saved elsewhere than in the prologue: their stack objects have to be at a fixed distance from the end
// of the caller's frame, and control has to go where edges say.
bool canWrap(const MachineFunction &MF) {
  const Function &F = MF.getFunction();
  const MachineFrameInfo &Frame = MF.getFrameInfo();
  CallingConv::ID Convention = F.getCallingConv();
  bool IsUsual = Convention == CallingConv::C || Convention == CallingConv::Fast || Convention == CallingConv::Cold;
  return IsUsual && !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked) && !MF.shouldSplitStack() &&
         !MF.exposesReturnsTwice() && !MF.hasEHFunclets() && !MF.callsEHReturn() && !MF.callsUnwindInit() &&
         !Frame.hasPatchPoint() && !Frame.hasStackMap() && !MF.getSubtarget().getRegisterInfo()->hasStackRealignment(MF);
}

// The question where to save a function's callee-saved registers, and the application of the answer.
class Wrapping {
public:
  Wrapping(MachineFunction &MF, const MachinePostDominatorTree &PostDominators)
      : MF(MF), MRI(MF.getRegInfo()), TRI(*MF.getSubtarget().getRegisterInfo()), TII(*MF.getSubtarget().getInstrInfo()),
        IndexOf(TRI.getNumRegs(), NoIndex), Number(MF.getNumBlockIDs()) {
    findRegisters();
    if (Registers.empty())
      return;
    for (MachineBasicBlock &MBB : MF) {
      Number[MBB.getNumber()] = Numbered.size();
      Numbered.push_back(&MBB);
      Named.push_back(namedIn(MBB));
    }
    dropWantedEverywhere(PostDominators);
  }

  // Makes the question. Returns false if there is nothing to ask.
  bool ask(const Selection &Selected, ChFrame &Question) {
    if (Registers.empty() || none_of(Numbered, [](auto *MBB) { return MBB->isReturnBlock(); }))
      return false;
    Frequencies = Selected.frequencies(MF);
    for (MachineBasicBlock *MBB : Numbered) {
      bool Head = !MBB->isEHPad(), Tail = !namedBy(MBB->terminators()) && !jumpAtEnd(*MBB);
      Blocks.push_back({frequency(*MBB), MBB->isReturnBlock(), Head, Tail});
      for (MachineBasicBlock *Succ : MBB->successors())
        Edges.push_back(edge(*MBB, *Succ));
    }
    for (MCRegister Reg : Registers)
      for (unsigned Set : Named)
        Wanted.push_back(Set >> IndexOf[Reg] & 1);
    auto [Saves, Restores] = usual();
    Question = {str(MF.getName()), goal(MF), Blocks.data(), Blocks.size(), Edges.data(), Edges.size(), Wanted.data(),
                Registers.size(), Saves, Restores};
    return true;
  }

  // Saves and restores registers according to the answer. Returns whether there are new blocks.
  bool apply(ArrayRef<uint8_t> Answer, SmallVectorImpl<SeparateSave> &Separate, Pass &P) {
    DenseMap<const ChFrameEdge *, MachineBasicBlock *> Split;
    for (auto [I, Reg] : enumerate(Registers)) {
      ArrayRef<uint8_t> Points = Answer.slice(I * Numbered.size(), Numbered.size());
      if (all_of(Points, [](uint8_t Saved) { return !Saved; }))
        continue;
      const TargetRegisterClass *RC = TRI.getMinimalPhysRegClass(Reg);
      // The stack would have to be realigned.
      if (TRI.getSpillAlign(*RC) > MF.getSubtarget().getFrameLowering()->getStackAlign())
        continue;
      int Slot = MF.getFrameInfo().CreateSpillStackObject(TRI.getSpillSize(*RC), TRI.getSpillAlign(*RC));
      Separate.push_back({Reg, RC, Slot});
      MRI.disableCalleeSavedRegister(Reg);
      for (unsigned Block = 0; Block < Numbered.size(); ++Block)
        applyIn(*Numbered[Block], Points[Block], Separate.back());
      for (const ChFrameEdge &Edge : Edges)
        applyOn(Edge, Points, Separate.back(), Split, P);
    }
    return !Split.empty();
  }

private:
  static constexpr uint8_t NoIndex = UINT8_MAX;

  // Finds the registers that LLVM would save. Sets of them are bits of a word.
  void findRegisters() {
    for (const MCPhysReg *Reg = MRI.getCalleeSavedRegs(); Reg && *Reg && Registers.size() < 32; ++Reg) {
      if (!MRI.isPhysRegModified(*Reg) || MRI.isReserved(*Reg))
        continue;
      for (MCRegAliasIterator Alias(*Reg, &TRI, /*IncludeSelf=*/true); Alias.isValid(); ++Alias)
        IndexOf[*Alias] = Registers.size();
      Registers.push_back(*Reg);
    }
  }

  // Drops the registers that every path to the function's return uses: the prologue can as well save them.
  void dropWantedEverywhere(const MachinePostDominatorTree &PostDominators) {
    unsigned Everywhere = 0;
    for (auto [MBB, Set] : zip_equal(Numbered, Named))
      if (Set && PostDominators.dominates(MBB, &MF.front()))
        Everywhere |= Set;
    erase_if(Registers, [&](MCRegister Reg) { return Everywhere >> IndexOf[Reg] & 1; });
  }

  // The registers that an instruction names or destroys.
  template <typename Range> unsigned namedBy(Range Instructions) const {
    unsigned Set = 0;
    for (const MachineInstr &MI : Instructions) {
      if (MI.isDebugInstr())
        continue;
      for (const MachineOperand &MO : MI.operands()) {
        if (MO.isReg() && MO.getReg().isPhysical() && IndexOf[MO.getReg()] != NoIndex)
          Set |= 1u << IndexOf[MO.getReg()];
        if (MO.isRegMask())
          for (MCRegister Reg : Registers)
            Set |= unsigned(MO.clobbersPhysReg(Reg)) << IndexOf[Reg];
      }
    }
    return Set;
  }

  unsigned namedIn(const MachineBasicBlock &MBB) const {
    unsigned Set = namedBy(MBB.instrs());
    for (const MachineBasicBlock::RegisterMaskPair &LiveIn : MBB.liveins())
      if (IndexOf[LiveIn.PhysReg] != NoIndex)
        Set |= 1u << IndexOf[LiveIn.PhysReg];
    return Set;
  }

  uint32_t number(const MachineBasicBlock &MBB) const { return Number[MBB.getNumber()]; }
  double frequency(const MachineBasicBlock &MBB) const { return Frequencies[MBB.getNumber()]; }

  ChFrameEdge edge(const MachineBasicBlock &From, const MachineBasicBlock &To) const {
    BranchProbability Probability = Probabilities.getEdgeProbability(&From, &To);
    double Frequency = frequency(From) * Probability.getNumerator() / Probability.getDenominator();
    // Edges for which code at neither end would do.
    bool IsCritical = From.succ_size() > 1 && To.pred_size() > 1;
    bool IsSplittable = IsCritical && From.canSplitCriticalEdge(&To);
    return {number(From), number(To), Frequency,
            uint32_t(To.isEHPad() ? CH_EDGE_INNER : IsSplittable ? CH_EDGE_SPLITTABLE : CH_EDGE_PLAIN)};
  }

  // The frequency with which the prologue would save a register, and epilogues restore it, in the places that LLVM has found for
  // them.
  std::pair<double, double> usual() const {
    const MachineFrameInfo &Frame = MF.getFrameInfo();
    double Saves = 0, Restores = 0;
    for (const MachineBasicBlock *MBB : Numbered) {
      bool IsWhole = Frame.getSavePoints().empty();
      bool IsSaved = IsWhole ? MBB == &MF.front() : Frame.getSavePoints().contains(const_cast<MachineBasicBlock *>(MBB));
      bool IsRestored = IsWhole ? MBB->isReturnBlock() : Frame.getRestorePoints().contains(const_cast<MachineBasicBlock *>(MBB));
      Saves += IsSaved * frequency(*MBB);
      Restores += IsRestored * frequency(*MBB);
    }
    return {Saves, Restores};
  }

  void applyIn(MachineBasicBlock &MBB, uint8_t Points, SeparateSave Save) {
    bool Arriving = Points & CH_SAVED_ARRIVING, Within = Points & CH_SAVED_WITHIN, Leaving = Points & CH_SAVED_LEAVING;
    if (!Arriving && !MBB.isLiveIn(Save.Reg))
      MBB.addLiveIn(Save.Reg);
    change(Arriving, Within, MBB, MBB.SkipPHIsLabelsAndDebug(MBB.begin()), Save);
    change(Within, Leaving, MBB, MBB.getFirstTerminator(), Save);
    if (!Leaving)
      keepApart(MBB, Save.Reg);
  }

  // A block that is put on an edge gets the live registers of its successor.
  void applyOn(const ChFrameEdge &Edge, ArrayRef<uint8_t> Points, SeparateSave Save,
               DenseMap<const ChFrameEdge *, MachineBasicBlock *> &Split, Pass &P) {
    bool Leaving = Points[Edge.from] & CH_SAVED_LEAVING, Arriving = Points[Edge.to] & CH_SAVED_ARRIVING;
    auto Known = Split.find(&Edge);
    if (Known == Split.end()) {
      if (Edge.kind != CH_EDGE_SPLITTABLE || Leaving == Arriving)
        return;
      Known = Split.insert({&Edge, Numbered[Edge.from]->SplitCriticalEdge(Numbered[Edge.to], P)}).first;
    }
    MachineBasicBlock &New = *Known->second;
    New.removeLiveIn(Save.Reg);
    if (!Leaving)
      New.addLiveIn(Save.Reg);
    change(Leaving, Arriving, New, New.getFirstTerminator(), Save);
  }

  // Saves or restores a register between two points.
  void change(bool Before, bool Behind, MachineBasicBlock &MBB, MachineBasicBlock::iterator At, SeparateSave Save) {
    auto [Reg, RC, Slot] = Save;
    if (!Before && Behind)
      TII.storeRegToStackSlot(MBB, At, Reg, /*isKill=*/true, Slot, RC, Register());
    if (Before && !Behind)
      TII.loadRegFromStackSlot(MBB, At, Reg, Slot, RC, Register());
  }

  // LLVM merges equal ends of blocks. If control does not go on, a register may be saved in only one of them, and the calls in
  // them may throw an exception, so that unwinders look for it: such a call counts as a use of the register.
  void keepApart(MachineBasicBlock &MBB, MCRegister Reg) {
    if (!MBB.succ_empty() || MBB.isReturnBlock() || !MF.needsFrameMoves())
      return;
    for (MachineInstr &MI : reverse(MBB))
      if (!MI.isDebugInstr() && !TII.isFrameInstr(MI))
        return MI.addOperand(MF, MachineOperand::CreateReg(Reg, /*isDef=*/false, /*isImp=*/true));
  }

  MachineFunction &MF;
  MachineRegisterInfo &MRI;
  const TargetRegisterInfo &TRI;
  const TargetInstrInfo &TII;
  MachineBranchProbabilityInfo Probabilities;
  SmallVector<MCRegister, 8> Registers;
  // For each register, the bit of the one in `Registers` that it is or overlaps.
  std::vector<uint8_t> IndexOf;
  // The blocks of the question, the position of each among them, and the registers that each uses.
  std::vector<MachineBasicBlock *> Numbered;
  std::vector<uint32_t> Number;
  std::vector<unsigned> Named;
  std::vector<double> Frequencies;
  // The question.
  std::vector<ChFrameBlock> Blocks;
  std::vector<ChFrameEdge> Edges;
  std::vector<uint8_t> Wanted;
};

class Wrap : public MachineFunctionPass {
public:
  static char ID;
  Wrap(Run &R, Pass *ShrinkWrap) : MachineFunctionPass(ID), R(R), ShrinkWrap(static_cast<FunctionPass *>(ShrinkWrap)) {}
  StringRef getPassName() const override { return "chordal shrink wrapping"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override { ShrinkWrap->getAnalysisUsage(AU); }

  bool runOnMachineFunction(MachineFunction &MF) override {
    R.Separate.clear();
    bool Changed = runLLVMs(MF);
    if (R.fallsBack(MF) || !canWrap(MF))
      return Changed;
    uint64_t Start = nanoseconds();
    bool IsWrapped = wrap(MF);
    uint64_t Time = nanoseconds() - Start;
    std::string Report = R.Options.verify && IsWrapped ? verify(MF, "after chordal's shrink wrapping") : "";
    R.Callbacks.wrapped(R.Callbacks.user, str(MF.getName()), Time, str(Report));
    return Changed || IsWrapped;
  }

private:
  bool runLLVMs(MachineFunction &MF) {
    // Our resolver has the analyses, as in `Choice`.
    ShrinkWrap->setResolver(getResolver());
    bool Changed = ShrinkWrap->runOnFunction(MF.getFunction());
    ShrinkWrap->releaseMemory();
    ShrinkWrap->setResolver(nullptr);
    return Changed;
  }

  bool wrap(MachineFunction &MF) {
    Wrapping W(MF, getAnalysis<MachinePostDominatorTreeWrapperPass>().getPostDomTree());
    ChFrame Question;
    if (!W.ask(R.Selected.front(), Question))
      return false;
    std::vector<uint8_t> Answer(Question.num_registers * Question.num_blocks);
    R.Callbacks.wrap(R.Callbacks.user, &Question, Answer.data());
    bool HasNewBlocks = W.apply(Answer, R.Separate, *this);
    if (R.Separate.empty())
      return false;
    if (HasNewBlocks)
      update(MF);
    MF.getFrameInfo().clearSavePoints();
    MF.getFrameInfo().clearRestorePoints();
    runLLVMs(MF);
    return true;
  }

  // LLVM's pass claims to preserve everything.
  void update(MachineFunction &MF) {
    MachineDominatorTree &Dominators = getAnalysis<MachineDominatorTreeWrapperPass>().getDomTree();
    Dominators.recalculate(MF);
    getAnalysis<MachinePostDominatorTreeWrapperPass>().getPostDomTree().recalculate(MF);
    MachineLoopInfo &Loops = getAnalysis<MachineLoopInfoWrapperPass>().getLI();
    Loops.releaseMemory();
    Loops.analyze(Dominators);
    MachineBranchProbabilityInfo Probabilities;
    getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI().calculate(MF, Probabilities, Loops);
  }

  Run &R;
  std::unique_ptr<FunctionPass> ShrinkWrap;
};
char Wrap::ID = 0;

class Describe : public MachineFunctionPass {
public:
  static char ID;
  explicit Describe(Run &R) : MachineFunctionPass(ID), R(R) {}
  StringRef getPassName() const override { return "chordal unwind information"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    for (auto [Reg, RC, Slot] : R.Separate)
      MF.getFrameInfo().getCalleeSavedInfo().push_back(CalleeSavedInfo(Reg, Slot));
    if (!R.Separate.empty() && MF.needsFrameMoves())
      for (MachineBasicBlock &MBB : MF)
        for (MachineInstr &MI : make_early_inc_range(MBB))
          describe(MI);
    return !R.Separate.empty();
  }

private:
  // Describes, for unwinders, the place of the caller's content of a register from an instruction on that saves or restores it.
  void describe(MachineInstr &MI) {
    std::optional<int> Object = MI.hasOneMemOperand() ? stackObject(*MI.memoperands_begin()) : std::nullopt;
    const SeparateSave *Save = find_if(R.Separate, [&](const SeparateSave &Save) { return Save.Slot == Object; });
    if (Save == R.Separate.end())
      return;
    MachineFunction &MF = *MI.getMF();
    const TargetSubtargetInfo &ST = MF.getSubtarget();
    int Number = ST.getRegisterInfo()->getDwarfRegNum(Save->Reg, /*isEH=*/true);
    int64_t Offset = MF.getFrameInfo().getObjectOffset(Save->Slot);
    unsigned Index = MF.addFrameInst(MI.mayStore() ? MCCFIInstruction::createOffset(nullptr, Number, Offset)
                                                   : MCCFIInstruction::createRestore(nullptr, Number));
    BuildMI(*MI.getParent(), std::next(MI.getIterator()), DebugLoc(), ST.getInstrInfo()->get(TargetOpcode::CFI_INSTRUCTION))
        .addCFIIndex(Index);
  }

  Run &R;
};
char Describe::ID = 0;

} // namespace

FunctionPass *createWrap(Run &R, Pass *ShrinkWrap) { return new Wrap(R, ShrinkWrap); }
FunctionPass *createDescribe(Run &R) { return new Describe(R); }

} // namespace chordal
