package google2019_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2019"
)

// BenchmarkRead reads made-up rows, four of each of 25,000 instances, in no order of time.
func BenchmarkRead(b *testing.B) {
	const instances = 25_000
	var lines strings.Builder
	var table strings.Builder
	w := parquet.NewWriter(&table, []parquet.Column{
		{Name: "time", Kind: parquet.Integer},
		{Name: "type", Kind: parquet.Integer},
		{Name: "collection_id", Kind: parquet.Integer},
		{Name: "instance_index", Kind: parquet.Integer},
		{Name: "scheduling_class", Kind: parquet.Integer},
		{Name: "priority", Kind: parquet.Integer},
		{Name: "machine_id", Kind: parquet.Integer},
		{Name: "resource_request.cpus", Kind: parquet.Real},
		{Name: "resource_request.memory", Kind: parquet.Real},
	})
	for i := range instances {
		for k, kind := range []int{0, 2, 3, 6} {
			at := 600_000_000 + int64(i*7919%instances+k)*1_000_000
			fmt.Fprintf(&lines, `{"time":"%d","type":"%d","collection_id":"%d","scheduling_class":"2","collection_type":"0","priority":"200","alloc_collection_id":"0",`+
				`"instance_index":"%d","machine_id":"5","resource_request":{"cpus":0.013427734375,"memory":0.0146484375}}`+"\n", at, kind, int64(380_000_000_000)+int64(i/10), i%10)
			for c, v := range []int64{at, int64(kind), 380_000_000_000 + int64(i/10), int64(i % 10), 2, 200, 5} {
				w.Int(c, v)
			}
			w.Float(7, 0.013427734375)
			w.Float(8, 0.0146484375)
			if err := w.End(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for name, dir := range map[string]string{
		"json":    folder(b, map[string]string{machineFile: oneMachine, taskFile: lines.String()}),
		"json.gz": folder(b, map[string]string{machineFile: oneMachine, taskFile + ".gz": lines.String()}),
		"parquet": folder(b, map[string]string{machineFile: oneMachine, "instance_events.parquet": table.String()}),
	} {
		b.Run("rows="+fmt.Sprint(4*instances)+"/"+name, func(b *testing.B) {
			for b.Loop() {
				src, err := google2019.Open(dir, google2019.Options{})
				if err != nil {
					b.Fatal(err)
				}
				var r trace.Record
				tasks := 0
				for {
					err := src.Next(&r)
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					if r.What == trace.TaskSubmitted {
						tasks++
					}
				}
				if err := src.Close(); err != nil || tasks != instances {
					b.Fatal(tasks, err)
				}
			}
			b.ReportMetric(4*instances*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
