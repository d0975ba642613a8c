//! Compiles the C++ bridge against LLVM 22's headers, and the little C there is. (llvm-sys links the library itself.)

#[path = "src/llvm/contract.rs"]
mod contract;

use contract::Header;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const BRIDGE: &[&str] = &[
    "target",
    "target_machine",
    "x86/generator",
    "x86/registers",
    "x86/swaps",
    "x86/forms",
    "x86/addresses",
    "x86/opcodes",
    "read",
    "sizes",
    "x86/tiles",
    "records",
    "export",
    "flags",
    "fold",
    "forms",
    "reserved",
    "x86/constants",
    "x86/shorten",
    "x86/zeroes",
    "early",
    "x86/pairs",
    "ssa",
    "jumps",
    "throws",
    "unwind",
    "liveins",
    "extensions",
    "narrow",
    "frequencies",
    "apply",
    "instructions",
    "count",
    "weigh",
    "listing",
    "remarks",
    "fallback",
    "wrap",
    "stock",
    "allocation",
    "pipeline",
    "guest",
];

fn main() {
    const C: [&str; 2] = ["src/measure/meter/meter.c", "src/output.c"];
    println!("cargo:rerun-if-changed=src/measure/meter");
    println!("cargo:rerun-if-changed=src/output.c");
    cc::Build::new().files(C).opt_level(2).compile("chordal_c");
    for object in cc::Build::new().file("src/measure/meter/heap.c").opt_level(2).compile_intermediates() {
        for kind in ["bins", "tests", "benches"] {
            println!("cargo:rustc-link-arg-{kind}={}", object.display());
        }
    }
    let flags = llvm_config("--cppflags");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).warnings(false);
    build.flag("-fno-exceptions").flag("-fno-rtti").flag("-Wall").flag("-Wno-comment");
    for flag in flags.split_whitespace() {
        // System headers, so that LLVM's own warnings stay out of our build.
        match flag.strip_prefix("-I") {
            Some(include) => build.flag("-isystem").flag(include),
            None => build.flag(flag),
        };
    }
    build.file(one_unit());
    println!("cargo:rerun-if-changed=src/llvm");
    build.compile("chordal_bridge");
}

/// A source that includes all of the bridge, since LLVM's headers are nine tenths of each of its files, and asserts that structs are
/// laid out as Rust expects.
fn one_unit() -> PathBuf {
    let folder = std::env::current_dir().expect("the current folder is known").join("src/llvm");
    let includes = BRIDGE.iter().map(|name| format!("#include \"{}/{name}.cpp\"\n", folder.display())).collect::<String>();
    let header = fs::read_to_string(folder.join("bridge.h")).expect("the bridge has a header");
    let header = Header::parse(&header);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("contract.rs"), header.rust()).expect("cargo's folder is writable");
    let unit = out.join("bridge.cpp");
    fs::write(&unit, includes + &header.cpp()).expect("cargo's folder is writable");
    unit
}

fn llvm_config(argument: &str) -> String {
    println!("cargo:rerun-if-env-changed=LLVM_CONFIG");
    let program = std::env::var("LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-22".into());
    let output = Command::new(&program).arg(argument).output().unwrap_or_else(|error| {
        panic!(
            "cannot run {program}: {error}. chordal needs LLVM 22's development files: `make setup` installs them on Debian and \
             Ubuntu (package llvm-22-dev); elsewhere install LLVM 22 with its C++ headers and shared library, and set LLVM_CONFIG \
             and LLVM_SYS_221_PREFIX to it"
        )
    });
    assert!(output.status.success(), "{program} {argument} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("llvm-config prints text")
}
