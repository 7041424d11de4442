package world

import (
	"cmp"
	"slices"
	"strings"
)

// This file keeps from who may read a pod what is said of others: what a rule says that no pod of its namespace has, and that keeps it off nodes all the same, is another's affair, with
// the labels by which he calls his pods.

// anothers is what such a rule is called.
const anothers = "a rule of pods of another namespace"

// Discreet is the text for who may read that pod, and no other namespace.
func Discreet(w *World, p *Pod, text string) string {
	var hidden []string
	for key, r := range w.rules.byKey {
		if strings.Contains(text, key) && !r.isOf(p.Object().Namespace) {
			hidden = append(hidden, key)
		}
	}
	// One may be the beginning of another.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, key := range hidden {
		text = strings.ReplaceAll(text, key, anothers)
	}
	return text
}

// isOf reports whether a pod of the namespace has the rule.
func (r *rule) isOf(namespace string) bool {
	for p := range r.pods {
		if p.Object().Namespace == namespace {
			return true
		}
	}
	return false
}
