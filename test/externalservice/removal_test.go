// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// drainPeriod is the one that the replicas of the suite run with.
const drainPeriod = time.Second

// delete deletes an ExternalService, and waits for nothing.
func (s *suite) delete(name string) {
	s.Helper()
	es, err := s.get(name)
	s.Must(err)
	s.Must(s.Client.Delete(s.Context(), es))
}

// vanishes waits until an ExternalService is no more.
func (s *suite) vanishes(name string) {
	s.Helper()
	s.Eventually(func() error {
		es, err := s.get(name)
		if err == nil {
			return fmt.Errorf("%s is still there, with finalizers %q", name, es.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

// watchSlices tells of every change of the namespace's EndpointSlices from now on.
func (s *suite) watchSlices() watch.Interface { return s.watch(&discoveryv1.EndpointSliceList{}) }

// watch tells of every change of the namespace's objects of a kind from now on.
func (s *suite) watch(list client.ObjectList, options ...client.ListOption) watch.Interface {
	s.Helper()
	changes, err := s.Client.Watch(s.Context(), list, append(options, client.InNamespace(s.Namespace))...)
	s.Must(err)
	s.Cleanup(changes.Stop)
	return changes
}

// drains follows a deletion to its end: every slice stands as terminating before it goes, and nothing
// is left. It returns when the first one went.
func (s *suite) drains(name string, slices int, changes watch.Interface) (gone time.Time) {
	s.Helper()
	terminating := map[string]bool{}
	timeout := time.After(framework.Patience)
	for slices > 0 {
		select {
		case change, open := <-changes.ResultChan():
			slice, is := change.Object.(*discoveryv1.EndpointSlice)
			switch {
			case !open || !is:
				s.Fatalf("the watch ended: %s", framework.Text(change))
			case slice.Labels[discoveryv1.LabelServiceName] != name:
			case change.Type == watch.Deleted:
				if !terminating[slice.Name] {
					s.Errorf("%s went without standing as terminating: %s", slice.Name, framework.Text(slice.Endpoints))
				}
				if gone.IsZero() {
					gone = time.Now()
				}
				slices--
			default:
				terminating[slice.Name] = going(slice)
			}
		case <-timeout:
			s.Fatalf("%d slices of %s are still there, terminating: %v", slices, name, terminating)
		}
	}
	s.vanishes(name)
	s.Eventually(func() error {
		var service corev1.Service
		err := s.Get(name, &service)
		if err == nil {
			return fmt.Errorf("Service %s is still there", name)
		}
		return client.IgnoreNotFound(err)
	})
	return gone
}

// going reports whether all endpoints, which were healthy, end as those of pods do: proxies that have
// no other go on with them.
func going(slice *discoveryv1.EndpointSlice) bool {
	for _, e := range slice.Endpoints {
		if ptr.Deref(e.Conditions.Ready, true) || !ptr.Deref(e.Conditions.Serving, false) || !ptr.Deref(e.Conditions.Terminating, false) {
			return false
		}
	}
	return len(slice.Endpoints) > 0
}

func TestADeletedObjectDrainsAndThenGoesWithAllThatItMade(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply("db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: ["`+s.Servers.Address()+`", "`+s.Servers.Address6()+`"]}]}`)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	changes := s.watchSlices()
	// The time of a deletion is stored in whole seconds: late in a second it lies well back.
	s.Eventually(func() error {
		if at := time.Now(); at.Nanosecond() < 700e6 {
			return fmt.Errorf("early in a second: %s", at)
		}
		return nil
	})
	from := time.Now()
	s.delete("db")
	s.Tells("ExternalService", "db", networkingv1.ReasonDraining, 1)
	if took := s.drains("db", 2, changes).Sub(from); took < drainPeriod {
		t.Errorf("the slices went after %s, want at least %s", took, drainPeriod)
	}
}

func TestADeletionWithoutALeaderDrainsAllTheSame(t *testing.T) {
	s := newSuite(t)
	s.apply("db", plainly(s.Servers.Address()))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	changes := s.watchSlices()
	s.Renew(func() {
		s.delete("db")
		es, err := s.get("db")
		s.Must(err)
		s.Eventually(func() error { // the drain period has passed already when a replica leads
			if left := time.Until(es.DeletionTimestamp.Add(drainPeriod)); left > 0 {
				return fmt.Errorf("%s are left", left)
			}
			return nil
		})
	})
	s.drains("db", 1, changes)
}

func TestAnOrphanedServiceKeepsServing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	s.apply("db", `{deletionPolicy: Orphan, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+address+`]}]}`)
	s.publishes("db", address)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	service, before := s.service("db"), s.Slices("db")
	s.delete("db")
	s.vanishes("db")
	// What another object makes, and loses again, shows that the garbage collector has come by.
	s.apply("other", plainly(address))
	s.condition("other", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	changes := s.watchSlices()
	s.delete("other")
	s.drains("other", 1, changes)
	after := s.service("db")
	if after.UID != service.UID || after.Annotations[rules.OwnerAnnotation] != "" {
		t.Errorf("the Service is another, or owned: %s", framework.Text(after.ObjectMeta))
	}
	if now := s.Slices("db"); framework.Text(now) != framework.Text(before) {
		t.Errorf("slices were\n%s\nand are\n%s", framework.Text(before), framework.Text(now))
	}
	s.publishes("db", address)
}
