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
	}
}

// Choose has the setup say what was chosen about the policy, by the names of options.
func Choose(s *Setup, chosen map[string]string) {
	s.TieBreak, s.Solver = chosen["tie_break"], chosen["solver"]
	migrations, _ := strconv.Atoi(chosen["migrations"])
	s.Migrations = Number(migrations)
}
