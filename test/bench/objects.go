// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/*.yaml
var manifests embed.FS

// load reads an object from the file of its author.
func load(name string) (*unstructured.Unstructured, error) {
	raw, err := manifests.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &obj.Object); err != nil {
		return nil, fmt.Errorf("testdata/%s.yaml: %w", name, err)
	}
	// The decoder has read numbers as floats, and unstructured objects need integers.
	if err := obj.UnmarshalJSON(encode(obj.Object)); err != nil {
		return nil, fmt.Errorf("testdata/%s.yaml: %w", name, err)
	}
	return obj, nil
}

// admitted returns the object with the metadata that an API server sets before it calls mutating webhooks.
func admitted(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	content := maps.Clone(obj.Object)
	delete(content, "status")
	delete(content, "apiVersion")
	delete(content, "kind")
	metadata := map[string]any{}
	if labels, has, err := unstructured.NestedMap(obj.Object, "metadata", "labels"); has && err == nil {
		metadata["labels"] = labels
	}
	if annotations, has, err := unstructured.NestedMap(obj.Object, "metadata", "annotations"); has && err == nil {
		metadata["annotations"] = annotations
	}
	content["metadata"] = metadata
	managers := []metav1.ManagedFieldsEntry{managed(obj, "kubectl", "", content)}
	if status, has := obj.Object["status"]; has {
		managers = append(managers, managed(obj, "fairlead", "status", map[string]any{"status": status}))
	}
	obj.SetManagedFields(managers)
	return obj
}

// stored returns the object with the metadata of a stored object.
func stored(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = admitted(obj)
	obj.SetUID("0b3c41a5-6f1b-4c39-9d3e-6a8a3f0f7c11")
	obj.SetResourceVersion("48213")
	obj.SetGeneration(2)
	obj.SetCreationTimestamp(metav1.Unix(1_772_000_000, 0))
	return obj
}

func managed(obj *unstructured.Unstructured, manager, subresource string, content map[string]any) metav1.ManagedFieldsEntry {
	at := metav1.Unix(1_772_000_000, 0)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: obj.GetAPIVersion(), Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(encode(fields(content, false)))), Subresource: subresource,
	}
}

// fields returns the fields of a value in the notation of managedFields.
func fields(value any, item bool) map[string]any {
	set := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		if item {
			set["."] = map[string]any{}
		}
		for key, member := range value {
			set["f:"+key] = fields(member, false)
		}
	case []any:
		for _, member := range value {
			object, _ := member.(map[string]any)
			for _, key := range []string{"name", "type"} {
				if id, keyed := object[key].(string); keyed {
					set["k:"+string(encode(map[string]any{key: id}))] = fields(object, true)
					break
				}
			}
		}
	}
	return set
}

// edited returns obj with one more endpoint, which has only its required fields.
func edited(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj = obj.DeepCopy()
	endpoints, _, err := unstructured.NestedSlice(obj.Object, "spec", "endpoints")
	if err != nil {
		return nil, err
	}
	endpoints = append(endpoints, map[string]any{"name": "standby", "dns": map[string]any{"name": "db-standby.example.com"}})
	return obj, unstructured.SetNestedSlice(obj.Object, endpoints, "spec", "endpoints")
}

// typed decodes an object into its type.
func typed[T any](obj *unstructured.Unstructured) (*T, error) {
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out)
}

// encode returns a value as JSON. It must come from JSON or be a type of the API, so that this cannot fail.
func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return raw
}
