package sim

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file writes what users owe, item by item: the economic model of the SLA paper. A
// user has a line for each class of its tasks and one for all of them, and the last line
// is for all users. Amounts are sums of what single tasks owe, each a whole number of
// millionths, so that lines add up to the last digit, and to the revenue and the
// penalties of the result.

// InvoicesHeader names the columns of Output.Invoices. A line is of a class of a user, of
// a user or of all. The charge is units (units × time) + copies + urgency + tier, and the
// total is that without the credits.
const InvoicesHeader = "line,user,class,tasks,credited,unit_hours,mean_units,units,copies,urgency,tier,credits,total"

// invoices is what users owe so far; nil where nobody asked.
type invoices map[invoiceKey]*invoice

// invoiceKey is whose invoice it is, and for which class.
type invoiceKey struct {
	user    string
	service cluster.ClassID
}

// invoice is a line.
type invoice struct {
	class.Charge
	credits         class.Money
	used            wide.Number // quantities × µs
	tasks, credited int
	worked          int         // tasks that did
	cores           wide.Number // quantities, the mean of each of these
}

// add takes up what a task owes.
func (v invoices) add(t *task, charge class.Charge, credit class.Money) {
	if v == nil {
		return
	}
	key := invoiceKey{t.job.user, t.service}
	line := v[key]
	if line == nil {
		line = &invoice{}
		v[key] = line
	}
	one := invoice{Charge: charge, credits: credit, used: t.usage.used, tasks: 1}
	if credit > 0 {
		one.credited = 1
	}
	if t.usage.worked > 0 {
		one.worked, one.cores = 1, t.usage.mean()
	}
	line.plus(&one)
}

func (i *invoice) plus(o *invoice) {
	i.Units = i.Units.Plus(o.Units)
	i.Copies = i.Copies.Plus(o.Copies)
	i.Urgency = i.Urgency.Plus(o.Urgency)
	i.Tier = i.Tier.Plus(o.Tier)
	i.credits = i.credits.Plus(o.credits)
	i.used = i.used.Plus(o.used)
	i.tasks += o.tasks
	i.credited += o.credited
	i.worked += o.worked
	i.cores = i.cores.Plus(o.cores)
}

// write prints the lines by user and class.
func (v invoices) write(w io.Writer, table *class.Table, perUnit int64) error {
	to := bufio.NewWriterSize(w, 1<<16)
	if _, err := to.WriteString(InvoicesHeader + "\n"); err != nil {
		return err
	}
	var text []byte
	keys := slices.SortedFunc(maps.Keys(v), func(a, b invoiceKey) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.service, b.service))
	})
	var user, all invoice
	for n, key := range keys {
		line := v[key]
		text = line.append(text, [3]string{"class", key.user, table.Classes[key.service].Name}, perUnit)
		user.plus(line)
		if n+1 < len(keys) && keys[n+1].user == key.user {
			continue
		}
		text = user.append(text, [3]string{"user", key.user}, perUnit)
		all.plus(&user)
		user = invoice{}
		if _, err := to.Write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	if _, err := to.Write(all.append(text, [3]string{"all"}, perUnit)); err != nil {
		return err
	}
	return to.Flush()
}

// append prints a line behind its names.
func (i *invoice) append(text []byte, names [3]string, perUnit int64) []byte {
	for _, name := range names {
		text = append(appendField(text, name), ',')
	}
	mean := report.Ratio(i.cores.Float(), float64(float64(i.worked)*float64(max(perUnit, 1))))
	return fmt.Appendf(text, "%d,%d,%v,%.6f,%v,%v,%v,%v,%v,%v\n", i.tasks, i.credited, class.UnitHours(i.used, perUnit), float64(mean),
		i.Units, i.Copies, i.Urgency, i.Tier, i.credits, i.Sum()-i.credits)
}
