// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// source serves the lists and watches of one namespace.
type source struct {
	items  []string
	events chan string

	mu    sync.Mutex
	asked []string // the paths, each once
}

const sourcePath = "/apis/networking.fairlead.dev/v1/namespaces/shop/externalservices"

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if n := len(s.asked); n == 0 || s.asked[n-1] != r.URL.Path {
		s.asked = append(s.asked, r.URL.Path)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case query.Has("sendInitialEvents"), !query.Has("watch") && (query.Get("limit") != "50000" || query.Has("resourceVersion") || r.Header.Get("Accept-Encoding") != "identity"):
		http.Error(w, "want a list of what there is now, not compressed: "+r.URL.RawQuery, http.StatusBadRequest)
	case query.Has("watch"):
		for {
			if w.(http.Flusher).Flush(); r.Context().Err() != nil {
				return
			}
			select {
			case event := <-s.events:
				_, _ = fmt.Fprintln(w, event)
			case <-r.Context().Done():
				return
			}
		}
	case query.Get("continue") == "" && len(s.items) > 0: // a page of one object, and then another one of the rest
		_, _ = fmt.Fprint(w, listHead+s.items[0]+"]}")
	default:
		_, _ = fmt.Fprint(w, strings.Replace(listHead, `,"continue":"next"`, "", 1)+strings.Join(s.items[min(1, len(s.items)):], ",")+"]}")
	}
}

func event(sort, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, sort, object) }

// reportedEntries collects what a Register tells.
type reportedEntries struct {
	mu   sync.Mutex
	seen []string
}

func (r *reportedEntries) record(e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, e.Kind.Kind+" "+e.Key.String()+" "+string(e.UID)+": "+e.Fault)
}

// newCache fills a cache of one namespace from a source.
func newCache(t *testing.T, from *source, to *reportedEntries) (cache.Cache, *Undecodable) {
	t.Helper()
	server := httptest.NewServer(from)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	config.Wrap(Transport)
	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	kind := networkingv1.GroupVersion.WithKind("ExternalService")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kind, meta.RESTScopeNamespace)
	mapper.Add(kind.GroupVersion().WithKind(kind.Kind+"List"), meta.RESTScopeNamespace)
	register := NewUndecodable(UndecodableOptions{OnUndecodable: to.record})
	informers, err := NewInformers(Options{
		Config: config, HTTPClient: sender, Scheme: newScheme(t), Kinds: []schema.GroupVersionKind{kind}, Undecodable: register,
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := cache.New(config, cache.Options{
		HTTPClient: sender, Scheme: informers.scheme, Mapper: mapper, NewInformer: informers.New,
		DefaultNamespaces: map[string]cache.Config{"shop": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	informer, err := made.GetInformer(ctx, &networkingv1.ExternalService{}, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the cache is filled", informer.HasSynced)
	return made, register
}

// broken are the names in a register.
func broken(r *Undecodable) (names []string) {
	for _, e := range r.Entries() {
		names = append(names, e.Key.Name)
	}
	return names
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		case <-tick.C:
		}
	}
}

func TestACacheHoldsEveryObjectAndNamesTheBrokenOnes(t *testing.T) {
	from, to := &source{items: []string{stored("a", goodSpec), stored("b", `{"ports":"x"}`)}, events: make(chan string)}, &reportedEntries{}
	filled, register := newCache(t, from, to)
	until(t, "the broken object is named", func() bool { return cmp.Equal(broken(register), []string{"b"}) })

	var list networkingv1.ExternalServiceList
	if err := filled.List(t.Context(), &list); err != nil || len(list.Items) != 2 {
		t.Fatalf("%v: %d objects", err, len(list.Items))
	}
	from.events <- event("MODIFIED", stored("a", `{"ports":[{"port":"x"}]}`))
	until(t, "one that breaks is named", func() bool { return cmp.Equal(broken(register), []string{"a", "b"}) })
	for range 3 {
		from.events <- event("MODIFIED", strings.Replace(stored("a", `{"ports":[{"port":"x"}]}`), `"a":"b"`, `"a":"c"`, 1))
	}
	from.events <- event("MODIFIED", stored("b", goodSpec))
	until(t, "one that is mended is not", func() bool { return cmp.Equal(broken(register), []string{"a"}) })
	from.events <- event("DELETED", stored("a", `{"ports":[{"port":"x"}]}`))
	until(t, "one that is gone is not", func() bool { return len(broken(register)) == 0 })

	want := []string{
		"ExternalService shop/b u-b: spec.ports is a string, which does not fit there",
		"ExternalService shop/a u-a: spec.ports[0].port is a string, which does not fit there",
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if diff := cmp.Diff(want, to.seen); diff != "" {
		t.Errorf("told, -want +got:\n%s", diff)
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	if diff := cmp.Diff([]string{sourcePath}, from.asked); diff != "" {
		t.Errorf("asked for, -want +got:\n%s", diff)
	}
}

// A reader that uses the client is refused the object, and the reconciler of its kind, and of no other, is
// spared the error.
func TestABrokenObjectIsRefusedAndItsReconcilerSpared(t *testing.T) {
	from := &source{items: []string{stored("a", goodSpec), stored("b", `{"ports":"x"}`)}}
	filled, _ := newCache(t, from, &reportedEntries{})
	reader := Client(cached{from: filled, scheme: newScheme(t)})
	for name, refused := range map[string]bool{"a": false, "b": true} {
		key := types.NamespacedName{Namespace: "shop", Name: name}
		var object networkingv1.ExternalService
		err := reader.Get(t.Context(), key, &object)
		var failure *UndecodableError
		if errors.As(err, &failure) != refused {
			t.Fatalf("%s: %v", name, err)
		}
		if refused && !strings.Contains(err.Error(), "ExternalService shop/b cannot be decoded: spec.ports is a string, which does not fit there; `"+Remedy+"`") {
			t.Errorf("error %q", err)
		}
		inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, fmt.Errorf("reconcile: %w", reader.Get(t.Context(), key, &object))
		})
		for kind, spared := range map[string]bool{"ExternalService": refused, "RebootPolicy": false} {
			if _, err := IgnoreUndecodable(kind, nil)(inner).Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); (err == nil) != spared {
				t.Errorf("%s, reconciled as %s: %v", name, kind, err)
			}
		}
	}
}

// cached is a client that reads from a cache and can do nothing else.
type cached struct {
	client.Client
	from   cache.Cache
	scheme *runtime.Scheme
}

func (c cached) Scheme() *runtime.Scheme { return c.scheme }

func (c cached) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return c.from.Get(ctx, key, into, options...)
}

func TestTheMetricsCountAllAndNameSome(t *testing.T) {
	register := NewUndecodable(UndecodableOptions{})
	kind := networkingv1.GroupVersion.WithKind("ExternalService")
	for i := range 3 * maxNamed {
		object := &metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("db-", i), UID: types.UID(fmt.Sprint(i))}
		setFault(object, "spec is a string")
		register.update(kind, object)
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(register); err != nil {
		t.Fatal(err)
	}
	gathered := func() map[string]int {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				of[family.GetName()] += int(metric.GetGauge().GetValue())
			}
		}
		return of
	}
	if diff := cmp.Diff(map[string]int{"fairlead_undecodable_objects": 3 * maxNamed, "fairlead_undecodable_object": maxNamed}, gathered()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	register.Clear()
	if got := gathered(); len(got) > 0 {
		t.Errorf("after the informers have ended: %v", got)
	}
}

func TestTheQuestionForAnAddressIsNeverSent(t *testing.T) {
	ask := &urlProbe{emptyList: []byte(`{}`)}
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), urlProbeKey{}, ask), http.MethodGet, "https://192.0.2.1/apis?labelSelector=a", nil)
	response, err := Transport(nil).RoundTrip(request) // which would panic if it were
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || ask.url.Query().Get("labelSelector") != "a" {
		t.Errorf("%v %v", ask.url, err)
	}
}
