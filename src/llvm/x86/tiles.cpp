#include "x86.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LivePhysRegs.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"

using namespace llvm;

namespace chordal::x86 {
namespace {

constexpr unsigned Unknown = ~0u;
// Rows of tiles are 64 bytes in memory.
constexpr unsigned Stride = 64;
// The offsets in a table of the registers' row sizes in bytes (two bytes each), and of their numbers of rows.
constexpr unsigned ColumnsAt = 16, RowsAt = 48;

// The subregister index of the low byte.
unsigned lowByte(const TargetRegisterInfo &TRI) {
  unsigned Index = 1;
  while (TRI.getSubRegIdxSize(Index) != 8 || TRI.getSubRegIdxOffset(Index) != 0)
    ++Index;
  return Index;
}

// An instruction that stores a byte or a word to a function's table.
MachineInstrBuilder store(MachineBasicBlock &MBB, MachineBasicBlock::iterator At, const MCInstrDesc &Desc, int Slot, unsigned Offset) {
  MachineFunction &MF = *MBB.getParent();
  auto Pointer = MachinePointerInfo::getFixedStack(MF, Slot, Offset);
  auto *Operand = MF.getMachineMemOperand(Pointer, MachineMemOperand::MOStore, Offset < RowsAt ? 2 : 1, Align(1));
  return BuildMI(MBB, At, DebugLoc(), Desc)
      .addFrameIndex(Slot)
      .addImm(1)
      .addReg(Register())
      .addImm(Offset)
      .addReg(Register())
      .addMemOperand(Operand);
}

// A number of rows or columns, if it is constant.
const MachineOperand *constant(const MachineRegisterInfo &MRI, Register Reg) {
  const MachineInstr *Def = MRI.getVRegDef(Reg);
  return Def && Def->isMoveImmediate() && Def->getOperand(1).isImm() ? &Def->getOperand(1) : nullptr;
}

bool isEqual(const MachineRegisterInfo &MRI, Register A, Register B) {
  const MachineOperand *Left = constant(MRI, A), *Right = constant(MRI, B);
  return A == B || (Left && Right && Left->getImm() == Right->getImm());
}

} // namespace

const TargetRegisterClass *tileClass(const TargetRegisterInfo &TRI) {
  static const TargetRegisterClass *Class =
      *find_if(TRI.regclasses(), [&](const TargetRegisterClass *RC) { return StringRef(TRI.getRegClassName(RC)) == "TILE"; });
  return Class;
}

bool usesTiles(const MachineFunction &MF) {
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  const TargetRegisterClass *Tile = tileClass(*MF.getSubtarget().getRegisterInfo());
  for (unsigned I = 0; I < MRI.getNumVirtRegs(); ++I)
    if (MRI.getRegClassOrNull(Register::index2VirtReg(I)) == Tile)
      return true;
  return false;
}

Tiles::Tiles(const MachineFunction &MF) : MRI(MF.getRegInfo()), Class(*tileClass(*MF.getSubtarget().getRegisterInfo())) {
  for (unsigned I = 0; I < MRI.getNumVirtRegs(); ++I) {
    Register Reg = Register::index2VirtReg(I);
    if (MRI.getRegClassOrNull(Reg) != &Class || !MRI.getVRegDef(Reg))
      continue;
    SmallVector<Register, 4> Passed;
    unsigned Shape = findShape(Reg, Passed);
    if (Shape == Unknown)
      return;
    ShapeOf[Reg] = Shape;
    ++Shapes[Shape].Tiles;
  }
  if (Shapes.empty())
    return;
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      if (!MI.isPHI() && !MI.isDebugInstr())
        countTogether(MI);
  share();
}

// Finds the shape of a tile: its defining instruction says it, or the tile that is copied, or an argument of the φ, has it.
unsigned Tiles::findShape(Register Tile, SmallVectorImpl<Register> &Passed) {
  const MachineInstr *Def = MRI.getVRegDef(Tile);
  if (!Def || is_contained(Passed, Tile))
    return Unknown;
  Passed.push_back(Tile);
  if (!Def->isPHI() && !Def->isCopy()) {
    bool HasShape = Def->getNumOperands() > 2 && Def->getOperand(1).isReg() && Def->getOperand(2).isReg();
    return HasShape ? numberOf(Def->getOperand(1).getReg(), Def->getOperand(2).getReg()) : Unknown;
  }
  for (const MachineOperand &Use : Def->uses())
    if (Use.isReg() && Use.getReg().isVirtual())
      if (unsigned Shape = findShape(Use.getReg(), Passed); Shape != Unknown)
        return Shape;
  return Unknown;
}

unsigned Tiles::numberOf(Register Rows, Register Columns) {
  auto Known = find_if(Shapes, [&](const Shape &S) { return isEqual(MRI, S.Rows, Rows) && isEqual(MRI, S.Columns, Columns); });
  if (Known != Shapes.end())
    return Known - Shapes.begin();
  Shapes.push_back({Rows, Columns, 1, 0});
  return Shapes.size() - 1;
}

// A tile that an instruction overwrites is counted twice if it is used afterwards, or might be.
void Tiles::countTogether(const MachineInstr &MI) {
  std::vector<unsigned> Wanted(Shapes.size());
  for (const MachineOperand &Use : MI.all_uses()) {
    if (!ShapeOf.contains(Use.getReg()))
      continue;
    bool IsLast = MRI.hasOneNonDBGUse(Use.getReg()) && MRI.getVRegDef(Use.getReg())->getParent() == MI.getParent();
    unsigned Shape = shapeAt(Use);
    Wanted[Shape] += Use.isTied() && !IsLast ? 2 : 1;
    Shapes[Shape].Together = std::max(Shapes[Shape].Together, Wanted[Shape]);
  }
}

// The shape in which an instruction reads a tile. If the instruction overwrites the tile, it is that of the result.
unsigned Tiles::shapeAt(const MachineOperand &Use) const {
  const MachineInstr &MI = *Use.getParent();
  return shapeOf(Use.isTied() ? MI.getOperand(MI.findTiedOperandIdx(Use.getOperandNo())).getReg() : Use.getReg());
}

void Tiles::matchShapes(MachineFunction &MF) {
  const MCInstrDesc &Copy = MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY);
  if (Registers.empty())
    return;
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : MBB)
      for (MachineOperand &Use : MI.all_uses()) {
        if (!ShapeOf.contains(Use.getReg()) || shapeAt(Use) == shapeOf(Use.getReg()))
          continue;
        Register Matching = MF.getRegInfo().cloneVirtualRegister(Use.getReg());
        ShapeOf[Matching] = shapeAt(Use);
        BuildMI(MBB, MI, MI.getDebugLoc(), Copy, Matching).addReg(Use.getReg());
        Use.setReg(Matching);
        Use.setIsKill(false);
      }
}

// Gives each shape as many registers as one instruction needs, and the remaining ones to the shapes with the most tiles per
// register.
void Tiles::share() {
  unsigned Left = Class.getNumRegs();
  for (const Shape &S : Shapes) {
    if (S.Together > Left)
      return Registers.clear();
    Registers.push_back(S.Together);
    Left -= S.Together;
  }
  while (Left-- > 0) {
    auto Crowd = [&](unsigned S) { return double(Shapes[S].Tiles) / Registers[S]; };
    unsigned Most = 0;
    for (unsigned S = 1; S < Shapes.size(); ++S)
      Most = Crowd(S) > Crowd(Most) ? S : Most;
    ++Registers[Most];
  }
}

// The instruction that writes the number of the table's format. It stands after the instructions that clear the table.
static MachineInstr *findFormat(MachineFunction &MF, Target &T) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  unsigned Load = T.opcode("PLDTILECFGV", TII), Write = T.opcode("MOV8mi", TII);
  int Slot = INT_MAX;
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB)
      if (MI.getOpcode() == Load)
        Slot = MI.getOperand(0).getIndex();
  for (MachineInstr &MI : MF.front())
    if (MI.getOpcode() == Write && MI.getOperand(0).isFI() && MI.getOperand(0).getIndex() == Slot)
      return &MI;
  return nullptr;
}

// Writes a number to the table, where the number is defined, but not before the table is cleared.
static MachineInstr *writeShape(Register Value, unsigned Offset, MachineInstr &Format, Target &T) {
  MachineFunction &MF = *Format.getMF();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  bool IsRows = Offset >= RowsAt;
  MachineInstr &Def = *MF.getRegInfo().getVRegDef(Value);
  const MachineOperand *Known = constant(MF.getRegInfo(), Value);
  auto IsFormat = [&](const MachineInstr &MI) { return &MI == &Format; };
  bool IsEarly = any_of(make_range(Def.getIterator(), Def.getParent()->instr_end()), IsFormat);
  MachineInstr &After = Known || IsEarly ? Format : Def;
  auto At = After.isPHI() ? After.getParent()->getFirstNonPHI() : std::next(MachineBasicBlock::iterator(After));
  StringRef Name = Known ? (IsRows ? "MOV8mi" : "MOV16mi") : (IsRows ? "MOV8mr" : "MOV16mr");
  MachineInstrBuilder Store = store(*After.getParent(), At, TII.get(T.opcode(Name, TII)), Format.getOperand(0).getIndex(), Offset);
  if (Known)
    Store.addImm(Known->getImm());
  else
    Store.addReg(Value, {}, IsRows ? lowByte(T.TRI) : 0);
  return Store;
}

std::vector<std::pair<unsigned, MachineInstr *>> Tiles::configure(MachineFunction &MF, Target &T) const {
  std::vector<std::pair<unsigned, MachineInstr *>> Stores;
  MachineInstr *Format = Registers.empty() ? nullptr : findFormat(MF, T);
  unsigned Register = 0;
  for (unsigned S = 0; Format && S < Registers.size(); ++S)
    for (unsigned End = Register + Registers[S]; Register < End; ++Register) {
      Stores.push_back({T.tileRoot(Register), writeShape(Shapes[S].Rows, RowsAt + Register, *Format, T)});
      Stores.push_back({T.tileRoot(Register), writeShape(Shapes[S].Columns, ColumnsAt + 2 * Register, *Format, T)});
    }
  return Stores;
}

void removeStride(MachineInstr &Access) {
  for (MachineOperand &MO : Access.operands())
    if (MO.isReg() && MO.getReg().isVirtual()) {
      Access.getMF()->getRegInfo().getVRegDef(MO.getReg())->eraseFromParent();
      MO.setReg(Register());
    }
}

// Whether a register can hold a stride, and need not be saved by the function for that.
static bool isFree(MCRegister Reg, const LivePhysRegs &Live, const MachineRegisterInfo &MRI, Target &T) {
  const MCPhysReg *Saved = MRI.getCalleeSavedRegs();
  while (*Saved && !T.TRI.regsOverlap(*Saved, Reg))
    ++Saved;
  return Live.available(MRI, Reg) && !*Saved && T.TRI.getEncodingValue(Reg) < 16;
}

// Makes an access read the stride from a register. If none is free, one is saved in a slot.
static void setStride(MachineInstr &Access, std::optional<int> &Slot, Target &T) {
  MachineBasicBlock &MBB = *Access.getParent();
  MachineFunction &MF = *MBB.getParent();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  LivePhysRegs Live(T.TRI);
  Live.addLiveOuts(MBB);
  for (MachineInstr &MI : make_range(MBB.instr_rbegin(), std::next(Access.getReverseIterator())))
    Live.stepBackward(MI);
  const TargetRegisterClass &Class = *T.classNamed("GR64_NOSP");
  auto Free = find_if(Class, [&](MCPhysReg Reg) { return isFree(Reg, Live, MF.getRegInfo(), T); });
  MCRegister Reg = Free == Class.end() ? *Class.begin() : *Free;
  auto Behind = std::next(MachineBasicBlock::iterator(Access));
  if (Free == Class.end()) {
    if (!Slot)
      Slot = MF.getFrameInfo().CreateSpillStackObject(8, Align(8));
    TII.storeRegToStackSlot(MBB, Access, Reg, /*isKill=*/false, *Slot, &Class, Register());
    TII.loadRegFromStackSlot(MBB, Behind, Reg, *Slot, &Class, Register());
  }
  BuildMI(MBB, Access, Access.getDebugLoc(), TII.get(T.opcode("MOV32ri64", TII)), Reg).addImm(Stride);
  // The index is the third operand of an address.
  MachineOperand &Index = Access.getOperand((Access.mayLoad() ? 1 : 0) + 2);
  Index.setReg(Reg);
  Index.setIsKill();
}

void setStrides(ArrayRef<MachineInstr *> Accesses, Target &T) {
  std::optional<int> Slot;
  for (MachineInstr *Access : Accesses)
    setStride(*Access, Slot, T);
}

} // namespace chordal::x86
