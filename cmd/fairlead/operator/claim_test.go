// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// claimed is a claim to two CRDs, whose watches the test feeds.
type claimed struct {
	*claim
	t       *testing.T
	tracker clienttesting.ObjectTracker
	streams map[string]*watch.FakeWatcher
	reads   []string
}

func newClaimed(t *testing.T, calls map[string]string) *claimed {
	c := &claimed{t: t, streams: map[string]*watch.FakeWatcher{}}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{definitionResource: "CustomResourceDefinitionList"})
	c.tracker = client.Tracker()
	names := make([]string, 0, len(calls))
	for name, service := range calls {
		names = append(names, name)
		c.streams[name] = watch.NewFakeWithChanSize(10, false)
		if err := c.tracker.Create(definitionResource, definitionThatCalls(name, service, ""), ""); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	client.PrependReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.reads = append(c.reads, action.(clienttesting.GetAction).GetName())
		return false, nil, nil
	})
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		name := strings.TrimPrefix(action.(clienttesting.WatchAction).GetWatchRestrictions().Fields.String(), "metadata.name=")
		now, err := c.tracker.Get(definitionResource, "", name)
		if err == nil {
			c.streams[name].Add(now)
		}
		return true, c.streams[name], nil
	})
	c.claim = &claim{
		definitions: client.Resource(definitionResource), names: names, own: types.NamespacedName{Namespace: "fairlead-system", Name: "own"},
		clock: clock.RealClock{}, logger: logr.Discard(), seen: map[string]types.NamespacedName{},
	}
	return c
}

// definitionThatCalls is a CRD with a Service, and none for "".
func definitionThatCalls(name, service, bundle string) *unstructured.Unstructured {
	conversion := map[string]any{"strategy": "None"}
	if service != "" {
		conversion = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": map[string]any{
			"caBundle": bundle, "service": map[string]any{"namespace": "fairlead-system", "name": service},
		}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"conversion": conversion},
	}}
}

// change has a CRD call a Service, and returns what is read for it.
func (c *claimed) change(name, service, bundle string) []string {
	c.t.Helper()
	c.reads = nil
	changed := definitionThatCalls(name, service, bundle)
	if err := c.tracker.Update(definitionResource, changed, ""); err != nil {
		c.t.Fatal(err)
	}
	c.streams[name].Modify(changed)
	synctest.Wait()
	return c.reads
}

func TestOnlyACRDThatCallsAnotherServiceIsAReasonToReadThemAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClaimed(t, map[string]string{"a": "own", "b": ""})
		if err := c.wait(t.Context(), func(err error) { t.Errorf("waits: %v", err) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.reads, []string{"a", "b"}) {
			t.Errorf("a start reads %v", c.reads)
		}
		c.reads = nil
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- c.hold(ctx) }()
		synctest.Wait()
		if len(c.reads) > 0 {
			t.Errorf("watches that start have %v read, which were read before", c.reads)
		}
		if reads := c.change("a", "own", "bmV3"); len(reads) > 0 {
			t.Errorf("another CA bundle has %v read", reads)
		}
		if reads := c.change("b", "own", ""); !slices.Equal(reads, []string{"a", "b"}) {
			t.Errorf("a CRD that begins to call the own Service has %v read", reads)
		}
		c.change("b", "other", "")
		select {
		case err := <-ended:
			if foreign := (*foreignClaim)(nil); !errors.As(err, &foreign) || foreign.definition != "b" || foreign.service.Name != "other" {
				t.Errorf("ends with %v", err)
			}
		default:
			t.Error("goes on at once, while another installation is called")
		}
	})
}

func TestAnInstallationWaitsUntilNoCRDCallsAnother(t *testing.T) {
	for name, end := range map[string]func(*claimed){
		"it calls this one": func(c *claimed) { c.change("b", "own", "") },
		"it is deleted": func(c *claimed) {
			last, err := c.tracker.Get(definitionResource, "", "b")
			if err == nil {
				err = c.tracker.Delete(definitionResource, "", "b")
			}
			if err != nil {
				c.t.Fatal(err)
			}
			c.streams["b"].Delete(last)
			synctest.Wait()
		},
		"it is deleted before it is watched": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClaimed(t, map[string]string{"a": "own", "b": "other"})
				waited := 0
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() {
					ended <- c.wait(ctx, func(error) {
						if waited++; waited == 1 && end == nil {
							if err := c.tracker.Delete(definitionResource, "", "b"); err != nil {
								t.Error(err)
							}
						}
					})
				}()
				synctest.Wait()
				if end != nil {
					if len(ended) > 0 {
						t.Fatal("does not wait")
					}
					end(c)
				}
				if len(ended) != 1 || <-ended != nil || waited == 0 {
					t.Error("waits on")
				}
			})
		})
	}
}
