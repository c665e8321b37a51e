// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// lostAddresses watches the slices of a Service, and returns, when it is called, what was not ready at any time of addresses
// that were when the watch began.
func (s *suite) lostAddresses(service string, addresses []string) func() []string {
	s.Helper()
	selector := client.MatchingLabels{discoveryv1.LabelServiceName: service}
	var list discoveryv1.EndpointSliceList
	s.Must(s.Client.List(s.Context(), &list, client.InNamespace(s.Namespace), selector))
	bySlice := map[string][]string{}
	for i := range list.Items {
		bySlice[list.Items[i].Name] = readyOf(&list.Items[i])
	}
	changes, err := s.Client.Watch(s.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(s.Namespace), selector,
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	s.Must(err)
	var mu sync.Mutex
	var lost []string
	var work sync.WaitGroup
	work.Go(func() {
		for change := range changes.ResultChan() {
			slice, ok := change.Object.(*discoveryv1.EndpointSlice)
			if !ok {
				continue
			}
			delete(bySlice, slice.Name)
			if change.Type != watch.Deleted {
				bySlice[slice.Name] = readyOf(slice)
			}
			mu.Lock()
			for _, address := range addresses {
				if !slices.ContainsFunc(slices.Collect(maps.Values(bySlice)), func(ready []string) bool { return slices.Contains(ready, address) }) {
					lost = append(lost, address)
				}
			}
			mu.Unlock()
		}
	})
	s.Cleanup(func() {
		changes.Stop()
		work.Wait()
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Compact(slices.Sorted(slices.Values(lost)))
	}
}

// readyOf returns the addresses of a slice that are ready.
func readyOf(slice *discoveryv1.EndpointSlice) (ready []string) {
	for _, endpoint := range slice.Endpoints {
		if ptr.Deref(endpoint.Conditions.Ready, true) {
			ready = append(ready, endpoint.Addresses...)
		}
	}
	return ready
}

// pauseLeader stops the leader by SIGSTOP until another one leads, as a node that hangs does.
func (s *suite) pauseLeader() {
	s.Helper()
	paused := s.Leader()
	pid := paused.PID()
	s.Must(syscall.Kill(pid, syscall.SIGSTOP))
	s.Must(s.FreeLease(s.Context()))
	s.Eventually(func() error {
		for _, replica := range s.Running() {
			if replica != paused && replica.Started(s.Context()) == nil {
				return nil
			}
		}
		return fmt.Errorf("no other replica leads")
	})
	s.Must(syscall.Kill(pid, syscall.SIGCONT)) // it finds that it lost the Lease, and ends
	s.Retire(paused)
	s.Must(s.Fill(s.Context()))
	if s.Leader() == paused {
		s.Fatalf("%s lost the Lease: another one must lead", paused.ID)
	}
}

// A DNS filter, or a split horizon, returns addresses that may not be published.
func TestAnAnswerOfWhichNothingMayBePublishedTakesNothingAway(t *testing.T) {
	s := newSuite(t)
	host := s.host("db")
	one, two, six := s.Servers.Address(), s.Servers.Address(), s.Servers.Address6()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, one, two, six))
	s.apply("db", named(host, hasten))
	s.publishes("db", one, two, six)
	lost := s.lostAddresses("db", []string{one, two, six})
	for _, filter := range []struct{ answers, word string }{
		{"0.0.0.0 ::", "Unspecified"}, {"127.0.0.1 ::1", "Loopback"}, {"10.96.0.10", "Service"}, {"169.254.169.254", "LinkLocal"}, {"224.0.0.1", "Multicast"},
	} {
		s.Must(s.Servers.DNS.Addresses(host, time.Second, strings.Fields(filter.answers)...))
		s.condition("db", networkingv1.ConditionResolved, metav1.ConditionFalse, networkingv1.ReasonDenied)
		s.Eventually(func() error {
			if message := s.message("db", networkingv1.ConditionResolved); !strings.Contains(message, "("+filter.word+")") || !strings.Contains(message, "3 last addresses are kept") {
				return fmt.Errorf("the message is %q", message)
			}
			return nil
		})
		s.lookups(host, externalnet.A, 2)
	}
	s.Renew(nil)
	s.lookups(host, externalnet.A, 2)
	s.publishes("db", one, two, six)
	if got := lost(); len(got) > 0 {
		t.Errorf("lost are %q", got)
	}
	s.Must(s.Servers.DNS.Addresses(host, time.Second, "127.0.0.1", two))
	s.condition("db", networkingv1.ConditionResolved, metav1.ConditionTrue, networkingv1.ReasonAllNamesResolved)
	s.publishes("db", two)
}
