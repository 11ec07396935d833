//! Tests the symbols of a program that these tests compile, and of the bundled program.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use object::{Object, ObjectSegment, ObjectSymbol};
use tempfile::TempDir;

use super::*;

/// A library with an exported function. This function inlines one function, and calls another.
const SOURCE: &str = r#"#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
#[inline(always)]
fn within(n: u64) -> u64 {
    core::hint::black_box(n) + 1
}
#[inline(never)]
fn hidden(n: u64) -> u64 {
    core::hint::black_box(n) * 3
}
#[unsafe(no_mangle)]
pub extern "C" fn outer(n: u64) -> u64 {
    hidden(within(n))
}
"#;

/// The number of the line in [`SOURCE`] on which `hidden` begins.
const HIDDEN_LINE: u32 = 12;

const BUILD_ID: [u8; 4] = [0xab, 0x12, 0xcd, 0x34];

/// The library's load address.
const BASE: u64 = 0x7f12_3456_7000;

/// A directory with the library in several forms: whole, stripped, and with separate debugging information.
struct Library {
    place: TempDir,
}

impl Library {
    /// Compiles the library, with its symbols and debugging information.
    fn new() -> Self {
        let library = Self { place: tempfile::tempdir().unwrap() };
        fs::create_dir(library.path("apart")).unwrap();
        fs::write(library.path("lib.rs"), SOURCE).unwrap();
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let options = "--edition=2024 --crate-type=cdylib -g -Copt-level=1 -Cpanic=abort -Clink-arg=-Wl,--build-id=0xab12cd34";
        let compiled = Command::new(rustc)
            .current_dir(library.place.path())
            .args(options.split(' '))
            .args(["-o", "full.so", "lib.rs"])
            .status();
        assert!(compiled.unwrap().success());
        library
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn objcopy(&self, arguments: &str) {
        let mut objcopy = Command::new("objcopy");
        let objcopy = objcopy.current_dir(self.place.path()).args(arguments.split(' '));
        assert!(objcopy.status().unwrap().success(), "{arguments}");
    }

    /// Returns the address of a function when the library is loaded at [`BASE`].
    fn address(&self, name: &str) -> u64 {
        let bytes = fs::read(self.path("full.so")).unwrap();
        let elf = object::File::parse(&*bytes).unwrap();
        let named =
            |symbol: &object::Symbol<'_, '_>| symbol.name().is_ok_and(|one| one.contains(name));
        let symbol = elf.symbols().find(named).unwrap();
        BASE + symbol.address()
    }

    /// Returns the symbols of the library in `file`. All segments of the library are mapped.
    fn symbols(&self, file: &str, build_id: &[u8]) -> Symbols {
        let bytes = fs::read(self.path("full.so")).unwrap();
        let elf = object::File::parse(&*bytes).unwrap();
        let mapping = |segment: object::Segment<'_, '_>| {
            let page = |address: u64| address & !0xfff;
            Mapping {
                start: BASE + page(segment.address()),
                end: BASE + page(segment.address() + segment.size() + 0xfff),
                offset: page(segment.file_range().0),
                path: self.path(file).display().to_string(),
                build_id: build_id.to_vec(),
            }
        };
        let mappings: Vec<Mapping> = elf.segments().map(mapping).collect();
        assert!(mappings.len() > 1, "so that it matters which is which");
        Symbols::with_separate(&mappings, &self.path("apart")).unwrap()
    }

    /// Asserts that the symbols of the library in `file` include functions, inlined functions and source lines.
    fn knows_all(&self, file: &str) {
        let symbols = self.symbols(file, &BUILD_ID);
        let (outer, hidden) = (self.address("outer"), self.address("hidden"));
        assert_eq!(symbols.function(outer), Some((outer, "outer")), "{file}");
        let (start, name) = symbols.function(hidden + 1).unwrap();
        assert_eq!(start, hidden, "{file}");
        assert!(name.ends_with("::hidden"), "{file}: {name}");
        let path = self.path(file).display().to_string();
        assert_eq!(symbols.file(hidden), Some(&*path));
        let source = symbols.source(hidden).unwrap();
        assert!(source.ends_with(&format!("lib.rs:{HIDDEN_LINE}")), "{file}: {source}");
        let inlined = (outer..outer + 64).flat_map(|at| symbols.inlined(at));
        assert!(inlined.clone().any(|name| name.ends_with("within")), "{file}");
        assert_eq!(symbols.function(BASE - 1), None);
        assert_eq!(symbols.unusable().count(), 0);
    }
}

#[test]
fn symbols_and_debugging_information_of_a_mapped_file() {
    let library = Library::new();
    library.knows_all("full.so");
    let symbols = library.symbols("full.so", &[]);
    assert!(symbols.function(library.address("outer")).is_some(), "no build id is known");
}

#[test]
fn debugging_information_apart() {
    let library = Library::new();
    library.objcopy("--strip-all full.so bare.so");
    let bare = library.symbols("bare.so", &BUILD_ID);
    let (outer, hidden) = (library.address("outer"), library.address("hidden"));
    assert_eq!(bare.function(outer), Some((outer, "outer")), "it is exported");
    assert_eq!((bare.function(hidden), bare.source(outer)), (None, None));

    // A debug link names the file. The file is found in the library's directory, in `.debug`, and
    // in the directory of separate debugging information.
    library.objcopy("--only-keep-debug full.so full.debug");
    library.objcopy("--add-gnu-debuglink=full.debug bare.so linked.so");
    library.knows_all("linked.so");
    fs::create_dir(library.path(".debug")).unwrap();
    fs::rename(library.path("full.debug"), library.path(".debug/full.debug")).unwrap();
    library.knows_all("linked.so");
    let real = library.place.path().canonicalize().unwrap();
    let below = library.path("apart").join(real.strip_prefix("/").unwrap());
    fs::create_dir_all(&below).unwrap();
    fs::rename(library.path(".debug/full.debug"), below.join("full.debug")).unwrap();
    library.knows_all("linked.so");
    // A file with the right name but another checksum is not used.
    let mut bytes = fs::read(below.join("full.debug")).unwrap();
    bytes.push(0);
    fs::write(below.join("full.debug"), bytes).unwrap();
    let wrong = library.symbols("linked.so", &BUILD_ID);
    assert_eq!(wrong.function(hidden), None);

    // The file is found by its build id.
    library.objcopy("--only-keep-debug full.so id.debug");
    let ids = library.path("apart/.build-id/ab");
    fs::create_dir_all(&ids).unwrap();
    fs::rename(library.path("id.debug"), ids.join("12cd34.debug")).unwrap();
    library.knows_all("bare.so");
}

#[test]
fn another_copy_of_a_file_that_has_gone() {
    let library = Library::new();
    let outer = library.address("outer");
    let gone = || library.symbols("gone.so", &BUILD_ID);
    let found = gone().with_file(&library.path("full.so")).unwrap();
    assert_eq!(found.function(outer), Some((outer, "outer")));
    let other = library.symbols("gone.so", &[1, 2, 3]);
    let error = other.with_file(&library.path("full.so")).err().unwrap();
    let says = "full.so: the recorded program had no file with this build id in memory";
    assert!(error.to_string().ends_with(says), "{error}");
}

#[test]
fn a_file_that_has_changed_is_not_used() {
    let library = Library::new();
    let outer = library.address("outer");
    let path = |file: &str| library.path(file).display().to_string();
    let symbols = library.symbols("full.so", &[1, 2, 3]);
    assert_eq!(symbols.function(outer), None);
    assert_eq!(symbols.file(outer), Some(&*path("full.so")));
    let why = "has changed since the program was recorded: its build id differs";
    let unusable: Vec<&str> = symbols.unusable().collect();
    assert_eq!(unusable, [format!("{}: {why}", path("full.so"))]);

    let gone = library.symbols("gone.so", &BUILD_ID);
    assert_eq!(gone.function(outer), None);
    let unusable: Vec<&str> = gone.unusable().collect();
    assert!(
        unusable[0].starts_with(&format!("{}: cannot be read: ", path("gone.so"))),
        "{unusable:?}"
    );
}

/// The tool finds the functions of the bundled program that `nm` lists for the unstripped program.
#[test]
fn the_bundled_symbols() {
    let symbols = Symbols::bundled();
    let functions = [
        (0x10_05f0, 0x15c, "main"),
        (0x10_0968, 0xa4, "load_orders"),
        (0x10_0a0c, 0x78, "build_index"),
        (0x10_0a84, 0x8c, "find_order"),
        (0x10_0b10, 0x10c, "sort_by_price"),
        (0x10_0c1c, 0x2c, "follow_deliveries"),
        (0x10_0c48, 0x68, "turn_table"),
        (0x10_0cb0, 0x68, "write_price_list"),
        (0x10_0d18, 0x74, "look_up_price"),
        (0x10_0d8c, 0x40, "price_orders"),
        (0x10_0dcc, 0x50, "write_ledger"),
        (0x10_0e1c, 0x44, "count_in_one_line"),
        (0x10_0e60, 0x44, "count_in_own_lines"),
        (0x10_0ea4, 0x60, "read_archive"),
        (0x10_0f04, 0x40, "take_ticket"),
        (0x10_0f44, 0x48, "serve_customers"),
        (0x10_0f8c, 0xa0, "pass_ledger"),
        (0x10_102c, 0x1cc, "work"),
    ];
    for (start, size, name) in functions {
        for address in [start, start + size - 1] {
            assert_eq!(symbols.function(address), Some((start, name)));
        }
    }
    // The address 0 is below all functions, and the maximum address above all functions.
    assert_eq!((symbols.function(0), symbols.function(u64::MAX)), (None, None));
}
