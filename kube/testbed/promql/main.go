// Promql takes expressions apart as Prometheus does, by its own parser: it reads a list of texts as JSON, and writes for each which series it
// selects, by which labels it groups, and what is wrong with it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// query is an expression that was taken apart.
type query struct {
	Error  string   `json:"error,omitempty"` // what the parser says
	Series []series `json:"series"`
	By     []string `json:"by"` // labels of aggregations and matchings
}

// series is a selector of series.
type series struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"` // by which it selects
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run() error {
	var expressions []string
	if err := json.NewDecoder(os.Stdin).Decode(&expressions); err != nil {
		return fmt.Errorf("read the expressions: %w", err)
	}
	queries := []query{}
	for _, text := range expressions {
		queries = append(queries, takeApart(text))
	}
	return json.NewEncoder(os.Stdout).Encode(queries)
}

// takeApart takes one apart.
func takeApart(text string) (q query) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		q.Error = err.Error()
		return q
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			s := series{Metric: n.Name}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					s.Labels = append(s.Labels, m.Name)
				}
			}
			q.Series = append(q.Series, s)
		case *parser.AggregateExpr:
			q.By = append(q.By, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				q.By = append(q.By, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	return q
}
