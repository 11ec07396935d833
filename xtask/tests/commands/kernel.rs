//! Links the C interface as a SPARC V9 kernel module is linked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::cargo::root;
use xtask::qemu::toolchain::Toolchain;
use xtask::tools::{self, SPARC_GCC, SPARC_LD};

/// Linux's compiler options for a module. The compiled code uses no FPU, and does not change %g4 to %g6.
const FLAGS: &str = "-D__KERNEL__ -nostdinc -std=gnu11 -Wall -Wextra -Werror -O2 -ffreestanding -fno-pie -m64 -mno-fpu \
                     -mcpu=ultrasparc -mcmodel=medlow -ffixed-g4 -ffixed-g5 -fcall-used-g7 -c driver.c -o driver.o";

/// The relocations that Linux's module loader knows (arch/sparc/kernel/module.c).
const RELOCATIONS: &str = "R_SPARC_DISP32 R_SPARC_64 R_SPARC_UA64 R_SPARC_WDISP19 R_SPARC_OLO10 R_SPARC_32 R_SPARC_UA32 \
                           R_SPARC_WDISP30 R_SPARC_WDISP22 R_SPARC_LO10 R_SPARC_HI22";

/// Runs a command in `directory`. Returns what it prints.
fn printed(directory: &Path, mut command: Command) -> String {
    let output = command.current_dir(directory).output().unwrap();
    let [printed, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success() && said.is_empty(), "{command:?}: {said}{printed}");
    printed
}

/// Runs a binutils program.
fn binutil(directory: &Path, arguments: &str) -> String {
    let (name, arguments) = arguments.split_once(' ').unwrap();
    let ld = tools::path(&SPARC_LD).unwrap();
    let mut command = Command::new(ld.with_file_name(format!("sparc64-linux-gnu-{name}")));
    command.args(arguments.split(' '));
    printed(directory, command)
}

/// Returns the blocks of the README in this language.
fn block(language: &str) -> String {
    let readme = fs::read_to_string(root().join("guest-abi/c/README.md")).unwrap();
    let (_, from) = readme.split_once(&format!("```{language}\n")).unwrap();
    from.split_once("```\n").unwrap().0.to_owned()
}

/// Compiles the driver, links it as the README says, and checks the module. The library's part of the module may have at most `most` bytes.
fn check_module(directory: &Path, driver: &str, most: u64) {
    let interface = root().join("guest-abi/c");
    fs::write(directory.join("driver.c"), driver).unwrap();
    let mut gcc = Command::new(tools::path(&SPARC_GCC).unwrap());
    gcc.args(FLAGS.split(' ')).arg("-I").arg(interface.join("include"));
    printed(directory, {
        gcc.arg("-I").arg(interface.join("tests/c/kernel"));
        gcc
    });
    let mut shell = Toolchain::find().unwrap().shell();
    shell.args(["-euc", &block("sh").replace("cargo build", "cargo build --quiet")]);
    printed(directory, {
        shell.env("GUEST_ABI_C", &interface);
        shell
    });
    binutil(directory, "ld -r driver.o vfperf.o -o module.o");

    let undefined = binutil(directory, "nm --undefined-only module.o");
    // To declare that it uses %g2 and %g3, gcc emits symbols without a name.
    let named = undefined.lines().filter(|line| line.trim() != "U").collect::<Vec<_>>();
    assert!(named.is_empty(), "{undefined}");
    let defined =
        binutil(directory, "nm --extern-only --defined-only --format=just-symbols vfperf.o");
    assert!(
        defined.lines().count() > 0 && defined.lines().all(|name| name.starts_with("vfperf_")),
        "{defined}"
    );
    let kinds = binutil(directory, "readelf --relocs --wide module.o");
    let kinds: BTreeSet<_> =
        kinds.split_whitespace().filter(|word| word.starts_with("R_SPARC_")).collect();
    let known: BTreeSet<_> = RELOCATIONS.split(' ').collect();
    assert!(!kinds.is_empty() && kinds.is_subset(&known), "{kinds:?}");

    let code = binutil(directory, "objdump --disassemble --no-show-raw-insn vfperf.o");
    for register in code.split('%').skip(1) {
        let name: String = register.chars().take_while(char::is_ascii_alphanumeric).collect();
        let number = name.get(1..).and_then(|number| number.parse::<u32>().ok());
        let theirs = match (name.chars().next(), number) {
            (Some('g'), Some(number)) => number >= 2,
            (Some('f' | 'd' | 'q'), Some(_)) => true,
            _ => false,
        };
        assert!(!theirs, "%{name}: {}", register.lines().next().unwrap());
    }
    let sizes = binutil(directory, "size vfperf.o");
    let sizes = sizes.lines().nth(1).unwrap().split_whitespace().take(3);
    let [text, data, bss] = sizes.map(|size| size.parse().unwrap()).collect::<Vec<u64>>()[..]
    else {
        panic!("{code}");
    };
    assert!((1000..=most).contains(&text) && data + bss == 0, "{text} {data} {bss}");
}

#[test]
#[ignore = "builds the C interface for SPARC V9; needs its compiler"]
fn a_kernel_module_links_with_the_c_interface() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    check_module(directory, &block("c"), 12 << 10);
    // A driver that uses every function.
    let header = fs::read_to_string(root().join("guest-abi/c/include/vfperf.h")).unwrap();
    let (_, declared) = header.split_once("extern \"C\"").unwrap();
    let names = declared
        .split([' ', '\n'])
        .filter_map(|word| word.strip_prefix("vfperf_")?.split_once('('));
    let all: Vec<_> = names.map(|(name, _)| format!("(void *)vfperf_{name},")).collect();
    assert!(all.len() > 30, "{all:?}");
    let driver = format!("#include \"vfperf.h\"\nvoid *const all[] = {{ {} }};\n", all.concat());
    check_module(directory, &driver, 40 << 10);
}
