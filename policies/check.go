package policies

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// This file checks a list into which policies from elsewhere came.

// Check says what is wrong with a policy, or with one of its options: each name is a word that can be
// typed as a flag, written into a spec and told from all others.
func (l List) Check() error {
	for i := range l {
		p := &l[i]
		if err := p.check(l[:i]); err != nil {
			return err
		}
		for n := range p.Options {
			if err := p.Options[n].declared(slices.Concat(l[:i].Options(), p.Options[:n])); err != nil {
				return fmt.Errorf("policy %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// check says what is wrong with the policy beside those before it.
func (p *Info) check(before List) error {
	switch {
	case !regexp.MustCompile("^[a-z][a-z0-9_+-]*$").MatchString(p.Name):
		return fmt.Errorf("there is a policy called %q; want a name of lower-case letters, digits, -, _ and +, with a letter first", p.Name)
	case slices.ContainsFunc(before, func(q Info) bool { return q.Name == p.Name }):
		return fmt.Errorf("there are two policies called %s; give yours another name", p.Name)
	case p.Make == nil:
		return fmt.Errorf("policy %s: it has no Make, so that nothing can be made of it", p.Name)
	}
	return nil
}

// declared says what is wrong with an option beside those before it. One that several policies take
// has to be the same in each, as it is one flag.
func (x *Option) declared(before []Option) error {
	switch {
	case !regexp.MustCompile("^[a-z][a-z0-9_-]*$").MatchString(x.Name):
		return fmt.Errorf("an option is called %q; want a name of lower-case letters, digits, - and _, with a letter first", x.Name)
	case slices.Contains(fieldNames(), strings.ReplaceAll(x.Name, "-", "_")):
		return fmt.Errorf("an option is called %s, as a field of profiles and specs is; give yours another name", x.Name)
	}
	for _, y := range before {
		if x.Flag() == y.Flag() && !x.same(&y) {
			return fmt.Errorf("an option called %s is there already, and means something else; give yours another name", x.Name)
		}
	}
	return nil
}

// same reports whether two options are one.
func (x *Option) same(y *Option) bool {
	return x.Name == y.Name && x.Help == y.Help && x.Default == y.Default && slices.Equal(x.Values, y.Values) && (x.Values == nil) == (y.Values == nil) && x.Several == y.Several
}

// fieldNames are what stands beside the options of a policy in a spec, or stood beside them in a
// Kubernetes profile, where options are still read.
func fieldNames() []string {
	return []string{"name", "options", "heartbeat", "watchdog", "policy", "policies", "seed", "evictions", "scheduler_name"}
}
