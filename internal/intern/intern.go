// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intern has the objects of a cache share what is equal in them, which can be most of each: see
// docs/decisions/performance.md. It never changes a value that another object may have.
package intern

import (
	"hash/maphash"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

const (
	// slotCount is how many values an Interner remembers. Objects come in the order of their names, or of their
	// changes, so that what they have in common comes back soon.
	slotCount = 1 << 14
	// maxLeaves is how many strings and numbers a value has at most that is remembered: a large one, such as the
	// status of a policy with many targets, is its object's own, and would be kept here after it is gone.
	maxLeaves = 64
	// leafBytes of a string count as one.
	leafBytes = 32
)

// Interner has the objects of a cache share the strings, maps, slices and structs that are equal: labels, checks,
// containers and conditions of objects that were made from one template are, and can be most of an object. That is
// safe because nothing changes what a cache holds. It remembers the last values only, one for each slot, and so takes
// the same memory whatever it is given.
type Interner struct {
	seed maphash.Seed

	mu    sync.Mutex
	slots [slotCount]slot
}

type slot struct {
	hash  uint64
	value reflect.Value
}

// New returns an Interner that remembers nothing yet.
func New() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// After interns what a transformation returns. An informer transforms the objects of its first list twice. Those that
// have been here share values with objects that are read meanwhile, and must not be written to: the transformation has
// removed their managedFields, and an object without any is left as it is.
func (i *Interner) After(transform cache.TransformFunc) cache.TransformFunc {
	return func(object any) (any, error) {
		accessor, err := meta.Accessor(object)
		isNew := err == nil && len(accessor.GetManagedFields()) > 0
		object, err = transform(object)
		if v := reflect.ValueOf(object); isNew && err == nil && v.Kind() == reflect.Pointer {
			i.share(v)
		}
		return object, err
	}
}

// Share interns what the object has that a pointer is to. Nothing may write to the object any more.
func (i *Interner) Share(object any) { i.share(reflect.ValueOf(object)) }

func (i *Interner) share(pointer reflect.Value) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.visit(pointer.Elem())
}

// visit interns what a value consists of, and the value itself where it can be replaced. It returns the hash of the
// value, and how many strings and numbers it has.
func (i *Interner) visit(v reflect.Value) (hash uint64, leaves int) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1, 1
		}
		return 0, 1
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int()), 1
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), 1
	case reflect.Struct:
		for n := range v.NumField() {
			i.mix(&hash, &leaves, v.Field(n))
		}
		return hash, leaves
	case reflect.String:
		hash, leaves = maphash.String(i.seed, v.String()), 1+v.Len()/leafBytes
	case reflect.Pointer:
		if v.IsNil() || !v.CanSet() { // such as the location of a time
			return 0, 1
		}
		hash, leaves = i.visit(v.Elem())
		hash++
	case reflect.Slice:
		if v.CanSet() && v.Cap() > v.Len() { // a decoder leaves room for more
			exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(exact, v)
			v.Set(exact)
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			hash, leaves = maphash.Bytes(i.seed, v.Bytes()), 1+v.Len()/leafBytes
			break
		}
		for n := range v.Len() {
			i.mix(&hash, &leaves, v.Index(n))
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			var entry uint64
			i.mix(&entry, &leaves, entries.Key())
			i.mix(&entry, &leaves, entries.Value())
			hash += entry // they come in any order
		}
	default: // what no API type has, or rarely
		return 0, 1
	}
	i.replace(v, hash, leaves)
	return hash, leaves
}

// mix adds a part to the hash of a whole.
func (i *Interner) mix(hash *uint64, leaves *int, part reflect.Value) {
	h, n := i.visit(part)
	*hash = (*hash ^ h) * 0x9e3779b97f4a7c15
	*hash ^= *hash >> 29
	*leaves += n
}

// replace replaces a value by the equal one that is remembered, or remembers it.
func (i *Interner) replace(v reflect.Value, hash uint64, leaves int) {
	if !v.CanSet() || leaves > maxLeaves || v.Kind() != reflect.Pointer && v.Len() == 0 {
		return
	}
	at := &i.slots[hash%slotCount]
	if at.hash == hash && at.value.IsValid() && at.value.Type() == v.Type() && equal(at.value, v) {
		v.Set(at.value)
		return
	}
	*at = slot{hash, reflect.ValueOf(v.Interface())}
}

// equal compares values of one type.
func equal(a, b reflect.Value) bool {
	if a.Kind() == reflect.String { // most are, and this allocates nothing
		return a.String() == b.String()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
