package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sweep"
)

// This file prints a sweep for engines that have many machines.

func newSweepManifests() *cobra.Command {
	var m sweep.Manifest
	var kind string
	c := &cobra.Command{
		Use:   "manifests SPEC",
		Short: "Print an Indexed Job of Kubernetes, or a script for Slurm, that does a sweep",
		Long: `Manifests prints what an engine needs to do a sweep in shards: with --kind job an Indexed Job and
a ConfigMap with SPEC in it, with --kind slurm a script for sbatch. Nothing is sent anywhere.

A pod runs in /work, which is the claim, or the folder of its node: there files are sought that
SPEC names, and results are kept in the folder --name, unless --dir says another one. With --dir as
the URL of a bucket nothing else is needed. When all shards are done, 'fairlead sweep merge' of the
same folder makes the set.`,
		Example: `  fairlead sweep manifests study.yaml --shards 8 --image registry.example/fairlead:1 --claim results | kubectl apply -f -
  fairlead sweep manifests study.yaml --kind slurm --shards 8 --dir /shared/study > study.sh && sbatch study.sh`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if m.Name == "" {
				m.Name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
			}
			text, err := manifests(c, args[0], kind, &m)
			if err != nil {
				return usage(c, err)
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	s := c.Flags()
	s.StringVar(&kind, "kind", "job", "job, for Kubernetes, or slurm")
	s.StringVar(&m.Name, "name", "", "what the job is called (default: SPEC without folder and ending)")
	s.IntVar(&m.Shards, "shards", 0, "into how many shards the runs are dealt, each a pod or a task")
	s.IntVar(&m.AtOnce, "at-once", 0, "how many shards run at the same time (default: all)")
	s.StringVar(&m.CPU, "cpu", "", "cores of a shard, a whole number")
	s.StringVar(&m.Memory, "memory", "", "memory of a shard, such as 4Gi")
	s.StringVar(&m.Dir, "dir", "", "keep results in the folder `DIR`, as the shards see it, or in a bucket")
	s.StringVar(&m.Image, "image", "", "the image that runs fairlead, of pods")
	s.StringVar(&m.Command, "command", "", "the program, where it is not what the image runs, or not in PATH")
	s.StringVar(&m.Claim, "claim", "", "the PersistentVolumeClaim that is /work in pods; several nodes have to be able to write to it")
	s.StringVar(&m.Host, "host-path", "", "a folder of the node that is /work in pods, in place of a claim; user 65532 has to be able to write to it")
	s.StringVar(&m.Secret, "secret", "", "the Secret whose keys are variables of the environment of pods, such as those of a bucket")
	s.StringVar(&m.Time, "time", "", "the time that a shard may take, as sbatch reads it")
	complete(c, "kind", "job", "slurm")
	return c
}

// manifests are the text that is printed.
func manifests(c *cobra.Command, path, kind string, m *sweep.Manifest) ([]byte, error) {
	s, err := readSweep(c, path)
	if err != nil {
		return nil, err
	}
	runs, err := s.Specs()
	if err != nil {
		return nil, err
	}
	if m.Shards > len(runs) {
		return nil, fmt.Errorf("--shards: %d, and there are %s", m.Shards, report.Count(len(runs), "run"))
	}
	if err := unused(c, kind); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if kind == "slurm" {
		err = m.Slurm(&text, path)
	} else {
		err = m.Job(&text, s)
	}
	return text.Bytes(), err
}

// unused says which flags the kind has no use for.
func unused(c *cobra.Command, kind string) error {
	of := map[string][]string{"job": {"time"}, "slurm": {"image", "claim", "host-path", "secret"}}
	flags, is := of[kind]
	if !is {
		return fmt.Errorf("--kind: %w", nearest.Unknown("kind", kind, []string{"job", "slurm"}))
	}
	var errs []error
	for _, flag := range flags {
		if c.Flags().Changed(flag) {
			errs = append(errs, fmt.Errorf("--%s: has no meaning for --kind %s; leave it out", flag, kind))
		}
	}
	return errors.Join(errs...)
}
