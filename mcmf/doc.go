// Package mcmf finds minimum-cost flows, from scratch or after changes.
package mcmf
