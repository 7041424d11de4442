package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is which nodes the claims of a pod let it go to, as Kubernetes' VolumeBinding and VolumeZone
// have it:
//
//	bound                        nodes from which its volume can be reached, by the node affinity of the
//	                             volume and by its labels of zone and region
//	not bound, and its class     nodes where a volume that is there would do, or else nodes for which the
//	waits for the first pod      class makes one, with room for it where the driver publishes that
//	not bound otherwise,         none
//	missing, lost, on its way out
//
// Claims that let pods go to the same nodes, for the same reason, share a label of these nodes, which is computed like
// that of several terms (place.go) and says where they are; that of one alone says its name as well. A claim that any
// node will do for needs no label.
//
// What goes beyond one node and one pod is not here: how many volumes a node has (local.go) or attaches
// (attach.go), and claims that one pod at a time may use (oncepod.go).

// storage is the objects behind volumes.
type storage struct {
	claims  map[string]*manifest.Claim // behind their namespaces
	volumes map[string]*manifest.PersistentVolume
	classes map[string]*manifest.StorageClass
	rooms   []manifest.Room
	publish map[string]bool             // drivers, and whether they publish room
	limits  map[string]map[string]int64 // of CSINodes: how many volumes of a driver they attach
	seen    map[string]bool             // kinds

	standard string // the class of claims that name none
}

func newStorage() storage {
	return storage{
		claims: map[string]*manifest.Claim{}, volumes: map[string]*manifest.PersistentVolume{}, classes: map[string]*manifest.StorageClass{},
		publish: map[string]bool{}, limits: map[string]map[string]int64{}, seen: map[string]bool{},
	}
}

// take takes in an object of storage, and reports whether it is one.
func (s *storage) take(o *manifest.Object) (is bool, err error) {
	name := o.Metadata.Name
	switch o.Kind {
	case "PersistentVolumeClaim":
		var c *manifest.Claim
		if c, err = manifest.ClaimOf(o); err == nil {
			s.claims[c.Namespace+"/"+c.Name] = c
		}
	case "PersistentVolume":
		var v *manifest.PersistentVolume
		if v, err = manifest.VolumeOf(o); err == nil {
			s.volumes[name] = v
		}
	case "StorageClass":
		class := o.StorageClass
		s.classes[name] = &class
		if o.Metadata.Annotations.IsDefault == "true" {
			s.standard = max(s.standard, name) // one, as a rule
		}
	case "CSIStorageCapacity":
		var r manifest.Room
		if r, err = manifest.RoomOf(o); err == nil {
			s.rooms = append(s.rooms, r)
		}
	case "CSIDriver":
		s.publish[name] = o.Spec.PublishesCapacity != nil && *o.Spec.PublishesCapacity
	case "CSINode":
		s.limits[name] = limitsOf(o)
	default:
		return false, nil
	}
	s.seen[o.Kind] = true
	return true, err
}

// lacking are the kinds without which the files do not say where volumes are, as kubectl names them.
func (s *storage) lacking() string {
	var names []string
	for _, kind := range []string{"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"} {
		if !s.seen[kind] {
			names = append(names, strings.ReplaceAll(strings.ToLower(kind)+"s", "classs", "classes"))
		}
	}
	text := strings.Join(names, ",")
	return strings.ReplaceAll(text, "capacitys", "capacities")
}

// claimOf is the claim behind a volume of a pod; nil if there is none. A claim that is to come and go with the pod,
// or is a StatefulSet's to make, is made where it is not there yet, as its controller does.
func (s *storage) claimOf(p *pod, v *manifest.Volume) (name string, c *manifest.Claim) {
	var template *manifest.ClaimTemplate
	switch {
	case v.PersistentVolumeClaim != nil:
		name, template = p.namespace+"/"+v.PersistentVolumeClaim.Name, v.PersistentVolumeClaim.Template
	case v.Ephemeral != nil:
		name = p.name + "-" + v.Name
		if s.seen["PersistentVolumeClaim"] { // else it may be bound
			template = v.Ephemeral.Template
		}
	default:
		return "", nil
	}
	c = s.claims[name]
	if c != nil || template == nil {
		return name, c
	}
	c, err := manifest.NewClaim(p.namespace, strings.TrimPrefix(name, p.namespace+"/"), s.standard, template)
	if err != nil {
		return name, nil
	}
	s.claims[name] = c
	return name, c
}

// renew gives a copy of a pod claims of its own, where those of the pod are its own: a StatefulSet names them after
// its pods. They ask for the same, and are not bound.
func (s *storage) renew(p *pod, like string) {
	own, old := strings.TrimPrefix(p.name, p.namespace), strings.TrimPrefix(like, p.namespace)
	p.volumes = slices.Clone(p.volumes)
	for i := range p.volumes {
		claim := p.volumes[i].PersistentVolumeClaim
		if claim == nil {
			continue
		}
		stem, is := strings.CutSuffix(claim.Name, "-"+old[1:])
		if !is {
			continue
		}
		name := stem + "-" + own[1:]
		p.volumes[i].PersistentVolumeClaim = &manifest.ClaimName{Name: name, Template: claim.Template}
		if c := s.claims[p.namespace+"/"+claim.Name]; c != nil && s.claims[p.namespace+"/"+name] == nil {
			s.claims[p.namespace+"/"+name] = c.Again(name)
		}
	}
}

// never says why a claim lets its pod go nowhere; empty if it does not.
func (s *storage) never(p *pod, v *manifest.Volume, c *manifest.Claim) string {
	switch {
	case c == nil:
		return "it is not there"
	case c.Lost:
		return "it has lost its volume " + c.Volume
	case c.Leaving:
		return "it is being deleted"
	case v.Ephemeral != nil && len(c.Owners) > 0 && !slices.ContainsFunc(c.Owners, func(o manifest.Owner) bool { return o.Kind == "Pod" && c.Namespace+"/"+o.Name == p.name }):
		return "it is there, and is not this pod's"
	case c.Bound && s.volumes[c.Volume] == nil:
		return "its volume " + c.Volume + " is not there"
	case c.Bound:
		return ""
	case c.Volume != "":
		return "it is not bound yet to the volume " + c.Volume + ", which it names"
	case c.Class == "":
		return "it is not bound, and has no class"
	case s.classes[c.Class] == nil:
		return "it is not bound, and its class " + c.Class + " is not there"
	case s.classes[c.Class].VolumeBindingMode != "WaitForFirstConsumer":
		return "it is not bound, and its class " + c.Class + " binds at once"
	}
	return ""
}

// says reports whether the files hold what the claim's place depends on.
func (s *storage) says(c *manifest.Claim) bool {
	switch {
	case !s.seen["PersistentVolumeClaim"] && (c == nil || !c.Made):
		return false
	case c == nil || c.Lost || c.Leaving || c.Volume != "" && !c.Bound || c.Volume == "" && c.Class == "":
		return true
	case c.Bound:
		return s.seen["PersistentVolume"]
	}
	return s.seen["StorageClass"]
}

// mounter is a source whose pods are given what follows from their volumes.
type mounter struct {
	*Source
	all *places
}

// mountAll gives it to them.
func mountAll(s *Source) {
	m := mounter{s, newPlaces(&s.storage, s.nodes)}
	m.bind()
	m.countLocal()
	m.attach()
	m.separate()
}

// bind gives pods the rules that follow from their claims.
func (s *mounter) bind() {
	of := map[int]*mounted{}
	for i := range s.pods {
		if len(s.pods[i].volumes) > 0 && s.pods[i].rules.Static == "" {
			if m := s.mounts(&s.pods[i]); m != nil {
				of[i] = m
			}
		}
	}
	for _, at := range s.all.together {
		for _, row := range at.rows {
			if len(at.rows) < len(s.nodes) {
				n := &s.nodes[row]
				n.derived = append(n.derived, cluster.Label{Key: at.key(), Value: yes})
			}
		}
	}
	for i, m := range of {
		own := *s.pods[i].rules
		own.Stays = m.stays
		for _, at := range m.at {
			if len(at.rows) < len(s.nodes) {
				own.Claims = append(own.Claims, at.key())
			}
		}
		own.Claims = append(own.Claims, m.never...)
		slices.Sort(own.Claims)
		own.Claims = slices.Compact(own.Claims)
		s.pods[i].rules = s.shared(&own)
	}
}

// mounted is what the claims of a pod come to.
type mounted struct {
	at     []*place
	choose []string // claims that choose among volumes that are there
	never  []string // labels that no node has
	stays  string   // the node that it cannot leave, as nobody knows where else its volumes could be reached
}

// mounts finds it; nil if the pod has no claims, or if they are not simulated.
func (s *mounter) mounts(p *pod) *mounted {
	var m *mounted
	for i := range p.volumes {
		v := &p.volumes[i].Volume
		at := fmt.Sprintf("spec.volumes[%d]", p.volumes[i].index)
		name, c := s.storage.claimOf(p, v)
		if name == "" {
			continue
		}
		if m == nil {
			m = &mounted{}
		}
		switch {
		case blind(s.Source):
			s.gap(p.file, p.name, gap{at, "where the volume behind a claim can be is known only of nodes in the same files"})
			return nil
		case !s.storage.says(c) && p.node != "":
			m.stays = p.node
		case !s.storage.says(c):
			s.gap(p.file, p.name, gap{at, "where the volume behind a claim can be is not in the files; kubectl get " + s.storage.lacking() + " has it"})
			return nil
		default:
			if why := s.storage.never(p, v, c); why != "" {
				m.never = append(m.never, trace.Claims+name+": "+why)
				continue
			}
			m.at = append(m.at, s.all.of(name, c))
			if !c.Bound && len(s.all.candidates(name, c)) > 0 {
				m.choose = append(m.choose, name)
			}
		}
	}
	if m != nil && len(m.choose) > 1 {
		m.at = append(m.at, s.all.ofSeveral(m.choose))
	}
	if m != nil && m.stays != "" {
		s.notes.stay++
		return &mounted{stays: m.stays}
	}
	return m
}
