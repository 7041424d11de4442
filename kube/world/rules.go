package world

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/cluster"
)

// This file keeps what pods require of where other pods are, or prefer: affinity, anti-affinity and spread. Each such rule is a
// constraint of the core that binds who comes, as upstream's filters and scores do; pods that have it share it. So these pods are decided with all
// others, and only rules that the core has no words for (company.go) are left to upstream, node by node.
//
// A selector of pods is a tag, which all pods have that it selects, of whatever scheduler. Pods of the same namespace and labels are a kin:
// whom selectors select is found out for each kin once.

// rule is one constraint. It lives as long as a pod has it.
type rule struct {
	key       string
	row       cluster.ConstraintID
	tag       string // of the pods that have it
	selectors []*selector
	soft      bool
	pods      map[*Pod]bool
}

// selector says which pods are counted. It lives as long as a rule counts by it.
type selector struct {
	tag        string
	namespaces among
	labels     labels.Selector
	exact      string        // a label that all whom it selects have, as key=value; "" where there is no such
	rules      []*rule       // that count by it
	standing   int           // of these, that objects say
	kins       map[*kin]bool // whom it selects
}

// kin are the pods of one namespace that have the same labels.
type kin struct {
	key       string
	namespace *namespace
	labels    labels.Set
	tags      []string // of the selectors that select them; sorted
	pods      map[*Pod]bool
}

// company is what rules say of a pod.
type company struct {
	kin   *kin
	rules []*rule
	gaps  int      // of its terms, those that are left to upstream's filters
	whole bool     // no rule of its own is left to them
	told  bool     // nor is anything that it prefers
	bars  []string // tags of what it has and others ask for
	tags  []string // sorted
}

// rules keeps the rules of all pods that take room, or wait in a slot.
type rules struct {
	journal *journal
	domains *domains
	// retag tells the core which tags the pod has now.
	retag func(*Pod)
	// wishes says that some policy prices company, so that the core is told of what pods prefer.
	wishes    bool
	byKey     map[string]*rule
	selectors map[string]*selector
	exact     map[string][]*selector // by their exact label
	loose     []*selector            // those without
	kins      map[string]*kin
	labelled  map[string]map[*kin]bool // kins by each of their labels, as key=value
	spaces    map[string]*namespace    // that were seen, or have pods
	rows      cluster.Rows
	gaps      int  // of all pods
	reading   *Pod // whose terms are being read
	standing  standing
}

// begin forgets all rules, for a new core. Pods are yet to be read again.
func (rs *rules) begin() {
	rs.byKey, rs.selectors, rs.exact, rs.loose = map[string]*rule{}, map[string]*selector{}, map[string][]*selector{}, nil
	rs.kins, rs.labelled, rs.rows, rs.gaps = map[string]*kin{}, map[string]map[*kin]bool{}, cluster.Rows{}, 0
	for _, n := range rs.spaces {
		n.kins = 0
	}
	rs.standing.begin()
}

// of returns what rules say of the pod as it is.
func (rs *rules) of(p *Pod) *company {
	if p.company != nil && !p.regrouped {
		return p.company
	}
	before := p.company
	info, _ := p.read() // of one that is assumed what was decided, whatever was seen since
	c := &company{kin: rs.join(p, info.Pod), bars: p.bars}
	p.company, p.regrouped, rs.reading = c, false, p
	rs.read(p, info, c)
	rs.reading = nil
	rs.gaps += c.gaps
	c.settle()
	rs.leave(p, before)
	return c
}

// settle gathers the tags.
func (c *company) settle() {
	c.tags = c.kin.tags
	if len(c.rules)+len(c.bars) == 0 {
		return
	}
	c.tags = slices.Concat(c.tags, c.bars)
	for _, r := range c.rules {
		c.tags = append(c.tags, r.tag)
	}
	slices.Sort(c.tags)
	c.tags = slices.Compact(c.tags)
}

// rename reads all rules anew if nodes have begun or ceased to be their own sets by their names.
func (rs *rules) rename(were bool) {
	if were == (rs.domains.nodes.misnamed > 0) {
		return
	}
	rs.readAnew(func(*kin) bool { return true })
	rs.standing.rename()
}

// readAnew reads the rules of those of the kins that have some.
func (rs *rules) readAnew(of func(*kin) bool) {
	var bound []*Pod
	for _, k := range rs.kins {
		for p := range k.pods {
			if of(k) && (len(p.company.rules) > 0 || !p.company.whole) {
				bound = append(bound, p)
			}
		}
	}
	slices.SortFunc(bound, byOrder)
	rs.regroup(bound)
}

// regroup reads the rules of the pods anew.
func (rs *rules) regroup(pods []*Pod) {
	for _, p := range pods {
		p.regrouped = true
	}
	for _, p := range pods {
		if p.slot != nil {
			rs.of(p)
			rs.retag(p)
		}
	}
}

func byOrder(a, b *Pod) int { return cmp.Compare(a.order, b.order) }

// forget gives up what is known of a pod that is gone.
func (rs *rules) forget(p *Pod) {
	rs.leave(p, p.company)
	p.company = nil
}

// leave gives up what was known of the pod.
func (rs *rules) leave(p *Pod, c *company) {
	if c == nil {
		return
	}
	rs.gaps -= c.gaps
	for _, r := range c.rules {
		if p.company != nil && p.company != c && slices.Contains(p.company.rules, r) {
			continue
		}
		if delete(r.pods, p); len(r.pods) == 0 {
			rs.drop(r)
		}
	}
	if p.company != nil && p.company.kin == c.kin && p.company != c {
		return
	}
	delete(c.kin.pods, p)
	if len(c.kin.pods) == 0 {
		delete(rs.kins, c.kin.key)
		c.kin.namespace.kins--
		rs.forgetSpace(c.kin.namespace)
		for name, value := range c.kin.labels {
			if label := name + "=" + value; len(rs.labelled[label]) > 1 {
				delete(rs.labelled[label], c.kin)
			} else {
				delete(rs.labelled, label)
			}
		}
		for _, tag := range c.kin.tags {
			if s := rs.selectors[tag]; s != nil {
				delete(s.kins, c.kin)
			}
		}
	}
}

// join finds the kin of the pod, or makes it.
func (rs *rules) join(p *Pod, object *v1.Pod) *kin {
	key := object.Namespace + "/" + labels.Set(object.Labels).String()
	k := rs.kins[key]
	if k == nil {
		k = &kin{key: key, namespace: rs.space(object.Namespace), labels: object.Labels, pods: map[*Pod]bool{}}
		rs.kins[key] = k
		k.namespace.kins++
		for name, value := range k.labels {
			label := name + "=" + value
			if rs.labelled[label] == nil {
				rs.labelled[label] = map[*kin]bool{}
			}
			rs.labelled[label][k] = true
			for _, s := range rs.exact[label] {
				k.meet(s)
			}
		}
		for _, s := range rs.loose {
			k.meet(s)
		}
		slices.Sort(k.tags)
	}
	k.pods[p] = true
	return k
}

// meet notes the selector if it selects the kin, and reports whether that is new.
func (k *kin) meet(s *selector) bool {
	if !s.selects(k) {
		return false
	}
	if s.kins[k] = true; slices.Contains(k.tags, s.tag) {
		return false
	}
	k.tags = append(slices.Clone(k.tags), s.tag) // whoever was given the list keeps it
	return true
}

// selects reports whether the selector selects the kin, as its namespace is now.
func (s *selector) selects(k *kin) bool {
	return s.namespaces.has(k.namespace) && s.labels.Matches(k.labels)
}

// selecting returns the selector of pods in these namespaces with such labels.
func (rs *rules) selecting(namespaces among, by labels.Selector) *selector {
	s := &selector{tag: tagPrefix + inWords(namespaces, by), namespaces: namespaces, labels: by, exact: exactLabel(by), kins: map[*kin]bool{}}
	if known := rs.selectors[s.tag]; known != nil {
		return known
	}
	rs.selectors[s.tag] = s
	if s.exact == "" {
		rs.loose = append(rs.loose, s)
	} else {
		rs.exact[s.exact] = append(rs.exact[s.exact], s)
	}
	var met []*Pod
	meet := func(k *kin) {
		stale := !s.selects(k) && slices.Contains(k.tags, s.tag) // of one that said the same, before its namespace had other labels
		if stale {
			k.tags = slices.DeleteFunc(slices.Clone(k.tags), func(tag string) bool { return tag == s.tag })
		}
		if !stale && !k.meet(s) {
			return
		}
		slices.Sort(k.tags)
		for p := range k.pods {
			met = append(met, p)
		}
	}
	if s.exact != "" {
		for k := range rs.labelled[s.exact] {
			meet(k)
		}
	} else {
		for _, k := range rs.kins {
			meet(k)
		}
	}
	slices.SortFunc(met, byOrder)
	for _, p := range met {
		if p != rs.reading && !p.regrouped { // else it is about to be settled
			p.company.settle()
			rs.retag(p)
		}
	}
	return s
}

// exactLabel is a label that all whom the selector selects have; "" if it names none.
func exactLabel(by labels.Selector) string {
	requirements, _ := by.Requirements()
	for _, r := range requirements {
		if values := r.ValuesUnsorted(); len(values) == 1 && (r.Operator() == "in" || r.Operator() == "=" || r.Operator() == "==") {
			return r.Key() + "=" + values[0]
		}
	}
	return ""
}

// wording is what a rule says, the same for all that say the same, and its weight, in thousandths; hard if it has none.
type wording struct {
	key    string
	weight int64
}

// adopt gives the pod the rule that says so, which is made with the bounds if no pod has it yet.
func (rs *rules) adopt(p *Pod, c *company, said wording, selectors []*selector, bounds func(tag string) []cluster.Bound) {
	key := said.key
	r := rs.byKey[key]
	if r == nil {
		r = &rule{key: key, row: cluster.ConstraintID(rs.rows.Take()), tag: tagPrefix + key, selectors: selectors, soft: said.weight > 0, pods: map[*Pod]bool{}}
		rs.byKey[key] = r
		for _, s := range selectors {
			s.rules = append(s.rules, r)
		}
		rs.journal.emit(cluster.ConstraintDefined{Constraint: r.row, Spec: cluster.Constraint{
			Name: key, Hard: !r.soft, Weight: said.weight, Arriving: true, Any: [][]cluster.Bound{bounds(r.tag)},
		}})
	}
	if !slices.Contains(c.rules, r) {
		c.rules = append(c.rules, r)
		r.pods[p] = true
	}
}

// drop forgets a rule that no pod has any more, and the selectors that no other counts by. Pods keep these tags, which mean nothing then.
func (rs *rules) drop(r *rule) {
	delete(rs.byKey, r.key)
	rs.journal.emit(cluster.ConstraintForgotten{Constraint: r.row})
	rs.rows.Give(uint32(r.row))
	for _, s := range r.selectors {
		if s.rules = slices.DeleteFunc(s.rules, func(o *rule) bool { return o == r }); len(s.rules) > 0 {
			continue
		}
		same := func(o *selector) bool { return o == s }
		delete(rs.selectors, s.tag)
		if s.exact == "" {
			rs.loose = slices.DeleteFunc(rs.loose, same)
		} else if rs.exact[s.exact] = slices.DeleteFunc(rs.exact[s.exact], same); len(rs.exact[s.exact]) == 0 {
			delete(rs.exact, s.exact)
		}
	}
}

// among are the nodes with pods that hard rules of a pod with these tags count, or whose hard rules count it.
func (rs *rules) among(tags []string) map[string]bool {
	nodes := map[string]bool{}
	add := func(pods map[*Pod]bool) {
		for p := range pods {
			if p.node != nil {
				nodes[p.node.object.Name] = true
			}
		}
	}
	for _, tag := range tags {
		if own := rs.byKey[strings.TrimPrefix(tag, tagPrefix)]; own != nil && !own.soft {
			for _, s := range own.selectors {
				for k := range s.kins {
					add(k.pods)
				}
			}
		}
		if s := rs.selectors[tag]; s != nil {
			for _, r := range s.rules {
				if !r.soft {
					add(r.pods)
				}
			}
		}
	}
	return nodes
}

// tagPrefix begins the tags of rules, as of those in dumps: they make nobody a part of an application.
const tagPrefix = "k8s:"

// adopted is the pod without what rules stand for: what is left of it concerns upstream. What it prefers is left if its policy does not price company.
func (c *company) adopted(object *v1.Pod, priced bool) *v1.Pod {
	if object.Spec.Affinity == nil && len(object.Spec.TopologySpreadConstraints) == 0 {
		return object
	}
	left, preferred := *object, c.told && priced
	left.Spec.TopologySpreadConstraints = slices.DeleteFunc(slices.Clone(left.Spec.TopologySpreadConstraints), func(s v1.TopologySpreadConstraint) bool {
		if s.WhenUnsatisfiable == v1.ScheduleAnyway {
			return preferred
		}
		return c.whole
	})
	if left.Spec.Affinity == nil {
		return &left
	}
	affinity := *left.Spec.Affinity
	left.Spec.Affinity = &affinity
	if of := affinity.PodAffinity; of != nil && (c.whole || len(of.RequiredDuringSchedulingIgnoredDuringExecution) == 0) &&
		(preferred || len(of.PreferredDuringSchedulingIgnoredDuringExecution) == 0) {
		affinity.PodAffinity = nil
	}
	if of := affinity.PodAntiAffinity; of != nil && (c.whole || len(of.RequiredDuringSchedulingIgnoredDuringExecution) == 0) &&
		(preferred || len(of.PreferredDuringSchedulingIgnoredDuringExecution) == 0) {
		affinity.PodAntiAffinity = nil
	}
	return &left
}
