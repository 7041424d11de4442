// Package cluster is the model that every part of Fairlead shares: resource
// vectors, nodes, jobs, tasks and what has happened to them.
//
// State holds the model in flat arrays with one owner. The world tells it what
// happened through State.Apply; a commit changes allocations through
// State.Place and State.Evict. Nothing else writes. Every row that is touched
// is noted in a change log, from which copies of the state and indexes over it
// are brought up to date.
//
// The package decides nothing, and knows no goroutine, lock, clock, log or I/O.
package cluster
