// Applies an allocation to machine code.
#ifndef CHORDAL_APPLY_H
#define CHORDAL_APPLY_H

#include "export.h"
#include "listing.h"

namespace chordal {

struct Applied {
  // The operation that LLVM cannot do; empty if there is none. The function is in no useful state otherwise.
  std::string Failure;
  // Whether a register seems to be read after a call that destroys it. LLVM's verifier can tell.
  bool IsDoubtful;
};

// Rewrites an exported function: no virtual register and no φ is left. Says where its instructions come from, if somebody asks.
Applied apply(Export &E, const ChAnswer &Answer, Origins *Origin);

// Empties a function whose allocation failed, so that the rest of LLVM's pipeline can run on it.
void gut(llvm::MachineFunction &MF, Target &T);

} // namespace chordal
#endif
