package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"fairlead.dev/fairlead/kube/app"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file runs our scheduler inside the test, where faults can be put between
// it and the API server.

type fairlead struct {
	registry *prometheus.Registry
	stop     func() // waits until it has stopped; may be called twice
}

// settings are what a test may change.
type settings struct {
	// faults stand between the client and the API server.
	faults func(http.RoundTripper) http.RoundTripper
	// json makes watches lines of text.
	json        bool
	bindTimeout time.Duration
	record      string // the directory of a recording; empty for none
	profile     func(*config.Profile)
	// workloads has pods read as on Kubernetes 1.35, where they may name a workload.
	workloads bool
}

// start runs our scheduler until the test ends.
func (c *cluster) start(s settings) *fairlead {
	c.t.Helper()
	to := c.bed.Config(testbed.Fairlead)
	if s.faults != nil {
		to.Wrap(s.faults)
	}
	if s.json {
		to.ContentConfig = rest.ContentConfig{ContentType: "application/json"}
	}
	client, err := kubernetes.NewForConfig(to)
	c.must(err)
	cfg := config.Default()
	cfg.Record.Path = s.record
	if s.profile != nil {
		s.profile(&cfg.Profiles[0])
	}
	if s.bindTimeout > 0 {
		cfg.BindTimeout.Duration = s.bindTimeout
	}
	log := &tail{}
	c.logs = append(c.logs, log)
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(2)))
	// Two contexts, as in the command: informers outlive decisions.
	living, end := context.WithCancel(klog.NewContext(context.Background(), logger))
	running, cease := context.WithCancel(living)
	f := &fairlead{registry: prometheus.NewRegistry()}
	serves, err := app.Adapt(living, client, cfg)
	c.must(err)
	options := scheduler.Options{Client: client, Config: cfg, Metrics: metrics.New(f.registry), Clock: clock.RealClock{}, Identity: c.namespace, Programs: app.Solver}
	if s.workloads {
		serves.OlderPodGroups = "1.35"
	}
	c.must(serves.Apply(&options, to))
	made, err := scheduler.New(living, options)
	c.must(err)
	made.Start(living)
	done := make(chan error, 1)
	go func() { done <- made.Run(running, living) }()
	f.stop = sync.OnceFunc(func() {
		cease()
		if err := <-done; err != nil {
			c.t.Errorf("the scheduler ended with: %v\n%s", err, log)
		}
		end()
	})
	c.t.Cleanup(f.stop)
	return f
}

// sum adds up a metric over all its series whose labels contain these values.
func (f *fairlead) sum(name string, values ...string) int {
	families, err := f.registry.Gather()
	if err != nil {
		panic(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if hasAll(m, values) {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return int(total)
}

func hasAll(m *dto.Metric, values []string) bool {
	has := map[string]bool{}
	for _, l := range m.GetLabel() {
		has[l.GetValue()] = true
	}
	for _, v := range values {
		if !has[v] {
			return false
		}
	}
	return true
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (l *tail) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(string(text)))
	const most = 20
	l.lines = l.lines[max(0, len(l.lines)-most):]
	return len(text), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "  " + strings.Join(l.lines, "\n  ")
}
