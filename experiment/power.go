package experiment

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/openb"
)

// This file is the experiments of PWR (Lettich et al., CCGrid 2025): pods of Alibaba's GPU trace of 2023 arrive as in FGD's experiment, until they have asked for 130 % of
// the GPUs; what nodes draw meanwhile is compared with what they draw with FGD. The set-up is that of the authors' repository: the nodes' hardware
// (queue/power), ten seeds, weights in thousandths.

// powerVariant is a policy with a weight of watts.
type powerVariant struct{ policy, weight string }

// name is how tables call it: PWR and FGD, as the authors do.
func (v powerVariant) name() string {
	if v.weight == "" {
		return v.policy
	}
	return v.policy + " " + v.weight
}

// powerVariants are those of the paper; the first is what the others are compared with.
func powerVariants() []powerVariant {
	return []powerVariant{{"fgd", ""}, {"pwr-fgd", "50"}, {"pwr-fgd", "100"}, {"pwr-fgd", "200"}, {"pwr-fgd", "500"}, {"pwr", ""}}
}

// powerLoads are the shares of the GPUs, in per cent, at which it is looked.
func powerLoads() (loads []int) {
	for load := 10; load <= 100; load += 10 {
		loads = append(loads, load)
	}
	return loads
}

// saturated is the load in per cent from which on pods are left without a place.
const saturated = 90

// powerRuns are what came of the runs, each a sum over seeds.
type powerRuns struct {
	lists     []string
	seeds     uint64
	watts     map[powerRun][]float64 // by load
	allocated map[powerRun]float64   // at the end
}

// powerRun is a list of pods and a variant.
type powerRun struct {
	list    string
	variant powerVariant
}

func setUpPower(o *Options) (*plan, error) {
	isReal := o.Data != "" && o.Size == Full
	s := &powerRuns{seeds: of[uint64](o.Size, 10, 2, 1), watts: map[powerRun][]float64{}, allocated: map[powerRun]float64{}, lists: []string{"made up"}}
	p := &plan{
		real: isReal, data: fmt.Sprintf("nodes and pods made up like those of Alibaba's GPU trace of 2023; seeds %d to %d", o.Seed, o.Seed+s.seeds-1),
		facts: []string{
			"A weight is that of watts, in thousandths; fragmentation has the rest. What is saved is compared with fgd at the same load: pods have asked for such a part of the GPUs.",
			"Watts are those of processors and GPUs by the paper's table, and count as fully at work what anything is taken of. No node is switched off.",
			"The paper has curves, and in words: 10 to 20 % less power below saturation, with about the GPUs allocated that FGD has.",
		},
	}
	if isReal {
		s.lists = []string{"default", "multigpu50", "gpushare100", "gpuspec33", "cpu250"}
		p.data = fmt.Sprintf("five lists of pods of Alibaba's GPU trace of 2023, on its 1,213 nodes with GPUs; seeds %d to %d", o.Seed, o.Seed+s.seeds-1)
	}
	for _, list := range s.lists {
		for _, v := range powerVariants() {
			for seed := o.Seed; seed < o.Seed+s.seeds; seed++ {
				p.steps = append(p.steps, step{fmt.Sprintf("%s, %s, seed %d", list, v.name(), seed), func() error {
					src, err := openPower(o, list, seed)
					if err != nil {
						return err
					}
					return s.run(src, powerRun{list, v}, seed)
				}})
			}
		}
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) { s.conclude(r) }
	return p, nil
}

// openPower opens a list of the trace, or makes one up.
func openPower(o *Options, list string, seed uint64) (trace.Source, error) {
	if list == "made up" {
		return likeOpenb(of(o.Size, 1, 4, 20), seed), nil
	}
	options := openb.Default()
	options.List, options.Inflate, options.Shuffle, options.Seed = list, 1.3, true, seed
	return openb.Open(filepath.Join(o.Data, "alibaba-openb"), options)
}

// run simulates, and notes what nodes drew when so much of the GPUs had been asked for.
func (s *powerRuns) run(src trace.Source, of powerRun, seed uint64) error {
	defer src.Close() //nolint:errcheck // it was only read
	options := policies.Options{Seed: seed}
	if of.variant.weight != "" {
		options.Own = policies.Settings{"power_weight": of.variant.weight}
	}
	config := sim.Config{Source: src, World: sim.World{Seed: seed, Power: power.Openb()}, Planner: sim.Planner{Time: sim.Zero}}
	if known, is := src.(trace.TypicalSource); is {
		config.Typical = known.Typical()
	}
	options.Typical = config.Typical
	policy, err := policies.New(of.variant.policy, options)
	if err != nil {
		return err
	}
	config.Lanes = []sched.Lane{{Name: of.variant.policy, Policy: policy}}
	run, err := sim.Run(config)
	if err != nil {
		return err
	}
	if s.watts[of] == nil {
		s.watts[of] = make([]float64, len(powerLoads()))
	}
	s.allocated[of] += float64(run.Allocation["gpu"].Final)
	columns := run.Series.Columns
	for i, load := range powerLoads() {
		at := slices.IndexFunc(columns["arrived.gpu"], func(v report.Number) bool { return 100*float64(v) >= float64(load) })
		if at < 0 {
			return fmt.Errorf("%s: pods ask for less than %d %% of the GPUs", of.list, load)
		}
		s.watts[of][i] += float64(columns["power_w"][at])
	}
	return nil
}

// saved is the share of what nodes draw with fgd that the variant saves, by load.
func (s *powerRuns) saved(of powerRun) (shares []float64) {
	base := s.watts[powerRun{of.list, powerVariants()[0]}]
	for i, watts := range s.watts[of] {
		shares = append(shares, 1-watts/base[i])
	}
	return shares
}

// conclude says what each variant saves, and what it costs of the allocation.
func (s *powerRuns) conclude(r *report.Reproduction) {
	for _, list := range s.lists {
		f := report.Figure{
			Title: "Power saved against fgd, " + list, X: report.Axis{Label: "share of the GPUs asked for", Unit: report.InShares}, Y: report.Axis{Label: "power saved", Unit: report.InShares},
		}
		base := s.allocated[powerRun{list, powerVariants()[0]}]
		for _, v := range powerVariants()[1:] {
			line, mean, count := report.Line{Name: v.name()}, 0.0, 0
			for i, share := range s.saved(powerRun{list, v}) {
				load := powerLoads()[i]
				line.Points = append(line.Points, [2]report.Number{report.Number(load) / 100, report.Number(share)})
				if load < saturated {
					mean, count = mean+share, count+1
				}
			}
			mean /= float64(count)
			f.Lines = append(f.Lines, line)
			saves, lost := report.Number(mean), report.Number((base-s.allocated[powerRun{list, v}])/float64(s.seeds))
			r.Compared = append(r.Compared,
				report.Compared{What: fmt.Sprintf("power saved below %d %% load, %s, %s", saturated, list, v.name()), Unit: report.InShares, Ours: &saves, Note: "published: 10 to 20 %"},
				report.Compared{What: fmt.Sprintf("of the GPUs fewer allocated than by fgd, %s, %s", list, v.name()), Unit: report.InShares, Ours: &lost, Note: "published: about as many"},
			)
		}
		r.Figures = append(r.Figures, f)
	}
}

// likeOpenb is nodes in the numbers that Alibaba's trace has of each kind over the divisor, and pods in its shares, one a second and without end, until they ask for
// 130 % of the GPUs.
func likeOpenb(divisor int, seed uint64) *recorded {
	l := &recorded{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "MiB", PerUnit: 1}, {Name: "gpu", Unit: "GPUs", PerUnit: 1000, Devices: true}}}
	left := int64(0)
	for _, of := range []struct {
		model             string
		nodes, gpus, cpus int
		memory            int64 // GiB
	}{
		{"G2", 549, 8, 96, 384},
		{"T4", 387, 2, 104, 512},
		{"P100", 107, 2, 16, 120},
		{"G3", 39, 8, 128, 768},
		{"V100M16", 28, 4, 32, 128},
		{"P100", 22, 2, 64, 256},
		{"V100M32", 21, 8, 96, 768},
		{"V100M16", 19, 1, 8, 32},
		{"T4", 17, 4, 96, 384},
	} {
		for range (of.nodes + divisor - 1) / divisor {
			l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
				ID: uint64(len(l.records)), Capacity: cluster.Vector{int64(of.cpus) * 1000, of.memory << 10, int64(of.gpus) * 1000},
				Labels: []cluster.Label{{Key: "gpu-model", Value: of.model}},
			}})
			left += int64(of.gpus) * 1300
		}
	}
	random := rand.New(rand.NewPCG(seed, 0x6f62)) //nolint:gosec // no secret
	for job := uint64(1); ; job++ {
		var demand cluster.Vector
		switch at := random.IntN(1000); { // thousandths of the pods
		case at < 133:
			demand = cluster.Vector{4000 * (1 + random.Int64N(2)), 16 << 10, 0}
		case at < 512:
			demand = cluster.Vector{3000 * (1 + random.Int64N(3)), 12 << 10, []int64{810, 470, 320, 650}[random.IntN(4)]}
		case at < 992:
			demand = cluster.Vector{4000 * (1 + random.Int64N(4)), 40 << 10, 1000}
		default:
			demand = cluster.Vector{64_000, 256 << 10, 8000}
		}
		if left -= demand[2]; left < 0 {
			return l
		}
		l.records = append(l.records, trace.Record{Time: cluster.Time(job) * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: job, JobTasks: 1, Name: strconv.FormatUint(job, 10), Demand: demand, Work: cluster.Never,
		}})
	}
}
