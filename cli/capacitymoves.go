package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/capacity/moves"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
)

// The commands capacity free, drain and level: moves of what runs, with an aim each.

// movesHelp is what all three say of moves.
const movesHelp = `Moves are to be made in their order, each when the one before it is done. After any number of
them no node is over what it has, and no selector, taint, affinity, spread or limit per node
is violated that was not before. Pods of DaemonSets and of nodes themselves never move, and
go with their node; pods that nobody would make again (without an owner), and those that
--stay names, never move and keep their node. So do those that a disruption budget lets nobody
evict; others may go one at a time, as a move waits until the pod before it runs elsewhere.`

func newCapacityFree(known policies.List) *cobra.Command {
	f := movesFlags{moment: moment{known: known}, goal: "free"}
	return f.command(&cobra.Command{
		Use:   "free",
		Short: "Say which nodes can be switched off, and by which moves",
		Long: `Free moves what runs so that as many nodes as can be have nothing to do, and says how many
must stay on whatever is moved.

` + movesHelp,
		Example: `  fairlead capacity free --cluster me.json
  fairlead capacity free --cluster me.json --stay shop/statefulset/db -o json`,
		Args: cobra.NoArgs,
	}, func(p *moves.Problem, _ *look, _ []string) (moves.Plan, error) { return moves.Free(p), nil })
}

func newCapacityDrain(known policies.List) *cobra.Command {
	f := movesFlags{moment: moment{known: known}, goal: "drain"}
	return f.command(&cobra.Command{
		Use:   "drain NODE… or LABEL=VALUE…",
		Short: "Say by which moves some nodes are emptied",
		Long: `Drain moves what may move off nodes, which are named, or given by a label or a group, such as
those of a zone, and says why others cannot be emptied.

` + movesHelp,
		Example: `  fairlead capacity drain n1 n2 --cluster me.json
  fairlead capacity drain topology.kubernetes.io/zone=b --cluster me.json`,
		Args: cobra.MinimumNArgs(1),
	}, func(p *moves.Problem, l *look, args []string) (moves.Plan, error) {
		nodes, err := nodesNamed(l.v, args)
		if err != nil {
			return moves.Plan{}, err
		}
		return moves.Drain(p, nodes), nil
	})
}

func newCapacityLevel(known policies.List) *cobra.Command {
	f := movesFlags{moment: moment{known: known}, goal: "level"}
	c := f.command(&cobra.Command{
		Use:   "level",
		Short: "Say by which moves no node is fuller than a share",
		Long: `Level moves pods off nodes of which more than a share is asked for, until that is so of none, and
makes no other node so. It says which nodes stay fuller, and how many must whatever is moved.

` + movesHelp,
		Example: `  fairlead capacity level --cluster me.json --below 80%
  fairlead capacity level --cluster me.json --below cpu=70%,memory=85%`,
		Args: cobra.NoArgs,
	}, func(p *moves.Problem, _ *look, _ []string) (moves.Plan, error) {
		share, err := sharesOf(p.View.Kinds(), f.below)
		if err != nil {
			return moves.Plan{}, err
		}
		return moves.Level(p, share), nil
	})
	c.Flags().StringVar(&f.below, "below", "80%", "`SHARE` of what a node has that may be asked for at most, of cores and memory, or by kind, such as cpu=70%,memory=85%")
	return c
}

// movesFlags are the flags of the three commands.
type movesFlags struct {
	moment
	goal  string
	stay  []string
	lines int
	below string // of level
}

// aim makes a plan.
type aim func(p *moves.Problem, l *look, args []string) (moves.Plan, error)

func (f *movesFlags) command(c *cobra.Command, plan aim) *cobra.Command {
	f.register(c)
	s := c.Flags()
	s.StringSliceVar(&f.stay, "stay", nil, "`POD` or who made it, such as shop/db-0 or sts/db, that never moves; several with commas between them")
	s.IntVar(&f.lines, "lines", 20, "lines of moves to list at most; JSON has all")
	c.RunE = func(c *cobra.Command, args []string) error {
		var errs []error
		if f.lines < 1 {
			errs = append(errs, fmt.Errorf("--lines: %d, want a number from 1", f.lines))
		}
		checked, at, err := f.plan(c, errs...)
		if err != nil {
			return usage(c, err)
		}
		ctx, stop := stoppable(c)
		defer stop()
		l, err := lookAt(ctx, checked, at, c.ErrOrStderr(), nil)
		if err != nil {
			return err
		}
		answer, err := f.answer(ctx, l, plan, args)
		if err != nil {
			return err
		}
		return writeAnswer(f.format, c.OutOrStdout(), answer, func(out io.Writer) error { return answer.print(out, f.lines) })
	}
	return c
}

// answer plans, unless the context ends meanwhile.
func (f *movesFlags) answer(ctx context.Context, l *look, plan aim, args []string) (*movesAnswer, error) {
	may, err := mayMove(l, f.stay)
	if err != nil {
		return nil, fmt.Errorf("--stay: %w", err)
	}
	p, err := until(ctx, 0, func() (moves.Plan, error) {
		return plan(&moves.Problem{View: l.v, May: func(t cluster.TaskID) moves.May { return may[t] }}, l, args)
	})
	if err != nil {
		return nil, err
	}
	answer := newMovesAnswer(f.goal, l, &p)
	answer.Below = f.below
	return answer, nil
}

// mayMove is what may become of each task.
func mayMove(l *look, stay []string) ([]moves.May, error) {
	may := make([]moves.May, len(l.Names))
	used := make([]bool, len(stay))
	for row, name := range l.Names {
		owner := l.Owners[row]
		for i, asked := range stay {
			if name == asked || owner != "" && isOwner(owner, asked) {
				may[row], used[i] = moves.Stay, true
			}
		}
		switch parts := strings.SplitN(owner, "/", 3); {
		case l.Pinned[row]:
			may[row] = moves.Go
		case len(parts) == 3 && parts[1] == "pod": // nobody would make it again
			may[row] = moves.Stay
		case !mayLeave(l, row):
			may[row] = moves.Stay
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("there is no pod %s, and nobody of that name who made some", report.Printable(stay[i]))
	}
	return may, nil
}

// mayLeave reports whether budgets let the pod be evicted by itself, as one API server decides about it: nobody is of
// whom two budgets have a say.
func mayLeave(l *look, row int) bool {
	of := l.Guards.Of[row]
	return len(of) == 0 || len(of) == 1 && l.Guards.Spare(of[0]) > 0
}

// nodesNamed are the nodes of these names, or with these labels or in these groups.
func nodesNamed(v *cluster.View, names []string) ([]cluster.NodeID, error) {
	var nodes []cluster.NodeID
	var known []string
	for _, name := range names {
		key, value, labelled := strings.Cut(name, "=")
		before := len(nodes)
		for n := range cluster.NodeID(v.NodeRows()) {
			if !v.NodeLive(n) {
				continue
			}
			spec, label := v.NodeSpec(n), cluster.Label{Key: key, Value: value}
			known = append(known, spec.Name)
			if spec.Name == name || labelled && (slices.Contains(spec.Labels, label) || slices.Contains(spec.Groups, label)) {
				nodes = append(nodes, n)
			}
		}
		if before == len(nodes) && labelled {
			return nil, fmt.Errorf("no node has the label %s", report.Printable(name))
		}
		if before == len(nodes) {
			return nil, nearest.Unknown("node", name, known)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// sharesOf reads 80%, or cpu=70%,memory=0.85, in thousandths by kind.
func sharesOf(kinds []cluster.Kind, text string) (cluster.Vector, error) {
	shares := make(cluster.Vector, len(kinds))
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, number, byKind := strings.Cut(part, "=")
		if !byKind {
			number = part
		}
		share, err := shareOf(number)
		if err != nil {
			return nil, fmt.Errorf("--below: %w", err)
		}
		at := slices.Index(names, name)
		switch {
		case byKind && at < 0:
			return nil, fmt.Errorf("--below: %w", nearest.Unknown("resource", name, names))
		case byKind:
			shares[at] = share
		default:
			for k, kind := range names {
				if kind == "cpu" || kind == "memory" {
					shares[k] = share
				}
			}
		}
	}
	if !slices.ContainsFunc(shares, func(q int64) bool { return q > 0 }) {
		return nil, errors.New("--below: the cluster has neither cpu nor memory; name the kind, such as slots=80%")
	}
	return shares, nil
}

func shareOf(text string) (int64, error) {
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0.001 && value <= 1) {
		return 0, fmt.Errorf("%q, want a share up to 100%%, such as 80%%", text)
	}
	return int64(value*1000 + 0.5), nil
}
