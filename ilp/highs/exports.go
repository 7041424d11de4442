//go:build !nohighs

package highs

// The functions of the module that are called here. Its build gave each a short
// name, another one with each version: these are those of the version in README.md,
// which says how to find them for a newer one.
const (
	initialise           = "v"
	allocate             = "uc" // malloc
	highsCreate          = "F"
	highsPassMip         = "V"
	highsSetSolution     = "Va"
	highsRun             = "N"
	highsGetModelStatus  = "Ga"
	highsGetSolution     = "Ea"
	highsSetBoolOption   = "ia"
	highsSetIntOption    = "ja"
	highsSetDoubleOption = "ka"
	highsSetStringOption = "la"
	highsGetIntInfo      = "Aa"
	highsGetDoubleInfo   = "Ba"
	highsVersion         = "H"
)
