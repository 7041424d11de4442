package dimacs_test

import (
	"fmt"
	"os"
	"strings"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/dimacs"
)

func Example() {
	problem, err := dimacs.Read(strings.NewReader("p min 2 1\nn 1 5\nn 2 -5\na 1 2 0 9 3\n"), "example.min")
	if err != nil {
		fmt.Println(err)
		return
	}
	solver := mcmf.NewSolver(problem.Graph)
	result := solver.Solve(mcmf.Options{Algorithm: mcmf.SuccessivePaths})
	fmt.Println(result.Status, result.Cost)

	changes := dimacs.NewChanges(strings.NewReader("a 1 2 0 2 1\nc EOI\n"), "example.changes", problem)
	made, err := changes.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	result = solver.Solve(mcmf.Options{Algorithm: mcmf.SuccessivePaths})
	fmt.Println(made, result.Status, result.Cost)
	if err := problem.WriteFlow(os.Stdout, result.Cost, solver.Flow); err != nil {
		fmt.Println(err)
	}
	// Output:
	// optimal 15
	// 1 optimal 11
	// s 11
	// f 1 2 3
	// f 1 2 2
}
