package shadow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file sums up, and reports.

// tally is what was summed up since some moment.
type tally struct {
	Sums
	since        cluster.Time
	ours, theirs samples
}

// samples are what a Side says in the mean, of the tasks that are compared.
type samples struct {
	latency report.Histogram
	fill    int64 // in millionths
}

// add counts a task for which one of the two chose.
func (s *samples) add(to *Side, latency cluster.Time, c *Choice) {
	s.latency.Add(max(latency, 0))
	s.fill += int64(float64(c.Fill)*millionth + .5)
	for _, one := range []struct {
		is bool
		to *int64
	}{{c.Opened, &to.NodesOpened}, {c.HardViolated, &to.HardViolated}, {c.SoftViolated, &to.SoftViolated}} {
		if one.is {
			*one.to++
		}
	}
}

// side is what is said of one of the two.
func (s *samples) side(of Side) Side {
	of.Latency = s.latency.Distribution()
	if n := int64(s.latency.Count()); n > 0 {
		of.Fill = report.Number(float64((s.fill+n/2)/n) / millionth)
	}
	return of
}

// sums are the sums as they stand.
func (t *tally) sums() Sums {
	sums := t.Sums
	sums.Ours, sums.Theirs = t.ours.side(sums.Ours), t.theirs.side(sums.Theirs)
	return sums
}

// Sums are the sums as they stand.
func (c *Comparison) Sums() Sums { return c.all.sums() }

// Report is what is known by now. The caller adds days.
func (c *Comparison) Report() *Report {
	r := &Report{Version: Version, Schedulers: c.schedulers, Since: c.wall(c.all.since), Until: c.wall(c.now), Sums: c.all.sums()}
	for _, d := range slices.Backward(c.last) {
		d.At = c.wall(d.at)
		r.Differences = append(r.Differences, d.Difference)
	}
	if c.view != nil {
		r.Now = c.stands()
	}
	return r
}

// Cut ends the day, and returns what was summed up in it. Another one begins.
func (c *Comparison) Cut(now cluster.Time) Day {
	day := Day{Since: c.wall(c.day.since), Until: c.wall(now), Sums: c.day.sums()}
	c.day = tally{since: now}
	return day
}

// stands is the cluster as it stands. What we have decided and they have not done does not count.
func (c *Comparison) stands() Now {
	var now Now
	c.use(&now)
	for _, w := range c.tasks {
		switch {
		case w.decided && w.stands(c.now):
			now.TheyWait++
		case w.waits:
			now.WeWait++
		}
	}
	now.Promises = c.promises()
	return now
}

// use says how much of the nodes in use is taken.
func (c *Comparison) use(now *Now) {
	v := c.view
	taken, offered := make(cluster.Vector, len(v.Kinds())), make(cluster.Vector, len(v.Kinds()))
	for row := range v.NodeRows() {
		n := cluster.NodeID(row)
		if !v.NodeLive(n) {
			continue
		}
		now.Nodes++
		is := false
		for _, t := range v.TasksOn(n) {
			if phase := v.Task(t).Phase; phase != cluster.Running && phase != cluster.Leaving {
				continue
			}
			is = true
			for k, q := range v.Demand(t) {
				taken[k] += q
			}
		}
		if !is {
			continue
		}
		now.InUse++
		for k, q := range v.Capacity(n) {
			offered[k] += q
		}
	}
	for k, kind := range v.Kinds() {
		if taken[k] > 0 && offered[k] > 0 {
			if now.Used == nil {
				now.Used = map[string]report.Number{}
			}
			now.Used[kind.Name] = report.Ratio(float64(taken[k]), float64(offered[k]))
		}
	}
}

// promises are the classes that promise an availability, in the order of their rows.
func (c *Comparison) promises() []Promise {
	v := c.view
	classes := v.Classes()
	byRow := make([]Promise, len(classes))
	for row := range v.TaskRows() {
		t := cluster.TaskID(row)
		task := v.Task(t)
		w := c.of(t, task.Seq)
		decided := w != nil && w.stands(c.now)
		class := &classes[task.Class]
		if task.Phase == cluster.Absent || task.Phase == cluster.Gated && !decided || v.Job(task.Job).Foreign || !class.Promises() {
			continue
		}
		p := &byRow[task.Class]
		p.Tasks++
		account := task.Account.At(c.now, task.Phase)
		if task.Phase == cluster.Gated { // it was taken back, and waits all the same
			account.Waiting += c.now - task.Account.Since
		}
		if account.Availability() < class.Availability {
			p.BrokenTheirs++
		}
		account.Running += c.sooner(t, task.Seq, &account)
		if account.Availability() < class.Availability {
			p.BrokenOurs++
		}
	}
	var all []Promise
	for row, p := range byRow {
		if class := &classes[row]; p.Tasks > 0 {
			p.Class, p.Target = class.Name, report.Ratio(float64(class.Availability), float64(cluster.Whole))
			all = append(all, p)
		}
	}
	return all
}

// sooner takes off what a task has not run for, as it would have begun sooner with us, and returns that.
func (c *Comparison) sooner(t cluster.TaskID, seq cluster.Seq, of *cluster.Account) cluster.Time {
	by := cluster.Time(0)
	if g := c.gained[t]; g.seq == seq {
		by = g.by
	}
	if w := c.of(t, seq); w != nil && w.stands(c.now) {
		by += c.now - w.out
	}
	by = min(by, of.Overhead+of.Waiting)
	starting := min(by, of.Overhead) // as a task does for which we have decided
	of.Overhead, of.Waiting = of.Overhead-starting, of.Waiting-(by-starting)
	return by
}
