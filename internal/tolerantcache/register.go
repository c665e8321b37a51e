// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
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
