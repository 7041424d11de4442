package workload

import (
	"cmp"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/kmeans"
	"fairlead.dev/fairlead/sim/trace"
)

// A smaller workload that is made of whole users of a larger one, as in QoS-driven
// scheduling (JISA 2020, §5): users are divided into groups that behave alike, and of
// each group some are taken, with all of their requests. So the workload is read twice,
// once to know the users and once to let those who were chosen pass; no task is kept.
//
// The paper says what users are compared by, and that there are six groups, found by
// k-means. It does not say how the four numbers are made comparable. They reach over many
// orders of magnitude, so we take their logarithms, and divide by how far these spread;
// and a group of which the share is no whole number gives one user more, so that none is
// left out, as users who are alike to nobody else have groups of their own.

// User is what is known of a user of a workload. What varies, varies over requests.
type User struct {
	Name     string
	Requests int
	// Demand is the variance of the demand for each kind, in squares of thousandths of
	// its unit.
	Demand []float64
	// Duration is the variance of how long requests take, in squares of minutes.
	Duration float64
}

// Users reads src until a time and describes whoever submits tasks, in the order of their
// names. What runs beyond that time takes until then.
func Users(src trace.Source, until cluster.Time) ([]User, error) {
	kinds := src.Kinds()
	seen := map[string]*userTally{}
	err := eachTask(src, until, func(at cluster.Time, t *trace.Task) {
		u := seen[t.User]
		if u == nil {
			u = &userTally{demand: make([]spread, len(kinds))}
			seen[strings.Clone(t.User)] = u
		}
		u.requests++
		for k, v := range t.Demand {
			u.demand[k].add(1000 * float64(v) / float64(kinds[k].PerUnit))
		}
		u.duration.add(float64(min(t.Work, until-at)) / float64(cluster.Minute))
	})
	if err != nil {
		return nil, err
	}
	users := make([]User, 0, len(seen))
	for name, u := range seen {
		user := User{Name: name, Requests: u.requests, Duration: u.duration.variance()}
		for _, d := range u.demand {
			user.Demand = append(user.Demand, d.variance())
		}
		users = append(users, user)
	}
	slices.SortFunc(users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	return users, nil
}

// userTally is what has been seen of a user.
type userTally struct {
	requests int
	demand   []spread
	duration spread
}

// spread is the mean and the squared distances from it of values that are seen one by one
// (Welford 1962).
type spread struct{ n, mean, squares float64 }

func (s *spread) add(v float64) {
	s.n++
	before := v - s.mean
	s.mean += before / s.n
	s.squares += float64(before * (v - s.mean))
}

func (s *spread) variance() float64 {
	if s.n == 0 {
		return 0
	}
	return s.squares / s.n
}

// eachTask calls see for every task that src submits until a time.
func eachTask(src trace.Source, until cluster.Time, see func(cluster.Time, *trace.Task)) error {
	var r trace.Record
	for {
		switch err := src.Next(&r); {
		case errors.Is(err, io.EOF) || err == nil && r.Time > until:
			return nil
		case err != nil:
			return err
		case r.What == trace.TaskSubmitted:
			see(r.Time, &r.Task)
		}
	}
}

// UserSample says which users of a workload are taken.
type UserSample struct {
	Groups int     // of users who are alike
	Share  float64 // of the users of each group that are taken
	Seed   uint64  // chooses one of the samples
}

// The numbers of the paper.
const (
	userGroups = 6
	userShare  = 0.1
)

// PublishedSample is a tenth of the users of each of six groups.
func PublishedSample(seed uint64) UserSample {
	return UserSample{Groups: userGroups, Share: userShare, Seed: seed}
}

// groupTries is how often users are divided; the best division is taken.
const groupTries = 50

// GroupUsers divides users into so many groups of users who are alike. It returns the
// group of each; the groups are the same for all samples.
func GroupUsers(users []User, groups int) []int {
	points := make([][]float64, len(users))
	for i := range users {
		u := &users[i]
		points[i] = append(points[i], octaves(float64(u.Requests)), octaves(u.Duration))
		for _, v := range u.Demand {
			points[i] = append(points[i], octaves(v))
		}
	}
	standardise(points)
	group, _ := kmeans.Divide(points, groups, groupTries, rand.New(rand.NewPCG(0, groupStream)))
	return group
}

// Streams of chance beside those of the generator.
const (
	groupStream = iota + 100
	userStream
	hostStream
)

// standardise gives each dimension the mean 0 and the variance 1, unless all are alike.
func standardise(points [][]float64) {
	if len(points) == 0 {
		return
	}
	for k := range points[0] {
		var s spread
		for _, p := range points {
			s.add(p[k])
		}
		width := math.Sqrt(s.variance())
		for _, p := range points {
			p[k] -= s.mean
			if width > 0 {
				p[k] /= width
			}
		}
	}
}

// octaves is the logarithm of 1+v to the base 2, with straight lines between powers of
// two: unlike a logarithm it is the same on every machine.
func octaves(v float64) float64 {
	fraction, exponent := math.Frexp(1 + v)
	return float64(exponent) + 2*fraction - 2
}

// Choose returns the names of the users that are taken, in order.
func (s UserSample) Choose(users []User) []string {
	members := make([][]string, s.Groups)
	for i, g := range GroupUsers(users, s.Groups) {
		members[g] = append(members[g], users[i].Name)
	}
	chance := rand.New(rand.NewPCG(s.Seed, userStream))
	var chosen []string
	for _, names := range members {
		chance.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		// A share of 0.1 of 30 is 3, and not a little more.
		chosen = append(chosen, names[:int(math.Ceil(float64(s.Share*float64(len(names)))-1e-9))]...)
	}
	slices.Sort(chosen)
	return chosen
}

// OfUsers lets the tasks of these users pass, and all that is said of nodes. That a task
// was killed passes whoever's it is: where there is no such task, nothing comes of it.
func OfUsers(src trace.Source, names []string) trace.Source {
	chosen := make(map[string]bool, len(names))
	for _, name := range names {
		chosen[name] = true
	}
	return &ofUsers{Source: src, chosen: chosen}
}

type ofUsers struct {
	trace.Source
	chosen map[string]bool
}

// Next fills in the next record that passes.
func (o *ofUsers) Next(r *trace.Record) error {
	for {
		err := o.Source.Next(r)
		if err != nil || r.What != trace.TaskSubmitted || o.chosen[r.Task.User] {
			return err
		}
	}
}
