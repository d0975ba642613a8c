// Matrix tiles (AMX). Each of the eight registers has one shape throughout a function. The function writes the shapes to a table,
// which it loads before it uses tiles. LLVM's own allocators allocate the tiles first, and write the table afterwards.
#ifndef CHORDAL_TILES_H
#define CHORDAL_TILES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <vector>

namespace chordal {
class Target;
}

namespace chordal::x86 {

// LLVM's class of tiles.
const llvm::TargetRegisterClass *tileClass(const llvm::TargetRegisterInfo &TRI);

// Whether a function has tiles in virtual registers.
bool usesTiles(const llvm::MachineFunction &MF);

// The tiles of a function in SSA form.
class Tiles {
public:
  explicit Tiles(const llvm::MachineFunction &MF);

  // The number of registers for tiles of each shape. These follow each other. Empty if there are no tiles, or too many shapes.
  const std::vector<unsigned> &registers() const { return Registers; }

  // The shape of a tile, as an index into that list.
  unsigned shapeOf(llvm::Register Tile) const { return ShapeOf.lookup(Tile); }

  // Makes instructions overwrite only tiles of their result's shape: copies of the others.
  void matchShapes(llvm::MachineFunction &MF);

  // Makes the function write the shapes of all registers to its table, where a number of rows or columns becomes known. Returns
  // these instructions, each with the root of the register that it is about.
  std::vector<std::pair<unsigned, llvm::MachineInstr *>> configure(llvm::MachineFunction &MF, Target &T) const;

private:
  struct Shape {
    llvm::Register Rows, Columns;
    // How many tiles of it one instruction needs, and how many there are.
    unsigned Together, Tiles;
  };

  unsigned findShape(llvm::Register Tile, llvm::SmallVectorImpl<llvm::Register> &Passed);
  unsigned numberOf(llvm::Register Rows, llvm::Register Columns);
  unsigned shapeAt(const llvm::MachineOperand &Use) const;
  void countTogether(const llvm::MachineInstr &MI);
  void share();

  const llvm::MachineRegisterInfo &MRI;
  const llvm::TargetRegisterClass &Class;
  llvm::DenseMap<llvm::Register, unsigned> ShapeOf;
  std::vector<Shape> Shapes;
  std::vector<unsigned> Registers;
};

// `removeStride` removes the virtual register from which an access to a tile's stack slot reads the distance of its rows.
// `setStrides` makes such accesses read it from free registers, when the function is in physical registers, and their liveness is
// known.
void removeStride(llvm::MachineInstr &Access);
void setStrides(llvm::ArrayRef<llvm::MachineInstr *> Accesses, Target &T);

} // namespace chordal::x86
#endif
