#!/bin/sh
# Makes workload.refs and workload.elf again; see README.md.
set -eu
cd "$(dirname "$0")"
# The recording contains the path of the program.
work=/tmp/bundled
mkdir "$work"
trap 'rm -rf "$work"' EXIT

sparc64-linux-gnu-gcc -std=gnu11 -Wall -Wextra -O2 -g1 -static -pthread -ffile-prefix-map="$PWD=simulator/bundled" \
    -o "$work/workload" workload.c
vfalls record --force --output workload.refs -- "$work/workload"
# Keeps the symbols and line numbers of the program, without its code and data.
sparc64-linux-gnu-objcopy --only-keep-debug "$work/workload" workload.elf
chmod 644 workload.elf
