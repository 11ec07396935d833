#!/bin/sh
# Makes the bundled files anew; README.md says more.
set -eu
cd "$(dirname "$0")/../../.."
# It builds both images, and tests them.
cargo test --quiet --package=run --test=templates -- --ignored
images=target/images
bundled=xtask/run/bundled

bundle() {
    name=$1 image=$2
    shift 2
    stripped=$(mktemp)
    # Symbols stay: they name what traps.
    sparc64-linux-gnu-objcopy --strip-debug "$image" "$stripped"
    gzip -9nc "$stripped" > "$bundled/$name.elf.gz"
    rm "$stripped"
    sources=$(git ls-files "$@" | xargs sha256sum | sha256sum | cut -d ' ' -f 1)
    echo "$sources  $*"
}

library="guest-abi/Cargo.toml guest-abi/src"
all="tests/images/Cargo.toml tests/images/Cargo.lock"
{
    bundle hypervisor $images/production-shipped.elf $library hv-core/Cargo.toml hv-core/src platform/Cargo.toml platform/build.rs \
        platform/src perfctr-service/Cargo.toml perfctr-service/src tests/services/Cargo.toml tests/services/src tests/images/production \
        tests/images/hypervisor/build.rs $all
    bundle guest $images/template-rust.elf $library tests/images/template tests/images/guest/build.rs tests/images/guest/image.ld $all
} > $bundled/sources.sha256
