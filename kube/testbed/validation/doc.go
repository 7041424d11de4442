// Package validation runs the validation tests of QoS-driven scheduling (J Internet Serv Appl 11, 2020) on a test bed: 20 nodes with room for ten
// requests each, a request a second until there are more than fit, an hour in which nobody ends; all of that some times as fast. Its authors compared their
// simulator with a proof of concept on Kubernetes by these tests, and so does this package ours:
//
//   - [Run] has fairlead-scheduler serve the requests, each a ReplicaSet of one pod, and counts from a watch how each fares.
//   - [Compare] simulates the same requests, that came when they came, with starts that take as long as they took, and holds one against the other.
package validation
