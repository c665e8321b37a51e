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

// maxTold bounds how many objects it is remembered of that they were told of.
const maxTold = 4096

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

// RegisterOptions configure a Register.
type RegisterOptions struct {
	// Logger gets a line for each object that does not decode, and one when it does again. The default
	// drops both.
	Logger logr.Logger
	// Tell is called once for each object and fault, not at every list. It must not block. Defaults to
	// nil: it is not called.
	Tell func(Entry)
}

// Register knows the objects that do not decode, out of those that its informers hold.
type Register struct {
	logger       logr.Logger
	tell         func(Entry)
	descriptions descriptions

	held atomic.Int64 // as many as objects; read for every event, without the lock

	mu      sync.Mutex
	objects map[place]Entry
	told    map[types.UID]string // the fault that was
}

// place is where an object is.
type place struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

// NewRegister makes one that is empty.
func NewRegister(o RegisterOptions) *Register {
	if o.Tell == nil {
		o.Tell = func(Entry) {}
	}
	return &Register{logger: o.Logger, tell: o.Tell, descriptions: newDescriptions(), objects: map[place]Entry{}, told: map[types.UID]string{}}
}

// Entries are the objects that do not decode now, by kind, namespace and name.
func (r *Register) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.objects), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

// Clear forgets all objects, when the informers that hold them have ended. What was told is not told
// again by the next ones.
func (r *Register) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.objects)
	r.held.Store(0)
}

// follow has an informer say which of its objects do not decode.
func (r *Register) follow(kind schema.GroupVersionKind, informer cache.SharedIndexInformer) {
	seen := func(object any) {
		if o, ok := object.(metav1.Object); ok {
			r.seen(kind, o)
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
				r.gone(kind, keyOf(o))
			}
		},
	})
	if err != nil { // of an informer that has ended, which is never a new one
		r.logger.Error(err, "objects that cannot be decoded will not be named", "kind", kind.Kind)
	}
}

func (r *Register) seen(kind schema.GroupVersionKind, object metav1.Object) {
	fault := Fault(object)
	if fault == "" {
		r.mended(kind, keyOf(object))
		return
	}
	entry := Entry{Kind: kind, Key: keyOf(object), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Fault: fault}
	if !r.add(entry) {
		return
	}
	r.logger.Error(&UndecodableError{Kind: kind.Kind, Key: entry.Key, Fault: fault}, "A stored object is left as it is until it is mended",
		"kind", kind.Kind, "namespace", entry.Key.Namespace, "name", entry.Key.Name, "uid", entry.UID)
	r.tell(entry)
}

// add says whether it must be told of the object.
func (r *Register) add(entry Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[place{entry.Kind.GroupKind(), entry.Key}] = entry
	r.held.Store(int64(len(r.objects)))
	if r.told[entry.UID] == entry.Fault {
		return false
	}
	if len(r.told) >= maxTold {
		clear(r.told)
	}
	r.told[entry.UID] = entry.Fault
	return true
}

func (r *Register) mended(kind schema.GroupVersionKind, key types.NamespacedName) {
	if r.gone(kind, key) {
		r.logger.Info("A stored object can be decoded again", "kind", kind.Kind, "namespace", key.Namespace, "name", key.Name)
	}
}

// gone says whether the object was among those that do not decode.
func (r *Register) gone(kind schema.GroupVersionKind, key types.NamespacedName) bool {
	if r.held.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := place{kind.GroupKind(), key}
	entry, ok := r.objects[at]
	if ok {
		delete(r.told, entry.UID)
		delete(r.objects, at)
		r.held.Store(int64(len(r.objects)))
	}
	return ok
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
