package book

import "fairlead.dev/fairlead/cluster"

// Users numbers the users of jobs, in the order in which they were first asked about. The zero value is
// empty and ready to use.
type Users struct {
	named map[string]int32
	jobs  []jobUser // by job row, as a look into it takes less than one into the map
}

// jobUser remembers the user of a job's row.
type jobUser struct {
	name string
	user int32 // one more than the number; 0 is not known
}

// Len is how many users there are.
func (u *Users) Len() int { return len(u.named) }

// Known is the number of the user of that name, if anybody asked about one.
func (u *Users) Known(name string) (number int32, ok bool) {
	number, ok = u.named[name]
	return number, ok
}

// Of is the number of the user whose job it is: Len of before, if it is a new one.
func (u *Users) Of(s *cluster.View, j cluster.JobID) int32 {
	u.jobs = Grown(u.jobs, j, jobUser{})
	name := s.Job(j).User
	if known := &u.jobs[j]; known.user > 0 && known.name == name {
		return known.user - 1
	}
	number, ok := u.named[name]
	if !ok {
		if u.named == nil {
			u.named = map[string]int32{}
		}
		number = int32(len(u.named))
		u.named[name] = number
	}
	u.jobs[j] = jobUser{name, number + 1}
	return number
}
