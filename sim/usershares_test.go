package sim

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// slowGap looks at all tasks of all users, and counts the users with tasks that wait.
func slowGap(tasks []stance, users int, of cluster.Vector) (gap float64, waiting int) {
	most, least := 0.0, 1.0
	for user := range int32(users) {
		share, waits := 0.0, false
		for k := range of {
			held := int64(0)
			for i := range tasks {
				if tasks[i].user == user && tasks[i].holds != nil {
					held += tasks[i].holds[k]
				}
			}
			if of[k] > 0 {
				share = max(share, float64(held)/float64(of[k]))
			}
		}
		for i := range tasks {
			waits = waits || tasks[i].user == user && tasks[i].waits != nil
		}
		most = max(most, share)
		if waits {
			least = min(least, share)
			waiting++
		}
	}
	return max(most-least, 0), waiting
}

// TestGapOfManyUsers compares the gap with what all tasks say, while tasks of up to 40 users wait, run and end, and nodes come and go.
func TestGapOfManyUsers(t *testing.T) {
	waited := 0
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 5))
		var u userShares
		users, of := 2+dice.IntN(39), cluster.Vector{100, 0}
		tasks := make([]stance, 3*users)
		for i := range tasks {
			tasks[i].user = u.number(strconv.Itoa(dice.IntN(users)))
		}
		users = len(u.users) // perhaps not all of them have tasks
		for step := range 400 {
			if step%50 == 49 {
				of = cluster.Vector{50 + dice.Int64N(100), dice.Int64N(3) * 60}
			}
			task := &tasks[dice.IntN(len(tasks))]
			var waits, holds cluster.Vector
			switch dice.IntN(4) {
			case 0:
				waits = cluster.Vector{1, 1}
			case 1, 2:
				holds = cluster.Vector{dice.Int64N(9), dice.Int64N(9)}
			}
			u.stand(task, waits != nil, holds)
			task.waits, task.holds = waits, holds
			want, waiting := slowGap(tasks, users, of)
			if u.waiting != waiting {
				t.Fatalf("seed %d, step %d: %d users have tasks that wait, want %d", seed, step, u.waiting, waiting)
			}
			if waiting == 0 || dice.IntN(3) == 0 { // then nobody asks for it
				continue
			}
			waited++
			if got := u.reckon(of); got != want {
				t.Fatalf("seed %d, step %d: the gap is %v, want %v", seed, step, got, want)
			}
		}
	}
	if waited < 2000 {
		t.Errorf("somebody waited in %d of 8,000 steps", waited)
	}
}
