package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The operator of Prometheus is no part of a bed; its types are, where a test wants the API server to judge what we write for it.

const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

// DefinePrometheus has the bed serve ServiceMonitors and PrometheusRules.
func DefinePrometheus(ctx context.Context, b *Bed) error {
	// In a folder of no module, whose requirements would have a say.
	out, err := goOutput(ctx, os.TempDir(), "mod", "download", "-json", prometheusOperator)
	if err != nil {
		return fmt.Errorf("test bed: find the types of Prometheus' operator: %w", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return fmt.Errorf("test bed: find the types of Prometheus' operator: read what the go command says: %w", err)
	}
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		file := filepath.Join(module.Dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+kind+".yaml")
		if err := Kubectl(ctx, b, "", "create", "-f", file); err != nil {
			return err
		}
	}
	return Kubectl(ctx, b, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m")
}
