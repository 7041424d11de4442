package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
)

// This file asks which APIs the server serves, before anything waits for them: an informer of one that is
// absent never lists, and the scheduler would never be ready, without a word of why.

const (
	// askAgain is the pause before the server is asked again, if it does not answer.
	askAgain = time.Second
	// askFor is how long it is asked; after that it is taken to serve everything.
	askFor = 20 * time.Second
)

// adapt does without the optional APIs that the server does not serve, and says so.
func adapt(ctx context.Context, server discovery.ServerResourcesInterface) error {
	ctx, end := context.WithTimeout(ctx, askFor)
	defer end()
	version := resourcev1.SchemeGroupVersion.String()
	var served *metav1.APIResourceList
	err := wait.PollUntilContextCancel(ctx, askAgain, true, func(context.Context) (bool, error) {
		list, err := server.ServerResourcesForGroupVersion(version)
		switch {
		case err == nil:
			served = list
		case apierrors.IsNotFound(err):
			return false, fmt.Errorf("the API server does not serve %s, from which upstream's filters learn of devices; it is served by default since Kubernetes 1.34", version)
		default:
			klog.FromContext(ctx).Info("Cannot ask which APIs are served; asking again", "err", err)
		}
		return err == nil, nil
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	rules := func(r metav1.APIResource) bool { return r.Name == "devicetaintrules" }
	if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) && !slices.ContainsFunc(served.APIResources, rules) {
		klog.FromContext(ctx).Info("The API server does not serve devicetaintrules of " + version + ": taints of devices are those of their slices alone")
		return utilfeature.DefaultMutableFeatureGate.Set(string(features.DRADeviceTaintRules) + "=false")
	}
	return nil
}
