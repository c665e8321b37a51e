// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// decoded is the n-th of many objects that were made from one template, as an informer receives it.
func decoded(t *testing.T, n int) *networkingv1.ExternalService {
	t.Helper()
	es := &networkingv1.ExternalService{}
	err := json.Unmarshal(fmt.Appendf(nil, `{"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService",
		"metadata": {"name": "db-%[1]d", "namespace": "shop", "uid": "u-%[1]d", "resourceVersion": "%[1]d", "labels": {"team": "a", "app": "ledger"},
			"creationTimestamp": "2026-11-24T08:00:00Z", "managedFields": [{"manager": "kubectl"}]},
		"spec": {"ports": [{"name": "sql", "port": 5432}], "endpoints": [{"name": "a", "addresses": ["192.0.2.%[1]d", "198.51.100.1"]}],
			"healthCheck": {"httpGet": {"path": "/health"}, "interval": "15s"}, "failover": {"minHealthyPercent": 50}},
		"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "all is well", "lastTransitionTime": "2026-11-24T08:00:00Z"}]}}`, n), es)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

func TestObjectsOfACacheShareWhatIsEqualAndStayWhatTheyWere(t *testing.T) {
	transform := New().After(cache.TransformStripManagedFields())
	var all []*networkingv1.ExternalService
	for n := range 2 {
		es := decoded(t, n)
		want := es.DeepCopy()
		want.ManagedFields = nil
		if _, err := transform(es); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, es); diff != "" {
			t.Errorf("object %d was changed (-want +got):\n%s", n, diff)
		}
		all = append(all, es)
	}
	a, b := all[0], all[1]
	for what, shared := range map[string]bool{
		"a check":            a.Spec.HealthCheck == b.Spec.HealthCheck,
		"a slice of ports":   &a.Spec.Ports[0] == &b.Spec.Ports[0],
		"labels":             reflect.ValueOf(a.Labels).Pointer() == reflect.ValueOf(b.Labels).Pointer(),
		"conditions":         &a.Status.Conditions[0] == &b.Status.Conditions[0],
		"a string":           unsafe.StringData(string(a.Spec.Endpoints[0].Addresses[1])) == unsafe.StringData(string(b.Spec.Endpoints[0].Addresses[1])),
		"the name of a kind": unsafe.StringData(a.Kind) == unsafe.StringData(b.Kind),
	} {
		if !shared {
			t.Errorf("two objects do not share %s", what)
		}
	}
	if &a.Spec.Endpoints[0] == &b.Spec.Endpoints[0] {
		t.Error("objects share what is not equal")
	}
	if c := cap(a.Spec.Endpoints); c != 1 {
		t.Errorf("a slice of one has room for %d", c)
	}
}

// An informer transforms the objects of its first list twice. What they share with others, which may be read, must not
// be written to.
func TestAnObjectThatWasTransformedIsLeftAlone(t *testing.T) {
	i := New()
	transform := i.After(cache.TransformStripManagedFields())
	es := decoded(t, 1)
	if _, err := transform(es); err != nil {
		t.Fatal(err)
	}
	i.slots = [slotCount]slot{} // other objects have come between
	if _, err := transform(decoded(t, 2)); err != nil {
		t.Fatal(err)
	}
	check, labels := es.Spec.HealthCheck, reflect.ValueOf(es.Labels).Pointer()
	text := unsafe.StringData(es.Status.Conditions[0].Message)
	if _, err := transform(es); err != nil {
		t.Fatal(err)
	}
	if es.Spec.HealthCheck != check || reflect.ValueOf(es.Labels).Pointer() != labels || unsafe.StringData(es.Status.Conditions[0].Message) != text {
		t.Error("a part of an object was replaced that others may read")
	}
}

func TestAnInternerKeepsNothingLarge(t *testing.T) {
	i := New()
	transform := i.After(cache.TransformStripManagedFields())
	for n := range 200 {
		large := strings.Repeat(fmt.Sprintf("%06d", n), 1<<15)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"large": large}, ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
		pod.Spec.Containers = []corev1.Container{{Image: large, Args: []string{large}}}
		pod.Status.StartTime = &metav1.Time{Time: time.Unix(int64(n), 0)}
		if _, err := transform(pod); err != nil {
			t.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	for n := range i.slots {
		if v := i.slots[n].value; v.IsValid() && v.Kind() == reflect.String && v.Len() > 1<<16 {
			t.Fatalf("it keeps a string of %d bytes", v.Len())
		}
	}
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d MiB are in use after 200 objects of 200 KB", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(i)
}
