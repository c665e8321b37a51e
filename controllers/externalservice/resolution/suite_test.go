// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package resolution

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
)

// suite is a Tracker with the addresses of names in a map.
type suite struct {
	*Tracker

	mu        sync.Mutex
	leads     map[string]string
	takes     time.Duration
	pongs     bool
	lookups   map[string]int
	began     []time.Time
	notified  map[string]int
	reachable []bool
	stop      func()
}

// newSuite runs a Tracker until the test ends. It needs a synctest bubble.
func newSuite(t *testing.T, o Options) *suite {
	t.Helper()
	f := &suite{leads: map[string]string{}, lookups: map[string]int{}, notified: map[string]int{}}
	o.Lookup = func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer {
		f.mu.Lock()
		f.lookups[name]++
		f.began = append(f.began, time.Now())
		leads, takes := f.leads[name], f.takes
		f.mu.Unlock()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return dns.Answer{IPv4: part("Timeout", 0), IPv6: part("Timeout", 0)}
		}
		four, six, _ := strings.Cut(leads, " | ")
		if six == "" {
			six = "NXDomain"
		}
		if records == networkingv1.RecordSRV {
			four = "s"
		}
		return dns.Answer{IPv4: part(four, time.Minute), IPv6: part(six, time.Minute)}
	}
	o.Rand = func() float64 { return 0 }
	o.Notify = func(key types.NamespacedName) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notified[key.Name]++
	}
	o.OnReachable = func(yes bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reachable = append(f.reachable, yes)
	}
	f.Tracker = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(f.stop)
	return f
}

func (s *suite) setAnswer(name, where string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leads[name] = where
}

func (s *suite) lookupCount(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups[name]
}

func (s *suite) notifications(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notified[name]
}

func (s *suite) changes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.reachable)
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func named(host string) Name {
	return Name{Host: host, MinTTL: 30 * time.Second, MaxTTL: time.Hour, KeepLastFor: 24 * time.Hour}
}

// wait lets time pass and everything settle.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
