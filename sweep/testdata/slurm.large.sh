#!/bin/bash
#SBATCH --job-name=study
#SBATCH --array=0-99%10
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=12:00:00
#SBATCH --output=study-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
# A task that was killed, or has run out of time, goes on where it was when it is submitted again.
exec 'bin/fairlead' sweep 'my studies/study.yaml' --shards 100 --dir 'study' --parallel "${SLURM_CPUS_PER_TASK:-1}"
