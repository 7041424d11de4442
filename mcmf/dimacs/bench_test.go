package dimacs

import (
	"bytes"
	"os"
	"testing"
)

// BenchmarkRead reads the file that FAIRLEAD_MIN names, from memory.
func BenchmarkRead(b *testing.B) {
	name := os.Getenv("FAIRLEAD_MIN")
	if name == "" {
		b.Skip("FAIRLEAD_MIN names no .min file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := Read(bytes.NewReader(data), name)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Graph.ArcBound()), "arcs")
	}
}
