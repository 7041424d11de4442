package metrics

import "github.com/prometheus/client_golang/prometheus"

// Configuration is what became of the configuration file when it changed under way.
type Configuration struct {
	reads       *prometheus.CounterVec
	needRestart *prometheus.GaugeVec
}

func newConfiguration() Configuration {
	return Configuration{
		reads: counters("fairlead_configuration_reads_total",
			"Times that the configuration file was read while the process ran, once after the start and then when it had changed or a signal asked for it, by result: taken, or refused (it is wrong; what was read before holds).", "result"),
		needRestart: gauges("fairlead_configuration_needs_restart",
			"1 for each field in which the configuration file differs from what runs and that is read at the start only.", "field"),
	}
}

func (c *Configuration) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.reads, c.needRestart}
}

// Read counts a file that was read, and sets the fields of it that need a restart.
func (c *Configuration) Read(needRestart []string) {
	c.reads.WithLabelValues("taken").Inc()
	c.needRestart.Reset()
	for _, field := range needRestart {
		c.needRestart.WithLabelValues(field).Set(1)
	}
}

// Refused counts a file that is wrong.
func (c *Configuration) Refused() { c.reads.WithLabelValues("refused").Inc() }
