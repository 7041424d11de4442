package page

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/report"
)

// Why tasks are pending at the end: a bar for each reason with the number of
// tasks, and a sentence about one of them.

// reasonsSection is the bars of all groups.
type reasonsSection struct {
	None, How string
	Blocks    []reasonsBlock
}

// reasonsBlock is the bars of one experiment.
type reasonsBlock struct {
	Name, Colour string
	Pending      string
	Bars         []reasonBar
	// Owners lists who waits, where somebody says whose the tasks are; those of one seed.
	Owners []ownerLine
	More   string // how many more lines there would be
	Same   string // the experiment above under which the same wait; Owners is empty then
}

// ownerLine is tasks of one owner that wait for the same reason.
type ownerLine struct{ Who, Why, Help string }

// mostOwners is how many lines are shown of a group.
const mostOwners = 100

// ownersOf lists who waits in the first run of a group.
func ownersOf(r *report.Run) (lines []ownerLine, more string) {
	for i := range r.Pending[:min(len(r.Pending), mostOwners)] {
		p := &r.Pending[i]
		who := report.Printable(p.Owner)
		if p.Tasks > 1 {
			who = wholeNumber(p.Tasks) + " of " + who
		} else if len(p.Names) == 1 {
			who = report.Printable(p.Names[0])
		}
		lines = append(lines, ownerLine{who, p.Why, p.Help})
	}
	if n := len(r.Pending) - mostOwners; n > 0 {
		more = wholeNumber(n)
	}
	return lines, more
}

// reasonBar is one reason.
type reasonBar struct {
	Code, Meaning string
	Tasks         string
	Width         string // of the longest bar of the section, in percent
	Example       string
}

// reasonsOf draws Run.Reasons and Run.Examples.
func reasonsOf(groups []report.Group) reasonsSection {
	s := reasonsSection{How: "Tasks that still waited at the end, by what kept them from running; each task is counted under one reason. Bars of all policies have one scale. The sentence is about one of these tasks."}
	longest := 0.0
	counts := make([]map[string]float64, len(groups))
	several := false
	for i, e := range groups {
		counts[i] = meanReasons(e.Runs)
		several = several || len(e.Runs) > 1
		for _, n := range counts[i] {
			longest = math.Max(longest, n)
		}
	}
	if several {
		s.How += " Numbers are means over the seeds."
	}
	if longest == 0 {
		s.None = "No task waited at the end of any run, or the reasons were not recorded."
		return s
	}
	for i, e := range groups {
		pending := 0.0
		for _, r := range e.Runs {
			pending += float64(r.Tasks.Pending) / float64(len(e.Runs))
		}
		colour, _ := policyColour(i)
		b := reasonsBlock{Name: e.Name, Colour: colour, Pending: wholeOrTenth(pending)}
		codes := slices.SortedFunc(maps.Keys(counts[i]), func(a, b string) int {
			return cmp.Or(cmp.Compare(counts[i][b], counts[i][a]), cmp.Compare(a, b))
		})
		for _, code := range codes {
			b.Bars = append(b.Bars, reasonBar{
				Code: code, Meaning: meaningOf(code), Tasks: wholeOrTenth(counts[i][code]),
				Width: percent(math.Max(counts[i][code]/longest, 0.002)), Example: exampleOf(e.Runs, code),
			})
		}
		b.Owners, b.More = ownersOf(&e.Runs[0])
		if len(b.Owners) > 0 {
			if at := slices.IndexFunc(s.Blocks, func(o reasonsBlock) bool { return slices.Equal(o.Owners, b.Owners) }); at >= 0 {
				b.Owners, b.More, b.Same = nil, "", s.Blocks[at].Name
			}
			for k := range b.Bars {
				b.Bars[k].Example = "" // they are all below
			}
		}
		s.Blocks = append(s.Blocks, b)
	}
	return s
}

// meanReasons returns the mean number of tasks by reason.
func meanReasons(runs []report.Run) map[string]float64 {
	mean := map[string]float64{}
	for _, r := range runs {
		for code, n := range r.Reasons {
			if n > 0 {
				mean[code] += float64(n)
			}
		}
	}
	for code := range mean {
		mean[code] /= float64(len(runs))
	}
	return mean
}

// exampleOf returns the first example of a reason.
func exampleOf(runs []report.Run, code string) string {
	for _, r := range runs {
		if text := r.Examples[code]; text != "" {
			return text
		}
	}
	return ""
}

// meaningOf says in a few words what a code of sched.Reason stands for; those
// without a word of their own are resource kinds.
func meaningOf(code string) string {
	switch code {
	case "taint":
		return "nodes with room have a taint that it does not tolerate"
	case "label":
		return "nodes with room lack a label that it asks for"
	case "cordon":
		return "nodes with room are cordoned"
	case "not ready":
		return "nodes with room are not ready"
	case "eligibility":
		return "its own rules admit no node with room"
	case "apart":
		return "may not share a node with another task of its job"
	case "constraint":
		return "most nodes would violate a hard constraint with it"
	case "application":
		return "a node has room for it; its application has no place as a whole"
	case "gang":
		return "a node has room for it; its gang has no place for as many as are to have one"
	case "turn":
		return "a node has room for it; its turn has not come"
	case "claimed":
		return "a node has room for it, and is kept for one that has waited longer"
	case "gated":
		return "not yet released for placement"
	}
	if strings.HasPrefix(code, "unplaceable") {
		return "no node would take it, even an empty one"
	}
	if strings.HasSuffix(code, "-pieces") {
		return "most nodes have enough of it, in pieces that are too small"
	}
	return "most nodes have too little of it left"
}

// wholeNumber prints n with commas.
func wholeNumber(n int) string { return thousands(strconv.Itoa(n)) }

// wholeOrTenth prints a mean of whole numbers.
func wholeOrTenth(x float64) string {
	if x == math.Trunc(x) || x >= 1000 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
