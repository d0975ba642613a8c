#include "target_machine.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"

using namespace llvm;

namespace chordal {

// The relocation model of a module. Position-independent code can be linked into any executable or library, so it is the default
// if the module does not say. (Code with the kernel's code model is linked to a fixed place.)
static Reloc::Model relocationModel(const Module &M, uint32_t Requested) {
  if (Requested != CH_AS_MODULE_SAYS)
    return Requested == CH_STATIC ? Reloc::Static : Reloc::PIC_;
  if (M.getModuleFlag("PIC Level"))
    return M.getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  return M.getCodeModel() == CodeModel::Kernel ? Reloc::Static : Reloc::PIC_;
}

std::unique_ptr<TargetMachine> createTargetMachine(const Module &M, uint32_t Relocation, std::string &Error) {
  const llvm::Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Error);
  if (!T)
    return nullptr;
  TargetOptions Options;
  Options.UseInitArray = true;
  Reloc::Model Model = relocationModel(M, Relocation);
  return std::unique_ptr<TargetMachine>(
      T->createTargetMachine(M.getTargetTriple(), "", "", Options, Model, M.getCodeModel(), CodeGenOptLevel::Default));
}

void dropUnknownProcessors(Module &M, const TargetMachine &TM, Run &R) {
  StringSet<> Dropped;
  for (Function &F : M)
    for (StringRef Kind : {"target-cpu", "tune-cpu"}) {
      StringRef Name = F.getFnAttribute(Kind).getValueAsString();
      if (Name.empty() || TM.getMCSubtargetInfo()->isCPUStringValid(Name))
        continue;
      if (Dropped.insert(Name).second)
        R.warning(("function " + F.getName() + ": LLVM does not know the processor `" + Name + "`, which is ignored").str());
      F.removeFnAttr(Kind);
    }
}

void dropUnknownFeatures(Module &M, const TargetMachine &TM, Run &R) {
  StringSet<> Known, Dropped;
  for (const SubtargetFeatureKV &Feature : TM.getMCSubtargetInfo()->getAllProcessorFeatures())
    Known.insert(Feature.Key);
  for (Function &F : M) {
    SmallVector<StringRef, 32> Features;
    F.getFnAttribute("target-features").getValueAsString().split(Features, ',', -1, false);
    auto Unknown = [&](StringRef Feature) { return !Known.contains(Feature.ltrim("+-")); };
    for (StringRef Feature : make_filter_range(Features, Unknown))
      if (Dropped.insert(Feature).second)
        R.warning(("function " + F.getName() + ": LLVM does not know the feature `" + Feature + "`, which is ignored").str());
    if (any_of(Features, Unknown)) {
      erase_if(Features, Unknown);
      F.addFnAttr("target-features", join(Features, ","));
    }
  }
}

} // namespace chordal
