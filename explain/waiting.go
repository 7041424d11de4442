package explain

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file answers why tasks wait, and what one more node would be worth to them.

// waiting lists why tasks wait, what most of them wait for first.
func (m *Moment) waiting() []Group {
	s := m.core.View()
	type likeness struct {
		shape cluster.ShapeID
		job   cluster.JobID // of tasks of which a node may hold only so many, or that are a gang
		gated bool
	}
	type why struct{ code, sentence, help string }
	type reason struct {
		lane  int
		shape cluster.ShapeID
		owner string
		why
	}
	whys, at := map[likeness]why{}, map[reason]int{}
	var list []Group
	for row := range s.TaskRows() {
		t := cluster.TaskID(row)
		lane, ours := m.lane(t)
		task := s.Task(t)
		if !ours || task.Phase != cluster.Waiting && task.Phase != cluster.Gated {
			continue
		}
		key := likeness{task.Shape, 0, task.Phase == cluster.Gated}
		if s.Shape(task.Shape).PerNode > 0 || s.Job(task.Job).Together || cluster.IsGang(s, task.Job) {
			key.job = task.Job + 1
		}
		of, asked := whys[key]
		if !asked {
			r := m.core.Why(t)
			of = why{r.Code(s.Kinds()), r.Sentence(s.Kinds()), r.Help(s.Kinds())}
			whys[key] = of
		}
		if key.gated && m.who.Gates != nil && m.who.Gates[t] != "" {
			of.sentence = m.who.Gates[t]
		}
		group := reason{lane, task.Shape, m.owner(t), of}
		i, known := at[group]
		if !known {
			i = len(list)
			at[group] = i
			list = append(list, Group{
				Owner: group.owner, Example: m.name(t), Policy: m.lanes[lane].Policy, Needs: m.amounts(s.Demand(t)),
				Code: of.code, Why: of.sentence, Help: of.help,
			})
		}
		list[i].Tasks++
		list[i].Names = append(list[i].Names, m.name(t))
	}
	slices.SortStableFunc(list, func(a, b Group) int { return cmp.Compare(b.Tasks, a.Tasks) })
	return list
}

// worth adds what one more node is worth to each policy, or for how many tasks it has room where prices do not
// say that.
func (m *Moment) worth(answer *Answer) error {
	for i, lane := range m.lanes {
		p, priced := lane.Fresh.(Pricer)
		if !priced {
			answer.Worth = append(answer.Worth, m.oneMore(i)...)
			continue
		}
		worth, err := p.Worth(m.core.View(), m.core.Everything(i))
		if err != nil {
			return err
		}
		for _, w := range worth {
			answer.Worth = append(answer.Worth, Worth{
				Policy: lane.Policy, Like: m.node(w.Like), Nodes: w.Nodes, Capacity: m.amounts(m.core.View().Limit(w.Like)),
				Tasks: w.Tasks, Least: &w.Least, Most: &w.Most,
			})
		}
	}
	return nil
}
