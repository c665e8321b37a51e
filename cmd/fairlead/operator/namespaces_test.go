// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// restricted is an operator of some namespaces, with what it has told. In each namespace an error is what a list
// returns.
func restricted(namespaces []string, errs *sync.Map) (*assembly, *[]events.Event) {
	c := options.Default()
	c.ClusterAccess, c.Namespaces = false, namespaces
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		err, found := errs.Load(action.GetNamespace())
		if !found {
			return false, nil, nil
		}
		return true, nil, err.(error)
	})
	var told []events.Event
	a := &assembly{kinds: allKinds(), config: c, client: client, identity: identity{namespace: "operators", leaseNamespace: "operators"}}
	a.logger, a.clock = logr.Discard(), clock.RealClock{}
	a.recordEvent = func(e events.Event) { told = append(told, e) }
	return a, &told
}

var refused = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no Role"))

func TestANamespaceWithoutRightsIsLeftOut(t *testing.T) {
	var errs sync.Map
	errs.Store("gone", refused)
	errs.Store("slow", errors.New("no answer"))
	a, told := restricted([]string{"shop", "gone", "slow"}, &errs)
	open, closed, err := a.openNamespaces(t.Context())
	if err != nil || !slices.Equal(open, []string{"shop", "slow"}) || !slices.Equal(closed, []string{"gone"}) {
		t.Errorf("open %q, closed %q: %v", open, closed, err)
	}
	if len(*told) != 1 || (*told)[0].Reason != "NamespaceForbidden" || (*told)[0].Regarding.Kind != "Lease" || !strings.Contains((*told)[0].Note, "gone") {
		t.Errorf("told %+v", *told)
	}
	errs.Store("shop", refused)
	errs.Store("slow", refused)
	if open, _, err := a.openNamespaces(t.Context()); err == nil || !strings.Contains(err.Error(), "config/namespaced/rights") {
		t.Errorf("open %q: %v", open, err)
	}
	a.config.ClusterAccess, a.config.Namespaces = true, nil
	if open, closed, err := a.openNamespaces(t.Context()); err != nil || len(open)+len(closed) > 0 {
		t.Errorf("with rights in the whole cluster: open %q, closed %q: %v", open, closed, err)
	}
}

func TestRightsThatCameLaterAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs sync.Map
		errs.Store("shop", refused)
		errs.Store("bank", refused)
		a, _ := restricted([]string{"shop", "bank"}, &errs)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.awaitRights(ctx, []string{"shop", "bank"}) }()
		<-time.After(10 * rightsInterval)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("ended without rights: %v", err)
		default:
		}
		errs.Delete("bank")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "namespace bank") {
			t.Errorf("ended with %v", err)
		}
		go func() { ended <- a.awaitRights(ctx, []string{"shop"}) }()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("an orderly end: %v", err)
		}
	})
}

// An operator of some namespaces converts objects of all, and may write Events in none but its own.
func TestEventsInOtherNamespacesAreNotTried(t *testing.T) {
	a, told := restricted([]string{"shop"}, &sync.Map{})
	tell := a.withinRights(func(e events.Event) { *told = append(*told, e) })
	for _, namespace := range []string{"shop", "operators", "bank", ""} {
		e := events.Event{Reason: "ConversionFailed", ClusterScoped: namespace == ""}
		e.Regarding.Namespace = namespace
		tell(e)
	}
	if len(*told) != 2 || (*told)[0].Regarding.Namespace != "shop" || (*told)[1].Regarding.Namespace != "operators" {
		t.Errorf("told %+v", *told)
	}
}
