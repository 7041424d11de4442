package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the offers of capacity nodes: read from a file, checked, and put beside the nodes of the cluster, so that
// what keeps tasks off nodes keeps them off offers.

// offerFile is a file of offers.
type offerFile struct {
	Offers []offer `json:"offers"`
}

// offer is a kind of node that may be bought.
type offer struct {
	Name     string            `json:"name"`
	Provider string            `json:"provider"`
	Capacity map[string]string `json:"capacity"` // what pods may ask for of a node
	Labels   map[string]string `json:"labels"`
	Taints   []offerTaint      `json:"taints"`
	Price    float64           `json:"price"` // an hour
	Most     int               `json:"most"`  // 0: as many as one likes
}

type offerTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// priceUnits are in 1 of a price.
const priceUnits = 1_000_000

// readOffersFile reads the offers of a file; nil without one.
func readOffersFile(file string, stdin io.Reader) ([]offer, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readManifest(file, stdin)
	if err != nil {
		return nil, fmt.Errorf("--offers: %w", err)
	}
	return readOffers(inputName(file), text)
}

// readOffers reads a file of offers: a list, or a document with the field offers.
func readOffers(name string, text []byte) ([]offer, error) {
	in, top, err := document.Open(name, text)
	if err != nil {
		return nil, err
	}
	var file offerFile
	if top.Node.Kind == yaml.SequenceNode {
		in.Decode(top, &file.Offers)
	} else {
		in.Decode(top, &file)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range file.Offers {
		o := &file.Offers[i]
		at := fmt.Sprintf("%s: offers[%d]", name, i)
		switch {
		case o.Name == "":
			return nil, fmt.Errorf("%s: want a name", at)
		case seen[o.id()]:
			return nil, fmt.Errorf("%s: %s is there twice; give each its own name or provider", at, o.id())
		case !(o.Price*priceUnits >= 1 && o.Price < 1e5):
			return nil, fmt.Errorf("%s: %s: price is %g, want that of an hour, from 0.000001 to 100000", at, o.id(), o.Price)
		case o.Most < 0:
			return nil, fmt.Errorf("%s: %s: most is %d, want how many there are, or 0 for as many as one likes", at, o.id(), o.Most)
		case len(o.Capacity) == 0:
			return nil, fmt.Errorf("%s: %s: want its capacity, such as {cpu: 4, memory: 16GiB, pods: 58}", at, o.id())
		}
		seen[o.id()] = true
		for _, kind := range slices.Sorted(maps.Keys(o.Capacity)) {
			if _, _, err := amount(o.Capacity[kind]); err != nil {
				return nil, fmt.Errorf("%s: %s: capacity of %s: %w", at, o.id(), kind, err)
			}
		}
	}
	if len(file.Offers) == 0 {
		return nil, fmt.Errorf("%s: there is no offer; want a list such as [{name: m5.xlarge, capacity: {cpu: 4, memory: 16GiB}, price: 0.192}]", name)
	}
	return file.Offers, nil
}

// id tells the offer from all others.
func (o *offer) id() string {
	if o.Provider == "" {
		return o.Name
	}
	return o.Provider + "/" + o.Name
}

// nodeName is how the node of the offer is called that stands beside those of the cluster.
func (o *offer) nodeName() string { return "offer " + o.id() }

// usualPods is how many pods a node runs where the offer does not say.
const usualPods = "110"

// offersManifest are the offers as nodes of Kubernetes.
func offersManifest(offers []offer) ([]byte, error) {
	var text []byte
	for i := range offers {
		o := &offers[i]
		capacity := map[string]string{"pods": usualPods}
		for kind, q := range o.Capacity {
			capacity[kind] = strings.TrimSuffix(q, "B")
		}
		labels := map[string]string{"kubernetes.io/hostname": o.nodeName()}
		maps.Copy(labels, o.Labels)
		node, err := json.Marshal(map[string]any{
			"kind": "Node", "metadata": map[string]any{"name": o.nodeName(), "labels": labels},
			"spec": map[string]any{"taints": o.Taints}, "status": map[string]any{"allocatable": capacity},
		})
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, "---\n"...), node...), '\n')
	}
	return text, nil
}

// withOffers is a source of another format with the offers as nodes.
func withOffers(source setup.Opened, offers []offer) (setup.Opened, error) {
	kinds := source.Kinds()
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	var nodes []trace.Node
	for i := range offers {
		o := &offers[i]
		n := trace.Node{ID: math.MaxUint64 - uint64(i), Name: o.nodeName(), Capacity: make(cluster.Vector, len(kinds))}
		for _, kind := range slices.Sorted(maps.Keys(o.Capacity)) {
			at := slices.Index(names, kind)
			if at < 0 {
				return source, fmt.Errorf("offer %s: %w", o.id(), nearest.Unknown("resource", kind, names))
			}
			q, err := quantityOf(kinds[at], o.Capacity[kind])
			if err != nil {
				return source, fmt.Errorf("offer %s: %w", o.id(), err)
			}
			n.Capacity[at] = int64(math.Floor(q))
		}
		for key, value := range o.Labels {
			n.Labels = append(n.Labels, cluster.Label{Key: key, Value: value})
		}
		if len(o.Taints) > 0 {
			var all []string
			for _, t := range o.Taints {
				all = append(all, t.Key+"="+t.Value+":"+t.Effect)
			}
			n.Labels = append(n.Labels, cluster.Label{Key: trace.Taints, Value: strings.Join(all, ",")})
		}
		cluster.SortLabels(n.Labels)
		nodes = append(nodes, n)
	}
	return source.WithNodes(nodes), nil
}
