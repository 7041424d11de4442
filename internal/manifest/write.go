package manifest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// This file writes objects: what was read of them, and nothing else, so that reading that gives the same again. What is empty
// is left out where that reads the same; a selector that is there and selects everything is not empty.

// Fields are the object as JSON has it.
func (o *Object) Fields() map[string]any {
	fields := map[string]any{}
	addFields(fields, reflect.ValueOf(o).Elem())
	if version := versionOf(o.Kind); version != "" {
		fields["apiVersion"] = version
	}
	return fields
}

// versionOf is the API that has the kind, as far as objects of it are read.
func versionOf(kind string) string {
	switch kind {
	case "Node", "Pod", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController":
		return "v1"
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet":
		return "apps/v1"
	case "Job", "CronJob":
		return "batch/v1"
	case "PodDisruptionBudget":
		return "policy/v1"
	case "PriorityClass":
		return "scheduling.k8s.io/v1"
	case "PodGroup":
		return "scheduling.k8s.io/v1beta1"
	case "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity":
		return "storage.k8s.io/v1"
	case "PlacementConstraint":
		return "fairlead.dev/v1"
	}
	return ""
}

// IsRead reports whether anything is read of objects of the kind.
func IsRead(kind string) bool { return versionOf(kind) != "" }

// MarshalJSON writes the portion as it was read.
func (p *Portion) MarshalJSON() ([]byte, error) {
	if p.IsShare() {
		return strconv.AppendQuote(nil, p.text), nil
	}
	return []byte(p.text), nil
}

// addFields adds the fields of a struct that are not empty, those of structs that it embeds among them.
func addFields(to map[string]any, of reflect.Value) {
	for i := range of.NumField() {
		field, v := of.Type().Field(i), of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch _, is := to[name]; {
		case field.Anonymous && name == "":
			addFields(to, v)
		case name == "-" || is || v.IsZero():
		default:
			to[name] = valueOf(v)
		}
	}
}

// valueOf is a value as JSON has it.
func valueOf(v reflect.Value) any {
	if v.CanInterface() {
		if own, is := reflect.TypeAssert[json.Marshaler](v); is {
			return own
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return valueOf(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		addFields(fields, v)
		return fields
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = valueOf(v.Index(i))
		}
		return list
	default:
		return v.Interface()
	}
}
