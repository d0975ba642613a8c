//! Prints what the library beside it says, whose object file chordal has written.

unsafe extern "Rust" {
    safe fn run() -> String;
}

fn main() {
    print!("{}", run());
}
