package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/sim/trace"
)

// The command classes, and what simulations do with a table of classes before they
// begin: nodes get tiers, and what no node can give is refused.

func newClasses() *cobra.Command {
	c := &cobra.Command{
		Use:   "classes [TABLE]",
		Short: "List the tables of classes, or print one as a file to start from",
		Long: `Classes prints a table of what is promised to whom, as YAML with what each field
means: a preset, or a file as it is understood. Without a name it lists the presets.
Change what it prints, and give the file to 'fairlead simulate --classes FILE'.`,
		Example: `  fairlead classes
  fairlead classes google > classes.yaml
  fairlead simulate --classes classes.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listClasses(c.OutOrStdout())
			}
			table, err := class.Load(args[0])
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(table.Encode())
			return err
		},
	}
	c.ValidArgsFunction = cobra.FixedCompletions(class.PresetNames(), cobra.ShellCompDirectiveDefault)
	return c
}

func listClasses(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCLASSES\tWHAT IT IS")
	for _, p := range class.Presets() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, strings.Join(p.Table().Names(), ", "), p.What)
	}
	return w.Flush()
}

// parseTiers reads how many nodes in turn get each tier, such as 5/5/5; nil if the text
// is empty.
func parseTiers(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	wrong := fmt.Errorf("%q, want a number from 0 to %d for each of the tiers high, average and low, not all 0, such as 5/5/5", text, mostTurns)
	parts := strings.Split(text, "/")
	if len(parts) != cluster.Levels {
		return nil, wrong
	}
	var counts []int
	sum := 0
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > mostTurns {
			return nil, wrong
		}
		counts = append(counts, n)
		sum += n
	}
	if sum == 0 {
		return nil, wrong
	}
	return counts, nil
}

// mostTurns is how many nodes one after the other may get the same tier.
const mostTurns = 1_000_000

// unlessDefault is the text, or nothing if it is the default.
func unlessDefault(text, usual string) string {
	if text == usual {
		return ""
	}
	return text
}

// promised gives the nodes of a source their tiers, and holds the table of classes
// against those that are there at the start. Of what comes later nothing is known; a
// task that no node can take waits then, and the result says why.
func (s *simulation) promised(src trace.Source, stderr io.Writer) (trace.Source, error) {
	if s.tiers != nil {
		src = trace.Tiers(src, s.tiers)
	}
	table, kind := s.config.Classes, src.Kinds()[0]
	if !table.Wants() {
		return src, nil
	}
	if err := table.CheckKind(kind); err != nil {
		return nil, fmt.Errorf("--classes %s: %w", s.classes, err)
	}
	head, err := atStart(src, mostAhead)
	if err != nil || !head.all && head.mixed { // of nodes that may still come at the start nothing is said
		return head, err
	}
	var nodes []class.Node
	for _, n := range head.standing() { // in any order: they are counted
		nodes = append(nodes, class.Node{Tier: n.Tier, Size: s.limit(kind, n.Capacity[0])})
	}
	if err := table.CheckNodes(nodes, kind); err != nil && len(nodes) > 0 {
		hint := ""
		if s.tiers == nil && !slices.ContainsFunc(nodes, func(n class.Node) bool { return n.Tier > 0 }) {
			hint = "\n--tiers gives nodes tiers, such as --tiers 5/5/5"
		}
		return nil, fmt.Errorf("--classes %s: %w%s", s.classes, err, hint)
	}
	var notes []string
	for _, note := range table.NodeNotes(nodes, kind) {
		notes = append(notes, fmt.Sprintf("--classes %s: %s", s.classes, note))
	}
	s.notes.print(stderr, notes)
	return head, nil
}

// limit is how much of the kind may be placed on a node that has so much: that times the
// over-commit.
func (s *simulation) limit(kind cluster.Kind, capacity int64) int64 {
	factor, given := s.config.Overcommit[kind.Name]
	if !given {
		return capacity
	}
	limit, _ := wide.Product(capacity, factor).Over(1000)
	return min(limit, cluster.MaxQuantity)
}

// headed is a source of which the start was read ahead.
type headed struct {
	trace.Source
	first []trace.Record // at time 0, nodes before all else
	all   bool           // there are no more of them
	mixed bool           // a node came behind something else
	next  trace.Record   // the one after them
	err   error          // of reading that
	at    int            // how many were given out, next included
}

// mostAhead is how many tasks and constraints are read ahead: more than most traces have
// at time 0, and few beside what a simulation keeps of as many tasks.
const mostAhead = 1 << 18

// atStart reads what there is at the start, up to so many tasks and constraints. The
// nodes are to come first, and are given out so where the source mixes them: the size of
// a task does not depend on which of them stand before it.
func atStart(src trace.Source, most int) (*headed, error) {
	h := &headed{Source: src}
	var others []trace.Record
	for {
		if h.err = src.Next(&h.next); h.err != nil && !errors.Is(h.err, io.EOF) {
			return nil, h.err
		}
		h.all = h.err != nil || h.next.Time > 0
		switch node := h.next.What.OfNode(); {
		case h.all || !node && len(others) == most:
			h.first = append(h.first, others...)
			return h, nil
		case node:
			h.mixed = h.mixed || len(others) > 0
			h.first = append(h.first, h.next.Clone())
		default:
			others = append(others, h.next.Clone())
		}
	}
}

// standing are the nodes that are there once all of the start has happened, by their ids.
func (h *headed) standing() map[uint64]trace.Node {
	there := map[uint64]trace.Node{}
	for i := range h.first {
		settle(there, &h.first[i])
	}
	return there
}

// settle brings the nodes that are there up to date with a record.
func settle(there map[uint64]trace.Node, r *trace.Record) {
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		there[r.Node.ID] = r.Node
	case trace.NodeLost:
		delete(there, r.Node.ID)
	default: // no node comes or goes
	}
}

// nodesAtStart are the nodes that are there once all of the start has happened, however
// many tasks stand between them. It reads on to where the start is over.
func nodesAtStart(src trace.Source) (map[uint64]trace.Node, error) {
	there := map[uint64]trace.Node{}
	var r trace.Record
	for {
		switch err := src.Next(&r); {
		case errors.Is(err, io.EOF):
			return there, nil
		case err != nil:
			return nil, err
		case r.Time > 0:
			return there, nil
		case r.What.OfNode():
			own := r.Clone()
			settle(there, &own)
		}
	}
}

// Next fills in the next record.
func (h *headed) Next(r *trace.Record) error {
	h.at++
	switch i := h.at - 1; {
	case i < len(h.first):
		*r = h.first[i]
		return nil
	case i == len(h.first):
		h.first = nil // which may be large
		*r = h.next
		return h.err
	}
	return h.Source.Next(r)
}
