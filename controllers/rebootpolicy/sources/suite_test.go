// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
)

const shop = "shop"

var (
	alice = types.NamespacedName{Namespace: shop, Name: "alice"}
	bob   = types.NamespacedName{Namespace: shop, Name: "bob"}
	epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func secret(name string) Ref {
	return Ref{Kind: autorebootv1.SourceSecret, Namespace: shop, Name: name}
}

func want(name string, keys ...string) Want { return Want{Ref: secret(name), Keys: keys} }

// fakeAPI is an API server's ConfigMaps and Secrets.
type fakeAPI struct {
	mu      sync.Mutex
	version int
	objects map[Ref]*content
	labels  map[Ref]labels.Set
	reads   map[Ref]int
	lists   int
	fail    error
	// during is called in the middle of a read: after the content was taken, before it is answered.
	during func(Ref)
}

var _ reader = (*fakeAPI)(nil)

func (f *fakeAPI) read(_ context.Context, ref Ref) (*content, error) {
	f.mu.Lock()
	f.reads[ref]++
	found, err, during := f.objects[ref], f.fail, f.during
	f.mu.Unlock()
	if during != nil {
		during(ref)
	}
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), ref.Name)
	}
	return found, nil
}

func (f *fakeAPI) list(_ context.Context, from scope, selector labels.Selector, most int64) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	var names []string
	for ref, set := range f.labels {
		if ref.Kind == from.kind && ref.Namespace == from.namespace && selector.Matches(set) && int64(len(names)) < most {
			names = append(names, ref.Name)
		}
	}
	return names, f.fail
}

// write sets one key of a source, as a manager whose write is recorded at a time.
func (f *fakeAPI) write(ref Ref, key, value string, at time.Time) {
	f.put(ref, at, func(data map[string][]byte) { data[key] = []byte(value) })
}

// put changes the data of a source. Nothing that was handed out changes.
func (f *fakeAPI) put(ref Ref, at time.Time, change func(map[string][]byte)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := &content{data: map[string][]byte{}}
	if before := f.objects[ref]; before != nil {
		for key, value := range before.data {
			next.data[key] = value
		}
		next.fields = before.fields
	}
	change(next.data)
	if !at.IsZero() {
		next.fields = []metav1.ManagedFieldsEntry{owns(at, sorted(next.data)...)}
	}
	f.version++
	next.version = strconv.Itoa(f.version)
	f.objects[ref] = next
}

func (f *fakeAPI) remove(ref Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	delete(f.objects, ref)
}

// isAbsent reports whether a watch that is not behind lacks the source.
func (f *fakeAPI) isAbsent(key types.NamespacedName) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[secret(key.Name)] == nil && f.objects[Ref{Kind: autorebootv1.SourceConfigMap, Namespace: shop, Name: key.Name}] == nil
}

func (f *fakeAPI) readCount(ref Ref) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads[ref]
}

func sorted(data map[string][]byte) []string {
	var keys []string
	for key := range data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// owns is a manager that owns keys of data.
func owns(at time.Time, keys ...string) metav1.ManagedFieldsEntry {
	var raw bytes.Buffer
	raw.WriteString(`{"f:metadata":{"f:labels":{}},"f:data":{".":{}`)
	for _, key := range keys {
		fmt.Fprintf(&raw, `,%q:{}`, "f:"+key)
	}
	raw.WriteString(`}}`)
	return entry(at, raw.String())
}

func entry(at time.Time, raw string) metav1.ManagedFieldsEntry {
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes([]byte(raw))
	return metav1.ManagedFieldsEntry{Manager: "m", Time: &metav1.Time{Time: at}, FieldsV1: fields}
}

// meta returns the metadata of a source, as a watch has it.
func meta(ref Ref, version int, set labels.Set) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name, ResourceVersion: strconv.Itoa(version), Labels: set}}
}

// suite is Sources in a world.
type suite struct {
	*Sources
	*fakeAPI
	t      testing.TB
	events *handler

	noted sync.Mutex
	bells []types.NamespacedName
	clock time.Time
}

// newSuite makes Sources that hear of events, unless the mode is Poll.
func newSuite(t testing.TB, mode Mode) *suite {
	t.Helper()
	key, err := fingerprint.NewKey(bytes.Repeat([]byte{1}, fingerprint.Size))
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{t: t, clock: epoch, fakeAPI: &fakeAPI{
		version: 100, objects: map[Ref]*content{}, labels: map[Ref]labels.Set{}, reads: map[Ref]int{}}}
	current := &fakeCache{absent: s.isAbsent}
	s.Sources = newSources(Options{Key: key, Mode: mode, Notify: s.notify, Now: s.now, Cache: current}, s.fakeAPI)
	s.events = &handler{s.Sources, autorebootv1.SourceSecret}
	if mode == Watch {
		s.startWatching()
	}
	return s
}

func (s *suite) notify(by types.NamespacedName) {
	s.noted.Lock()
	defer s.noted.Unlock()
	s.bells = append(s.bells, by)
}

// notified returns who was, once each and in order, since it was asked last.
func (s *suite) notified() []types.NamespacedName {
	s.noted.Lock()
	defer s.noted.Unlock()
	bells := s.bells
	s.bells = nil
	slices.SortFunc(bells, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(bells)
}

func (s *suite) now() time.Time {
	s.noted.Lock()
	defer s.noted.Unlock()
	return s.clock
}

func (s *suite) advance(span time.Duration) {
	s.noted.Lock()
	defer s.noted.Unlock()
	s.clock = s.clock.Add(span)
}

func (s *suite) observe(by types.NamespacedName, wants ...Want) []State {
	s.t.Helper()
	states, err := s.Observe(context.Background(), by, wants)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(states) != len(wants) {
		s.t.Fatalf("%d states for %d wants", len(states), len(wants))
	}
	return states
}

// updated is an event that a source is at the world's latest version.
func (s *suite) updated(ref Ref) {
	s.events.OnUpdate(meta(ref, 1, nil), meta(ref, s.version, nil))
}
