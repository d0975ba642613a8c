// Turns a machine function into flat arrays.
#ifndef CHORDAL_EXPORT_H
#define CHORDAL_EXPORT_H

#include "fold.h"
#include "target.h"
#include "x86/x86.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineInstr.h"

namespace chordal {

// A critical edge that can be split: it gets a block if code is put on it.
struct SplitEdge {
  llvm::MachineBasicBlock *From, *To;
  int JumpTable; // the jump table that the edge goes through, or -1
};

// The arrays of one function, and what is needed to find its machine instructions again.
class Export {
public:
  Export(llvm::MachineFunction &MF, Target &T, llvm::ArrayRef<double> Frequencies);

  // The C view of the arrays. It is valid until they are released.
  ChFunction view() const;

  // The variables of the source that values are, as far as debug instructions tell.
  std::vector<ChName> names() const;

  // Frees everything that is not needed to apply an answer.
  void release();

  llvm::MachineFunction &MF;
  Target &T;
  Folder Folding;

  std::vector<llvm::MachineBasicBlock *> BlockAt;
  std::vector<llvm::MachineInstr *> InstAt;
  // The operands of a machine instruction that a ChOperand stands for: one, or two that read the same value.
  struct Places {
    unsigned Index[2], Count;
    llvm::ArrayRef<unsigned> all() const { return {Index, Count}; }
  };
  std::vector<Places> OperandAt;
  std::vector<SplitEdge> SplitEdges;       // in the order of their block numbers, which follow those of BlockAt
  std::vector<llvm::MachineInstr *> PhiAt; // of each ChPhi
  struct DebugOperand {
    llvm::MachineInstr *MI; // a debug instruction, or a numbered φ
    unsigned Index;
  };
  std::vector<DebugOperand> DebugAt; // of each ChDebugUse
  // The instructions that write the shapes of matrix tiles' registers to their table, with the roots of the registers.
  std::vector<std::pair<unsigned, llvm::MachineInstr *>> Shapes;

  std::vector<ChBlock> Blocks;
  std::vector<ChEdge> Edges;
  std::vector<ChPhi> Phis;
  std::vector<ChPhiArg> PhiArgs;
  std::vector<ChInst> Insts;
  std::vector<ChOperand> Operands;
  std::vector<ChPins> Pins;
  std::vector<uint32_t> Classes;
  std::vector<ChDebugUse> DebugUses;
  std::string Unsupported;

private:
  void widenInsertion(llvm::MachineInstr &MI);
  unsigned lowPart(const llvm::TargetRegisterClass *Of, const llvm::TargetRegisterClass *Narrower) const;
  void numberValues(const x86::Tiles &Matrices);
  void addBlock(llvm::MachineBasicBlock &MBB, double Frequency);
  void addEdges(llvm::MachineBasicBlock &MBB, double Frequency);
  void addPhi(llvm::MachineInstr &MI, unsigned Block);
  void copyTiedPins(llvm::MachineInstr &MI);
  void addRecorded(llvm::MachineInstr &MI);
  void addInst(llvm::MachineInstr &MI);
  void addDebugUses(llvm::MachineInstr &MI, unsigned Block, unsigned Index);
  void addOperand(llvm::MachineInstr &MI, unsigned Index, llvm::MutableArrayRef<unsigned> Position);
  void addFoldable(llvm::MachineInstr &MI, unsigned First);
  bool readsOnce(llvm::MachineInstr &MI);
  void addReuse(llvm::MachineInstr &MI, unsigned First, llvm::ArrayRef<unsigned> Position);
  void addPin(const llvm::MachineOperand &MO, ChPins &Sets);
  bool isUndefined(const llvm::MachineOperand &MO) const;
  ChInst copyKind(const llvm::MachineInstr &MI) const;
  unsigned findThrow(llvm::MachineBasicBlock &MBB) const;
  void addWrittenByUnwinder(unsigned Call);
  unsigned numberOf(const ChPins &Sets);
  void findJumpTables();
  int jumpTableOf(const llvm::MachineInstr &Jump) const;
  int splittableThrough(llvm::MachineBasicBlock &From, llvm::MachineBasicBlock &To, bool &Splittable) const;
  uint32_t valueOf(llvm::Register Reg) const { return ValueOf[Reg.virtRegIndex()]; }
  void unsupported(const llvm::Twine &What) {
    if (Unsupported.empty())
      Unsupported = What.str();
  }

  const llvm::TargetInstrInfo &TII;
  const llvm::MachineRegisterInfo &MRI;
  Target::Widths Widest;
  std::vector<uint32_t> ValueOf; // by virtual register index; CH_NONE for those without a definition
  llvm::StringMap<unsigned> PinsByContent; // by the bytes of a ChPins, its index in Pins
  std::array<unsigned, 4> RecentPins = {};
  llvm::DenseSet<const llvm::MachineInstr *> Narrowed; // copies for readers that accept few registers
  std::vector<uint32_t> BlockNumber;
  std::vector<int> JumpTableOf; // by block number: of an indirect jump that no other block shares, or -1
};

} // namespace chordal
#endif
