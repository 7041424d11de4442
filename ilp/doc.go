// Package ilp states mixed-integer linear programs as data, says what a solver
// answers, and checks answers without any solver. It solves nothing itself:
// package ilp/highs does, at the edge.
//
// # A model
//
// A [Model] has columns, which are the unknowns, and rows, which are sums over
// them:
//
//	minimise    Σ cost·x
//	where       lower ≤ x ≤ upper         of each column, some of them whole numbers
//	and         lower ≤ Σ value·x ≤ upper of each row
//
// Bounds may be infinite; a row whose bounds are equal is an equation. Columns
// and rows are numbered in the order in which they were added, and have no
// names. [Model.WriteLP] writes a model for other solvers.
//
// # An answer
//
// A [Solver] returns a [Solution]: values, what they cost, a bound below which no
// values can cost, and a [Status]. [Check] tells whether values hold, by nothing
// but the model; believe no values that it refuses.
//
// # Files
//
//	model.go      columns and rows in flat arrays
//	validate.go   what may be wrong with a model, said by column and row
//	check.go      whether values hold, and what they cost
//	solver.go     limits, statuses, solutions, the interface of solvers
//	upto.go       a solver that is given up at some point
//	lp.go         models as text in the LP format
package ilp
