// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// maxReported bounds the memory of what was reported.
const maxReported = 4096

// Entry is an object that does not decode.
type Entry struct {
	// Kind, Key and UID identify the object.
	Kind schema.GroupVersionKind
	Key  types.NamespacedName
	UID  types.UID
	// ResourceVersion is that of the object when it was read.
	ResourceVersion string
	// Fault is the path of what does not decode, and the type of its value.
	Fault string
}

// UndecodableOptions configure an Undecodable.
type UndecodableOptions struct {
	// Logger logs each object that does not decode, and when it does again. Defaults to logr.Discard().
	Logger logr.Logger
	// OnUndecodable is called once for each object and fault, not at every list. It must not block.
	// Defaults to nil.
	OnUndecodable func(Entry)
}

// Undecodable collects the objects that do not decode, and is a prometheus.Collector of them.
type Undecodable struct {
	logger        logr.Logger
	onUndecodable func(Entry)
	descriptions  descriptions

	count atomic.Int64 // len(objects), read without the lock for every event

	mu       sync.Mutex
	objects  map[objectKey]Entry
	reported map[types.UID]string // the fault
}

// objectKey identifies an object.
type objectKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

// NewUndecodable returns an empty Undecodable.
func NewUndecodable(o UndecodableOptions) *Undecodable {
	if o.OnUndecodable == nil {
		o.OnUndecodable = func(Entry) {}
	}
	return &Undecodable{logger: o.Logger, onUndecodable: o.OnUndecodable, descriptions: newDescriptions(),
		objects: map[objectKey]Entry{}, reported: map[types.UID]string{}}
}

// Entries returns the objects that do not decode, sorted by kind, namespace and name.
func (u *Undecodable) Entries() []Entry {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Values(u.objects), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// Clear removes all objects, when the informers that hold them have ended. What was reported is not reported
// again by the next informers.
func (u *Undecodable) Clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.objects)
	u.count.Store(0)
}

// track adds an event handler to an informer that updates the objects.
func (u *Undecodable) track(kind schema.GroupVersionKind, informer cache.SharedIndexInformer) {
	seen := func(object any) {
		if o, ok := object.(metav1.Object); ok {
			u.update(kind, o)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, object any) { seen(object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if o, ok := object.(metav1.Object); ok {
				u.remove(kind, keyOf(o))
			}
		},
	})
	if err != nil { // never for a new informer
		u.logger.Error(err, "objects that cannot be decoded will not be named", "kind", kind.Kind)
	}
}

func (u *Undecodable) update(kind schema.GroupVersionKind, object metav1.Object) {
	fault := Fault(object)
	if fault == "" {
		u.removeFixed(kind, keyOf(object))
		return
	}
	entry := Entry{Kind: kind, Key: keyOf(object), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Fault: fault}
	if !u.add(entry) {
		return
	}
	u.logger.Error(&UndecodableError{Kind: kind.Kind, Key: entry.Key, Fault: fault}, "A stored object stays unchanged until it is fixed",
		"kind", kind.Kind, "namespace", entry.Key.Namespace, "name", entry.Key.Name, "uid", entry.UID)
	u.onUndecodable(entry)
}

// add adds the object and reports whether it must be reported.
func (u *Undecodable) add(entry Entry) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.objects[objectKey{entry.Kind.GroupKind(), entry.Key}] = entry
	u.count.Store(int64(len(u.objects)))
	if u.reported[entry.UID] == entry.Fault {
		return false
	}
	if len(u.reported) >= maxReported {
		clear(u.reported)
	}
	u.reported[entry.UID] = entry.Fault
	return true
}

func (u *Undecodable) removeFixed(kind schema.GroupVersionKind, key types.NamespacedName) {
	if u.remove(kind, key) {
		u.logger.Info("A stored object can be decoded again", "kind", kind.Kind, "namespace", key.Namespace, "name", key.Name)
	}
}

// remove removes the object and reports whether it was there.
func (u *Undecodable) remove(kind schema.GroupVersionKind, key types.NamespacedName) bool {
	if u.count.Load() == 0 {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	at := objectKey{kind.GroupKind(), key}
	entry, ok := u.objects[at]
	if ok {
		delete(u.reported, entry.UID)
		delete(u.objects, at)
		u.count.Store(int64(len(u.objects)))
	}
	return ok
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// faultAnnotation is an annotation in memory that holds the fault, since an annotation is copied with the
// object. The API server admits no name with two slashes, so no stored object can have it.
const faultAnnotation = "fairlead.dev/in-memory/undecodable"

// faultGeneration is the generation of objects with a fault: a fixed object has another one, even where it
// was not fixed through the API server, which counts generations.
const faultGeneration = -1

// Remedy is the command that names everything that is wrong with stored objects.
const Remedy = "kubectl fairlead vet --live"

// Fault returns what does not decode in an object of an informer of this package; "" where all of it does.
func Fault(object metav1.Object) string { return object.GetAnnotations()[faultAnnotation] }

func setFault(object metav1.Object, fault string) {
	annotations := make(map[string]string, len(object.GetAnnotations())+1)
	for name, value := range object.GetAnnotations() {
		annotations[name] = value
	}
	annotations[faultAnnotation] = fault
	object.SetAnnotations(annotations)
	object.SetGeneration(faultGeneration)
}

// UndecodableError is returned instead of an object that does not decode.
type UndecodableError struct {
	// Kind and Key identify the object.
	Kind string
	Key  types.NamespacedName
	// Fault is the path of what does not decode, and the type of its value.
	Fault string
}

func (e *UndecodableError) Error() string {
	return fmt.Sprintf("%s %s cannot be decoded: %s; `%s` names what to fix", e.Kind, e.Key, e.Fault, Remedy)
}

// maxNamed bounds the objects that the metrics name. All are counted.
const maxNamed = 100

var _ prometheus.Collector = (*Undecodable)(nil)

// descriptions are those of the metrics.
type descriptions struct{ count, named *prometheus.Desc }

func newDescriptions() descriptions {
	return descriptions{
		count: prometheus.NewDesc("fairlead_undecodable_objects",
			"Stored objects that do not fit their type, by kind. They stay unchanged until they are fixed.", []string{"kind"}, nil),
		named: prometheus.NewDesc("fairlead_undecodable_object",
			"1 for each stored object that does not fit its type; at most 100 are named.", []string{"kind", "namespace", "name"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *Undecodable) Describe(to chan<- *prometheus.Desc) {
	to <- u.descriptions.count
	to <- u.descriptions.named
}

// Collect implements prometheus.Collector.
func (u *Undecodable) Collect(to chan<- prometheus.Metric) {
	collect := func(desc *prometheus.Desc, value float64, labels ...string) {
		if metric, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
			to <- metric
		}
	}
	counts := map[string]int{}
	for i, entry := range u.Entries() {
		counts[entry.Kind.Kind]++
		if i < maxNamed {
			collect(u.descriptions.named, 1, entry.Kind.Kind, entry.Key.Namespace, entry.Key.Name)
		}
	}
	for kind, count := range counts {
		collect(u.descriptions.count, float64(count), kind)
	}
}
