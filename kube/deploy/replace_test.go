package deploy_test

import (
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
)

// TestReplace: what takes kube-scheduler's place reads a configuration that is mounted and valid, shares its lease, and has a role for its user.
func TestReplace(t *testing.T) {
	read := func(name string, into any) []byte {
		t.Helper()
		text, err := os.ReadFile("replace/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if into != nil {
			if err := kyaml.UnmarshalStrict(text, into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		return text
	}
	c, err := config.Parse("config.yaml", read("config.yaml", nil))
	if err != nil {
		t.Fatal(err)
	}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if is, shares := c.TakesOver(); !is || !shares {
		t.Errorf("takes over: %t, under kube-scheduler's lease: %t", is, shares)
	}
	var binding rbacv1.ClusterRoleBinding
	read("rbac.yaml", &binding)
	if role := every[rbacv1.ClusterRole](t)[0].Name; binding.RoleRef.Name != role || binding.Subjects[0].Name != "system:kube-scheduler" {
		t.Errorf("%v binds %v, want %s for kube-scheduler's user", binding.Subjects, binding.RoleRef, role)
	}
	var pod corev1.Pod
	read("kube-scheduler.yaml", &pod)
	mounted := func(path string) bool {
		return slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	}
	if !mounted(c.ClientConnection.Kubeconfig) || !mounted("/etc/kubernetes/fairlead") || !slices.Contains(pod.Spec.Containers[0].Args, "--config=/etc/kubernetes/fairlead/config.yaml") {
		t.Errorf("the pod does not mount what it reads: %v", pod.Spec.Containers[0].VolumeMounts)
	}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
}
