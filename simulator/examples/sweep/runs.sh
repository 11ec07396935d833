#!/bin/bash
# Writes the configurations of 200 runs, and the command of each run as a line of runs.txt.
mkdir -p configurations runs
for l1d in 8192 16384 32768 65536 131072; do
    for l2 in 524288 1048576 2097152 4194304 8388608; do
        for memory in 80 120 160 200; do
            config=configurations/$l1d-$l2-$memory.toml
            printf '[l1d]\nbytes = %s\n[l2]\nbytes = %s\n[timing]\nmemory = %s\n' $l1d $l2 $memory > $config
            for place in pack spread; do
                run=runs/$l1d-$l2-$memory-$place.json
                echo "test -e $run || vfalls stat p.refs --place $place --config $config --json $run > /dev/null"
            done
        done
    done
done > runs.txt
