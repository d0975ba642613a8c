// Matrix tiles (AMX). Each of their eight registers has one shape throughout a function, which the function says in a table that
// it loads before it uses them. LLVM's own allocators take the tiles first, and write the table when these have registers.
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

// The tiles of a function in SSA form.
class Tiles {
public:
  explicit Tiles(const llvm::MachineFunction &MF);

  // How many registers tiles of each shape get, one after the other. Empty if there are no tiles, or too many shapes.
  const std::vector<unsigned> &registers() const { return Registers; }

  // The shape of a tile, as an index into that list.
  unsigned shapeOf(llvm::Register Tile) const { return ShapeOf.lookup(Tile); }

  // Has instructions overwrite tiles of their result's shape only: copies of others.
  void matchShapes(llvm::MachineFunction &MF);

  // Has the function write the shapes of all registers into its table, wherever a number of rows or of columns becomes known.
  // Answers these instructions, each with the root of the register that it is about.
  std::vector<std::pair<unsigned, llvm::MachineInstr *>> configure(llvm::MachineFunction &MF, Target &T) const;

private:
  struct Shape {
    llvm::Register Rows, Columns;
    // How many of them one instruction wants, and how many there are.
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

// Takes back that an access to a tile's stack slot reads the distance of its rows from a virtual register; `setStrides` has such
// accesses read it from registers that are free there, when the function is in physical registers and what is live where is known.
void removeStride(llvm::MachineInstr &Access);
void setStrides(llvm::ArrayRef<llvm::MachineInstr *> Accesses, Target &T);

} // namespace chordal::x86
#endif
