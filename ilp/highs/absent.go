//go:build nohighs

package highs

import (
	"context"

	"fairlead.dev/fairlead/ilp"
)

// program stands for the compiled module, which is not there.
type program struct{}

func compile(Options, string) (*program, error) { return nil, ErrLeftOut }

func cacheFolder(string) string { return "" }

func (*program) solve(context.Context, request) (answer, error) {
	return answer{limit: ilp.None}, ErrLeftOut
}
