package versions

import (
	"fmt"
	"strings"
)

// Version is a Kubernetes and what became of the tests on it.
type Version struct {
	Kubernetes string
	Results    Results
}

// head stands above the table.
const head = `# What works on which Kubernetes

Written by ` + "`make versions`" + `, which runs tests of ` + "`kube/e2e`" + ` against a control plane of each version: kube-apiserver, the controllers and kube-scheduler of that version, compiled from
its Go modules, with etcd and kwok, whose nodes run nothing. The program is the same on all: ` + "`fairlead-scheduler`" + ` with the libraries of 1.37. Feature gates and APIs are as each version has
them by default; on 1.37 pod groups are on (` + "`GenericWorkload`, `TopologyAwareWorkloadScheduling`, `DRAWorkloadResourceClaims`, `scheduling.k8s.io/v1beta1`" + `), and the row about those of older versions has
them on there.

*Works*: all tests of the row passed. *Not served*: the API server lacks what the tests are about, so that they were skipped; what Fairlead does without it stands below. *In part*: some tests passed, and
for the others something is not served. *Does not*: a test failed twice, the second time only among those that had failed.

`

// Page is the table of the features by version, and below it, by version, what is not as it should be and what Fairlead says about it.
func Page(features []Feature, versions []Version) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| |")
	for _, v := range versions {
		b.WriteString(" " + strings.TrimPrefix(v.Kubernetes, "v") + " |")
	}
	b.WriteString(" tests |\n|---|" + strings.Repeat("---|", len(versions)+1) + "\n")
	for _, f := range features {
		b.WriteString("| " + f.Name + " |")
		for _, v := range versions {
			b.WriteString(" " + verdict(f, v.Results) + " |")
		}
		b.WriteString(" " + strings.Join(f.Tests, ", ") + " |\n")
	}
	for _, v := range versions {
		if notes := notes(features, v.Results); notes != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s", strings.TrimPrefix(v.Kubernetes, "v"), notes)
		}
	}
	return b.String()
}

// verdict is the word of a row about one version.
func verdict(f Feature, results Results) string {
	count := map[State]int{}
	for _, test := range f.Tests {
		count[results[test].State]++ // the empty state for one that did not run
	}
	switch passed := count[Passed]; {
	case count[Failed] > 0:
		return "does not"
	case count[""] > 0:
		return "not tried"
	case passed == len(f.Tests):
		return "works"
	case passed > 0:
		return "in part"
	case count[NotServed] > 0:
		return "not served"
	default:
		return "not tried"
	}
}

// notes are what there is to say about the tests on one version, a line for each.
func notes(features []Feature, results Results) string {
	var b strings.Builder
	for _, f := range features {
		told := map[string]bool{}
		for _, test := range f.Tests {
			r, ran := results[test]
			var words string
			switch {
			case !ran:
				words = test + " did not run"
			case r.State == NotServed:
				words = "not served: " + r.Words
			case r.State != Passed:
				words = fmt.Sprintf("%s %s: %s", test, r.State, r.Words)
			case r.Again:
				words = fmt.Sprintf("%s failed at first, and passed when it was run again: %s", test, r.Words)
			}
			if words != "" && !told[words] {
				told[words] = true
				fmt.Fprintf(&b, "- %s: %s.\n", f.Name, strings.TrimSuffix(words, "."))
			}
			for _, said := range r.Says {
				fmt.Fprintf(&b, "- %s: it says `%s`\n", f.Name, said)
			}
		}
	}
	return b.String()
}
