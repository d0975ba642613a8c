#include "apply.h"
#include "forms.h"
#include "jumps.h"
#include "liveins.h"
#include "records.h"
#include "weigh.h"
#include "x86/x86.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace chordal {
namespace {

class Applier {
public:
  Applier(Export &E, const ChAnswer &A, Origins *Origin)
      : E(E), A(A), MF(E.MF), MRI(MF.getRegInfo()), TII(*MF.getSubtarget().getInstrInfo()), TRI(E.T.TRI), Origin(Origin) {}

  Applied run() {
    createSlots();
    splitEdges();
    debugLocations();
    for (unsigned I = 0; Origin && I < E.Insts.size(); ++I)
      Origin->set(*E.InstAt[I], I);
    edits();
    for (unsigned I = 0; I < E.Insts.size() && Failure.empty(); ++I) {
      from(I);
      rewrite(I);
    }
    from(INT32_MIN);
    if (!Failure.empty())
      return {Failure, false};
    removeGivenSlots();
    for (MachineInstr *Phi : E.PhiAt)
      Phi->eraseFromParent();
    removeShapes();
    bool IsDoubtful = finish(MF, E.T);
    x86::setStrides(TileAccesses, E.T);
    x86::zeroByExclusiveOr(MF, E.T);
    return {{}, IsDoubtful};
  }

  // Updates the function's bookkeeping: it is in physical registers now. Returns the result of setLiveness.
  static bool finish(MachineFunction &MF, Target &T) {
    MachineRegisterInfo &MRI = MF.getRegInfo();
    MRI.clearVirtRegs();
    MRI.leaveSSA();
    MF.getProperties().resetIsSSA();
    MF.getProperties().setNoPHIs().setNoVRegs().setTiedOpsRewritten();
    return setLiveness(MF, T);
  }

private:
  // From now on, new instructions come from this one of the imported function, or ~edit.
  void from(int32_t Source) {
    if (Origin)
      Origin->Current = Source;
  }

  void createSlots() {
    for (size_t I = 0; I < A.num_slots; ++I) {
      Align Alignment(A.slots[I].align);
      // If the stack cannot be realigned, accesses are unaligned, as with VirtRegMap.
      Align StackAlign = MF.getSubtarget().getFrameLowering()->getStackAlign();
      if (Alignment > StackAlign && !TRI.canRealignStack(MF))
        Alignment = StackAlign;
      MachineFrameInfo &Frame = MF.getFrameInfo();
      bool IsGiven = A.slots[I].given != CH_NONE;
      // A slot that is not in the frame exists only while operands are folded.
      Slots.push_back(IsGiven ? Frame.CreateStackObject(A.slots[I].size, std::min(Alignment, StackAlign), /*isSpillSlot=*/true, nullptr,
                                                        TargetStackID::NoAlloc)
                              : Frame.CreateSpillStackObject(A.slots[I].size, Alignment));
      Sources.push_back(IsGiven ? source(*E.InstAt[A.slots[I].given]) : Source());
    }
  }

  void removeGivenSlots() {
    for (size_t I = 0; I < A.num_slots; ++I)
      if (A.slots[I].given != CH_NONE)
        MF.getFrameInfo().RemoveStackObject(Slots[I]);
  }

  // Removes the stores of shapes for registers that hold no tile.
  void removeShapes() {
    if (E.Shapes.empty())
      return;
    ChRegSet Used = {};
    for (const ChInst &I : E.Insts)
      for (unsigned K = I.first_operand; K < I.end_operand; ++K)
        if (A.locations[K] >= 0)
          insert(Used, A.locations[K]);
    for (size_t I = 0; I < A.num_edits; ++I)
      if (A.edits[I].kind == CH_LOAD || A.edits[I].kind == CH_MOVE)
        insert(Used, A.edits[I].to);
    for (auto [Root, Store] : E.Shapes)
      if (!contains(Used, Root))
        Store->eraseFromParent();
  }

  MachineBasicBlock *block(unsigned Number) {
    return Number < E.BlockAt.size() ? E.BlockAt[Number] : EdgeBlocks[Number - E.BlockAt.size()];
  }

  // Creates the blocks on edges that get code.
  void splitEdges() {
    EdgeBlocks.resize(E.SplitEdges.size());
    for (size_t I = 0; I < A.num_edits; ++I)
      if (A.edits[I].block >= E.BlockAt.size()) {
        unsigned Edge = A.edits[I].block - E.BlockAt.size();
        if (!EdgeBlocks[Edge])
          EdgeBlocks[Edge] = splitEdge(*E.SplitEdges[Edge].From, *E.SplitEdges[Edge].To, E.SplitEdges[Edge].JumpTable);
      }
  }

  void edits() {
    for (size_t I = 0; I < A.num_edits; ++I) {
      const ChEdit &Edit = A.edits[I];
      MachineBasicBlock &MBB = *block(Edit.block);
      from(~int32_t(I));
      insertEdit(Edit, MBB, position(Edit, MBB));
    }
    for (auto [MI, Place] : Moves) {
      MI->moveBefore(Place);
      Place->eraseFromParent();
    }
  }

  MachineBasicBlock::iterator position(const ChEdit &Edit, MachineBasicBlock &MBB) {
    if (Edit.block >= E.BlockAt.size())
      return MBB.getFirstTerminator();
    const ChBlock &Block = E.Blocks[Edit.block];
    unsigned Inst = Block.first_inst + Edit.index;
    auto At = Inst < Block.end_inst ? MachineBasicBlock::iterator(E.InstAt[Inst]) : MBB.getFirstTerminator();
    // Debug instructions say where values are after the edits.
    while (At != MBB.begin() && std::prev(At)->isDebugInstr())
      --At;
    return At;
  }

  void insertEdit(const ChEdit &Edit, MachineBasicBlock &MBB, MachineBasicBlock::iterator At) {
    bool HasClass = Edit.kind != CH_REMATERIALISE && Edit.kind != CH_PERFORM && Edit.kind != CH_STORE_CONSTANT;
    const TargetRegisterClass *RC = HasClass ? classOf(Edit) : nullptr;
    auto View = [&](uint8_t Root) { return E.T.view(RC, Root); };
    switch (Edit.kind) {
    case CH_LOAD:
      load(MBB, At, View(Edit.to), Slots[Edit.object], RC);
      break;
    case CH_STORE:
      store(MBB, At, View(Edit.from), Slots[Edit.object], RC);
      break;
    case CH_MOVE:
      move(MBB, At, Edit, RC);
      break;
    case CH_EXCHANGE:
      if (x86::isSwappedInMemory(RC, TRI))
        return swapInMemory(MBB, At, RC, Edit.to, Edit.from);
      markAsExchange(x86::exchange(MBB, At, E.T.llvmClass(Edit.cls), Edit.to, Edit.from, E.T));
      break;
    case CH_XOR:
      if (x86::isSwappedInMemory(RC, TRI))
        return swapInMemory(MBB, At, RC, Edit.to, Edit.from);
      for (auto [To, From] : {std::pair(Edit.to, Edit.from), {Edit.from, Edit.to}, {Edit.to, Edit.from}})
        markAsExchange(x86::exclusiveOr(MBB, At, RC, To, From, E.T));
      break;
    case CH_REMATERIALISE:
      if (E.Insts[Edit.object].flags & CH_RECOMPUTABLE)
        recompute(MBB, At, Edit);
      else
        TII.reMaterialize(MBB, At, constantIn(Edit.object, Edit.to), 0, *E.InstAt[Edit.object]);
      break;
    case CH_STORE_CONSTANT:
      x86::storeConstant(MBB, At, *E.InstAt[Edit.cls], Slots[Edit.object], E.T);
      break;
    case CH_PERFORM:
      // The positions of other edits depend on where instructions stand, so it moves when all others have been made.
      Moves.push_back({E.InstAt[Edit.object], BuildMI(MBB, At, DebugLoc(), TII.get(TargetOpcode::KILL))});
      if (Edit.cls)
        Flagless.insert(Edit.object);
      break;
    }
  }

  void load(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, MCRegister Reg, int Slot, const TargetRegisterClass *RC) {
    TII.loadRegFromStackSlot(MBB, At, Reg, Slot, RC, Register());
    accessed(*std::prev(At), Reg, RC);
  }

  void store(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, MCRegister Reg, int Slot, const TargetRegisterClass *RC) {
    TII.storeRegToStackSlot(MBB, At, Reg, false, Slot, RC, Register());
    accessed(*std::prev(At), Reg, RC);
  }

  // What is stored may be a copy. LLVM's copy propagation has the source stored, and removes the copy if nothing else reads it.
  void accessed(MachineInstr &Access, MCRegister Reg, const TargetRegisterClass *RC) {
    for (MachineOperand &MO : Access.explicit_operands())
      if (MO.isReg() && MO.getReg() == Reg)
        MO.setIsRenamable(renamable(E.T.lowPartOf(Reg)));
    if (RC != x86::tileClass(TRI))
      return;
    x86::removeStride(Access);
    TileAccesses.push_back(&Access);
  }

  // Inserts a copy that LLVM may propagate, like those of its own allocators. No pass may rename a register to which nothing is
  // allocated: the program names it.
  void move(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const ChEdit &Edit, const TargetRegisterClass *RC) {
    auto Copy = BuildMI(MBB, At, DebugLoc(), TII.get(TargetOpcode::COPY));
    Copy.addReg(movedView(RC, Edit.to), unsigned(RegState::Define) | renamable(Edit.to));
    Copy.addReg(movedView(RC, Edit.from), renamable(Edit.from));
  }

  // The view of a root that a value of a class is moved to or from: it may be of another bank.
  MCRegister movedView(const TargetRegisterClass *RC, unsigned Root) const {
    MCRegister Own = E.T.view(RC, Root);
    return Own ? Own : E.T.view(x86::classBeside(RC, E.T), Root);
  }

  unsigned renamable(unsigned Root) const { return contains(A.usable, Root) ? unsigned(RegState::Renamable) : 0; }

  // The class of an edit. An excluded register may be in no class like the value's.
  const TargetRegisterClass *classOf(const ChEdit &Edit) {
    const TargetRegisterClass *RC = E.T.llvmClass(Edit.cls);
    if (Edit.kind == CH_MOVE && E.T.file().regs[Edit.to].bank != E.T.file().regs[Edit.from].bank)
      return RC;
    bool Covers = (Edit.kind == CH_STORE || E.T.view(RC, Edit.to)) && (Edit.kind == CH_LOAD || E.T.view(RC, Edit.from));
    return Covers ? RC : x86::unrestricted(RC, E.T);
  }

  // Executes a recomputable instruction again: one with two addresses in its form with three.
  void recompute(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const ChEdit &Edit) {
    MachineInstr *New = MF.CloneMachineInstr(E.InstAt[Edit.object]);
    MBB.insert(At, New);
    setRegister(New->getOperand(0), constantIn(Edit.object, Edit.to));
    for (unsigned Index : E.OperandAt[E.Insts[Edit.object].first_operand + 1].all())
      setRegister(New->getOperand(Index), Edit.from);
    if (!New->isRegTiedToDefOperand(1))
      return;
    if (!x86::withThreeAddresses(*New, E.T))
      refuse(*New);
    New->eraseFromParent();
  }

  void refuse(const MachineInstr &MI) {
    raw_string_ostream Message(Failure);
    Message << "LLVM has no form with three addresses after all: ";
    MI.print(Message, /*IsStandalone=*/true, /*SkipOpers=*/false, /*SkipDebugLoc=*/true, /*AddNewLine=*/false);
  }

  // The view of a root that a constant is computed in. In a register of the program, the constant's class may be too narrow:
  // other readers have made it so.
  MCRegister constantIn(unsigned Inst, unsigned Root) {
    const ChOperand &Def = E.Operands[E.Insts[Inst].first_operand];
    MCRegister To = E.T.view(E.T.llvmClass(E.Classes[Def.value]), Root);
    if (!To)
      To = E.T.view(TII.getRegClass(E.InstAt[Inst]->getDesc(), 0), Root);
    assert(To.isValid() && "a constant outside what its instruction can write");
    return To;
  }

  void swapInMemory(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const TargetRegisterClass *RC, unsigned X, unsigned Y) {
    int Slot = MF.getFrameInfo().CreateSpillStackObject(TRI.getSpillSize(*RC), TRI.getSpillAlign(*RC));
    store(MBB, At, E.T.view(RC, X), Slot, RC);
    BuildMI(MBB, At, DebugLoc(), TII.get(TargetOpcode::COPY), E.T.view(RC, X)).addReg(E.T.view(RC, Y));
    load(MBB, At, E.T.view(RC, Y), Slot, RC);
  }

  // Puts locations into an instruction's operands, or removes an instruction that has become a no-op.
  void rewrite(unsigned Inst) {
    const ChInst &I = E.Insts[Inst];
    if (I.flags & CH_RECORDED)
      return record(Inst);
    if (I.first_operand < I.end_operand && A.locations[I.first_operand] == INT32_MIN)
      return E.InstAt[Inst]->eraseFromParent(); // it is executed where its value is used instead
    bool ThreeAddresses = !commute(*E.InstAt[Inst], I) || Flagless.contains(Inst);
    for (unsigned K = I.first_operand; K < I.end_operand; ++K)
      if (A.locations[K] < 0) {
        if (I.kind != CH_OP)
          return replaceByAccess(*E.InstAt[Inst], I, K);
        if (!foldOperand(Inst, K))
          return;
        // The use that a folded definition overwrites is folded with it, and comes later.
        if (E.Operands[K].role != CH_USE)
          break;
      }
    MachineInstr &MI = *E.InstAt[Inst];
    // The value was computed in the register, or stays there, and may be of a class that lacks it.
    if ((I.kind == CH_COPY_TO || I.kind == CH_COPY_FROM) && A.locations[I.first_operand] == int64_t(I.reg) && MI.getNumOperands() == 2)
      return MI.eraseFromParent();
    for (unsigned K = I.first_operand; K < I.end_operand; ++K)
      if (A.locations[K] >= 0)
        for (unsigned Index : E.OperandAt[K].all())
          setRegister(MI.getOperand(Index), A.locations[K]);
    for (unsigned Op = 0; Op < MI.getNumOperands(); ++Op)
      undefined(MI, Op);
    for (const MachineOperand &MO : MI.operands())
      if (MO.isRegMask())
        MRI.addPhysRegsUsedFromRegMask(MO.getRegMask());
    if (ThreeAddresses)
      return loosen(Inst, MI);
    if (MI.isInsertSubreg())
      return lowerInsert(MI, I.kind == CH_COPY || MI.getOperand(1).isUndef());
    if (MI.isCopy() && MI.getOperand(0).getReg() == MI.getOperand(1).getReg() && MI.getNumOperands() == 2)
      MI.eraseFromParent();
  }

  // Writes the location of one operand into its stack map, patch point or statepoint. The last operand comes first, because one
  // in memory is described by several operands, which shifts all after it.
  void record(unsigned Inst) {
    MachineInstr &MI = *E.InstAt[Inst];
    unsigned K = E.Insts[Inst].first_operand, Index = E.OperandAt[K].Index[0];
    if (A.locations[K] >= 0)
      return setRegister(MI.getOperand(Index), A.locations[K]);
    MachineInstr *New = recordInMemory(MI, Index, Slots[~A.locations[K]]);
    if (!New)
      return failToFold(MI, Index);
    if (MI.isCandidateForAdditionalCallInfo())
      MF.moveAdditionalCallInfo(&MI, New);
    for (unsigned Next = Inst; Next < E.InstAt.size() && E.InstAt[Next] == &MI; ++Next)
      E.InstAt[Next] = New;
    MI.eraseFromParent();
  }

  void failToFold(const MachineInstr &MI, unsigned Index) {
    raw_string_ostream Message(Failure);
    Message << "LLVM does not fold operand " << Index << " after all: ";
    MI.print(Message, /*IsStandalone=*/true, /*SkipOpers=*/false, /*SkipDebugLoc=*/true, /*AddNewLine=*/false);
  }

  // If a definition is not in the register of the use that it is tied to, ties it to another use. Returns whether all ties hold
  // then.
  bool commute(MachineInstr &MI, const ChInst &I) {
    for (unsigned K = I.first_operand; K < I.end_operand; ++K) {
      ChOperand &Def = E.Operands[K];
      if (Def.reuse == UINT16_MAX || A.locations[I.first_operand + Def.reuse] == A.locations[K])
        continue;
      unsigned Instead = overwrittenInstead(Def, I, A.locations[K]);
      if (Instead == CH_NONE)
        return false;
      exchangeUses(MI, E.OperandAt[I.first_operand + Def.reuse].Index[0], E.OperandAt[I.first_operand + Instead].Index[0]);
      Def.reuse = Instead;
    }
    return true;
  }

  // The other operand that a definition can overwrite and that is in its place, or CH_NONE.
  unsigned overwrittenInstead(const ChOperand &Def, const ChInst &I, int32_t Place) const {
    for (unsigned Other = 0; Def.reuse_instead >> Other; ++Other)
      if (Def.reuse_instead >> Other & 1 && A.locations[I.first_operand + Other] == Place)
        return Other;
    return CH_NONE;
  }

  // Exchanges two uses of an instruction, whose operands are then where each other's were.
  static void exchangeUses(MachineInstr &MI, unsigned &A, unsigned &B) {
    exchange(MI, A, B);
    std::swap(A, B);
  }

  // Replaces an instruction in physical registers by a form without ties.
  void loosen(unsigned Inst, MachineInstr &MI) {
    MachineInstr *New = x86::withThreeAddresses(MI, E.T);
    if (!New)
      return refuse(MI);
    MI.eraseFromParent();
    E.InstAt[Inst] = New;
  }

  // Replaces an instruction by one that accesses an operand in its slot. Its other operands are still virtual registers then, as
  // when the exporter asked whether it can be folded.
  bool foldOperand(unsigned Inst, unsigned K) {
    MachineInstr &MI = *E.InstAt[Inst];
    bool Updates = E.Operands[K].role != CH_USE;
    if (!Updates)
      moveToPlace(Inst, K);
    unsigned Index = E.OperandAt[K].Index[0];
    SmallVector<unsigned, 2> Indices(E.OperandAt[K].all());
    if (Updates)
      Indices.push_back(E.OperandAt[E.Insts[Inst].first_operand + E.Operands[K].reuse].Index[0]);
    unsigned Last = Indices.back(), Added = addedOperands(MI, Indices);
    unsigned Slot = ~A.locations[K];
    MachineInstr *New = fold(MI, Indices, Slots[Slot]);
    if (!New) {
      failToFold(MI, Index);
      return false;
    }
    if (A.slots[Slot].given != CH_NONE)
      accessInstead(*New, Index, Sources[Slot]);
    if (unsigned Number = MI.peekDebugInstrNum()) {
      MF.substituteDebugValuesForInst(MI, *New, Index);
      if (Updates)
        MF.makeDebugValueSubstitution({Number, Index}, {New->getDebugInstrNum(), MachineFunction::DebugOperandMemNumber});
    }
    if (MI.isCandidateForAdditionalCallInfo())
      MF.moveAdditionalCallInfo(&MI, New);
    for (unsigned Other = E.Insts[Inst].first_operand; Other < E.Insts[Inst].end_operand; ++Other)
      for (unsigned &Behind : E.OperandAt[Other].Index)
        if (Behind > Last)
          Behind += Added;
    MI.eraseFromParent();
    E.InstAt[Inst] = New;
    return true;
  }

  // Exchanges a use that is read from memory with another one if only that other operand can be in memory.
  void moveToPlace(unsigned Inst, unsigned K) {
    unsigned &Index = E.OperandAt[K].Index[0];
    if (E.OperandAt[K].all().size() > 1)
      return;
    unsigned Place = E.Folding.place(*E.InstAt[Inst], Index, E.Classes[E.Operands[K].value]);
    if (Place == CH_NONE || Place == Index)
      return;
    for (unsigned Other = E.Insts[Inst].first_operand; Other < E.Insts[Inst].end_operand; ++Other)
      if (E.OperandAt[Other].Index[0] == Place)
        return exchangeUses(*E.InstAt[Inst], Index, E.OperandAt[Other].Index[0]);
  }

  void setRegister(MachineOperand &MO, unsigned Root) {
    MCRegister Reg = E.T.view(MRI.getRegClass(MO.getReg()), Root);
    setRegister(MO, Reg);
  }

  void setRegister(MachineOperand &MO, MCRegister Reg) {
    if (unsigned Sub = MO.getSubReg())
      Reg = TRI.getSubReg(Reg, Sub);
    assert(Reg.isValid() && "a location outside the value's class");
    MO.setSubReg(0);
    MO.setReg(Reg);
    MO.setIsRenamable(true);
    if (MO.isUse())
      MO.setIsKill(false);
    else
      MO.setIsDead(false);
  }

  // Gives a virtual register that is read but not defined any register.
  void undefined(MachineInstr &MI, unsigned Op) {
    MachineOperand &MO = MI.getOperand(Op);
    if (!MO.isReg() || !MO.getReg().isVirtual())
      return;
    unsigned DefIndex;
    const TargetRegisterClass *RC = MRI.getRegClass(MO.getReg());
    MO.setIsUndef();
    if (MI.isRegTiedToDefOperand(Op, &DefIndex)) {
      MO.setSubReg(0);
      MO.setReg(MI.getOperand(DefIndex).getReg());
      return;
    }
    uint32_t Class = E.T.classOf(RC);
    const ChClass &C = E.T.file().classes[Class];
    uint8_t Root = E.T.file().orders[C.first_reg];
    for (uint32_t I = C.first_reg; I < C.end_reg; ++I)
      if (contains(A.usable, E.T.file().orders[I])) {
        Root = E.T.file().orders[I];
        break;
      }
    setRegister(MO, E.T.view(RC, Root));
  }

  // `d = INSERT_SUBREG base, part, index` with d in base's register, or with an undefined base, is a copy into the part.
  void lowerInsert(MachineInstr &MI, bool BaseUndefined) {
    MCRegister Whole = MI.getOperand(0).getReg().asMCReg();
    MCRegister Part = TRI.getSubReg(Whole, MI.getOperand(3).getImm());
    Register From = MI.getOperand(2).getReg();
    if (Register(Part) != From) {
      auto Copy = BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), TII.get(TargetOpcode::COPY), Part).addReg(From);
      if (!BaseUndefined)
        Copy.addReg(Whole, RegState::ImplicitDefine).addReg(Whole, RegState::Implicit);
    }
    MI.eraseFromParent();
  }

  // A copy from or to a spilled value is a load or a store. A copy from a slot to itself disappears.
  void replaceByAccess(MachineInstr &MI, const ChInst &I, unsigned K) {
    const MachineOperand &Folded = MI.getOperand(E.OperandAt[K].Index[0]);
    int64_t Other = I.reg;
    if (I.kind == CH_COPY)
      Other = A.locations[K == I.first_operand ? K + 1 : K - 1];
    if (Other >= 0) {
      const TargetRegisterClass *RC = accessClass(Folded, Other);
      MCRegister Reg = E.T.view(RC, Other);
      int Slot = Slots[~A.locations[K]];
      if (Folded.isDef())
        store(*MI.getParent(), MI, Reg, Slot, RC);
      else
        load(*MI.getParent(), MI, Reg, Slot, RC);
    }
    MI.eraseFromParent();
  }

  // The class of an access to a spilled operand's slot: it is as wide as the operand, and has a member in the root.
  const TargetRegisterClass *accessClass(const MachineOperand &Folded, unsigned Root) {
    const TargetRegisterClass *RC = MRI.getRegClass(Folded.getReg());
    unsigned Size = TRI.getSpillSize(*RC);
    if (unsigned Sub = Folded.getSubReg())
      Size = TRI.getSubRegIdxSize(Sub) / 8;
    else if (E.T.view(RC, Root).isValid())
      return RC;
    // The smallest class, because LLVM finds the instruction by comparing with the usual classes, which contain it.
    const TargetRegisterClass *Best = nullptr;
    for (const TargetRegisterClass *Candidate : TRI.regclasses())
      if (TRI.getSpillSize(*Candidate) == Size && E.T.view(Candidate, Root).isValid())
        if (!Best || Candidate->getNumRegs() < Best->getNumRegs())
          Best = Candidate;
    if (Best)
      return Best;
    report_fatal_error(Twine("no register class for a part of ") + TRI.getRegClassName(RC));
  }

  // Debug instructions follow their values. A numbered φ leaves a DBG_PHI.
  void debugLocations() {
    for (size_t I = 0; I < E.DebugAt.size(); ++I) {
      MachineInstr &MI = *E.DebugAt[I].MI;
      int32_t Location = A.debug_locations[I];
      if (MI.isPHI()) {
        numberedPhi(MI, Location);
        continue;
      }
      MachineOperand &MO = MI.getOperand(E.DebugAt[I].Index);
      // An earlier operand of the instruction may have made the whole instruction undefined.
      if (!MO.isReg() || !MO.getReg().isVirtual())
        continue;
      if (Location >= 0 && hasName(MRI.getRegClass(MO.getReg()), MO.getSubReg(), Location))
        setRegister(MO, Location);
      else if (Location >= 0 || Location == INT32_MIN || !MI.isDebugValue())
        setUndefined(MI, MO);
      else
        updateDbgValueForSpill(MI, Slots[~Location], MO.getReg());
    }
    for (MachineBasicBlock &MBB : MF)
      for (MachineInstr &MI : MBB)
        if (MI.isDebugInstr())
          for (MachineOperand &MO : MI.operands())
            if (MO.isReg() && MO.getReg().isVirtual())
              setUndefined(MI, MO);
  }

  // Whether a value of a class, or a part of it, can be named in a register. A byte may be copied to registers whose lowest eight
  // bits have no name on i386.
  bool hasName(const TargetRegisterClass *RC, unsigned Sub, unsigned Root) const {
    MCRegister Reg = E.T.view(RC, Root);
    if (Reg.isValid() && Sub)
      Reg = TRI.getSubReg(Reg, Sub);
    return Reg.isValid() && !MRI.isReserved(Reg);
  }

  static void setUndefined(MachineInstr &MI, MachineOperand &MO) {
    MO.setSubReg(0);
    if (MI.isDebugValue())
      MI.setDebugValueUndef();
    else
      MO.setReg(Register());
  }

  void numberedPhi(MachineInstr &Phi, int32_t Location) {
    const TargetRegisterClass *RC = MRI.getRegClass(Phi.getOperand(0).getReg());
    if (Location == INT32_MIN || (Location >= 0 && !hasName(RC, 0, Location)))
      return;
    MachineBasicBlock &MBB = *Phi.getParent();
    auto DbgPhi = BuildMI(MBB, MBB.getFirstNonPHI(), DebugLoc(), TII.get(TargetOpcode::DBG_PHI));
    if (Location >= 0)
      DbgPhi.addReg(E.T.view(RC, Location)).addImm(Phi.peekDebugInstrNum());
    else
      DbgPhi.addFrameIndex(Slots[~Location]).addImm(Phi.peekDebugInstrNum()).addImm(TRI.getSpillSize(*RC) * 8);
  }

  Export &E;
  const ChAnswer &A;
  MachineFunction &MF;
  MachineRegisterInfo &MRI;
  const TargetInstrInfo &TII;
  const TargetRegisterInfo &TRI;
  std::vector<int> Slots;
  std::vector<Source> Sources; // of each slot that is not in the frame
  std::vector<MachineBasicBlock *> EdgeBlocks;
  std::vector<std::pair<MachineInstr *, MachineInstr *>> Moves; // instructions, and the places that they move to
  DenseSet<unsigned> Flagless;
  std::vector<MachineInstr *> TileAccesses; // accesses to stack slots of tiles
  Origins *Origin;                          // null if nobody asks where instructions come from
  std::string Failure;
};

} // namespace

Applied apply(Export &E, const ChAnswer &Answer, Origins *Origin) {
  Origins::Watch Watching(Origin, E.MF);
  Applied Result = Applier(E, Answer, Origin).run();
  if (Origin)
    Origin->settle();
  return Result;
}

// Whether frame lowering is going to look for an instruction, and for the register that it writes: the definition of an argument
// base pointer, of which otherwise only the target's tables know.
static bool isLookedFor(const MachineInstr &MI) { return MI.getFlag(MachineInstr::FrameSetup); }

static void setAnyRegisters(MachineInstr &MI) {
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  for (MachineOperand &MO : MI.operands())
    if (MO.isReg() && MO.getReg().isVirtual())
      MO.setReg(*MRI.getRegClass(MO.getReg())->begin());
}

static void erase(MachineInstr &MI) {
  if (MI.isCandidateForAdditionalCallInfo())
    MI.getMF()->eraseAdditionalCallInfo(&MI);
  MI.eraseFromBundle();
}

void gut(MachineFunction &MF, Target &T) {
  for (MachineBasicBlock &MBB : MF) {
    for (MachineInstr &MI : make_early_inc_range(MBB.instrs()))
      if (isLookedFor(MI))
        setAnyRegisters(MI);
      else
        erase(MI);
    while (!MBB.succ_empty())
      MBB.removeSuccessor(MBB.succ_begin());
  }
  Applier::finish(MF, T);
}

} // namespace chordal
