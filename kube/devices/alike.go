package devices

import (
	"fmt"
	"slices"
	"strings"
)

// Many branches of the search are the same but for names, and only one of them is searched. Units that are alike stand on nodes in the order in which
// these are tried; claims that are alike, on one node, have devices in the order of these; and of devices that are alike, and equally used, one is tried.

// alike says what is the same.
type alike struct {
	claims  []int // by claim: its kind; claims of several requests are of a kind each
	devices []int // by device: its kind
}

// prepare finds what is alike, once.
func (s *search) prepare() {
	if s.alike.claims == nil {
		s.alike = alikeOf(s)
	}
}

// alikeOf finds what is alike.
func alikeOf(s *search) alike {
	kinds := kinds{lists: map[*Option]int{}, values: map[*int]bool{}, words: map[string]int{}}
	al := alike{claims: make([]int, len(s.p.Claims)), devices: make([]int, len(s.p.Devices))}
	of := make([]strings.Builder, len(s.p.Devices))
	shared := map[int]int{}
	for _, pod := range s.p.Pods {
		for _, c := range pod.Claims {
			shared[c]++
		}
	}
	for c := range s.p.Claims {
		key := kinds.ofClaim(&s.p.Claims[c], of)
		if len(s.p.Claims[c].Requests) != 1 || shared[c] > 1 {
			key += fmt.Sprint(" only ", c)
		}
		al.claims[c] = kinds.word(key)
	}
	for d := range s.p.Devices {
		device := &s.p.Devices[d]
		al.devices[d] = kinds.word(fmt.Sprint("device ", device.Shared, device.Drawn, device.Draws, of[d].String()))
	}
	for u := range s.units {
		unit := &s.units[u]
		var claims []int
		for _, c := range unit.claims {
			claims = append(claims, al.claims[c])
		}
		slices.Sort(claims)
		unit.kind = kinds.word(fmt.Sprintf("unit %p %d %d %d %d", unit.nodes, len(unit.nodes), unit.demand, claims, unit.follows))
	}
	return al
}

// kinds numbers what is met, equal numbers for what is equal.
type kinds struct {
	lists  map[*Option]int // of options that are one slice
	values map[*int]bool   // of constraints
	words  map[string]int
}

func (k *kinds) word(key string) int {
	n, known := k.words[key]
	if !known {
		n = len(k.words) + 1
		k.words[key] = n
	}
	return n
}

// list is the number of a list of options. The devices of one that is met for the first time note what they are in it.
func (k *kinds) list(options []Option, of []strings.Builder) int {
	if len(options) == 0 {
		return 0
	}
	n, known := k.lists[&options[0]]
	if known {
		return n
	}
	n = len(k.lists) + 1
	k.lists[&options[0]] = n
	for i := range options {
		fmt.Fprint(&of[options[i].Device], n, options[i].Takes, options[i].Barred, ";")
	}
	return n
}

// ofClaim words all that the search sees of a claim.
func (k *kinds) ofClaim(c *Claim, of []strings.Builder) string {
	var key strings.Builder
	key.WriteString("claim")
	for i := range c.Requests {
		for j := range c.Requests[i].Alternatives {
			a := &c.Requests[i].Alternatives[j]
			fmt.Fprint(&key, " ", i, a.Count)
			for n, options := range a.Options {
				if list := k.list(options, of); list != 0 {
					fmt.Fprint(&key, " ", n, ":", list)
				}
			}
		}
	}
	for i := range c.Constraints {
		constraint := &c.Constraints[i]
		fmt.Fprintf(&key, "%t %t %p", constraint.Distinct, constraint.Covers, constraint.Values)
		if k.values[&constraint.Values[0]] {
			continue
		}
		k.values[&constraint.Values[0]] = true
		for d, value := range constraint.Values {
			fmt.Fprint(&of[d], "=", value)
		}
	}
	return key.String()
}

// firstNode is where in its nodes a unit begins: where the last one that is alike stands.
func (s *search) firstNode(u int) int {
	first := 0
	for i := range s.units {
		if i != u && s.units[i].kind == s.units[u].kind && s.units[i].node >= 0 {
			first = max(first, s.units[i].at)
		}
	}
	return first
}

// before reports whether the device comes before the first one of a claim that is alike and stands on the same node.
func (s *search) before(c, a int, o *Option) bool {
	node := s.units[s.claims[c].unit].node
	for i := range s.claims {
		if i == c || s.alike.claims[i] != s.alike.claims[c] || len(s.claims[i].grants) == 0 || s.units[s.claims[i].unit].node != node {
			continue
		}
		if g := s.claims[i].grants[0]; a < g.Alternative || a == g.Alternative && o.Device < g.Device {
			return true
		}
	}
	return false
}

// spot is one way to satisfy a request of a claim.
type spot struct{ claim, request, alternative int }

// tried reports whether one of the options before is alike, and used as little: it was tried without success.
func (s *search) tried(at spot, before []Option, o *Option) bool {
	first := len(s.claims[at.claim].grants) == 0
	for i := range before {
		other := &before[i]
		if first && s.before(at.claim, at.alternative, other) {
			continue // it was not
		}
		if s.alike.devices[other.Device] == s.alike.devices[o.Device] && s.devices[other.Device].granted == s.devices[o.Device].granted &&
			slices.Equal(s.devices[other.Device].left, s.devices[o.Device].left) && s.usable(at.claim, at.request, at.alternative, other) {
			return true
		}
	}
	return false
}
