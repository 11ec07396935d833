#!/bin/sh
# Makes workload.lackey.zst, workload.symbols and workload.elf anew; README.md says more.
set -eu
export LC_ALL=C
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rustc --edition 2024 -C opt-level=2 -C codegen-units=1 -C panic=abort \
    -C relocation-model=static -C target-feature=+crt-static -o "$work/workload" workload.rs
env -i valgrind --tool=lackey --trace-mem=yes --basic-counts=no --log-file="$work/whole" "$work/workload"

# From the first instruction of main to the end of the process.
nm -C -S --defined-only "$work/workload" | grep -E '^[0-9a-f]+ ([0-9a-f]+ )?[tTwW] ' > "$work/symbols"
main=$(awk '$4 == "workload::main" { print substr($1, 9) }' "$work/symbols")
awk -v main="I  $main," '/^==/ { next } index($0, main) == 1 { started = 1 } started' "$work/whole" > "$work/cut"
zstd -q -f -19 "$work/cut" -o workload.lackey.zst

# The functions that the recording enters, by address: address and size (hexadecimal), name.
awk '$1 == "I" { sub(",.*", "", $2); print "00000000" $2, "~" }' "$work/cut" | sort -u |
    sort - "$work/symbols" | awk '
        $2 == "~" { if (symbol != "") print symbol; symbol = ""; next }
        $1 == start { next }
        { start = $1; symbol = "" }
        length($2) == 16 { symbol = substr($0, 9, 8) " " substr($0, 26, 8) " " substr($0, 37) }
    ' > workload.symbols

# The executable, of which nothing is left but the symbols of these functions.
nm --defined-only "$work/workload" |
    awk 'NR == FNR { entered["00000000" $1]; next } $1 in entered { print $3 }' workload.symbols - > "$work/keep"
objcopy --strip-all --keep-symbols="$work/keep" "$work/workload" "$work/symbols.elf"
objcopy --only-keep-debug "$work/symbols.elf" workload.elf
chmod 644 workload.elf
