#include "export.h"
#include "early.h"
#include "extensions.h"
#include "flags.h"
#include "forms.h"
#include "jumps.h"
#include "liveins.h"
#include "narrow.h"
#include "records.h"
#include "reserved.h"
#include "throws.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineJumpTableInfo.h"
#include "llvm/CodeGen/TargetOpcodes.h"

using namespace llvm;

namespace chordal {

static StringRef contentOf(const ChPins &Sets) { return {reinterpret_cast<const char *>(&Sets), sizeof Sets}; }

Export::Export(MachineFunction &MF, Target &T, ArrayRef<double> Frequencies)
    : MF(MF), T(T), Folding(MF, T), TII(*MF.getSubtarget().getInstrInfo()), MRI(MF.getRegInfo()) {
  if (MF.hasEHFunclets())
    unsupported("funclet-based exception handling");
  BlockNumber.resize(MF.getNumBlockIDs());
  for (MachineBasicBlock &MBB : MF) {
    BlockNumber[MBB.getNumber()] = BlockAt.size();
    BlockAt.push_back(&MBB);
  }
  Pins.push_back({});
  PinsByContent[contentOf(Pins.front())] = 0;
  Blocks.reserve(BlockAt.size());
  unsigned Count = MF.getInstructionCount();
  Insts.reserve(Count);
  InstAt.reserve(Count);
  readReservedRegisters(MF);
  x86::extendInsteadOfZeroing(MF, T);
  x86::zeroInOneInstruction(MF, T);
  mergeExtensions(MF, T);
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : MBB) {
      x86::splitPair(MI, T);
      copyWhatIsOverwrittenEarly(MI);
      widenInsertion(MI);
    }
  Narrowed = copyForNarrowOperands(MF, T, Frequencies);
  markDeadFlags(MF, T);
  if (!defineBeforeThrows(MF))
    unsupported("what is defined after a call that throws and wanted where it throws to");
  x86::Tiles Matrices(MF);
  Matrices.matchShapes(MF);
  Shapes = Matrices.configure(MF, T);
  numberValues(Matrices);
  findJumpTables();
  for (MachineBasicBlock &MBB : MF)
    addBlock(MBB, Frequencies[MBB.getNumber()]);
}

ChFunction Export::view() const {
  ChFunction F = {};
  F.name = str(MF.getName());
  F.blocks = Blocks.data(), F.num_blocks = Blocks.size();
  F.edges = Edges.data(), F.num_edges = Edges.size();
  F.phis = Phis.data(), F.num_phis = Phis.size();
  F.phi_args = PhiArgs.data(), F.num_phi_args = PhiArgs.size();
  F.insts = Insts.data(), F.num_insts = Insts.size();
  F.operands = Operands.data(), F.num_operands = Operands.size();
  F.pins = Pins.data(), F.num_pins = Pins.size();
  F.classes = Classes.data(), F.num_values = Classes.size();
  F.debug_uses = DebugUses.data(), F.num_debug_uses = DebugUses.size();
  F.returns_twice = MF.exposesReturnsTwice();
  F.goal = goal(MF);
  F.unsupported = str(Unsupported);
  return F;
}

std::vector<ChName> Export::names() const {
  // What a debug instruction refers to by number, by the number and the operand.
  DenseMap<std::pair<unsigned, unsigned>, Register> Numbered;
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      if (unsigned Number = MI.peekDebugInstrNum())
        for (unsigned I = 0; I < MI.getNumOperands(); ++I)
          if (const MachineOperand &MO = MI.getOperand(I); MO.isReg() && MO.isDef())
            Numbered[{Number, I}] = MO.getReg();
  std::vector<ChName> Names;
  auto Add = [&](const MachineInstr &Debug, Register Reg) {
    if (Reg.isVirtual() && valueOf(Reg) != CH_NONE)
      Names.push_back({valueOf(Reg), str(Debug.getDebugVariable()->getName())});
  };
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      if (MI.isDebugValueLike())
        for (const MachineOperand &MO : MI.debug_operands()) {
          if (MO.isReg())
            Add(MI, MO.getReg());
          else if (MO.isDbgInstrRef())
            Add(MI, Numbered.lookup({MO.getInstrRefInstrIndex(), MO.getInstrRefOpIndex()}));
        }
  return Names;
}

void Export::release() {
  // (Assigned `{}`, a vector would keep its memory.)
  auto Free = [](auto &...Tables) { ((Tables = std::decay_t<decltype(Tables)>()), ...); };
  Free(Edges, Phis, PhiArgs, Pins, DebugUses, ValueOf, PinsByContent, BlockNumber, JumpTableOf);
  // (Without exceptions, shrink_to_fit() does nothing.)
  Operands = std::vector(Operands);
  OperandAt = std::vector(OperandAt);
}

// Widens the insertion of a value's part into an undefined register to all bits that both have, as the model's copies do. The
// rest is undefined.
void Export::widenInsertion(MachineInstr &MI) {
  if (!MI.isInsertSubreg() || !isUndefined(MI.getOperand(1)))
    return;
  MachineOperand &Part = MI.getOperand(2), &Index = MI.getOperand(3);
  if (Part.getSubReg() != Index.getImm() || T.TRI.getSubRegIdxOffset(Index.getImm()) != 0 || !Part.getReg().isVirtual())
    return;
  const TargetRegisterClass *To = MRI.getRegClass(MI.getOperand(0).getReg()), *From = MRI.getRegClass(Part.getReg());
  if (unsigned Whole = lowPart(To, From)) {
    Part.setSubReg(0);
    Index.setImm(Whole);
  } else if (unsigned Low = lowPart(From, To); Low || T.TRI.getRegSizeInBits(*From) == T.TRI.getRegSizeInBits(*To)) {
    Part.setSubReg(Low);
    MI.removeOperand(3);
    MI.removeOperand(1);
    MI.setDesc(TII.get(TargetOpcode::COPY));
  }
}

// The subregister index that selects, in registers of a class, a low part as wide as registers of a narrower class; 0 if there is
// none.
unsigned Export::lowPart(const TargetRegisterClass *Of, const TargetRegisterClass *Narrower) const {
  for (unsigned Index = 1; Index < T.TRI.getNumSubRegIndices(); ++Index)
    if (T.TRI.getSubRegIdxOffset(Index) == 0 && T.TRI.getSubRegIdxSize(Index) == T.TRI.getRegSizeInBits(*Narrower) &&
        T.TRI.getSubClassWithSubReg(Of, Index) == Of)
      return Index;
  return 0;
}

// Numbers values in the order of their definitions, so that numbers are dense and independent of LLVM's history.
void Export::numberValues(const x86::Tiles &Matrices) {
  ValueOf.assign(MRI.getNumVirtRegs(), CH_NONE);
  Widest.assign(T.file().num_banks, 0);
  for (MachineBasicBlock &MBB : MF) {
    for (MachineInstr &MI : MBB) {
      for (const MachineOperand &MO : MI.all_defs()) {
        if (!MO.getReg().isVirtual())
          continue;
        unsigned Index = MO.getReg().virtRegIndex();
        const TargetRegisterClass *RC = MRI.getRegClass(MO.getReg());
        bool HasShape = RC == x86::tileClass(T.TRI) && !Shapes.empty();
        uint32_t Class = HasShape ? T.tilesOf(Matrices.shapeOf(MO.getReg())) : T.classOf(RC);
        if (RC == x86::tileClass(T.TRI) && !HasShape)
          unsupported("matrix tiles of more shapes than fit, or of unknown ones");
        else if (Class == CH_NONE)
          unsupported(Twine("a value of register class ") + T.TRI.getRegClassName(RC));
        if (ValueOf[Index] != CH_NONE || MO.getSubReg())
          unsupported("a virtual register defined in parts");
        ValueOf[Index] = Classes.size();
        Classes.push_back(Class);
        if (Class != CH_NONE) {
          unsigned &Bits = Widest[T.file().classes[Class].bank];
          Bits = std::max(Bits, unsigned(T.TRI.getRegSizeInBits(*RC)));
        }
      }
    }
  }
}

// Whether an instruction names nothing that is allocated: it sets up or takes down a call's frame, or is a jump that is always
// taken. A fifth of all instructions are left out so. (In a block with several successors, some terminator has to stay: edges
// without code of a block without terminators are in no bundle.)
static bool isIdle(MachineInstr &MI, const TargetInstrInfo &TII) {
  MachineBasicBlock &MBB = *MI.getParent();
  auto IsNeeded = [&] { return MBB.succ_size() > 1 && MBB.getFirstTerminator() == MI.getIterator() && !jumpAtEnd(MBB); };
  return TII.isFrameInstr(MI) || (isAlwaysTaken(MI) && !IsNeeded());
}

void Export::addBlock(MachineBasicBlock &MBB, double Frequency) {
  unsigned Block = Blocks.size();
  unsigned FirstEdge = Edges.size();
  unsigned FirstInst = Insts.size();
  ChRegSet LiveIn = {};
  for (const auto &Pair : MBB.liveins())
    unite(LiveIn, T.roots(Pair.PhysReg));
  for (MachineInstr &MI : MBB) {
    if (MI.isBundled())
      unsupported("an instruction bundle");
    if (MI.isPHI())
      addPhi(MI, Block);
    else if (MI.isDebugInstr())
      addDebugUses(MI, Block, Insts.size() - FirstInst);
    else if (!isIdle(MI, TII)) {
      copyTiedPins(MI);
      addRecorded(MI);
      addInst(MI);
    }
  }
  addEdges(MBB, Frequency);
  unsigned Throws = CH_NONE;
  if (any_of(MBB.successors(), [](MachineBasicBlock *S) { return S->isEHPad(); }))
    if ((Throws = findThrow(MBB)) == CH_NONE)
      unsupported("a block with an exceptional exit but no call");
  if (Throws != CH_NONE)
    addWrittenByUnwinder(Throws);
  if (!jumpAtEnd(MBB) && any_of(MBB, isJumpingAssembly))
    unsupported("inline assembly that jumps in a block with an exceptional exit");
  Blocks.push_back({FirstInst, unsigned(Insts.size()), FirstEdge, unsigned(Edges.size()), LiveIn, Frequency, Throws, MBB.isEHPad()});
}

// The call from which a landing pad is entered, or CH_NONE.
unsigned Export::findThrow(MachineBasicBlock &MBB) const {
  const MachineInstr *Call = callThatThrows(MBB);
  for (unsigned Inst = InstAt.size(); Call && Inst-- > 0 && InstAt[Inst]->getParent() == &MBB;)
    if (InstAt[Inst] == Call)
      return Inst;
  return CH_NONE;
}

// Adds the registers that the unwinder writes before it enters a landing pad to the call's clobbers, although the callee's
// convention may preserve them. The unwinder passes the exception in some registers, and restores only those that C's convention
// preserves.
void Export::addWrittenByUnwinder(unsigned Call) {
  ChPins Sets = Pins[Insts[Call].pins];
  for (MCRegister Reg : writtenByUnwinder(MF))
    unite(Sets.clobbers, T.roots(Reg));
  unite(Sets.clobbers, T.clobbers(T.TRI.getCallPreservedMask(MF, CallingConv::C), Widest));
  Insts[Call].pins = numberOf(Sets);
}

// Instructions that name the same registers share an entry, as hundreds of calls do.
unsigned Export::numberOf(const ChPins &Sets) {
  // Most of the time, one of the latest few entries is the one.
  for (unsigned Recent : RecentPins)
    if (!memcmp(&Pins[Recent], &Sets, sizeof Sets))
      return Recent;
  auto [Known, IsNew] = PinsByContent.try_emplace(contentOf(Sets), Pins.size());
  if (IsNew)
    Pins.push_back(Sets);
  std::copy_backward(RecentPins.begin(), RecentPins.end() - 1, RecentPins.end());
  return RecentPins.front() = Known->second;
}

void Export::addEdges(MachineBasicBlock &MBB, double Frequency) {
  for (auto S = MBB.succ_begin(), E = MBB.succ_end(); S != E; ++S) {
    auto Probability = MBB.getSuccProbability(S);
    ChEdge Edge = {BlockNumber[(*S)->getNumber()], CH_NONE,
                   Frequency * Probability.getNumerator() / double(Probability.getDenominator())};
    // What inline assembly defines cannot be moved at its block's end, even if that has one successor.
    if ((*S)->pred_size() > 1 && (MBB.succ_size() > 1 || jumpAtEnd(MBB))) {
      bool Splittable;
      int JumpTable = splittableThrough(MBB, **S, Splittable);
      if (Splittable) {
        Edge.block = BlockAt.size() + SplitEdges.size();
        SplitEdges.push_back({&MBB, *S, JumpTable});
      }
    }
    Edges.push_back(Edge);
  }
}

// The jump table that an instruction names, or from which its registers are computed in at most this many steps; -1 if there is
// not exactly one.
static int jumpTableBehind(const MachineInstr &MI, unsigned Steps) {
  const MachineRegisterInfo &MRI = MI.getMF()->getRegInfo();
  int Table = -1;
  for (const MachineOperand &MO : MI.operands()) {
    int Found = -1;
    if (MO.isJTI())
      Found = MO.getIndex();
    else if (MachineInstr *Def = Steps && MO.isReg() && MO.isUse() && MO.getReg().isVirtual() ? MRI.getVRegDef(MO.getReg()) : nullptr)
      Found = jumpTableBehind(*Def, Steps - 1);
    if (Table >= 0 && Found >= 0 && Found != Table)
      return -1;
    Table = std::max(Table, Found);
  }
  return Table;
}

// The jump table that an indirect jump goes through, or -1. (TargetInstrInfo does not know it for all ways to address it.)
int Export::jumpTableOf(const MachineInstr &Jump) const {
  int Table = TII.getJumpTableIndex(Jump);
  return Table >= 0 ? Table : jumpTableBehind(Jump, 2);
}

// Finds, for each block, the jump table that its indirect jump, and no other block's, goes through.
void Export::findJumpTables() {
  JumpTableOf.assign(BlockAt.size(), -1);
  const MachineJumpTableInfo *Tables = MF.getJumpTableInfo();
  if (!Tables || Tables->isEmpty())
    return;
  std::vector<unsigned> Users(Tables->getJumpTables().size());
  bool Unresolved = false;
  for (unsigned Block = 0; Block < BlockAt.size(); ++Block) {
    MachineBasicBlock &MBB = *BlockAt[Block];
    for (MachineInstr &MI : MBB.terminators()) {
      if (!MI.isIndirectBranch())
        continue;
      JumpTableOf[Block] = jumpTableOf(MI);
      if (JumpTableOf[Block] >= 0)
        ++Users[JumpTableOf[Block]];
      else if (any_of(MBB.successors(), [](MachineBasicBlock *S) { return !S->hasAddressTaken(); }))
        Unresolved = true; // it goes through an unknown table, so no table's entries may change
    }
  }
  for (int &Table : JumpTableOf)
    if (Table >= 0 && (Unresolved || Users[Table] > 1))
      Table = -1;
}

// Finds out whether a block can be put on an edge. Returns the jump table whose entries this changes, or -1.
int Export::splittableThrough(MachineBasicBlock &From, MachineBasicBlock &To, bool &Splittable) const {
  Splittable = false;
  // Inline assembly may jump to an address that the program has taken, beside its labels.
  if (To.isEHPad() || (To.isInlineAsmBrIndirectTarget() && To.isIRBlockAddressTaken()))
    return -1;
  int JumpTable = JumpTableOf[BlockNumber[From.getNumber()]];
  for (const MachineInstr &MI : From.terminators()) {
    if (MI.isIndirectBranch() && JumpTable < 0)
      return -1;
    for (const MachineOperand &MO : MI.operands())
      if (MO.isMBB() && MO.getMBB() == &To && !MI.isBranch())
        return -1;
  }
  Splittable = true;
  return JumpTable;
}

void Export::addPhi(MachineInstr &MI, unsigned Block) {
  unsigned FirstArg = PhiArgs.size();
  for (unsigned I = 1; I < MI.getNumOperands(); I += 2) {
    const MachineOperand &MO = MI.getOperand(I);
    if (MO.getSubReg())
      unsupported("a phi of a part of a register");
    const MachineInstr *Def = MRI.getVRegDef(MO.getReg());
    bool Undefined = MO.isUndef() || !Def || Def->isImplicitDef();
    PhiArgs.push_back({BlockNumber[MI.getOperand(I + 1).getMBB()->getNumber()], Undefined ? CH_NONE : valueOf(MO.getReg())});
  }
  uint32_t Value = valueOf(MI.getOperand(0).getReg());
  if (MI.peekDebugInstrNum()) {
    DebugUses.push_back({Value, Block, 0});
    DebugAt.push_back({&MI, 0});
  }
  Phis.push_back({Block, Value, FirstArg, unsigned(PhiArgs.size())});
  PhiAt.push_back(&MI);
}

void Export::addDebugUses(MachineInstr &MI, unsigned Block, unsigned Index) {
  for (unsigned I = 0; I < MI.getNumOperands(); ++I) {
    const MachineOperand &MO = MI.getOperand(I);
    if (!MO.isReg() || !MO.getReg().isVirtual() || valueOf(MO.getReg()) == CH_NONE)
      continue;
    DebugUses.push_back({valueOf(MO.getReg()), Block, Index});
    DebugAt.push_back({&MI, I});
  }
}

static bool hasTies(const MachineInstr &MI) {
  return any_of(MI.operands(), [](const MachineOperand &MO) { return MO.isReg() && MO.isTied(); });
}

// Copies a use that is tied to the definition of a physical register to that register first, as LLVM's two-address pass does.
void Export::copyTiedPins(MachineInstr &MI) {
  if (!hasTies(MI))
    return;
  for (unsigned I = 0; I < MI.getNumOperands(); ++I) {
    MachineOperand &Use = MI.getOperand(I);
    unsigned Def;
    if (!Use.isReg() || !Use.isUse() || !Use.getReg().isVirtual() || !MI.isRegTiedToDefOperand(I, &Def))
      continue;
    Register Pin = MI.getOperand(Def).getReg();
    if (!Pin.isPhysical())
      continue;
    if (!Use.isUndef() && valueOf(Use.getReg()) != CH_NONE)
      addInst(*BuildMI(*MI.getParent(), MI, MI.getDebugLoc(), TII.get(TargetOpcode::COPY), Pin)
                   .addReg(Use.getReg(), {}, Use.getSubReg())
                   .getInstr());
    Use.setSubReg(0);
    Use.setReg(Pin);
  }
}

// Adds the operands whose places an instruction records as instructions of their own, in front of it, each of which can read its
// one operand from memory.
void Export::addRecorded(MachineInstr &MI) {
  for (unsigned Index : recordedOperands(MI)) {
    uint32_t Value = valueOf(MI.getOperand(Index).getReg());
    if (Value == CH_NONE)
      continue;
    ChInst Inst = {};
    Inst.kind = CH_OP;
    Inst.flags = CH_RECORDED | CH_DEAR;
    Inst.first_operand = Operands.size();
    Operands.push_back({Value, CH_USE, UINT16_MAX, 0, false, true});
    OperandAt.push_back({{Index, 0}, 1});
    Inst.end_operand = Operands.size();
    Insts.push_back(Inst);
    InstAt.push_back(&MI);
  }
}

void Export::addInst(MachineInstr &MI) {
  ChInst Inst = copyKind(MI);
  Inst.first_operand = Operands.size();
  ChPins Sets = {};
  bool Pinned = false;
  bool Writes = writesMemory(MI);
  SmallVector<unsigned, 16> Position(MI.getNumOperands(), UINT16_MAX);
  const SmallVector<unsigned, 0> Recorded = recordedOperands(MI);
  for (unsigned I = 0; I < MI.getNumOperands(); ++I) {
    const MachineOperand &MO = MI.getOperand(I);
    if (is_contained(Recorded, I))
      continue;
    if (MO.isRegMask()) {
      unite(Sets.clobbers, T.clobbers(MO.getRegMask(), Widest));
      Pinned = true;
    } else if (MO.isReg() && MO.getReg().isVirtual()) {
      addOperand(MI, I, Position);
    } else if (MO.isReg() && MO.getReg().isPhysical()) {
      addPin(MO, Sets);
      Pinned = true;
    }
  }
  if (hasTies(MI) || MI.isInsertSubreg())
    addReuse(MI, Inst.first_operand, Position);
  if (Inst.kind == CH_OP)
    addFoldable(MI, Inst.first_operand);
  Inst.end_operand = Operands.size();
  Inst.flags = (MI.isTerminator() || isJumpingAssembly(MI) ? CH_TERMINATOR : 0) | (MI.isPosition() ? CH_LABEL : 0) |
               (MI.getDesc().isAsCheapAsAMove() ? 0 : CH_DEAR) | (!Writes && isMovable(MI, T) ? CH_MOVABLE : 0) |
               (readsMemory(MI) ? CH_READS : 0) | (Writes ? CH_WRITES : 0);
  if (Operands.size() == Inst.first_operand + 2 && !Pinned && x86::isExtension(MI, T))
    Inst.flags |= CH_EXTENDS;
  if (Narrowed.contains(&MI))
    Inst.flags |= CH_NARROWS;
  auto Size = [&](unsigned Operand) { return T.file().classes[Classes[Operands[Operand].value]].slot_size; };
  if (Inst.kind == CH_COPY && !MI.isSubregToReg() && Size(Inst.first_operand) > Size(Inst.first_operand + 1))
    Inst.flags |= CH_WIDENS;
  if (Operands.size() == Inst.first_operand + 1 && Operands.back().role == CH_DEF && TII.isTriviallyReMaterializable(MI)) {
    Inst.flags |= CH_REMATERIALISABLE;
    if (x86::isStorable(MI, *T.llvmClass(Classes[Operands.back().value]), T.TRI))
      Inst.flags |= CH_STORABLE;
    if (isGiven(MI, T.file().classes[Classes[Operands.back().value]]))
      Inst.flags |= CH_GIVEN;
    // The instruction itself may write flags; where they are live, reMaterialize() chooses one that does not.
    Inst.flags &= ~CH_MOVABLE;
    for (unsigned Root = 0; Root < T.file().num_regs; ++Root)
      if (T.file().regs[Root].bank == CH_NONE)
        remove(Sets.defs, Root);
  }
  if (Operands.size() == Inst.first_operand + 2 && Operands[Inst.first_operand].role == CH_DEF && Operands.back().role == CH_USE &&
      (x86::isCheap(MI, T) || (!Pinned && Operands[Inst.first_operand].reuse == UINT16_MAX && TII.isReMaterializable(MI))))
    Inst.flags |= CH_RECOMPUTABLE;
  Inst.pins = Pinned ? numberOf(Sets) : 0;
  Insts.push_back(Inst);
  InstAt.push_back(&MI);
}

void Export::addOperand(MachineInstr &MI, unsigned Index, MutableArrayRef<unsigned> Position) {
  const MachineOperand &MO = MI.getOperand(Index);
  if (MO.isUse() && (MO.isUndef() || valueOf(MO.getReg()) == CH_NONE))
    return;
  // This is the base of an insertion into an undefined register.
  if (MI.isInsertSubreg() && Index == 1 && copyKind(MI).kind == CH_COPY)
    return;
  if (MI.isRegSequence())
    unsupported("REG_SEQUENCE");
  if (MO.isDef() && MI.isTerminator())
    unsupported("a value defined by a terminator");
  // An address computed from one value, as its base and its index, can be computed again.
  if (x86::isIndexToo(MI, Index, T) || (Index == 1 && Position[0] != UINT16_MAX && readsOnce(MI))) {
    OperandAt.back() = {{OperandAt.back().Index[0], Index}, 2};
    return;
  }
  uint16_t Role = MO.isUse() ? CH_USE : MO.isEarlyClobber() ? CH_EARLY_DEF : CH_DEF;
  Position[Index] = Operands.size();
  Operands.push_back({valueOf(MO.getReg()), Role, UINT16_MAX, 0, false, false});
  OperandAt.push_back({{Index, 0}, 1});
}

// Adds two-address constraints, which are LLVM's ties. An INSERT_SUBREG overwrites a part of its base without a tie.
void Export::addReuse(MachineInstr &MI, unsigned First, ArrayRef<unsigned> Position) {
  for (unsigned I = 0; I < MI.getNumOperands(); ++I) {
    if (Position[I] == UINT16_MAX)
      continue;
    unsigned UseIndex = 0;
    const MachineOperand &MO = MI.getOperand(I);
    bool Tied = MO.isDef() && MI.isRegTiedToUseOperand(I, &UseIndex);
    if (MI.isInsertSubreg() && I == 0 && Position[1] != UINT16_MAX) {
      Tied = true;
      UseIndex = 1;
    }
    if (!Tied || Position[UseIndex] == UINT16_MAX) {
      if (Tied && MI.getOperand(UseIndex).getReg().isPhysical())
        unsupported("a definition tied to a physical register");
      continue;
    }
    if (Position[UseIndex] - First > UINT8_MAX)
      unsupported("an instruction with more than 255 operands");
    ChOperand &Def = Operands[Position[I]];
    Def.reuse = Position[UseIndex] - First;
    if (Def.role != CH_DEF || MI.isInsertSubreg())
      continue;
    auto IsOperand = [&](unsigned Index) { return Position[Index] != UINT16_MAX; };
    constexpr unsigned Bits = 16;
    for (unsigned Other = 1; MI.isCommutable() && Def.reuse < Bits && Other < MI.getNumExplicitOperands(); ++Other)
      if (IsOperand(Other) && Position[Other] - First < Bits && isExchangeable(MI, UseIndex, Other, T))
        Def.reuse_instead |= 1 << (Position[Other] - First);
    // All values that it reads are in registers; addresses may have other parts.
    bool Known = true;
    for (unsigned Use = 1; Use < MI.getNumExplicitOperands(); ++Use)
      Known &= !MI.getOperand(Use).isReg() || !MI.getOperand(Use).getReg().isVirtual() || IsOperand(Use);
    Def.reuse_none = Known && x86::hasThreeAddresses(MI, T);
  }
}

// Whether an instruction reads one value with its first two operands, and could read it from memory once instead (`test`): the
// two are one operand then.
bool Export::readsOnce(MachineInstr &MI) {
  const MachineOperand &First = MI.getOperand(0), &Second = MI.getOperand(1);
  if (First.isDef() || !First.isIdenticalTo(Second) || Classes[Operands.back().value] == CH_NONE)
    return false;
  return Folding.foldable(MI, {0, 1}, Classes[Operands.back().value]);
}

void Export::addFoldable(MachineInstr &MI, unsigned First) {
  for (unsigned K = First; K < Operands.size(); ++K) {
    ChOperand &Operand = Operands[K];
    uint32_t Class = Classes[Operand.value];
    if (Class == CH_NONE)
      continue;
    if (Operand.role == CH_USE)
      Operand.foldable = Folding.foldableAlways(MI, OperandAt[K].all(), Class);
    else if (Operand.role == CH_DEF && Operand.reuse != UINT16_MAX && Classes[Operands[First + Operand.reuse].value] == Class)
      Operand.foldable = Folding.foldableAlways(MI, {OperandAt[K].Index[0], OperandAt[First + Operand.reuse].Index[0]}, Class);
  }
}

void Export::addPin(const MachineOperand &MO, ChPins &Sets) {
  const ChRegSet &Roots = T.roots(MO.getReg());
  if (MO.isDef())
    unite(MO.isEarlyClobber() ? Sets.early_defs : Sets.defs, Roots);
  else if (!MO.isUndef())
    unite(Sets.uses, Roots);
}

// Whether an operand reads a value that is never written.
bool Export::isUndefined(const MachineOperand &MO) const {
  const MachineInstr *Def = MO.getReg().isVirtual() ? MRI.getVRegDef(MO.getReg()) : nullptr;
  return MO.isUndef() || (Def && Def->isImplicitDef());
}

// The kind of an instruction, and everything but its operands: whether it is a copy within one bank, and of what kind.
ChInst Export::copyKind(const MachineInstr &MI) const {
  ChInst Op = {0, 0, 0, CH_OP, 0, 0};
  bool Insert = MI.isInsertSubreg();
  bool Extend = MI.isSubregToReg();
  if (!MI.isCopy() && !Insert && !Extend)
    return Op;
  const MachineOperand &Dst = MI.getOperand(0);
  const MachineOperand &Src = MI.getOperand(MI.isCopy() ? 1 : 2);
  if (Src.isUndef() || Dst.getSubReg())
    return Op;
  if (Insert && !isUndefined(MI.getOperand(1)))
    return Op;
  if (!MI.isCopy() && (Src.getSubReg() || T.TRI.getSubRegIdxOffset(MI.getOperand(3).getImm()) != 0))
    return Op;
  if (Src.getSubReg() && T.TRI.getSubRegIdxOffset(Src.getSubReg()) != 0)
    return Op;
  auto BankOf = [&](const MachineOperand &MO, uint32_t &Root) -> uint32_t {
    if (MO.getReg().isPhysical()) {
      Root = T.lowPartOf(MO.getReg());
      return Root == CH_NONE ? CH_NONE : T.file().regs[Root].bank;
    }
    uint32_t Value = valueOf(MO.getReg());
    return Value == CH_NONE || Classes[Value] == CH_NONE ? CH_NONE : T.file().classes[Classes[Value]].bank;
  };
  uint32_t DstRoot = CH_NONE, SrcRoot = CH_NONE;
  uint32_t Bank = BankOf(Dst, DstRoot);
  if (Bank == CH_NONE || Bank != BankOf(Src, SrcRoot))
    return Op;
  if (DstRoot != CH_NONE && SrcRoot != CH_NONE)
    return Op;
  if (!MI.isCopy() && (DstRoot != CH_NONE || SrcRoot != CH_NONE))
    return Op;
  Op.kind = DstRoot != CH_NONE ? CH_COPY_TO : SrcRoot != CH_NONE ? CH_COPY_FROM : CH_COPY;
  if (Op.kind != CH_COPY)
    Op.reg = Op.kind == CH_COPY_TO ? DstRoot : SrcRoot;
  return Op;
}

} // namespace chordal
