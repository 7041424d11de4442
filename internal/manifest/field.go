// Package manifest is as much of Kubernetes' objects as Fairlead reads without Kubernetes'
// code: the fields that decide where a pod may go and what it takes there, and what they
// mean: quantities, requests, selectors, taints. Those who find the objects in files are
// elsewhere.
package manifest

import (
	"errors"
	"fmt"
)

// FieldError is a field of an object that cannot be read.
type FieldError struct{ Path, Want, Got string }

// Wrong is the error that the field of that path is not what is wanted.
func Wrong(path, want, got string) FieldError { return FieldError{path, want, got} }

// Error says which field it is.
func (e FieldError) Error() string { return fmt.Sprintf("%s: want %s, got %q", e.Path, e.Want, e.Got) }

// Within puts the path of what is around a field before it.
func Within(path string, err error) error {
	if wrong, ok := errors.AsType[FieldError](err); ok {
		wrong.Path = path + "." + wrong.Path
		return wrong
	}
	return fmt.Errorf("%s: %w", path, err)
}
