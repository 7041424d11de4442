package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file watches what a policy gives to the containers of the SLA-class paper: when
// each began, with how many cores, on which nodes; and when it was done.

// begun is a container, or copies of it, that was placed.
type begun struct {
	at    cluster.Time
	job   string // of the trace
	class string
	cores int64 // of each copy
	nodes []string
}

// placements watches a policy, and the lines of the tasks that end.
type placements struct {
	policy  sched.Policy
	list    []begun
	done    map[string]report.Number // when a container was done, in seconds, by its job
	pending string
	err     error
}

// Plan notes what the policy places; here commit accepts all of it.
func (p *placements) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.policy.Plan(t, c, budget, out)
	s := t.View()
	for i := range out.Bundles() {
		bundle := out.Bundle(i)
		task := s.Task(bundle[0].Task)
		b := begun{at: s.Now(), job: s.Job(task.Job).Name, class: s.Classes()[task.Class].Name, cores: s.Demand(bundle[0].Task)[0]}
		for _, a := range bundle {
			b.nodes = append(b.nodes, s.NodeSpec(a.Node).Name)
		}
		p.list = append(p.list, b)
	}
}

// Why is the policy's.
func (p *placements) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return p.policy.Why(t, task)
}

// Write takes in lines of tasks, of which it needs the job, and when and how it ended.
func (p *placements) Write(text []byte) (int, error) {
	const job, at, how, columns = 0, 6, 7, 14
	lines := strings.Split(p.pending+string(text), "\n")
	p.pending = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		fields := strings.Split(line, ",")
		if len(fields) != columns {
			p.err = fmt.Errorf("a line of tasks with %d columns, want %d: %q", len(fields), columns, line)
			return 0, p.err
		}
		if fields[how] != "finish" {
			continue // the header, and copies of what is done
		}
		seconds, err := strconv.ParseFloat(fields[at], 64)
		if err != nil {
			p.err = fmt.Errorf("a line of tasks that ends at %q: %w", fields[at], err)
			return 0, p.err
		}
		p.done[fields[job]] = report.Number(seconds)
	}
	return len(text), nil
}

// firsts are the containers of the class in the order in which they began, each once.
func (p *placements) firsts(class string) []begun {
	seen := map[string]bool{}
	var list []begun
	for _, b := range p.list {
		if b.class == class && !seen[b.job] {
			seen[b.job] = true
			list = append(list, b)
		}
	}
	return list
}

// cores is the average of what the containers of the class were given, and false if there
// is none.
func (p *placements) cores(class string) (report.Number, bool) {
	sum, list := int64(0), p.firsts(class)
	for _, b := range list {
		sum += b.cores
	}
	if len(list) == 0 {
		return 0, false
	}
	return report.Number(float64(sum) / float64(len(list))), true
}

// order is the line of a class in the chart of the order in which containers begin: which
// place each of them has, and how many of the class have begun by then.
func (p *placements) order(class string) []report.Line {
	place := report.Line{Name: class}
	overTime := report.Line{Name: class}
	seen, own := map[string]bool{}, 0
	for _, b := range p.list {
		if seen[b.job] {
			continue
		}
		seen[b.job] = true
		if b.class != class {
			continue
		}
		own++
		place.Points = append(place.Points, [2]report.Number{report.Number(len(seen)), report.Number(b.cores)})
		if n := len(overTime.Points); n > 0 && overTime.Points[n-1][0] == report.Seconds(b.at) {
			overTime.Points[n-1][1] = report.Number(own)
			continue
		}
		overTime.Points = append(overTime.Points, [2]report.Number{report.Seconds(b.at), report.Number(own)})
	}
	return []report.Line{place, overTime}
}

// hit is what became of the containers of a class that worked on a node when it stopped.
type hit struct {
	struck int // containers
	kept   int // of them, those that another copy finished in the time that it had
}

// struckAt looks at what worked when the nodes stopped. A container began with all its
// copies at once and would work for its time over its cores.
func (p *placements) struckAt(stop cluster.Time, nodes []string, slt cluster.Time, class string) hit {
	var h hit
	for _, b := range p.list {
		ends := b.at + slt/cluster.Time(b.cores)
		on := slices.ContainsFunc(b.nodes, func(n string) bool { return slices.Contains(nodes, n) })
		if b.class != class || !on || b.at > stop || ends <= stop {
			continue
		}
		h.struck++
		if done, known := p.done[b.job]; known && done <= report.Seconds(ends)+0.001 {
			h.kept++
		}
	}
	return h
}

// doneOverTime is how many containers of the class are done, over time.
func (p *placements) doneOverTime(class string) report.Line {
	l := report.Line{Name: class}
	var times []report.Number
	for _, b := range p.firsts(class) {
		if at, known := p.done[b.job]; known {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	for i, at := range times {
		if i+1 == len(times) || times[i+1] > at {
			l.Points = append(l.Points, [2]report.Number{at, report.Number(i + 1)})
		}
	}
	return l
}

// counted gives every line of counts a value at each time at which one of them changes, so
// that a class of which nothing more begins or ends goes on as it is.
func counted(f report.Figure) report.Figure {
	var times []report.Number
	for _, l := range f.Lines {
		for _, p := range l.Points {
			times = append(times, p[0])
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	for i := range f.Lines {
		old, full, count := f.Lines[i].Points, make([][2]report.Number, 0, len(times)), report.Number(0)
		for _, at := range times {
			if len(old) > 0 && old[0][0] == at {
				count, old = old[0][1], old[1:]
			}
			full = append(full, [2]report.Number{at, count})
		}
		f.Lines[i].Points = full
	}
	return f
}
