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

// maxReported bounds how many objects it is remembered of that they were told of.
const maxReported = 4096

// Entry is an object that does not decode.
type Entry struct {
	// Kind, Key and UID say which.
	Kind schema.GroupVersionKind
	Key  types.NamespacedName
	UID  types.UID
	// ResourceVersion is that of the object when it was read.
	ResourceVersion string
	// Fault is the path of what does not decode, and what stands there.
	Fault string
}

// UndecodableOptions configure a Register.
type UndecodableOptions struct {
	// Logger gets a line for each object that does not decode, and one when it does again. The default
	// drops both.
	Logger logr.Logger
	// OnUndecodable is called once for each object and fault, not at every list. It must not block. Defaults to
	// nil: it is not called.
	OnUndecodable func(Entry)
}

// Undecodable knows the objects that do not decode, out of those that its informers hold.
type Undecodable struct {
	logger        logr.Logger
	onUndecodable func(Entry)
	descriptions  descriptions

	count atomic.Int64 // as many as objects; read for every event, without the lock

	mu       sync.Mutex
	objects  map[objectKey]Entry
	reported map[types.UID]string // the fault that was
}

// objectKey is where an object is.
type objectKey struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

// NewUndecodable makes one that is empty.
func NewUndecodable(o UndecodableOptions) *Undecodable {
	if o.OnUndecodable == nil {
		o.OnUndecodable = func(Entry) {}
	}
	return &Undecodable{logger: o.Logger, onUndecodable: o.OnUndecodable, descriptions: newDescriptions(), objects: map[objectKey]Entry{}, reported: map[types.UID]string{}}
}

// Entries are the objects that do not decode now, by kind, namespace and name.
func (r *Undecodable) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.objects), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// Clear forgets all objects, when the informers that hold them have ended. What was told is not told
// again by the next ones.
func (r *Undecodable) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.objects)
	r.count.Store(0)
}

// track has an informer say which of its objects do not decode.
func (r *Undecodable) track(kind schema.GroupVersionKind, informer cache.SharedIndexInformer) {
	seen := func(object any) {
		if o, ok := object.(metav1.Object); ok {
			r.update(kind, o)
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
				r.remove(kind, keyOf(o))
			}
		},
	})
	if err != nil { // of an informer that has ended, which is never a new one
		r.logger.Error(err, "objects that cannot be decoded will not be named", "kind", kind.Kind)
	}
}

func (r *Undecodable) update(kind schema.GroupVersionKind, object metav1.Object) {
	fault := Fault(object)
	if fault == "" {
		r.removeMended(kind, keyOf(object))
		return
	}
	entry := Entry{Kind: kind, Key: keyOf(object), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Fault: fault}
	if !r.add(entry) {
		return
	}
	r.logger.Error(&UndecodableError{Kind: kind.Kind, Key: entry.Key, Fault: fault}, "A stored object is left as it is until it is mended",
		"kind", kind.Kind, "namespace", entry.Key.Namespace, "name", entry.Key.Name, "uid", entry.UID)
	r.onUndecodable(entry)
}

// add says whether it must be told of the object.
func (r *Undecodable) add(entry Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[objectKey{entry.Kind.GroupKind(), entry.Key}] = entry
	r.count.Store(int64(len(r.objects)))
	if r.reported[entry.UID] == entry.Fault {
		return false
	}
	if len(r.reported) >= maxReported {
		clear(r.reported)
	}
	r.reported[entry.UID] = entry.Fault
	return true
}

func (r *Undecodable) removeMended(kind schema.GroupVersionKind, key types.NamespacedName) {
	if r.remove(kind, key) {
		r.logger.Info("A stored object can be decoded again", "kind", kind.Kind, "namespace", key.Namespace, "name", key.Name)
	}
}

// remove says whether the object was among those that do not decode.
func (r *Undecodable) remove(kind schema.GroupVersionKind, key types.NamespacedName) bool {
	if r.count.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := objectKey{kind.GroupKind(), key}
	entry, ok := r.objects[at]
	if ok {
		delete(r.reported, entry.UID)
		delete(r.objects, at)
		r.count.Store(int64(len(r.objects)))
	}
	return ok
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// faultAnnotation is an annotation, in memory alone, that says what is wrong. An annotation goes wherever the
// object is copied to. No API server admits a name with two slashes, so it is never set on a good object.
const faultAnnotation = "fairlead.dev/in-memory/undecodable"

// faultGeneration is the generation of marked objects: one that is mended has another, also where it
// was mended past the API server, which counts generations.
const faultGeneration = -1

// Remedy is what finds and names everything that is wrong with what is stored.
const Remedy = "kubectl fairlead vet --cluster"

// Fault returns what does not decode in an object that an informer of this package delivered, and ""
// where all of it did.
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

// UndecodableError is what a reader is told instead of being given an object that did not decode.
type UndecodableError struct {
	// Kind and Key name the object.
	Kind string
	Key  types.NamespacedName
	// Fault is the path of what does not decode, and what stands there.
	Fault string
}

func (e *UndecodableError) Error() string {
	return fmt.Sprintf("%s %s cannot be decoded: %s; `%s` names what to mend", e.Kind, e.Key, e.Fault, Remedy)
}

// maxNamed bounds the objects that the metrics name. All are counted.
const maxNamed = 100

var _ prometheus.Collector = (*Undecodable)(nil)

// descriptions are those of the metrics of a Register.
type descriptions struct{ count, named *prometheus.Desc }

func newDescriptions() descriptions {
	return descriptions{
		count: prometheus.NewDesc("fairlead_undecodable_objects",
			"Stored objects that do not fit their type, by kind. They are left as they are until they are mended.", []string{"kind"}, nil),
		named: prometheus.NewDesc("fairlead_undecodable_object",
			"1 for each stored object that does not fit its type; at most 100 are named.", []string{"kind", "namespace", "name"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (r *Undecodable) Describe(to chan<- *prometheus.Desc) {
	to <- r.descriptions.count
	to <- r.descriptions.named
}

// Collect implements prometheus.Collector.
func (r *Undecodable) Collect(to chan<- prometheus.Metric) {
	collect := func(desc *prometheus.Desc, value float64, labels ...string) {
		if metric, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
			to <- metric
		}
	}
	counts := map[string]int{}
	for i, entry := range r.Entries() {
		counts[entry.Kind.Kind]++
		if i < maxNamed {
			collect(r.descriptions.named, 1, entry.Kind.Kind, entry.Key.Namespace, entry.Key.Name)
		}
	}
	for kind, count := range counts {
		collect(r.descriptions.count, float64(count), kind)
	}
}
