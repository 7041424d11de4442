// Package e2e tests the scheduler against a real control plane: etcd, API
// server, controllers, kwok and kube-scheduler of package testbed. Nothing is
// faked but faults, which a transport between our client and the API server
// makes.
//
// The tests need programs that `go run ./cmd/fairlead-testbed build` makes, and
// are skipped without them. -short leaves out what takes long;
// FAIRLEAD_LONG=1 makes the loads larger and the faults longer.
package e2e
