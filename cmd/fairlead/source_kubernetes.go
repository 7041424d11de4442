package main

import (
	"io"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// kubernetesFormat is a cluster as kubectl prints it, which can be written, too.
func kubernetesFormat() format {
	return format{
		name: "kubernetes",
		help: `  kubernetes:FILE or kubernetes:DIR
                   a cluster of your own: what kubectl get nodes,pods -A -o json prints,
                   as JSON or YAML, perhaps compressed with gzip. What restricts a pod
                   and is not simulated is refused, or with --lenient ignored
`,
		write: func(to io.Writer, src trace.Source, losses *trace.Losses) error {
			return kubernetes.Write(to, src, losses.Refuse)
		},
		open: func(s sourceSpec, _ uint64, lenient bool) (trace.Source, error) {
			return kubernetes.Open(s.path, kubernetes.Options{Lenient: lenient, Elsewhere: s.role == tasksAlone})
		},
	}
}
