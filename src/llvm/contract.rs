//! Holds both sides of the bridge to its header: the declarations in `bridge.h` become assertions in C++ and in Rust.
//!
//! This is part of the build script. It reads the header's structs and enums, lays the structs out as C does, and writes
//! assertions about sizes, alignments, offsets, types and values: for the compiler of the bridge, which includes the header, and
//! for [`ffi`](super::ffi), which mirrors it. A field or a value that is on one side only does not compile.
//!
//! The header is restricted to a little C: no nested structs, explicit values in enums, comments that begin with `//`.

/// The declarations of a header.
#[derive(Default, Debug)]
pub struct Header {
    structs: Vec<Struct>,
    enums: Vec<Enum>,
}

#[derive(Debug)]
struct Struct {
    /// Without the `Ch`.
    name: String,
    fields: Vec<Field>,
    size: usize,
    align: usize,
}

#[derive(Debug)]
struct Field {
    name: String,
    offset: usize,
    /// In Rust; none for functions.
    rust: Option<String>,
}

#[derive(Debug)]
struct Enum {
    name: String,
    /// Names in C, and values.
    values: Vec<(String, u64)>,
}

/// Size and alignment of a type, and its name in Rust.
struct Type {
    size: usize,
    align: usize,
    rust: Option<String>,
}

const POINTER: usize = size_of::<usize>();

const SCALARS: &[(&str, &str, usize)] = &[
    ("uint8_t", "u8", 1),
    ("uint16_t", "u16", 2),
    ("uint32_t", "u32", 4),
    ("int32_t", "i32", 4),
    ("uint64_t", "u64", 8),
    ("double", "f64", 8),
    ("size_t", "usize", POINTER),
];

impl Header {
    /// Reads a header.
    ///
    /// # Panics
    /// If it contains a declaration that is not understood.
    pub fn parse(text: &str) -> Header {
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
        let mut header = Header::default();
        let mut rest = &code[..];
        while let Some((before, after)) = rest.split_once('{') {
            let introduced = before.rsplit([';', '}', '\n']).find(|part| !part.trim().is_empty()).unwrap_or_default().trim();
            if introduced.starts_with("extern") {
                rest = after;
                continue;
            }
            let (body, after) = after.split_once('}').expect("a brace is closed");
            if introduced == "typedef struct" {
                let (name, after) = after.split_once(';').expect("a struct has a name");
                header.add_struct(unprefixed(name.trim()), body);
                rest = after;
            } else {
                let name = introduced.strip_prefix("enum ").unwrap_or_else(|| panic!("what is `{introduced}`?"));
                header.enums.push(Enum { name: unprefixed(name.trim()), values: body.split(',').filter_map(value).collect() });
                rest = after;
            }
        }
        header
    }

    fn add_struct(&mut self, name: String, body: &str) {
        let mut laid = Struct { name, fields: Vec::new(), size: 0, align: 1 };
        for declaration in body.split(';').map(str::trim).filter(|declaration| !declaration.is_empty()) {
            for (name, Type { size, align, rust }) in self.declared(declaration) {
                let offset = laid.size.next_multiple_of(align);
                laid.fields.push(Field { name, offset, rust });
                (laid.size, laid.align) = (offset + size, laid.align.max(align));
            }
        }
        laid.size = laid.size.next_multiple_of(laid.align);
        self.structs.push(laid);
    }

    /// The fields of one declaration.
    fn declared(&self, declaration: &str) -> Vec<(String, Type)> {
        if let Some((_, after)) = declaration.split_once("(*") {
            let (name, _) = after.split_once(')').expect("a function pointer has a name");
            return vec![(name.to_owned(), Type { size: POINTER, align: POINTER, rust: None })];
        }
        let at = declaration.find(',').unwrap_or(declaration.len());
        let start = declaration[..at].rfind([' ', '*']).map_or(0, |space| space + 1);
        let (of, names) = declaration.split_at(start);
        let declared = |name: &str| match name.trim().split_once('[') {
            None => (name.trim().to_owned(), self.named(of.trim())),
            Some((name, count)) => {
                let count: usize = count.trim_end_matches(']').parse().expect("an array's length is a number");
                let Type { size, align, rust } = self.named(of.trim());
                (name.to_owned(), Type { size: size * count, align, rust: rust.map(|rust| format!("[{rust}; {count}]")) })
            }
        };
        names.split(',').map(declared).collect()
    }

    fn named(&self, name: &str) -> Type {
        if let Some(pointee) = name.strip_suffix('*') {
            let (what, constant) = pointee.trim().strip_prefix("const ").map_or((pointee.trim(), false), |what| (what, true));
            let to = match what {
                "char" => "u8".to_owned(),
                "void" => "std::ffi::c_void".to_owned(),
                what => self.named(what).rust.expect("the bridge has no pointers to functions' pointers"),
            };
            let rust = format!("*{} {to}", if constant { "const" } else { "mut" });
            return Type { size: POINTER, align: POINTER, rust: Some(rust) };
        }
        if let Some(&(_, rust, size)) = SCALARS.iter().find(|(c, _, _)| *c == name) {
            return Type { size, align: size, rust: Some(rust.to_owned()) };
        }
        let found = self.structs.iter().find(|it| name.strip_prefix("Ch") == Some(&it.name));
        let found = found.unwrap_or_else(|| panic!("the bridge has no type `{name}`"));
        Type { size: found.size, align: found.align, rust: Some(found.name.clone()) }
    }

    /// Assertions for the C++ compiler: that it lays structs out as we do.
    pub fn cpp(&self) -> String {
        let mut text = String::new();
        for Struct { name, fields, size, align } in &self.structs {
            text += &format!("static_assert(sizeof(Ch{name}) == {size} && alignof(Ch{name}) == {align}, \"Ch{name}\");\n");
            for Field { name: field, offset, .. } in fields {
                text += &format!("static_assert(offsetof(Ch{name}, {field}) == {offset}, \"Ch{name}::{field}\");\n");
            }
        }
        text
    }

    /// Assertions for Rust, of which each struct and each enum of the header has a counterpart.
    pub fn rust(&self) -> String {
        self.structs.iter().map(Struct::rust).chain(self.enums.iter().map(Enum::rust)).collect()
    }
}

impl Struct {
    fn rust(&self) -> String {
        let Struct { name, fields, size, align } = self;
        let mut text = format!("const _: () = assert!(size_of::<{name}>() == {size} && align_of::<{name}>() == {align});\n");
        for field in fields {
            text += &format!("const _: () = assert!(std::mem::offset_of!({name}, {}) == {});\n", field.rust_name(), field.offset);
        }
        let names: Vec<&str> = fields.iter().map(Field::rust_name).collect();
        let typed = |field: &Field| {
            let of = field.rust.as_ref().map_or(String::new(), |rust| format!(": &{rust}"));
            format!("let _{of} = {}; ", field.rust_name())
        };
        let types: String = fields.iter().map(typed).collect();
        text + &format!("const _: fn(&{name}) = |{name} {{ {} }}| {{ {types}}};\n", names.join(", "))
    }
}

impl Field {
    /// (C++ has `class` for itself.)
    fn rust_name(&self) -> &str {
        if self.name == "cls" { "class" } else { &self.name }
    }
}

impl Enum {
    /// A set of flags is a type of crate `bitflags`, any other an enum.
    fn rust(&self) -> String {
        let Enum { name, values } = self;
        let prefix = self.prefix();
        let names = values.iter().map(|(c, value)| (&c[prefix..], value));
        if name.ends_with("Flags") {
            let all = values.iter().fold(0, |all, (_, value)| all | value);
            let each: String =
                names.map(|(flag, value)| format!("const _: () = assert!({name}::{flag}.bits() == {value});\n")).collect();
            return format!("{each}const _: () = assert!({name}::all().bits() == {all});\n");
        }
        let names: Vec<_> = names.map(|(variant, value)| (format!("{name}::{}", camel(variant)), value)).collect();
        let each: String =
            names.iter().map(|(variant, value)| format!("const _: () = assert!({variant} as u64 == {value});\n")).collect();
        let all: Vec<&str> = names.iter().map(|(variant, _)| &**variant).collect();
        format!("{each}const _: fn({name}) = |it| match it {{ {} => () }};\n", all.join(" | "))
    }

    /// How much of the names is common to them all, in whole words.
    fn prefix(&self) -> usize {
        let first = &self.values[0].0;
        let common = |end: &usize| self.values.iter().all(|(name, _)| name.starts_with(&first[..*end]));
        first.match_indices('_').map(|(at, _)| at + 1).filter(common).max().unwrap_or(0)
    }
}

fn unprefixed(name: &str) -> String {
    name.strip_prefix("Ch").unwrap_or_else(|| panic!("`{name}` does not begin with Ch")).to_owned()
}

fn value(text: &str) -> Option<(String, u64)> {
    let (name, value) = Some(text.trim()).filter(|text| !text.is_empty())?.split_once('=').expect("enums have explicit values");
    Some((name.trim().to_owned(), value.trim().parse().expect("a value is a number")))
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_ascii_lowercase();
    name.split('_').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "
        #ifdef __cplusplus
        extern \"C\" {
        #endif
        typedef struct {
          const char *data; // with a comment; and a { brace
          uint8_t small;
          uint64_t words[2];
        } ChText;
        enum ChEditKind { CH_LOAD = 0, CH_STORE_CONSTANT = 7 };
        enum ChWarn { CH_WARN_OTHER = 0, CH_WARN_CALL = 1 };
        enum ChInstFlags {
          CH_LABEL = 1,
          CH_JUMPS = 2,
        };
        typedef struct {
          uint32_t a, b;
          ChText cls;
          void (*call)(void *user, ChText text);
          const ChText *all;
          uint16_t last;
        } ChMore;
        void ch_call(void (*fatal)(ChText message));
        ";

    #[test]
    fn structs_are_laid_out_as_in_c() {
        let header = Header::parse(HEADER);
        let laid = |it: &Struct| -> Vec<usize> { it.fields.iter().map(|field| field.offset).chain([it.size]).collect() };
        assert_eq!(header.structs.iter().map(laid).collect::<Vec<_>>(), [vec![0, 8, 16, 32], vec![0, 4, 8, 40, 48, 56, 64]]);
        let cpp = header.cpp();
        assert!(cpp.contains("static_assert(sizeof(ChText) == 32 && alignof(ChText) == 8"), "{cpp}");
        assert!(cpp.contains("static_assert(offsetof(ChMore, cls) == 8"), "{cpp}");
    }

    #[test]
    fn rust_is_held_to_all_fields_types_and_values() {
        let rust = Header::parse(HEADER).rust();
        for line in [
            "const _: fn(&Text) = |Text { data, small, words }| { let _: &*const u8 = data; let _: &u8 = small; let _: &[u64; 2] = words; };",
            "const _: () = assert!(std::mem::offset_of!(More, class) == 8);",
            "let _: &Text = class; let _ = call; let _: &*const Text = all;",
            "const _: () = assert!(EditKind::StoreConstant as u64 == 7);",
            "const _: fn(Warn) = |it| match it { Warn::Other | Warn::Call => () };",
            "const _: () = assert!(InstFlags::JUMPS.bits() == 2);",
            "const _: () = assert!(InstFlags::all().bits() == 3);",
        ] {
            assert!(rust.contains(line), "{line}\n{rust}");
        }
    }

    #[test]
    #[should_panic(expected = "the bridge has no type `ChNone`")]
    fn unknown_types_are_refused() {
        Header::parse("typedef struct { ChNone it; } ChText;");
    }

    #[test]
    #[should_panic(expected = "enums have explicit values")]
    fn values_that_are_not_written_are_refused() {
        Header::parse("enum ChWarn { CH_WARN_OTHER };");
    }
}
