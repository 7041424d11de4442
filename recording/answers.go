package recording

// Answers is how far the solver of integer programs was asked in a round of a lane's policy. Its answers are the same on
// any machine, but that it was given up, as it was too slow for who waits, or crashed, no replay could know if
// nobody had written it down.
//
// It has one owner at a time: whoever runs the lane's round, then whoever finishes it.
type Answers struct {
	asked   int // models, in this round
	givenUp int // at so many-th of them; 0 if it was not
}

// Ask counts a model that is to be solved, and reports whether the solver is asked: not since it was given up, nor, in
// a replay, from where it is to be.
func (a *Answers) Ask() bool {
	a.asked++
	return a.givenUp == 0 || a.asked < a.givenUp
}

// GiveUp notes that the model that was asked last has no answer, and that none will have in this round.
func (a *Answers) GiveUp() {
	if a.givenUp == 0 {
		a.givenUp = max(a.asked, 1)
	}
}

// Take returns at which model the solver was given up, 0 if it was not, and begins anew.
func (a *Answers) Take() int {
	at := a.givenUp
	*a = Answers{}
	return at
}
