// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package secretsstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// decode decodes a list of statuses as an informer does.
func decode(t *testing.T, items ...string) []SecretProviderClassPodStatus {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	text := `{"apiVersion": "secrets-store.csi.x-k8s.io/v1", "kind": "SecretProviderClassPodStatusList", "items": [` + strings.Join(items, ",") + `]}`
	found, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, is := found.DeepCopyObject().(*SecretProviderClassPodStatusList)
	if !is || len(list.Items) != len(items) {
		t.Fatalf("%T", found)
	}
	return list.Items
}

const written = `"managedFields": [
	{"manager": "driver", "operation": "Update", "time": "2026-11-27T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}, "f:status": {"f:objects": {}}}},
	{"manager": "kubectl", "operation": "Update", "time": "2026-11-27T11:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:status": {}}}}}]`

func TestAStatusIsReadAsFarAsItCounts(t *testing.T) {
	t.Parallel()
	got := decode(t, `{"metadata": {"name": "web-1-shop-vault", "namespace": "shop", "generation": 2, "labels": {"a": "b"}, "annotations": {"a": "b"},
		"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "u1"}], `+written+`},
		"status": {"podName": "web-1", "secretProviderClassName": "vault", "mounted": true, "targetPath": "/x", "objects": [{"id": "kv/a", "version": "7"}]}}`)[0]
	if got.Name != "web-1-shop-vault" || got.Pod != "u1" || got.Generation != 2 || got.Status.Class != "vault" || !got.Status.Mounted ||
		len(got.Status.Objects) != 1 || got.Status.Objects[0] != (Object{"kv/a", "7"}) {
		t.Errorf("%+v", got)
	}
	if at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC); !got.Written.Time.Equal(at) {
		t.Errorf("written at %v, want %v: a label is no status", got.Written, at)
	}
	if len(got.Labels)+len(got.Annotations)+len(got.ManagedFields)+len(got.OwnerReferences) > 0 {
		t.Errorf("held without need: %+v", got.ObjectMeta)
	}
}

// An informer that streams its first list knows by an annotation of a bookmark that it has all.
func TestTheEndOfAListIsKept(t *testing.T) {
	t.Parallel()
	bookmark := decode(t, `{"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}`)[0]
	if bookmark.Annotations["k8s.io/initial-events-end"] != "true" || bookmark.ResourceVersion != "9" {
		t.Errorf("%+v", bookmark.ObjectMeta)
	}
}

// What is forged neither fills the memory nor keeps other statuses from being read.
func TestAForgedStatusDoesNotCount(t *testing.T) {
	t.Parallel()
	large := func(last string) string {
		objects := make([]string, 2000)
		for i := range objects {
			objects[i] = fmt.Sprintf(`{"id": "%064d", "version": "%s"}`, i, last)
		}
		return `{"metadata": {"name": "large"}, "status": {"secretProviderClassName": "vault", "mounted": true, "objects": [` + strings.Join(objects, ",") + `]}}`
	}
	got := decode(t, `{"metadata": {"name": "mistyped"}, "status": {"mounted": "yes", "secretProviderClassName": ["vault"]}}`,
		`{"metadata": {"name": "none"}}`, large("a"), large("b"), `{"metadata": {"name": "good"}, "status": {"mounted": true}}`)
	for i, mounted := range []bool{false, false, true, true, true} {
		if got[i].Status.Mounted != mounted {
			t.Errorf("%s: %+v", got[i].Name, got[i].Status)
		}
	}
	a, b := got[2].Status.Objects, got[3].Status.Objects
	if len(a) != 1 || len(b) != 1 || a[0].ID != "" || a[0].Version == b[0].Version || len(a[0].Version) > 64 {
		t.Errorf("%q and %q: want a digest of each", a, b)
	}
}
