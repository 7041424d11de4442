package app

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/config"
)

// This file keeps a scheduler that takes over the pods of kube-scheduler from running beside it. Who shares its lease cannot;
// anybody else looks whether it is renewed.

const (
	// leaseLook is the pause between two looks at the lease.
	leaseLook = 500 * time.Millisecond
	// leaseLasts is how long a lease counts that does not say for how long it does: kube-scheduler's default.
	leaseLasts = 15 * time.Second
)

// keepApart returns an error if kube-scheduler schedules the pods that the configuration takes over. By its lease, which somebody holds,
// it is watched for as long as the lease lasts, whatever the clocks of the two machines say.
func keepApart(ctx context.Context, client kubernetes.Interface, c *config.SchedulerConfiguration) error {
	if is, shares := c.TakesOver(); !is || shares {
		return nil
	}
	look := func() (*coordinationv1.LeaseSpec, error) {
		lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, config.UpstreamLease, metav1.GetOptions{})
		for isAway(err) && ctx.Err() == nil { // whoever ends for that would be started anew ever later
			klog.FromContext(ctx).Info("Cannot see whether kube-scheduler runs; looking again", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(askAgain):
			}
			lease, err = client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, config.UpstreamLease, metav1.GetOptions{})
		}
		switch {
		case apierrors.IsNotFound(err):
			return &coordinationv1.LeaseSpec{}, nil
		case err != nil:
			return nil, fmt.Errorf("cannot see whether kube-scheduler runs, whose pods a profile takes over, by its lease %s/%s: %w", metav1.NamespaceSystem, config.UpstreamLease, err)
		}
		return &lease.Spec, nil
	}
	first, err := look()
	if err != nil || !isHeld(first) {
		return err
	}
	lasts := leaseLasts
	if first.LeaseDurationSeconds != nil {
		lasts = time.Duration(*first.LeaseDurationSeconds) * time.Second
	}
	for until := time.Now().Add(lasts); time.Now().Before(until); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(leaseLook):
		}
		now, err := look()
		if err != nil || !isHeld(now) {
			return err
		}
		if !now.RenewTime.Equal(first.RenewTime) {
			return fmt.Errorf("a profile takes over %s, and %s renews the lease %s/%s, so that kube-scheduler places the same pods; stop it, or share its lease (leaderElection.resourceName: %s)",
				corev1.DefaultSchedulerName, *now.HolderIdentity, metav1.NamespaceSystem, config.UpstreamLease, config.UpstreamLease)
		}
	}
	return nil // whoever held it is gone
}

// isHeld reports whether somebody holds the lease, or did when it was last heard of.
func isHeld(l *coordinationv1.LeaseSpec) bool {
	return l.HolderIdentity != nil && *l.HolderIdentity != "" && l.RenewTime != nil
}
