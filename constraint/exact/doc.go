// Package exact states a problem of placement under constraints as an integer program, mends by it
// what search left, says what no placement can cost less than, and names the constraints because
// of which an application finds no place. The solver is an argument; what it says is believed
// when constraint.Check and constraint.Evaluate say so too.
//
// # Two models
//
// [Literal] is Medea's: a column for every container and node, and a row for every bound, subject
// and set. [Aggregated] knows how many of the containers that nothing distinguishes stand on a
// node, and of a bound in a set whether it holds and how many violate it; that is some ten
// times smaller, and says the same. Both cost what constraint.Evaluate says, to the last
// thousandth, what it rounds down included; the exception is a model in which steps of extent were
// left out ([Model.Cut]), which never costs more.
//
// # Files
//
//	model.go        units of containers, the placement, applications, moves
//	room.go         vectors, and how many of an application a node may hold
//	devices.go      which devices of a node those have who come
//	nodes.go        fragmented nodes, nodes in use, the fullest node
//	block.go        constraints: alternatives, who is bound and counted where, what is paid
//	aggregated.go   a bound by counts
//	literal.go      a bound by subjects
//	placement.go    from an assignment to values, and back
//	bound.go        what no placement costs less than
//	candidates.go   which nodes a repair looks at
//	repair.go       mending what search left
//	conflict.go     the smallest set of hard constraints that leaves no place
package exact
