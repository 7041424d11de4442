package class

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/promethee"
)

// This file writes a table so that Decode reads the same, with what each field means. What
// follows from the other fields is left out: who takes the text to change an availability
// changes the budget and the price with it.

// explained is what stands above the table.
const explained = `# Classes: what is promised to whom. A task has the class that it names, or else the
# first whose priority it reaches; the last class takes all others. Fields of a class:
#
#   name             letters, digits, - and _
#   priority         the least priority of its tasks; omitted: for those alone that name
#                    it, or of the last class: for all others
#   importance       the smallest number matters most; omitted: the place in the list
#
# For policies by availability, such as qos:
#   availability     share of its time that a task is to run, such as 0.9 or 90%;
#                    omitted: nothing is promised
#   margin           how long before a violation a task is critical, such as 30s
#   restart          how long it takes on average to begin anew; counts on top of margin
#   overhead_budget  share of its time that a task may have spent on beginning anew and
#                    still be evicted; omitted: 1 - availability; 0: it never is
#   evicted          what becomes of what a task had done when it is evicted: lost or
#                    kept; omitted: lost
#
# For all policies:
#   least_run        a run is not evicted before it has lasted so long, as spot capacity
#                    with a promised duration; omitted: at any time
#
# For policies by level, such as sla: premium (3), advanced (2) or best-effort (1).
#   urgency          its place in the queue
#   tier             which nodes it may use: high (3), average (2) or low (1); omitted: any
#   size             how much of a node it gets; omitted: what it asks for
#   redundancy       what it is worth to have copies
#   replicas         how many copies run at once, each on a node of its own
#
# For invoices: what a unit costs an hour, and shares on top of that for urgency, tier
# and each further copy; omitted: 1 times the availability, a quarter for each level of
# urgency and of tier above the lowest, and all for a copy.
#   price            {unit_hour: 1, urgency: 25%, tier: 25%, copy: 100%}
#
# For all classes:
#   restart          of classes that have none of their own
#   weights          equal, safc, or how much each of urgency, tier, size and redundancy
#                    counts in the order of the queue: a number, or
#                    {weight: 2, function: linear, indifference: 0, preference: 2}
#   priced           the kind that prices are for; omitted: the first
#   credits          what is given back of the price, by the share of the promise that
#                    was attained; the last row is for all
`

// Encode writes the table with comments.
func (t *Table) Encode() []byte { return append([]byte(explained), t.plain()...) }

// Title is what results call the table that was loaded by a name: the preset that says the
// same, or else the name and a hash of what the table says, as files change and keep theirs.
func (t *Table) Title(name string) string {
	text := t.plain()
	for _, p := range Presets() {
		if bytes.Equal(text, p.Table().plain()) {
			return p.Name
		}
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s#%x", name, sum[:4])
}

// plain is the table without comments.
func (t *Table) plain() []byte {
	b := &bytes.Buffer{}
	b.WriteString("classes:\n")
	for i := range t.Classes {
		t.encode(b, i)
	}
	encodeWeights(b, t.Criteria)
	if t.Priced != "" {
		fmt.Fprintf(b, "priced: %s\n", quoted(t.Priced))
	}
	if len(t.Credits) == 0 {
		b.WriteString("credits: []\n")
		return b.Bytes()
	}
	b.WriteString("credits:\n")
	for _, c := range t.Credits {
		fmt.Fprintf(b, "  - {attained: %v, back: %v}\n", c.Attained, c.Back)
	}
	return b.Bytes()
}

// encode writes a row.
func (t *Table) encode(b *bytes.Buffer, i int) {
	c := &t.Classes[i]
	begin := "  - "
	line := func(name, text string) {
		fmt.Fprintf(b, "%s%s: %s\n", begin, name, text)
		begin = "    "
	}
	line("name", quoted(c.Name))
	if last := i == len(t.Classes)-1; c.From != NoPriority && (!last || c.From != math.MinInt32) {
		line("priority", strconv.Itoa(int(c.From)))
	}
	line("importance", strconv.Itoa(int(c.Importance)))
	if c.Promises() {
		line("availability", c.Availability.String())
		line("margin", formatTime(c.Margin))
		line("restart", formatTime(c.Restart))
		if c.Budget != budgetOf(&c.Class) {
			line("overhead_budget", c.Budget.String())
		}
	}
	if c.KeepsWork {
		line("evicted", "kept")
	}
	if c.LeastRun > 0 {
		line("least_run", formatTime(c.LeastRun))
	}
	level := func(name string, l cluster.Level, names []string) {
		if l > 0 {
			line(name, names[l-1])
		}
	}
	level("urgency", c.Urgency, Levels())
	level("tier", c.Tier, Tiers())
	level("size", c.Size, Levels())
	level("redundancy", c.Redundancy, Levels())
	if c.Replicas > 0 {
		line("replicas", strconv.Itoa(int(c.Replicas)))
	}
	if p := &c.Price; *p != PriceOf(&c.Class) {
		line("price", fmt.Sprintf("{unit_hour: %v, urgency: %v, tier: %v, copy: %v}", cluster.Share(p.UnitHour), p.Urgency, p.Tier, p.Copy))
	}
}

// budgetOf is the budget of overhead of a class with an availability that says none.
func budgetOf(c *cluster.Class) cluster.Share { return cluster.Whole - c.Availability }

func encodeWeights(b *bytes.Buffer, criteria []promethee.Criterion) {
	if criteria == nil {
		b.WriteString("weights: equal\n")
		return
	}
	b.WriteString("weights:\n")
	for i, c := range criteria {
		text := strconv.FormatFloat(c.Weight, 'g', -1, 64)
		if c != (promethee.Criterion{Weight: c.Weight}) {
			text = fmt.Sprintf("{weight: %s, function: %v, indifference: %d, preference: %d}", text, c.Function, c.Indifference, c.Preference)
		}
		fmt.Fprintf(b, "  %s: %s\n", Criteria()[i], text)
	}
}

// quoted is a text as YAML takes it: as it is where it can be nothing else.
func quoted(text string) string {
	if strings.Trim(text, letters+"-_") == "" && text != "" && strings.ContainsAny(text[:1], letters[:52]) {
		switch strings.ToLower(text) {
		case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		default:
			return text
		}
	}
	return strconv.Quote(text)
}
