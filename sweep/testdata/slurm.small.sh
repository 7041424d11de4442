#!/bin/bash
#SBATCH --job-name=study
#SBATCH --array=0-3
#SBATCH --cpus-per-task=1
#SBATCH --output=study-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
# A task that was killed, or has run out of time, goes on where it was when it is submitted again.
exec fairlead sweep 'my studies/study.yaml' --shards 4 --dir '/shared/it'\''s' --parallel "${SLURM_CPUS_PER_TASK:-1}"
