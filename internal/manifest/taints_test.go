package manifest

import "testing"

func TestTolerations(t *testing.T) {
	x := Taint{Key: "k", Value: "5", Effect: "NoSchedule"}
	for _, c := range []struct {
		by   Toleration
		want bool
	}{
		{Toleration{Operator: "Exists"}, true},
		{Toleration{Key: "k", Operator: "Exists"}, true},
		{Toleration{Key: "l", Operator: "Exists"}, false},
		{Toleration{Key: "k", Value: "5"}, true},
		{Toleration{Key: "k", Operator: "Equal", Value: "6"}, false},
		{Toleration{Key: "k", Value: "5", Effect: "NoExecute"}, false},
		{Toleration{Key: "k", Value: "5", Effect: "NoSchedule"}, true},
		{Toleration{Key: "k", Operator: "Gt", Value: "4"}, true},
		{Toleration{Key: "k", Operator: "Gt", Value: "5"}, false},
		{Toleration{Key: "k", Operator: "Lt", Value: "6"}, true},
		{Toleration{Key: "k", Operator: "Lt", Value: "06"}, false},
		{Toleration{Key: "k", Operator: "Odd", Value: "5"}, false},
	} {
		if got := c.by.tolerates(x); got != c.want {
			t.Errorf("%+v: %v", c.by, got)
		}
	}
}
