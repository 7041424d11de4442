package schedtest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fairlead/cluster"
)

// args are the arguments of a command or of an event. Each is taken out when
// it is read; what is left at the end is unknown.
type args struct {
	of   string
	list []datadriven.CmdArg
}

// parseLine reads a line of a command's input.
func parseLine(line string) (*args, error) {
	name, list, err := datadriven.ParseLine(line)
	if err != nil {
		return nil, err
	}
	return &args{of: name, list: list}, nil
}

// word takes the first argument that has no value.
func (a *args) word() (string, bool) {
	for i, arg := range a.list {
		if arg.Vals == nil {
			a.list = append(a.list[:i:i], a.list[i+1:]...)
			return arg.Key, true
		}
	}
	return "", false
}

// name takes the first argument that has no value, which must be there.
func (a *args) name() (string, error) {
	if word, ok := a.word(); ok {
		return word, nil
	}
	return "", fmt.Errorf("%s: of what?", a.of)
}

// flag takes the argument of that name if it is there.
func (a *args) flag(key string) bool {
	for i, arg := range a.list {
		if arg.Key == key && arg.Vals == nil {
			a.list = append(a.list[:i:i], a.list[i+1:]...)
			return true
		}
	}
	return false
}

// values takes the values of the argument; nil if it is not there.
func (a *args) values(key string) []string {
	for i, arg := range a.list {
		if arg.Key == key && arg.Vals != nil {
			a.list = append(a.list[:i:i], a.list[i+1:]...)
			return arg.Vals
		}
	}
	return nil
}

// value takes the argument's only value; empty if it is not there.
func (a *args) value(key string) string { return strings.Join(a.values(key), ",") }

// integer takes a number, or the given one if the argument is not there.
func (a *args) integer(key string, otherwise int64) (int64, error) {
	text := a.value(key)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s=%s is no integer", a.of, key, text)
	}
	return n, nil
}

// perNode takes how many tasks of a job a node may hold: per-node=N, or apart,
// which is 1.
func (a *args) perNode() (int32, error) {
	if a.flag("apart") {
		return 1, nil
	}
	n, err := a.integer("per-node", 0)
	return int32(n), err
}

// wish is nodes on which tasks would rather be, or rather not.
type wish struct {
	requirement string
	weight      int32
}

// wishes takes the nodes that are preferred: prefer=(WEIGHT:KEY=VALUE,…).
func (a *args) wishes() (list []wish, err error) {
	for _, text := range a.values("prefer") {
		number, requirement, _ := strings.Cut(text, ":")
		weight, err := strconv.ParseInt(number, 10, 32)
		if err != nil || requirement == "" {
			return nil, fmt.Errorf("%s: prefer=%s, want WEIGHT:KEY=VALUE", a.of, text)
		}
		list = append(list, wish{requirement, int32(weight)})
	}
	return list, nil
}

// moment takes a time: "90s", "1m30s", or a number of seconds.
func (a *args) moment(key string, otherwise cluster.Time) (cluster.Time, error) {
	text := a.value(key)
	if text == "" {
		return otherwise, nil
	}
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return cluster.Time(seconds) * cluster.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %s=%s is no time", a.of, key, text)
	}
	return cluster.Time(d.Microseconds()), nil
}

// quantities takes an amount for each kind that is named, and leaves the
// others as they are.
func (a *args) quantities(kinds []cluster.Kind, v cluster.Vector) error {
	for k, kind := range kinds {
		q, err := a.integer(kind.Name, v[k])
		if err != nil {
			return err
		}
		v[k] = q
	}
	return nil
}

// ranges takes an amount or a range, such as 2..6, for each kind that is named, and
// leaves the others as they are.
func (a *args) ranges(kinds []cluster.Kind, spec *cluster.Shape) error {
	most := slices.Clone(spec.Max)
	if most == nil {
		most = slices.Clone(spec.Demand)
	}
	for k, kind := range kinds {
		text := a.value(kind.Name)
		if text == "" {
			continue
		}
		low, high, ranges := strings.Cut(text, "..")
		if !ranges {
			high = low
		}
		var wrong, worse error
		spec.Demand[k], wrong = strconv.ParseInt(low, 10, 64)
		most[k], worse = strconv.ParseInt(high, 10, 64)
		if wrong != nil || worse != nil {
			return fmt.Errorf("%s: %s=%s is no integer and no range such as 2..6", a.of, kind.Name, text)
		}
	}
	spec.Max = nil
	if !slices.Equal(most, spec.Demand) {
		spec.Max = most
	}
	return nil
}

// factors takes kind:factor pairs, in thousandths; nil if there are none.
func (a *args) factors(key string, kinds []cluster.Kind) (cluster.Vector, error) {
	texts := a.values(key)
	if texts == nil {
		return nil, nil
	}
	v := make(cluster.Vector, len(kinds))
	for k := range v {
		v[k] = 1000
	}
	for _, text := range texts {
		name, factor, _ := strings.Cut(text, ":")
		f, err := strconv.ParseFloat(factor, 64)
		k := kindNamed(kinds, name)
		if err != nil || k < 0 {
			return nil, fmt.Errorf("%s: %s=%s, want kind:factor", a.of, key, text)
		}
		v[k] = int64(math.Round(f * 1000))
	}
	return v, nil
}

func kindNamed(kinds []cluster.Kind, name string) int {
	for k := range kinds {
		if kinds[k].Name == name {
			return k
		}
	}
	return -1
}

// labels takes key:value pairs; nil if there are none.
func (a *args) labels(key string) ([]cluster.Label, error) {
	var labels []cluster.Label
	for _, text := range a.values(key) {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%s: %s=%s, want key:value", a.of, key, text)
		}
		labels = append(labels, cluster.Label{Key: name, Value: value})
	}
	cluster.SortLabels(labels)
	return labels, nil
}

// done returns an error if an argument was not taken.
func (a *args) done() error {
	if len(a.list) == 0 {
		return nil
	}
	return fmt.Errorf("%s: unknown argument %s", a.of, a.list[0].String())
}
