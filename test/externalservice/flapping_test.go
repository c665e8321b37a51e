// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// writes counts every write in the test's namespace: of slices, of ExternalServices and of Events.
type writes struct {
	mu    sync.Mutex // guards what follows
	count map[string]int
}

// countWrites counts from now on.
func (s *suite) countWrites() *writes {
	s.Helper()
	w := &writes{count: map[string]int{}}
	for kind, list := range map[string]client.ObjectList{
		"slices": &discoveryv1.EndpointSliceList{}, "statuses": &networkingv1.ExternalServiceList{}, "events": &corev1.EventList{},
	} {
		s.Must(s.Client.List(s.Context(), list, client.InNamespace(s.Namespace)))
		changes := s.watch(list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
		go func() {
			for change := range changes.ResultChan() {
				if change.Type == watch.Bookmark {
					continue
				}
				w.mu.Lock()
				w.count[kind]++
				w.mu.Unlock()
			}
		}()
	}
	return w
}

func (w *writes) of(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[kind]
}

// atMost ends the test where there were more writes.
func (w *writes) atMost(s *suite, slices, statuses, events int) {
	s.Helper()
	s.Logf("%d writes of slices, %d of statuses, %d of events", w.of("slices"), w.of("statuses"), w.of("events"))
	for kind, most := range map[string]int{"slices": slices, "statuses": statuses, "events": events} {
		if got := w.of(kind); got > most {
			s.Errorf("%d writes of %s, want %d at most", got, kind, most)
		}
	}
}

// flapping has an address checked every second, and believes each result.
const flapping = `healthCheck: {httpGet: {path: /}, interval: 1s, unhealthyInterval: 1s, timeout: 1s, jitterPercent: 0, failureThreshold: 1, successThreshold: 1}`

func TestAnEndpointThatFlapsCostsFewWrites(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.scripted(address+":8080", true)
	s.apply("web", `{ports: [{name: http, port: 8080}], endpoints: [{name: a, addresses: [`+address+`]}], `+flapping+`}`)
	s.healthy("web", address)
	w := s.countWrites()
	server.play(strings.Repeat("-+", 30))
	s.Eventually(server.played)
	// Each of 60 results is a change; before, each was a write of a slice and of a status, and an Event.
	w.atMost(s, 12, 16, 10)
	s.publishes("web", address) // it is the last that there is
	// An address that is down for good is out, and the failure is reported.
	server.play("-")
	s.becomes("web", address, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
}

func TestFailoverFromAnEndpointThatFlapsIsPromptAndHolds(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	first, second := s.Servers.Address(), s.Servers.Address()
	server := s.scripted(first+":8080", true)
	s.scripted(second+":8080", true)
	s.apply("web", fmt.Sprintf(`{ports: [{name: http, port: 8080}], failover: {failbackDelay: 1s},
		endpoints: [{name: a, addresses: [%s]}, {name: b, priority: 1, addresses: [%s]}], %s}`, first, second, flapping))
	s.publishes("web", first)
	w := s.countWrites()
	server.play(strings.Repeat("---+++", 8))
	s.publishes("web", second)
	s.Eventually(server.played)
	// Three falls and two returns count at once; then it is out.
	w.atMost(s, 16, 24, 24)
	server.play("-")
	s.publishes("web", second)
}

func TestALargePoolSettles(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	host := s.host("pool")
	var pool []string
	for range 20 {
		pool = append(pool, s.Servers.Address())
	}
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool, TTL: 2 * time.Second, Window: 8}))
	s.apply("pool", named(host, `resolution: {minTTL: 1s, maxTTL: 1h}`))
	s.publishes("pool", pool...)
	s.lookups(host, externalnet.A, 4) // by then the name is known to rotate
	s.publishes("pool", pool...)
	w := s.countWrites()
	s.lookups(host, externalnet.A, 15)
	w.atMost(s, 0, 0, 4) // events of before may be on their way
	s.publishes("pool", pool...)
	s.Must(s.Servers.DNS.Reply(host, externalnet.A, externalnet.Reply{Data: pool[:10], TTL: 2 * time.Second, Window: 8}))
	s.publishes("pool", pool[:10]...)
}
