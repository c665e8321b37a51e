// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadkinds

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// world is an API server that has Rollouts or not, and a cache with at most one informer.
type world struct {
	cache.Cache
	err       error
	asked     int
	never     bool // the informer does not sync
	listed    bool // in discovery
	unknown   error
	informers atomic.Int32
	handlers  []toolscache.ResourceEventHandler
}

func (w *world) List(context.Context, client.ObjectList, ...client.ListOption) error {
	w.asked++
	return w.err
}

func (w *world) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	w.informers.Add(1)
	return &informer{world: w}, nil
}

func (w *world) RemoveInformer(context.Context, client.Object) error {
	w.informers.Add(-1)
	w.handlers = nil
	return nil
}

type informer struct {
	cache.Informer
	world *world
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.world.handlers = append(i.world.handlers, h)
	return nil, nil
}

func (i *informer) HasSyncedChecker() toolscache.DoneChecker { return i }
func (i *informer) Name() string                             { return "rollouts" }

func (i *informer) Done() <-chan struct{} {
	done := make(chan struct{})
	if !i.world.never {
		close(done)
	}
	return done
}

func TestAnInformerIsThereWhileRolloutsAreWantedAndServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		absent := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: Rollouts.Group, Kind: Rollouts.Kind}}
		rollouts := schema.GroupResource{Group: Rollouts.Group, Resource: Rollouts.Name().Resource()}
		api := &world{err: absent, unknown: errors.New("a page")}
		w := New(Options{Cache: api, Live: api, Serves: func(context.Context, Kind) (bool, error) { return api.listed, api.unknown }})
		changes, events := 0, 0
		w.Subscribe(func(Kind) handler.TypedEventHandler[client.Object, reconcile.Request] {
			return handler.TypedFuncs[client.Object, reconcile.Request]{CreateFunc: func(context.Context, event.TypedCreateEvent[client.Object], queue) { events++ }}
		}, func(context.Context) { changes++ })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()

		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble
		if api.asked > 0 {
			t.Errorf("%d requests although nothing wants Rollouts", api.asked)
		}
		if state := w.Want(common.WorkloadRollout, "shop"); state.Known {
			t.Errorf("known before anything was asked: %+v", state)
		}
		for _, step := range []struct {
			name      string
			err       error
			set       func()
			after     time.Duration
			want      State
			informers int32
		}{
			{"the page of a proxy", absent, nil, 0, State{}, 0},
			{"absent", absent, func() { api.unknown = nil }, soon, State{Known: true, Why: Rollouts.NotServed()}, 0},
			{"comes", nil, nil, interval, State{Known: true, Served: true}, 1},
			{"stays", nil, nil, interval, State{Known: true, Served: true}, 1},
			{"an error says nothing", errors.New("timeout"), nil, interval, State{Known: true, Served: true}, 1},
			{"goes, and is in discovery", apierrors.NewNotFound(rollouts, ""), func() { api.listed = true }, interval, State{Known: true, Served: true}, 1},
			{"goes", apierrors.NewNotFound(rollouts, ""), func() { api.listed = false }, soon, State{Known: true, Why: Rollouts.NotServed()}, 0},
			{"may not be listed", apierrors.NewForbidden(rollouts, "", errors.New("no")), nil, interval, State{Known: true, Unreadable: true, Forbidden: true}, 0},
			{"does not sync", nil, func() { api.never = true }, interval + attemptTimeout, State{Known: true, Unreadable: true}, 0},
			{"comes again", nil, func() { api.never = false }, interval, State{Known: true, Served: true}, 1},
		} {
			if api.err = step.err; step.set != nil {
				step.set()
			}
			time.Sleep(step.after + time.Second) //nolint:forbidigo // in a bubble
			got := w.Want(common.WorkloadRollout, "shop")
			if got.Known && (got.Why == "") != got.Served {
				t.Errorf("%s: %+v", step.name, got)
			}
			if step.want.Unreadable {
				got.Why = ""
			}
			if got != step.want || api.informers.Load() != step.informers {
				t.Errorf("%s: %+v with %d informers, want %+v", step.name, got, api.informers.Load(), step.want)
			}
		}
		if changes != 6 || len(api.handlers) != 1 {
			t.Errorf("%d changes, %d handlers", changes, len(api.handlers))
		}
		api.handlers[0].OnAdd(&argorollouts.Rollout{}, false)
		if events != 1 {
			t.Errorf("%d events", events)
		}

		before := api.asked
		api.err = absent
		for range 100 { // policies whose Rollouts are missing
			w.LookAgain(common.WorkloadRollout)
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // in a bubble
		}
		time.Sleep(soon) //nolint:forbidigo // in a bubble
		if n := api.asked - before; n == 0 || n > 2 || w.Want(common.WorkloadRollout, "shop").Served {
			t.Errorf("%d requests", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWithoutWatchesRolloutsAloneAreServed(t *testing.T) {
	t.Parallel()
	var w *Watches
	w.LookAgain(common.WorkloadRollout)
	if state := w.Want(common.WorkloadRollout, "shop"); !state.Served {
		t.Errorf("%+v", state)
	}
	const want = "the operator's configuration does not have kind CloneSet of group apps.kruise.io in rebootPolicies.workloads: ask an administrator to add it, or name another target"
	for _, w := range []*Watches{nil, New(Options{})} {
		if state := w.Want("CloneSet.apps.kruise.io", "shop"); state.Served || !state.Known || !state.Forbidden || state.Why != want {
			t.Errorf("%+v", state)
		}
	}
}

func TestOnlyAListWithoutThemSaysThatRolloutsAreNotServed(t *testing.T) {
	t.Parallel()
	const (
		with    = `{"groups":[{"name":"apps"},{"name":"argoproj.io","versions":[{"groupVersion":"argoproj.io/v1alpha1"}]}]}`
		without = `{"groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1"}]},{"name":"argoproj.io","versions":[{"groupVersion":"argoproj.io/v1"}]}]}`
	)
	for name, test := range map[string]struct {
		groups, resources string
		served, unknown   bool
	}{
		"served":                {with, `{"resources":[{"name":"applications","namespaced":true},{"name":"rollouts","namespaced":true}]}`, true, false},
		"another version alone": {without, "", false, false},
		"another project alone": {with, `{"resources":[{"name":"applications","namespaced":true}]}`, false, false},
		"a kind of the cluster": {with, `{"resources":[{"name":"rollouts"}]}`, false, false},
		"a page":                {"<html>", "", false, true},
		"no groups":             {"{}", "", false, true},
		"a page for resources":  {with, "", false, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
			body := map[string]string{"/apis": test.groups, "/apis/argoproj.io/v1alpha1": test.resources}[in.URL.Path]
			if body == "" {
				http.NotFound(out, in)
				return
			}
			_, _ = out.Write([]byte(body))
		}))
		api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		served, err := Serves(api.Discovery().RESTClient())(t.Context(), Rollouts)
		if served != test.served || (err != nil) != test.unknown {
			t.Errorf("%s: %t, %v", name, served, err)
		}
		server.Close()
	}
}
