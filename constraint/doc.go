// Package constraint is what Medea (EuroSys 2018) calls placement constraints: the language
// in which they are written, the problem of placing long-running applications under them,
// and the evaluator that says what a placement violates.
//
// Constraints themselves are data of package cluster. Packages below this one solve the
// problem; none of them judges its own result, Evaluate does.
package constraint
