// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// oldOnes is the version at which every write calls conversion and both webhooks, and every read
// conversion.
var oldOnes = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1alpha1", Resource: "externalservices"}

// kept bounds how many failures a load remembers.
const kept = 10

// load counts what clients do, and what of it fails.
type load struct {
	mu       sync.Mutex // guards what follows
	done     map[string]int
	failures []string
	failed   int
}

func (l *load) count(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[what]++
	if err == nil {
		return
	}
	l.failed++
	if len(l.failures) < kept {
		l.failures = append(l.failures, fmt.Sprintf("%s %s: %v", time.Now().Format("15:04:05.000"), what, err))
	}
}

// enough says whether so few requests were made that they prove nothing.
func (l *load) enough() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, what := range []string{"write", "read", "handshake"} {
		if l.done[what] < 50 {
			return fmt.Errorf("only %d times %s", l.done[what], what)
		}
	}
	return nil
}

// underLoad writes and reads ExternalServices at v1alpha1 while during runs, and makes a handshake
// with every replica by every CA bundle that stands in the cluster, all the time: the API server
// keeps connections, and would not meet every certificate by itself. Not one may fail.
func (s *suite) underLoad(replicas func() []*framework.Replica, during func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	trust, err := s.FollowTrust(ctx)
	s.Must(err)
	l := &load{done: map[string]int{}}
	var clients sync.WaitGroup
	for worker := range 2 {
		clients.Go(func() { s.writeAndRead(ctx, l, fmt.Sprintf("load-%d", worker)) })
	}
	clients.Go(func() { shakeHands(ctx, l, trust, replicas) })
	func() {
		defer func() { cancel(); clients.Wait() }()
		during()
		s.Eventually(l.enough)
	}()
	s.Logf("requests: %v, failed: %d", l.done, l.failed)
	for _, failure := range l.failures {
		s.Error(failure)
	}
}

// pace is the pause between two requests of one client, in a long run.
const pace = 20 * time.Millisecond

func (s *suite) writeAndRead(ctx context.Context, l *load, name string) {
	objects := s.Dynamic.Resource(oldOnes).Namespace("default")
	for round := int64(1); ; round++ {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.fairlead.dev/v1alpha1", "kind": "ExternalService",
			"metadata": map[string]any{"name": name, "namespace": "default"},
			"spec": map[string]any{
				"endpoints": []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.20"}}},
				"ports":     []any{map[string]any{"name": "http", "port": 1 + round%1000}},
			},
		}}
		_, err := objects.Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: "load", Force: true})
		if ctx.Err() != nil {
			return
		}
		l.count("write", err)
		_, err = objects.Get(ctx, name, metav1.GetOptions{})
		if ctx.Err() != nil {
			return
		}
		l.count("read", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(framework.Pace(pace)):
		}
	}
}

func shakeHands(ctx context.Context, l *load, trust *framework.Trust, replicas func() []*framework.Replica) {
	for {
		for _, r := range replicas() {
			err := trust.Handshake(ctx, r.Webhook)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !slices.Contains(replicas(), r) {
				continue // it was retired meanwhile
			}
			l.count("handshake", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * pace):
		}
	}
}
