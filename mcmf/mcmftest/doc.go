// Package mcmftest makes up networks and changes to them, and has the tests that
// every algorithm of package mcmf passes. All chance comes from a seed or from a
// source that is passed in.
package mcmftest
