package classes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file reads ServiceClasses. What a field means, the table says that files have as well; the class of pods that have no other is the last one, which promises nothing unless a class is the default.

// None is the class of pods that have no other.
const None = "none"

// Verdict is what is said of a ServiceClass: the reason of its condition Accepted, and the message.
type Verdict struct {
	Object          *v1alpha1.ServiceClass
	Reason, Message string
}

// Accepted reports whether the class counts.
func (v *Verdict) Accepted() bool {
	return v.Reason == v1alpha1.ReasonAccepted || v.Reason == v1alpha1.ReasonConflict
}

// row is a class that was read.
type row struct {
	class.Class
	manner     Manner
	namespaces labels.Selector
	verdict    *Verdict
	byDefault  bool
}

// Read makes the promises of all ServiceClasses that there are, and says of each whether it counts, by name. Without any, nothing is promised to anybody.
func Read(objects []*v1alpha1.ServiceClass) (*Promises, []Verdict) {
	return ReadEach(objects, func(*v1alpha1.ServiceClass) {})
}

// ReadEach is Read, and calls handling with each just before it is read.
func ReadEach(objects []*v1alpha1.ServiceClass, handling func(*v1alpha1.ServiceClass)) (*Promises, []Verdict) {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, older)
	verdicts := make([]Verdict, len(objects))
	var rows []row
	for i, object := range objects {
		handling(object)
		v := &verdicts[i]
		*v = Verdict{object, v1alpha1.ReasonAccepted, "Its pods are placed by what it promises."}
		r, err := read(object)
		switch {
		case err != nil:
			v.Reason, v.Message = v1alpha1.ReasonInvalid, err.Error()
			continue
		case len(rows) == cluster.MaxClasses-1: // one is for pods that have none
			v.Reason, v.Message = v1alpha1.ReasonTooMany, fmt.Sprintf("There are %d older ones, and no more can be told apart; remove some.", len(rows))
			continue
		}
		r.verdict = v
		r.giveWay(rows)
		rows = append(rows, r)
	}
	promises := arrange(rows)
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	return promises, verdicts
}

// older puts the older class first, and of two of one second that whose name comes first.
func older(a, b *v1alpha1.ServiceClass) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// giveWay leaves to older classes what they say already: to be the default, or to have the pods from one priority on.
func (r *row) giveWay(olders []row) {
	var lost []string
	for i := range olders {
		o := &olders[i]
		if r.byDefault && o.byDefault {
			r.byDefault = false
			if r.verdict.Object.Spec.NamespaceSelector == nil { // all might use it as it was the default
				r.namespaces = labels.Nothing()
			}
			lost = append(lost, fmt.Sprintf("%s is the default already, and older", o.Name))
		}
		if r.From != class.NoPriority && r.From == o.From {
			lost = append(lost, fmt.Sprintf("%s has the pods from priority %d on already, and is older", o.Name, o.From))
			r.From = class.NoPriority
		}
	}
	if len(lost) > 0 {
		r.verdict.Reason = v1alpha1.ReasonConflict
		r.verdict.Message = "It counts but for this: " + strings.Join(lost, "; ") + "."
	}
}

// arrange puts the classes into the order in which priorities reach them, with that of all others at the end.
func arrange(rows []row) *Promises {
	if len(rows) == 0 {
		return Open(nil)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.From, a.From), cmp.Compare(a.Name, b.Name)) })
	p := &Promises{Table: &class.Table{Credits: class.Credits()}, other: len(rows)}
	for i, r := range append(rows, row{
		Class:      class.Class{Class: cluster.Class{Name: None, Importance: math.MaxInt32}, From: math.MinInt32},
		namespaces: labels.Everything(),
	}) {
		p.Classes, p.manners, p.namespaces = append(p.Classes, r.Class), append(p.manners, r.manner), append(p.namespaces, r.namespaces)
		if r.byDefault {
			p.other = i
		}
	}
	return p
}

// read reads one class.
func read(object *v1alpha1.ServiceClass) (row, error) {
	spec := &object.Spec
	r := row{byDefault: spec.Default, namespaces: labels.Nothing()}
	document := map[string]any{"classes": []any{fields(object.Name, spec)}}
	if len(spec.Credits) > 0 {
		document["credits"] = spec.Credits
	}
	text, err := json.Marshal(document)
	if err != nil {
		return r, err
	}
	table, err := class.Decode("spec", text)
	if err != nil {
		return r, errors.New(inSpec(err.Error()))
	}
	r.Class = table.Classes[0]
	if r.manner, err = mannerOf(spec); err != nil {
		return r, err
	}
	if len(spec.Credits) > 0 {
		r.manner.Credits = table.Credits
	}
	r.From = class.NoPriority
	if spec.PriorityAtLeast != nil {
		r.From = min(*spec.PriorityAtLeast, class.NoPriority-1)
	}
	switch {
	case spec.NamespaceSelector != nil:
		if r.namespaces, err = metav1.LabelSelectorAsSelector(spec.NamespaceSelector); err != nil {
			return r, fmt.Errorf("spec.namespaceSelector: %w", err)
		}
	case spec.Default:
		r.namespaces = labels.Everything()
	}
	return r, nil
}

// mannerOf reads what a class asks for that files do not say.
func mannerOf(spec *v1alpha1.ServiceClassSpec) (m Manner, err error) {
	if len(spec.Tier) > 0 {
		m.Tier = labels.Set{}
	}
	for key, value := range spec.Tier {
		m.Tier[key] = string(value)
	}
	if errs := validation.ValidateLabels(m.Tier, field.NewPath("spec", "tier")); len(errs) > 0 {
		return m, errs.ToAggregate()
	}
	if spec.Sizes == nil {
		return m, nil
	}
	if m.Sizes.CPU, err = hundredths("spec.sizes.cpu", spec.Sizes.CPU); err != nil {
		return m, err
	}
	m.Sizes.Memory, err = hundredths("spec.sizes.memory", spec.Sizes.Memory)
	return m, err
}

// mostFactor is the largest factor, in hundredths.
const mostFactor = 100 * 100

// hundredths reads a factor; 0 is that there is none.
func hundredths(name string, f *v1alpha1.Factor) (int64, error) {
	if f == nil {
		return 0, nil
	}
	whole, parts, _ := strings.Cut(string(*f), ".")
	of, err := strconv.ParseUint(whole+(parts + "00")[:2], 10, 16)
	if err != nil || len(parts) > 2 || of < 100 || of > mostFactor {
		return 0, fmt.Errorf("%s: %q, want how many times as much it may become: 1 to 100, with at most two digits behind the point", name, *f)
	}
	return int64(of), nil
}

// fields is a class as files have it.
func fields(name string, spec *v1alpha1.ServiceClassSpec) map[string]any {
	all := map[string]any{"name": name, "importance": spec.Importance}
	put := func(of string, value *string) {
		if value != nil {
			all[of] = *value
		}
	}
	put("availability", (*string)(spec.Availability))
	put("margin", (*string)(spec.Margin))
	put("restart", (*string)(spec.Restart))
	put("overhead_budget", (*string)(spec.OverheadBudget))
	put("least_run", (*string)(spec.LeastRun))
	if spec.Evicted != "" {
		all["evicted"] = strings.ToLower(spec.Evicted)
	}
	for of, given := range map[string]*v1alpha1.Level{"urgency": spec.Urgency, "size": spec.Size, "redundancy": spec.Redundancy} {
		if given != nil {
			all[of] = level(*given)
		}
	}
	if spec.Replicas != nil {
		all["replicas"] = *spec.Replicas
	}
	if of := spec.Price; of != nil {
		price := map[string]any{}
		if of.UnitHour != nil {
			price[unitHour] = *of.UnitHour
		}
		for name, given := range map[string]*v1alpha1.Surcharge{"urgency": of.Urgency, "tier": of.Tier} {
			if given != nil {
				price[name] = *given
			}
		}
		all["price"] = price
	}
	return all
}

// unitHour is a field as files have it.
const unitHour = "unit_hour"

// level is a level as files have it.
func level(l v1alpha1.Level) string {
	if l == "BestEffort" {
		return "best-effort"
	}
	return strings.ToLower(string(l))
}

// inSpec is an error of a table in the words of the API.
func inSpec(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if _, after, found := strings.Cut(line, "classes[0]"); found {
			line = "spec" + after
		}
		if _, after, found := strings.Cut(line, "credits["); found {
			line = "spec.credits[" + after
		}
		lines = append(lines, strings.NewReplacer("overhead_budget", "overheadBudget", "least_run", "leastRun", unitHour, "unitHour").Replace(line))
	}
	return strings.Join(lines, "; ")
}
