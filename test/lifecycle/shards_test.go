// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// sharded is Fairlead as config/shards deploys it.
func (s *suite) sharded() *split {
	s.Helper()
	a := s.split()
	s.applyRights(filepath.Join(framework.Root, "config", "shards"))
	return a
}

// shard runs a replica of a shard, with the arguments that config/shards gives it.
func (a *split) shard(name, selector string) *replica {
	a.Helper()
	return a.reconciler("--set=shard.name="+name, "--set=shard.namespaceSelector="+selector, "--set=leaderElection.resourceName=fairlead-shard-"+name)
}

// label puts a namespace into a shard; an empty name takes it out of all, as the end of the test does: the next test on
// the cluster counts the namespaces of its shards.
func (s *suite) label(namespace, shard string) {
	s.Helper()
	patch := func(ctx context.Context, value string) {
		_, err := s.Kube.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"fairlead.dev/shard":%s}}}`, value), metav1.PatchOptions{})
		s.Must(err)
	}
	if shard == "" {
		patch(s.Context(), "null")
		return
	}
	patch(s.Context(), strconv.Quote(shard))
	s.Cleanup(func() { patch(context.WithoutCancel(s.Context()), "null") })
}

// claimed waits until a shard has a namespace, or none has it.
func (s *suite) claimed(namespace, shard string) {
	s.Helper()
	s.Eventually(func() error {
		lease, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(s.Context(), "fairlead-namespace-"+namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && shard == "" {
			return nil
		}
		if err != nil {
			return err
		}
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != shard {
			return fmt.Errorf("namespace %s is claimed by %q", namespace, holder)
		}
		return nil
	})
}

// published returns the resource versions of all Services, slices and ExternalServices of a namespace.
func (s *suite) published(namespace string) map[string]string {
	s.Helper()
	found := map[string]string{}
	slices, err := s.Kube.DiscoveryV1().EndpointSlices(namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	for _, slice := range slices.Items {
		found["slice "+slice.Name] = slice.ResourceVersion
	}
	made, err := s.Kube.CoreV1().Services(namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	for _, service := range made.Items {
		found["service "+service.Name] = service.ResourceVersion
	}
	objects, err := s.Dynamic.Resource(services).Namespace(namespace).List(s.Context(), metav1.ListOptions{})
	s.Must(err)
	for _, object := range objects.Items {
		found["object "+object.GetName()] = object.GetResourceVersion()
	}
	return found
}

// repoint gives an ExternalService another address and waits until it is published.
func (s *suite) repoint(namespace, name, address string) {
	s.Helper()
	_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Patch(s.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"hosts":[%q]}}`, address), metav1.PatchOptions{})
	s.Must(err)
	s.Eventually(func() error {
		slices, err := s.Kube.DiscoveryV1().EndpointSlices(namespace).List(s.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
		if err != nil {
			return err
		}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.Addresses[0] == address {
					return nil
				}
			}
		}
		return errors.New(address + " is not published")
	})
}

// pause waits, for what must not happen.
func (s *suite) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.Context().Done():
	}
}

func TestShardsReconcileTheirNamespacesAndHandThemOverWithoutAWrite(t *testing.T) {
	t.Parallel()
	s := newSuite(t).sharded()
	s.webhook()
	first, second, rest := s.shard("a", "fairlead.dev/shard=a"), s.shard("b", "fairlead.dev/shard=b"), s.shard("rest", "fairlead.dev/shard notin (a, b)")
	all := []*replica{first, second, rest}
	for _, r := range all {
		r.reconciles()
	}

	moving, other := s.NewNamespace(), s.NewNamespace()
	s.label(moving, "a")
	s.create(moving, "one", "two")
	s.create(other, "one")
	s.reconciled(moving, "one", "two")
	s.reconciled(other, "one")
	s.claimed(moving, "a")
	s.claimed(other, "rest")
	before := s.published(moving)

	// To another shard and to the rest, and back, in the middle of which the first is killed.
	for i, to := range []string{"b", "", "b", "a", "b"} {
		s.label(moving, to)
		holder := to
		if to == "" {
			holder = "rest"
		}
		s.claimed(moving, holder)
		s.pause(time.Second) // for a write that must not come
		if after := s.published(moving); !maps.Equal(before, after) {
			t.Fatalf("move %d to %q wrote: %v, before %v", i, holder, after, before)
		}
	}
	s.repoint(moving, "one", "192.0.2.33")
	s.create(moving, "three")
	s.reconciled(moving, "three")
	if now := first.mustMetric(`fairlead_shard_namespaces{phase="owned",shard="a"}`); now != 0 {
		t.Errorf("shard a has %v namespaces", now)
	}
	if text := second.reaches("caches", "done").fact("shard"); !strings.Contains(text, "1 owned") {
		t.Errorf("/statusz of shard b: %q", text)
	}

	// A shard that is down keeps its namespaces until it is back, and gives them up then.
	second.Kill()
	s.label(moving, "a")
	s.pause(3 * time.Second) // for a claim that must not change
	s.claimed(moving, "b")
	s.Must(s.Kube.CoordinationV1().Leases(framework.Namespace).Delete(t.Context(), "fairlead-shard-b", metav1.DeleteOptions{})) // as if it had expired
	second = s.shard("b", "fairlead.dev/shard=b")
	s.claimed(moving, "a")
	s.repoint(moving, "one", "192.0.2.34")

	for _, r := range []*replica{first, second, rest} {
		r.permitted()
	}
}

func TestShardsThatSelectOneNamespaceDoNotShareIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t).sharded()
	s.webhook()
	namespace := s.NewNamespace()
	s.label(namespace, "a")
	first := s.shard("a", "fairlead.dev/shard=a")
	first.reconciles()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	before := s.published(namespace)
	intruder := s.shard("b", "fairlead.dev/shard in (a, b)")
	intruder.reconciles()
	s.Eventually(func() error {
		if text := intruder.reaches("caches", "done").fact("shard"); !strings.Contains(text, "a has "+namespace) {
			return errors.New(text)
		}
		return nil
	})
	s.Eventually(func() error {
		events, err := s.Kube.EventsV1().Events("default").List(s.Context(), metav1.ListOptions{FieldSelector: "reason=ClaimedByOtherShard"})
		if err != nil || len(events.Items) == 0 {
			return fmt.Errorf("no event: %w", errors.Join(err))
		}
		return nil
	})
	if after := s.published(namespace); !maps.Equal(before, after) {
		t.Fatalf("%v, before %v", after, before)
	}
	s.repoint(namespace, "one", "192.0.2.35")

	// The shard is gone for good, and a person says so.
	first.Stop()
	s.label(namespace, "b")
	s.claimed(namespace, "a")
	s.Must(s.Kube.CoordinationV1().Leases(framework.Namespace).Delete(context.WithoutCancel(t.Context()), "fairlead-namespace-"+namespace, metav1.DeleteOptions{}))
	s.claimed(namespace, "b")
	s.repoint(namespace, "one", "192.0.2.36")
	intruder.permitted()
}
