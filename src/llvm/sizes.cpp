// Finds the sizes of functions in assembly.
#include "target_machine.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCSymbolELF.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace chordal;

namespace {

// Turns text into fragments of sections. Nothing is written, so a variable of gigabytes takes no memory.
class Assembler {
public:
  Assembler(const Module &M, const TargetMachine &TM, ChStr Assembly)
      : TM(TM), Context(M.getTargetTriple(), TM.getMCAsmInfo(), TM.getMCRegisterInfo(), TM.getMCSubtargetInfo(), &Sources, &Names) {
    Names.MCSaveTempLabels = true; // functions with private linkage have symbols too
    Sources.setDiagHandler([](const SMDiagnostic &, void *) {}); // the result says that the text cannot be read
    Sources.AddNewSourceBuffer(MemoryBuffer::getMemBuffer(StringRef(Assembly.data, Assembly.size), "", false), SMLoc());
    const llvm::Target &T = TM.getTarget();
    Objects.reset(T.createMCObjectFileInfo(Context, TM.isPositionIndependent()));
    Context.setObjectFileInfo(Objects.get());
    std::unique_ptr<MCAsmBackend> Backend(
        T.createMCAsmBackend(*TM.getMCSubtargetInfo(), *TM.getMCRegisterInfo(), TM.Options.MCOptions));
    std::unique_ptr<MCObjectWriter> Writer = Backend->createObjectWriter(Nowhere);
    std::unique_ptr<MCCodeEmitter> Emitter(T.createMCCodeEmitter(*TM.getMCInstrInfo(), Context));
    Streamer.reset(T.createMCObjectStreamer(M.getTargetTriple(), Context, std::move(Backend), std::move(Writer), std::move(Emitter),
                                            *TM.getMCSubtargetInfo()));
  }

  // Reads the text and lays it out. Returns whether it could be read.
  bool run(const Module &M) {
    const llvm::Target &T = TM.getTarget();
    std::unique_ptr<MCAsmParser> Parser(createMCAsmParser(Sources, Context, *Streamer, *TM.getMCAsmInfo()));
    std::unique_ptr<MCSubtargetInfo> Features(T.createMCSubtargetInfo(M.getTargetTriple(), "", ""));
    std::unique_ptr<MCTargetAsmParser> TargetParser(
        T.createMCAsmParser(*Features, *Parser, *TM.getMCInstrInfo(), TM.Options.MCOptions));
    Parser->setTargetParser(*TargetParser);
    if (Parser->Run(/*NoInitialTextSection=*/false, /*NoFinalize=*/true))
      return false;
    assembler().layout();
    return !Context.hadError();
  }

  MCAssembler &assembler() { return static_cast<MCObjectStreamer &>(*Streamer).getAssembler(); }

private:
  const TargetMachine &TM;
  SourceMgr Sources;
  MCTargetOptions Names;
  MCContext Context;
  raw_null_ostream Nowhere;
  std::unique_ptr<MCObjectFileInfo> Objects;
  std::unique_ptr<MCStreamer> Streamer;
};

} // namespace

int ch_sizes(void *module, uint32_t relocation, ChStr assembly, const ChCallbacks *callbacks) {
  const Module &M = *reinterpret_cast<Module *>(module);
  std::string Error;
  std::unique_ptr<TargetMachine> TM = createTargetMachine(M, relocation, Error);
  Assembler A(M, *TM, assembly);
  if (!A.run(M))
    return 1;
  for (const MCSymbol &Symbol : A.assembler().symbols()) {
    auto &Elf = static_cast<const MCSymbolELF &>(Symbol);
    int64_t Size;
    if (Elf.getType() == ELF::STT_FUNC && Elf.getSize() && Elf.getSize()->evaluateAsAbsolute(Size, A.assembler()))
      callbacks->size(callbacks->user, str(Symbol.getName()), Size);
  }
  return 0;
}
