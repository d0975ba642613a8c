// Reads modules: parses and verifies them, with the data layout of their target.
#include "bridge.h"
#include "x86/x86.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/IPO/ExtractGV.h"

using namespace llvm;

namespace chordal {
namespace {

void say(const ChReader &Reader, uint32_t Kind, const Twine &Message) {
  SmallString<256> Text;
  Reader.message(Reader.user, Kind, str(Message.toStringRef(Text)));
}

// The target's own layout, whatever the module says: while text is parsed, constants are folded and alignments chosen.
std::optional<std::string> layoutOf(StringRef TripleText, StringRef) {
  Triple T(TripleText);
  if (!x86::isTarget(T))
    return std::nullopt; // it is refused later, by its name
  return T.computeDataLayout();
}

std::string explanation(const SMDiagnostic &Error) {
  if (Error.getLineNo() <= 0)
    return Error.getMessage().str();
  return ("line " + Twine(Error.getLineNo()) + ", column " + Twine(Error.getColumnNo() + 1) + ": " + Error.getMessage()).str();
}

// Drops debug information that is invalid, or of another version, as LLVM's tools do.
void dropDebugInfo(Module &M, const ChReader &Reader, const Twine &Why) {
  if (StripDebugInfo(M))
    say(Reader, CH_READ_WARNING, "debug information is ignored: " + Why);
}

// Whether a module is valid, apart from its debug information.
bool verified(Module &M, const ChReader &Reader) {
  if (unsigned Version = getDebugMetadataVersionFromModule(M); Version != DEBUG_METADATA_VERSION)
    dropDebugInfo(M, Reader, "its version is " + Twine(Version) + ", not " + Twine(unsigned(DEBUG_METADATA_VERSION)));
  std::string Report;
  raw_string_ostream OS(Report);
  bool BrokenDebugInfo = false;
  if (verifyModule(M, &OS, &BrokenDebugInfo)) {
    say(Reader, CH_READ_BROKEN, Report);
    return false;
  }
  if (BrokenDebugInfo)
    dropDebugInfo(M, Reader, StringRef(Report).split('\n').first);
  return true;
}

// Whether a file of bitcode contains only summaries, as those do that the thin linker writes.
bool isIndex(MemoryBufferRef Buffer, const Module &M) {
  if (!M.getTargetTriple().empty() || !M.empty() || !M.global_empty())
    return false;
  Expected<BitcodeLTOInfo> Info = getBitcodeLTOInfo(Buffer);
  if (!Info)
    consumeError(Info.takeError());
  return Info && Info->HasSummary;
}

} // namespace
} // namespace chordal

using namespace chordal;

void *ch_read(void *context, ChStr name, ChStr bytes, const ChReader *reader) {
  LLVMContext &Context = *reinterpret_cast<LLVMContext *>(context);
  std::unique_ptr<MemoryBuffer> Buffer =
      MemoryBuffer::getMemBufferCopy(StringRef(bytes.data, bytes.size), StringRef(name.data, name.size));
  SMDiagnostic Error;
  std::unique_ptr<Module> M = parseIR(*Buffer, Error, Context, ParserCallbacks(layoutOf));
  if (!M)
    say(*reader, CH_READ_INVALID, explanation(Error));
  else if (isIndex(*Buffer, *M))
    say(*reader, CH_READ_INDEX, "");
  else if (verified(*M, *reader))
    return M.release();
  return nullptr;
}

uint32_t ch_keep_only(void *module, ChStr function) {
  Module &M = *reinterpret_cast<Module *>(module);
  Function *F = M.getFunction(StringRef(function.data, function.size));
  if (!F || F->isDeclaration())
    return false;
  std::vector<GlobalValue *> Kept = {F};
  ModuleAnalysisManager Analyses;
  // (The code of a copy from a constant depends on the constant.)
  ExtractGVPass(Kept, /*deleteS=*/false, /*keepConstInit=*/true).run(M, Analyses);
  return true;
}
