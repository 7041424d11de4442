//go:build invariants

package mcmf

// checking has every solve that keeps a warm state end with a check of it.
const checking = true
