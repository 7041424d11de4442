package perf

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// This file is what workloads do with objects of any kind.

// writers is how many requests are under way at once, as in upstream's benchmark.
const writers = 30

// parallel calls do with 0 to count-1, some at a time.
func parallel(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(writers)
	for i := range count {
		all.Go(func() error { return do(ctx, i) })
	}
	return all.Wait()
}

// resource is where an object of a template belongs.
func (r *runner) resource(object *unstructured.Unstructured, namespace string) (dynamic.ResourceInterface, error) {
	resource, namespaced, err := r.mapping(object)
	switch {
	case err != nil:
		return nil, err
	case namespaced && namespace == "":
		return nil, fmt.Errorf("a %s stands in a namespace, and none is said", object.GetKind())
	case namespaced:
		return resource.Namespace(namespace), nil
	case namespace != "":
		return nil, fmt.Errorf("a %s stands in no namespace, and %s is said", object.GetKind(), namespace)
	}
	return resource, nil
}

func (r *runner) createAny(ctx context.Context, o *Objects) error {
	if o.Namespace != "" {
		if err := r.use(ctx, o.Namespace); err != nil {
			return err
		}
	}
	s, err := newStencil(o.TemplatePath, o.TemplateParams, o.count())
	if err != nil {
		return err
	}
	return parallel(ctx, o.count(), func(ctx context.Context, i int) error {
		var object unstructured.Unstructured
		if err := s.fill(i, &object); err != nil {
			return err
		}
		resource, err := r.resource(&object, o.Namespace)
		if err == nil {
			_, err = resource.Create(ctx, &object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		}
		if err != nil {
			return fmt.Errorf("create number %d of %d objects of %s: %w", i, o.count(), o.TemplatePath, err)
		}
		return nil
	})
}

func (r *runner) createPodGroups(ctx context.Context, op *CreatePodGroups) error {
	if err := r.use(ctx, op.Namespace); err != nil {
		return err
	}
	s, err := newStencil(op.TemplatePath, op.TemplateParams, op.count())
	if err != nil {
		return err
	}
	return parallel(ctx, op.count(), func(ctx context.Context, i int) error {
		// Whatever version the template says: upstream's reads them as this one, and so does the API server.
		var object schedulingv1beta1.PodGroup
		if err := s.fill(i, &object); err != nil {
			return err
		}
		object.TypeMeta = metav1.TypeMeta{}
		_, err := r.client.SchedulingV1beta1().PodGroups(op.Namespace).Create(ctx, &object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			return fmt.Errorf("create pod group %s/%s: %w", op.Namespace, object.Name, err)
		}
		return nil
	})
}

// updateAny replaces objects and their status. Templates leave the version out, so that nobody's change is in the way.
func (r *runner) updateAny(ctx context.Context, op *UpdateAny) error {
	if op.Namespace != "" {
		if err := r.use(ctx, op.Namespace); err != nil {
			return err
		}
	}
	s, err := newStencil(op.TemplatePath, nil, op.count())
	if err != nil {
		return err
	}
	options := metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}
	return every(ctx, op.UpdatePerSecond, op.count(), func(i int) error {
		var object unstructured.Unstructured
		if err := s.fill(i, &object); err != nil {
			return err
		}
		resource, err := r.resource(&object, op.Namespace)
		if err == nil {
			_, err = resource.Update(ctx, &object, options, op.Subresources...)
		}
		if err == nil {
			_, err = resource.UpdateStatus(ctx, &object, options)
		}
		if err != nil {
			return fmt.Errorf("update %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		return nil
	})
}

// churned are objects of one template that come and go.
type churned struct {
	object   *unstructured.Unstructured
	resource dynamic.ResourceInterface
	names    []string // by turn, of those that are there; empty: none
}

// churn lets objects come, and go, until the workload ends.
func (r *runner) churn(ctx context.Context, namespace string, op *Churn) error {
	if op.Namespace != "" {
		namespace = op.Namespace
	}
	// Barriers do not wait for what comes and goes.
	if err := r.ensureNamed(ctx, namespace); err != nil {
		return err
	}
	var all []*churned
	for _, path := range op.TemplatePaths {
		s, err := newStencil(path, nil, 1)
		if err != nil {
			return err
		}
		c := &churned{object: &unstructured.Unstructured{}, names: make([]string, op.Number)}
		if err := s.fill(0, c.object); err != nil {
			return err
		}
		resource, namespaced, err := r.mapping(c.object)
		if err != nil {
			return err
		}
		c.resource = resource
		if namespaced {
			c.resource = resource.Namespace(namespace)
		}
		all = append(all, c)
	}
	interval := 500 * time.Millisecond
	if op.IntervalMilliseconds != 0 {
		interval = time.Duration(op.IntervalMilliseconds) * time.Millisecond
	}
	r.beside(ctx, func() error {
		for turn := 0; op.Mode == "recreate" || op.Number == 0 || turn < op.Number; turn++ {
			if err := sleep(ctx, interval); err != nil {
				return err
			}
			for _, c := range all {
				if err := c.turn(ctx, op.Mode, turn); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return nil
}

// turn creates an object or, if it was created so many turns ago as there may be, deletes it. As upstream has it, one that cannot be
// created is left out.
func (c *churned) turn(ctx context.Context, mode string, turn int) error {
	if mode == "create" {
		_, _ = c.resource.Create(ctx, c.object.DeepCopy(), metav1.CreateOptions{})
		return nil
	}
	name := &c.names[turn%len(c.names)]
	if *name == "" {
		if created, err := c.resource.Create(ctx, c.object.DeepCopy(), metav1.CreateOptions{}); err == nil {
			*name = created.GetName()
		}
		return nil
	}
	if err := c.resource.Delete(ctx, *name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete %s %s again: %w", c.object.GetKind(), *name, err)
	}
	*name = ""
	return nil
}
