package schedtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is classes that come, change and go, in stories and in the hostile world.

// classOf reads a class and what it promises: silver/0.9, with the level of its size behind that: silver/0.9*2.
func classOf(word string, importance int) (cluster.Class, error) {
	class := cluster.Class{Importance: int32(importance)}
	word, size, sized := strings.Cut(word, "*")
	if class.Name = word; sized {
		level, err := strconv.ParseUint(size, 10, 8)
		if err != nil || level == 0 || level > uint64(cluster.Levels) {
			return class, fmt.Errorf("%s*%s, want a level of size behind the *, from 1 to %d", word, size, cluster.Levels)
		}
		class.Size = cluster.Level(level)
	}
	name, share, promises := strings.Cut(word, "/")
	if !promises {
		return class, nil
	}
	part, err := strconv.ParseFloat(share, 64)
	if err != nil || part <= 0 || part > 1 {
		return class, fmt.Errorf("%s, want a class and the share of its time that it is promised", word)
	}
	class.Name, class.Availability, class.Margin = name, cluster.Share(math.Round(float64(part*float64(cluster.Whole)))), 30*cluster.Second
	class.Budget = cluster.Whole - class.Availability
	return class, nil
}

// storyClasses are the classes of a story.
type storyClasses struct {
	first []cluster.Class // those it begins with
	names []string        // by row; empty where there is none
}

// add notes a class that is there from the beginning.
func (c *storyClasses) add(word string) error {
	class, err := classOf(word, len(c.names))
	c.first, c.names = append(c.first, class), append(c.names, class.Name)
	return err
}

// find is the row of the named class; of no name the first.
func (c *storyClasses) find(name string) (cluster.ClassID, error) {
	if name == "" {
		return 0, nil
	}
	row := slices.Index(c.names, name)
	if row < 0 {
		return 0, fmt.Errorf("there is no class %q", name)
	}
	return cluster.ClassID(row), nil
}

// event reads an event that defines a class, changes what it promises, or forgets it.
func (c *storyClasses) event(a *args) (cluster.Event, error) {
	word, err := a.name()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(word, "/")
	if a.of == "forget-class" {
		row, err := c.find(name)
		return cluster.ClassForgotten{Class: row}, err
	}
	row := slices.Index(c.names, name)
	if row < 0 {
		if row = slices.Index(c.names, ""); row < 0 {
			row, c.names = len(c.names), append(c.names, "")
		}
		c.names[row] = name
	}
	importance, err := a.integer("importance", int64(row))
	if err != nil {
		return nil, err
	}
	class, err := classOf(word, int(importance))
	return cluster.ClassDefined{Class: cluster.ClassID(row), Spec: class}, err
}

// spareClass is a class of the hostile world that comes and goes; no task has it.
const spareClass = cluster.ClassID(4)

// promiseAnew changes what a class of the hostile world promises, or whether the spare one is
// there. It draws by itself, so that all else happens as it does without it.
func promiseAnew(w *world) {
	chance := rand.New(rand.NewPCG(w.seed, uint64(w.fates)))
	if chance.IntN(20) > 0 {
		return
	}
	level := func() cluster.Level { return cluster.Level(chance.IntN(cluster.Levels + 1)) }
	class := cluster.Class{
		Name: "anew", Importance: chance.Int32N(5), Availability: cluster.Share(chance.Int64N(int64(cluster.Whole + 1))),
		Margin: cluster.Time(chance.Int64N(int64(10 * cluster.Second))), Restart: cluster.Second, Budget: cluster.Whole / 4,
		Urgency: level(), Tier: level(),
	}
	row := cluster.ClassID(chance.IntN(int(spareClass) + 1))
	w.post(0, func() cluster.Event {
		if row == spareClass && w.core.View().ClassLive(row) {
			w.count["class forgotten"]++
			return cluster.ClassForgotten{Class: row}
		}
		w.count["class changed"]++
		return cluster.ClassDefined{Class: row, Spec: class}
	}, nil)
}
