package kubernetes

import (
	"strings"
	"testing"
)

// bound is a cluster with a constraint, groups and tags of our own.
const bound = `
kind: Node
metadata: {name: n1, annotations: {fairlead.dev/groups: '{"zone":"z","rack":"r1"}', other: text}}
---
{kind: PlacementConstraint, apiVersion: fairlead.dev/v1, metadata: {name: apart}, spec: {owner: web, constraint: '{web, {web, 0, 0}, rack}: hard'}}
---
kind: Pod
metadata: {name: p, annotations: {fairlead.dev/tags: '["web","app:web"]'}}
`

// What Kubernetes has no words for is read from annotations and from objects of our own.
func TestOwn(t *testing.T) {
	all, s, err := readText(t, bound)
	if err != nil {
		t.Fatal(err)
	}
	wantPicture(t, s, all, `
0 n1 {rack=r1} {zone=z}
apart: {web, {web, 0, 0}, rack}: hard
default/p 0/0 of 1 user=default class=0 priority=0 pods=1 <app:web> <web>
`)
	if len(s.constraints) != 1 || s.constraints[0].Owner != "web" {
		t.Errorf("%+v", s.constraints)
	}
	for _, c := range []struct{ was, is, want string }{
		{"{web, {web, 0, 0}, rack}: hard", "{web}", `constraint apart: spec.constraint: want a constraint such as`},
		{"{name: apart}", "{}", "metadata.name: want a name"},
		{`{"zone":"z","rack":"r1"}`, "z", "node n1: metadata.annotations.fairlead.dev/groups: want an object of texts"},
		{`["web","app:web"]`, `[""]`, "pod default/p: metadata.annotations.fairlead.dev/tags: want a list of texts"},
	} {
		if _, _, err := readText(t, strings.Replace(bound, c.was, c.is, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.is, err, c.want)
		}
	}
}
