package setup

import (
	"io"
	"slices"
	"strings"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

const kubernetesName = "kubernetes"

// kubernetesFormat is a cluster as kubectl prints it, which can be written, too.
func kubernetesFormat() Format {
	return Format{
		Name: kubernetesName,
		Help: `  kubernetes:FILE?devices=LIST&schedulers=LIST or kubernetes:DIR?…
                   a cluster of your own: what kubectl get nodes,pods -A -o json prints,
                   as JSON or YAML, perhaps compressed with gzip. What restricts a pod
                   and is not simulated is refused, or with --lenient ignored.
                   Devices are the resources that come in devices, such as
                   nvidia.com/gpu,example.com/nic (default: nvidia.com/gpu). Of pods
                   that wait those of the schedulers are placed (default:
                   default-scheduler, and those whose name begins with fairlead)
`,
		options: []string{"devices", "schedulers"},
		check:   func(s URL) error { return s.named(s.kubernetes().Validate()) },
		Write: func(to io.Writer, src trace.Source, losses *trace.Losses) error {
			return kubernetes.Write(to, src, losses.Refuse)
		},
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o := s.kubernetes()
			o.Lenient = lenient
			return kubernetes.Open(s.Path, o)
		},
	}
}

// kubernetes are the options of kubernetes.
func (s URL) kubernetes() kubernetes.Options {
	o := kubernetes.Options{Elsewhere: s.Role == TasksAlone && s.nodes == nil, Devices: s.devices()}
	if s.nodes != nil {
		o.Nodes = s.nodes.Path
		for _, name := range s.nodes.devices() {
			if !slices.Contains(o.Devices, name) {
				o.Devices = append(o.Devices, name)
			}
		}
	}
	o.Changes = s.changes
	o.OneUser, o.AllPorts = s.changes != nil, s.changes != nil // as of fairlead-scheduler, to which a profile is a user, and each port a column
	if s.values.Has("schedulers") {
		o.Schedulers = strings.Split(s.values.Get("schedulers"), ",")
	}
	return o
}

// devices are the resources that come in devices; nil where nobody says.
func (s URL) devices() []string {
	switch names := s.values.Get("devices"); {
	case names != "":
		return strings.Split(names, ",")
	case s.values.Has("devices"):
		return []string{} // none
	}
	return nil
}
