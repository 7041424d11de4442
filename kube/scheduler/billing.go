package scheduler

import (
	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/world"
)

// This file says in an account what its replicas have cost, and what of that is given back, by the prices and credits of their classes as they are now. Nobody is charged.

// bill writes that into the status; nothing where nothing is owed.
func bill(s *Scheduler, standing *world.Standing, status *v1alpha1.WorkloadAccountStatus) {
	var charge, credit class.Money
	for i := range standing.Replicas {
		r := &standing.Replicas[i]
		owes, back := s.promises.taken.Bill(r.Class, r.Account, r.Millicores)
		charge, credit = charge.Plus(owes), credit.Plus(back)
	}
	if charge > 0 || credit > 0 {
		status.Charge, status.Credit = charge.String(), credit.String()
	}
}
