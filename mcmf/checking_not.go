//go:build !invariants

package mcmf

const checking = false
