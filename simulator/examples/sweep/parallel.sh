#!/bin/bash
# Makes the runs of runs.txt, one on each core. Called again, makes the runs that have failed or have not begun.
parallel --joblog runs.log --resume-failed < runs.txt
