package cluster

import "fmt"

// The runs of a job may have to leave all at once, or not at all (DisruptTogether). To lose one is to lose all of them, as of a computation that goes on
// only together. It is a rule of what evicts: no bundle tells some of them to leave and leaves others. Nothing follows from what the world does:
// who ends, fails or stays although it was told to leave does so alone. None of them is ever moved by itself.

// DisruptedTogether are the runs of the job that leave if one of them is evicted, in the order of submission: those that take room and do not leave
// yet; none where they may leave one by one. It is false where one of them cannot leave now.
func DisruptedTogether(v *View, j JobID) (runs []TaskID, may bool) {
	if v.job[j].Disruption != DisruptTogether {
		return nil, false
	}
	may = true
	for _, t := range v.job[j].members {
		if task := &v.task[t]; task.Phase >= Reserved && task.Phase != Leaving {
			runs = append(runs, t)
			may = may && (task.Phase == Reserved || !leaves(v, t).Refused())
		}
	}
	return runs, may
}

// checkDisruption refuses what says nothing.
func checkDisruption(j JobID, d Disruption) error {
	if d >= disruptions {
		return fmt.Errorf("job row %d: runs are evicted in way %d, of which there is none", j, d)
	}
	return nil
}
