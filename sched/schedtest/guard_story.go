package schedtest

import "fairlead.dev/fairlead/cluster"

// guardEvents are of a budget that guards runs: how many it can spare, or which tasks have runs that it guards, and no other does.
func guardEvents(s *story, a *args, events []cluster.Event) ([]cluster.Event, error) {
	row, err := a.integer("row", 0)
	if err != nil {
		return nil, err
	}
	if a.of == "budget" {
		spare, err := a.integer("spare", 0)
		return append(events, cluster.BudgetChanged{Budget: cluster.BudgetID(row), Spare: int32(spare)}), err
	}
	name, err := a.name()
	for ; err == nil && name != ""; name, _ = a.word() {
		task, err := s.live(name)
		if err != nil {
			return nil, err
		}
		events = append(events, cluster.TaskGuarded{Task: task.row, Attempt: s.core.View().Task(task.row).Attempt, Budgets: []cluster.BudgetID{cluster.BudgetID(row)}})
	}
	return events, err
}
