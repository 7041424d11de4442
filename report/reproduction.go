package report

// This file is what an experiment of a paper gives when it is run again: the
// data of its figures, and what was published beside what was measured.

// Reproduction is an experiment of a paper that was run again. The runs that it
// is made of stand beside it in Results.
type Reproduction struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Paper string `json:"paper"`
	// Quick says that it ran at a small size, whose numbers are not those of the
	// paper.
	Quick bool `json:"quick,omitempty"`
	// Data says what it ran on: a real trace or a generator, and the seeds. Real
	// says which.
	Data string `json:"data"`
	Real bool   `json:"real"`
	// Facts are sentences about what else decides the numbers.
	Facts    []string   `json:"facts,omitempty"`
	Compared []Compared `json:"compared,omitempty"`
	// Goals are targets that are no paper's, and Variants what parts of a policy are worth.
	Goals    []Goal    `json:"goals,omitempty"`
	Variants *Variants `json:"variants,omitempty"`
	Figures  []Figure  `json:"figures"`
}

// Compared is a number that was published, and ours. Either may be missing: what
// the paper does not say, and what our runs did not reach.
type Compared struct {
	What      string  `json:"what"`
	Unit      Unit    `json:"unit"`
	Published *Number `json:"published,omitempty"`
	Ours      *Number `json:"ours,omitempty"`
	// Note says what keeps the two apart, where it is more than chance.
	Note string `json:"note,omitempty"`
}

// Figure is the data of a chart of lines.
type Figure struct {
	Title string `json:"title"`
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	// Cumulative says that y is the share of the samples that are at most x.
	Cumulative bool   `json:"cumulative,omitempty"`
	Lines      []Line `json:"lines"`
}

// Axis says what is along it. Log says that equal ratios are equally long; its
// values are positive.
type Axis struct {
	Label string `json:"label"`
	Unit  Unit   `json:"unit"`
	Log   bool   `json:"log,omitempty"`
}

// Line is points of x and y, x rising.
type Line struct {
	Name   string      `json:"name"`
	Points [][2]Number `json:"points"`
}

// At returns y where the line has a point at x.
func (l *Line) At(x Number) (Number, bool) {
	for _, p := range l.Points {
		if p[0] == x {
			return p[1], true
		}
	}
	return 0, false
}

// Quantile is the smallest x that so large a share of the samples does not
// exceed, of a line that is cumulative.
func (l *Line) Quantile(share Number) (Number, bool) {
	for _, p := range l.Points {
		if p[1] >= share {
			return p[0], true
		}
	}
	return 0, false
}
