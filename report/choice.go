package report

import "strconv"

// This file is what people may choose about policies, as results have it: a field of Chosen, and a row of
// Choices, from which columns, names of experiments and pages take it.

// Chosen is what was chosen about a policy, each by its option's name.
type Chosen struct {
	TieBreak string `json:"tie_break,omitempty"`
	// Solver is what solved the flow of a policy that has one, and Migrations
	// how many running tasks a round might move; empty and 0 are the default.
	Solver     string `json:"solver,omitempty"`
	Migrations Number `json:"migrations,omitempty"`
	// Lifetimes is who said how long tasks would run, of a policy that asks.
	Lifetimes string `json:"lifetimes,omitempty"`
}

// Choice is an option of policies in results.
type Choice struct {
	Name    string // of the option
	Caption string // for people
	Value   func(*Chosen) string
	// column and name are what columns and names of experiments say where the value is empty.
	column, name string
}

// Choices are those that results know, in order.
func Choices() []Choice {
	return []Choice{
		{"tie_break", "Ties between nodes", func(c *Chosen) string { return c.TieBreak }, "", "none"},
		{"solver", "Solver of the flow", func(c *Chosen) string { return c.Solver }, "automatic", "none"},
		{"migrations", "Moves a round", func(c *Chosen) string {
			if c.Migrations == 0 {
				return ""
			}
			return strconv.Itoa(int(c.Migrations))
		}, "0", "0"},
		{"lifetimes", "Lifetimes", func(c *Chosen) string { return c.Lifetimes }, "", "none"},
	}
}

// Choose has the setup say what was chosen about the policy, by the names of options.
func Choose(s *Setup, chosen map[string]string) {
	s.TieBreak, s.Solver, s.Lifetimes = chosen["tie_break"], chosen["solver"], chosen["lifetimes"]
	migrations, _ := strconv.Atoi(chosen["migrations"])
	s.Migrations = Number(migrations)
}
