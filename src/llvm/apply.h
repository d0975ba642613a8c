// An allocation carried over to machine code.
#ifndef CHORDAL_APPLY_H
#define CHORDAL_APPLY_H

#include "export.h"

namespace chordal {

struct Applied {
  // What LLVM cannot do; if there is something, the function is in no useful state.
  std::string Failure;
  // A register seems to be read behind a call that destroys it: LLVM's verifier knows.
  bool IsDoubtful;
};

// Rewrites the function that was exported: no virtual register and no φ is left.
Applied apply(Export &E, const ChAnswer &Answer);

// Empties a function whose allocation failed, so that the rest of LLVM's pipeline can pass over it.
void gut(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
