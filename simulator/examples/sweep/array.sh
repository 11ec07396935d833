#!/bin/bash
#SBATCH --array=1-200
#SBATCH --requeue
#SBATCH --output=runs.log
#SBATCH --open-mode=append
# Makes the run of one line of runs.txt. If its node fails, Slurm queues the run again.
sed -n "${SLURM_ARRAY_TASK_ID}p" runs.txt | bash
