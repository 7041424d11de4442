// Package testbed runs a real Kubernetes control plane on the loopback
// interface of one machine: etcd, kube-apiserver and, when asked for,
// kube-controller-manager, kube-scheduler and kwok, whose nodes are objects and
// whose containers never run. Tests of the front end need no other cluster, and
// benchmarks measure schedulers against each other here.
//
// [Build] compiles the programs once; [Start] brings up a fresh cluster in a few
// seconds and [Bed.Close] removes every trace of it. [Bed.Measure] puts a load
// on it and accounts for the processor time of each process, because on a
// machine of few cores CPU per pod travels to other machines and pods per second
// do not. Every bed runs the Kubernetes that go.mod requires, or the one that
// [KubernetesEnv] names, which [BuildKubernetes] has compiled.
//
// Where the machine allows it, [Bed.StartKubelet] adds a real node, whose
// containers do run, and [Kubelet.MeasureHot] and [Kubelet.MeasureCold] measure
// how long they take to start. [CanRunContainers] says what a machine lacks.
package testbed
