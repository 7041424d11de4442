package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long a real kubelet takes to start pods: from the moment the API server
// has acknowledged the binding until the first instruction of the container's
// program. Both are read from clocks of this machine; the times in the status of
// a pod are whole seconds, and get there a second late because the kubelet looks
// for what has changed once a second. Pods start one after the other on an
// otherwise idle node, without volumes and on the network of the host.
//
// A hot start finds its image unpacked. A cold one has an image of which the
// node has no byte: the kubelet pulls it from a registry on the loopback
// interface, so cold is asking for the manifest, copying the layer at the speed
// of memory, checking its digest, unpacking and storing it, but no network.

// startLimit is when a pod is given up that does not start.
const startLimit = 2 * time.Minute

// MeasureHot starts that many pods whose image the node has.
func (k *Kubelet) MeasureHot(ctx context.Context, pods int) ([]time.Duration, error) {
	// The first start reads programs from the disk that stay in memory then.
	if _, err := k.measureStart(ctx, "warm-up", SleeperImage); err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range pods {
		d, err := k.measureStart(ctx, fmt.Sprintf("hot-%d", i), SleeperImage)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// MeasureCold starts that many pods, each with an image of its own of that many
// bytes when unpacked.
func (k *Kubelet) MeasureCold(ctx context.Context, pods, size int) ([]time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It does not block.
	if err != nil {
		return nil, fmt.Errorf("test bed: listen as a registry: %w", err)
	}
	images := &registry{}
	server := &http.Server{Handler: images, ReadHeaderTimeout: time.Minute}
	defer server.Close()      //nolint:errcheck // Nobody asks it any more.
	go server.Serve(listener) //nolint:errcheck // It ends with Close; before, pods would not start, and say so.
	var took []time.Duration
	for n := range pods {
		name := fmt.Sprintf("cold-%d", n)
		i, err := newImage(fmt.Sprintf("%s/%s:1", listener.Addr(), name), k.program, max(size-len(k.program), 0))
		if err != nil {
			return nil, err
		}
		images.serve(i)
		d, err := k.measureStart(ctx, name, i.name)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
		if err := k.ctr(ctx, "images", "remove", "--sync", i.name); err != nil {
			return nil, fmt.Errorf("test bed: remove image %s: %w", i.name, err)
		}
	}
	return took, nil
}

// measureStart starts a pod, and returns when it has gone again.
func (k *Kubelet) measureStart(ctx context.Context, name, image string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	pod, err := k.startPod(ctx, name, image)
	if err != nil {
		return 0, err
	}
	bound := time.Now()
	began, err := k.awaitBegin(ctx, pod)
	if err != nil {
		return 0, err
	}
	return began.Sub(bound), k.endPod(ctx, name)
}

// startPod creates a pod and binds it to the node.
func (k *Kubelet) startPod(ctx context.Context, name, image string) (*corev1.Pod, error) {
	client, err := k.bed.Client(Admin)
	if err != nil {
		return nil, err
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	noToken := false
	// The kernel lets pods that ask for nothing wait behind all others.
	half := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "testbed", HostNetwork: true, AutomountServiceAccountToken: &noToken,
			Containers: []corev1.Container{{
				Name: "c", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
				Resources: corev1.ResourceRequirements{Requests: half},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("test bed: create pod %s: %w", name, err)
	}
	err = pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: k.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("test bed: bind pod %s: %w", name, err)
	}
	return pod, nil
}

// awaitBegin reads when the program began from what it printed.
func (k *Kubelet) awaitBegin(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	log := k.path(filepath.Join("log/pods", fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID), "c/0.log"))
	for {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, fmt.Errorf("test bed: read what pod %s printed: %w", pod.Name, err)
		}
		if line, _, whole := bytes.Cut(text, []byte("\n")); whole {
			words := bytes.Fields(line)
			began, err := time.Parse(time.RFC3339Nano, string(words[len(words)-1]))
			if err != nil {
				return began, fmt.Errorf("test bed: pod %s printed %q, want when it began: %w", pod.Name, line, err)
			}
			return began, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("test bed: wait for pod %s to start: %w\n%s", pod.Name, context.Cause(ctx), logTail(k.log(kubeletName)))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// endPod deletes a pod and waits until its container has ended, so that the next
// measurement is alone.
func (k *Kubelet) endPod(ctx context.Context, name string) error {
	client, err := k.bed.Client(Admin)
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("test bed: delete pod %s: %w", name, err)
	}
	for {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("test bed: wait for the end of pod %s: %w", name, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
