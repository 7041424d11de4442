// Package highs solves models of package ilp by HiGHS, inside this process: the
// solver is WebAssembly, which wazero compiles to machine code. No C compiler, no
// library and no process beside this one is needed.
//
// [Start] compiles in the background, some seconds the first time on a machine
// and well under one when it finds what it kept on disk. [Engine.Ready] tells when
// that is done; whoever cannot wait asks it first.
//
// # The clock
//
// HiGHS sees no clock of ours. It is given one that goes on by a microsecond each
// time that it is read, and HiGHS reads it all the time: in each iteration of the
// simplex method, at each node of the search, between heuristics. A reading is a
// tick. So effort is the same on any machine, and nothing in HiGHS that goes by
// time can differ from one run to the next. To stop it, for ticks, for a context
// that ended, or for memory that runs short, the clock leaps beyond the end of
// time; HiGHS finds its time limit passed and returns the best that it has.
//
// # Instances
//
// Each solve has a new instance with a memory of its own, and the instance is
// dropped afterwards. So no solve depends on another one, memory is given back,
// and what a crash leaves behind is never used.
//
// # Files
//
//	engine.go     compiling beside the caller, slots, what is made of an answer
//	module.go     the compiled module and where it is kept
//	exports.go    the functions of HiGHS and the short names they have in the module
//	host.go       what the module asks of the world: a clock, memory, no files
//	solve.go      one solve: a model in, an answer out
//	absent.go     in place of the last four under the build tag nohighs
package highs
