#!/bin/sh
# Makes workload.refs and workload.elf anew; README.md says more.
set -eu
cd "$(dirname "$0")"
# The recording has the path of the program in it.
work=/tmp/bundled
mkdir "$work"
trap 'rm -rf "$work"' EXIT

sparc64-linux-gnu-gcc -std=gnu11 -Wall -Wextra -O2 -g1 -static -pthread -ffile-prefix-map="$PWD=simulator/bundled" \
    -o "$work/workload" workload.c
vfalls record --force --output workload.refs -- "$work/workload"
# The program without its code and data: symbols and lines.
sparc64-linux-gnu-objcopy --only-keep-debug "$work/workload" workload.elf
chmod 644 workload.elf
