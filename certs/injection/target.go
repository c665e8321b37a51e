// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// kind is one of the kinds of targets.
type kind struct {
	name     string
	resource schema.GroupVersionResource

	// slots are the fields of an object that take a bundle. It fails where there are none, with the remedy.
	slots func(*unstructured.Unstructured) ([]slot, error)

	// path is the path in managedFields that names the owner of a slot.
	path func(slot) []string

	// fill returns the least content that sets the bundle in the slots by server-side apply. What the
	// schema requires in addition is in the object already.
	fill func(slots []slot, bundle string) map[string]any

	// maxBackoff is the longest time without a write where another writer keeps removing the bundle. It is
	// longer for CRDs: each write of one makes the API server convert all stored objects.
	maxBackoff time.Duration
}

// slot is one field for a bundle: the name of the webhook, empty for a CRD, its current value, and the Service that is
// called with it, empty where a URL is.
type slot struct {
	webhook string
	current []byte
	service types.NamespacedName
}

// target is one object that must have the bundle.
type target struct {
	kind *kind
	name string
}

func (t target) String() string { return t.kind.name + " " + t.name }

var (
	mutatingKind   = webhooksKind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
	validatingKind = webhooksKind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
	crdKind        = &kind{
		name:     "CustomResourceDefinition",
		resource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		slots:    crdSlots,
		path: func(slot) []string {
			return []string{"f:spec", "f:conversion", "f:webhook", "f:clientConfig", "f:caBundle"}
		},
		fill: func(_ []slot, bundle string) map[string]any {
			webhook := map[string]any{"clientConfig": map[string]any{"caBundle": bundle}}
			return map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": webhook}}}
		},
		maxBackoff: time.Hour,
	}
)

func webhooksKind(name, resource string) *kind {
	return &kind{
		name:     name,
		resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource},
		slots:    webhookSlots,
		path: func(one slot) []string {
			return []string{"f:webhooks", fmt.Sprintf(`k:{"name":%q}`, one.webhook), "f:clientConfig", "f:caBundle"}
		},
		fill: func(slots []slot, bundle string) map[string]any {
			entries := make([]any, 0, len(slots))
			for _, one := range slots { // the name is the key of the list
				entries = append(entries, map[string]any{"name": one.webhook, "clientConfig": map[string]any{"caBundle": bundle}})
			}
			return map[string]any{"webhooks": entries}
		},
		maxBackoff: time.Minute,
	}
}

func webhookSlots(object *unstructured.Unstructured) ([]slot, error) {
	entries, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return nil, err
	}
	var found []slot
	for _, entry := range entries {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("has a webhook that is no object but %T", entry)
		}
		name, _, err := unstructured.NestedString(webhook, "name")
		if err != nil {
			return nil, err
		}
		client, _, err := unstructured.NestedMap(webhook, "clientConfig")
		if err != nil {
			return nil, fmt.Errorf("webhook %q: %w", name, err)
		}
		one, err := slotAt(client)
		if err != nil {
			return nil, fmt.Errorf("webhook %q: %w", name, err)
		}
		one.webhook = name
		found = append(found, one)
	}
	if len(found) == 0 {
		return nil, errors.New("has no webhooks: install the webhook configurations again (make install)")
	}
	return found, nil
}

// crdSlots returns no slot for a CRD that serves one version and calls no webhook.
func crdSlots(object *unstructured.Unstructured) ([]slot, error) {
	strategy, _, err := unstructured.NestedString(object.Object, "spec", "conversion", "strategy")
	if err != nil {
		return nil, err
	}
	if strategy != "Webhook" && servedVersions(object) == 1 {
		return nil, nil // nothing is converted
	}
	if strategy != "Webhook" {
		return nil, fmt.Errorf("has conversion strategy %q, so its versions are relabelled and not converted: install the CRDs with the strategy Webhook (make install)", strategy)
	}
	client, _, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook", "clientConfig")
	if err != nil {
		return nil, err
	}
	one, err := slotAt(client)
	if err != nil {
		return nil, err
	}
	return []slot{one}, nil
}

// servedVersions counts the versions at which a CRD serves its objects.
func servedVersions(crd *unstructured.Unstructured) int {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // the API server has checked them
	count := 0
	for _, version := range versions {
		if version, ok := version.(map[string]any); ok && version["served"] == true {
			count++
		}
	}
	return count
}

// slotAt returns the slot of a clientConfig, which may be nil.
func slotAt(client map[string]any) (slot, error) {
	encoded, _, err := unstructured.NestedString(client, "caBundle")
	if err != nil {
		return slot{}, err
	}
	current, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return slot{}, err
	}
	namespace, _, _ := unstructured.NestedString(client, "service", "namespace") // the API server has checked them
	name, _, _ := unstructured.NestedString(client, "service", "name")
	return slot{current: current, service: types.NamespacedName{Namespace: namespace, Name: name}}, nil
}

// patch returns the object to apply: the bundle in the slots, with the UID and resourceVersion that were read. The UID keeps
// apply from creating a deleted object again, and the version from restoring a removed webhook.
func (t target) patch(object *unstructured.Unstructured, slots []slot, bundle []byte) *unstructured.Unstructured {
	content := t.kind.fill(slots, base64.StdEncoding.EncodeToString(bundle))
	applied := &unstructured.Unstructured{Object: content}
	applied.SetAPIVersion(t.kind.resource.GroupVersion().String())
	applied.SetKind(t.kind.name)
	applied.SetName(t.name)
	applied.SetUID(object.GetUID())
	applied.SetResourceVersion(object.GetResourceVersion())
	return applied
}
