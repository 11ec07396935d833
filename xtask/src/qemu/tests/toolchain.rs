use super::*;
use crate::tools::tests::program;

/// Creates a directory like rustup's. `toolchains` lists each toolchain's name, whether it has rust-src, and the output of `cargo -Z help`.
fn rustup(name: &str, toolchains: &[(&str, bool, &str)]) -> PathBuf {
    let home = env::temp_dir().join(format!("xtask-toolchain-{}-{name}", std::process::id()));
    for (toolchain, has_source, help) in toolchains {
        let place = home.join("toolchains").join(toolchain);
        fs::create_dir_all(place.join("bin")).unwrap();
        program(&place.join("bin/cargo"), &format!("echo '{help}'"));
        if *has_source {
            let source = place.join(SOURCE);
            fs::create_dir_all(source.parent().unwrap()).unwrap();
            fs::write(source, "").unwrap();
        }
    }
    home
}

const NEW: &str = "    -Z build-std  --  ...\n    -Z json-target-spec  --  ...";
const OLD: &str = "    -Z build-std  --  ...";

#[test]
fn one_of_rustup_with_the_source_is_taken() {
    for (toolchains, expected) in [
        (&[][..], None),
        (&[("nightly", false, NEW)], None),
        (&[("nightly", true, OLD)], None),
        (&[("nightly", true, NEW)], Some("nightly")),
        // A nightly toolchain is preferred to stable toolchains, unless it lacks something.
        (&[("1.96.0", true, NEW), ("nightly", true, NEW)], Some("nightly")),
        (&[("1.96.0", true, NEW), ("nightly", false, NEW)], Some("1.96.0")),
        (&[("1.96.0", true, NEW), ("nightly", true, OLD)], Some("1.96.0")),
        (&[("1.95.0", true, NEW), ("1.96.0", true, NEW)], Some("1.96.0")),
    ] {
        let home = rustup("find", toolchains);
        let found = Toolchain::from_rustup(&home);
        let expected = expected.map(|name| Toolchain::at(&home.join("toolchains").join(name)));
        assert_eq!(found, expected, "{toolchains:?}");
        let _ = fs::remove_dir_all(&home);
    }
}

#[test]
fn a_toolchain_is_its_own_cargo_and_rustc() {
    let toolchain = Toolchain::at(Path::new("/a"));
    assert_eq!(toolchain.cargo, Path::new("/a/bin/cargo"));
    let command = toolchain.cargo();
    let variable = |name: &str| {
        let mut all = command.get_envs();
        all.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    assert_eq!(command.get_program(), "/a/bin/cargo");
    assert_eq!(variable("RUSTC"), Some(Some("/a/bin/rustc".as_ref())));
    assert_eq!(variable("RUSTC_BOOTSTRAP"), Some(Some("1".as_ref())));
    // The cargo that runs this test has set the variable. The command must remove it.
    assert_eq!(variable("CARGO_MANIFEST_DIR"), Some(None));
}
