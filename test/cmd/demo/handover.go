// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var oldServices = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1alpha1", Resource: "externalservices"}

// writer creates v1alpha1 ExternalServices one after the other, and counts. Each of them takes admission and conversion both
// ways.
type writer struct {
	mu           sync.Mutex
	sent, failed int
	last         string
	problem      error
}

func (w *writer) run(ctx context.Context, client dynamic.NamespaceableResourceInterface) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("load-%d", i)
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.fairlead.dev/v1alpha1", "kind": "ExternalService",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"endpoints": []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.20"}}},
				"ports":     []any{map[string]any{"name": "http", "port": int64(80)}},
			},
		}}
		_, err := client.Namespace("default").Create(ctx, object, metav1.CreateOptions{})
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		w.sent++
		w.last = name
		if err != nil {
			w.failed++
			w.problem = err
		}
		w.mu.Unlock()
	}
}

func (w *writer) counts() (sent, failed int, last string, problem error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.failed, w.last, w.problem
}

func handOver(ctx context.Context, s *environment) error {
	second, err := s.replica(ctx)
	if err != nil {
		return err
	}
	load := &writer{}
	loadCtx, stop := context.WithCancel(ctx)
	var writing sync.WaitGroup
	writing.Go(func() { load.run(loadCtx, s.Dynamic.Resource(oldServices)) })
	defer writing.Wait()
	defer stop()

	written := func(ctx context.Context, more int) error {
		from, _, _, _ := load.counts()
		return framework.Eventually(ctx, 30*time.Second, func(context.Context) error {
			if sent, _, _, problem := load.counts(); sent < from+more {
				return fmt.Errorf("%d of %d objects written; last error: %v", sent-from, more, problem)
			}
			return nil
		})
	}
	if err := written(ctx, 50); err != nil {
		return err
	}
	before, err := s.Kubectl(ctx, "get", "lease", "-n", framework.Namespace, "fairlead-manager", "-o", "jsonpath={.spec.holderIdentity}")
	if err != nil {
		return err
	}
	began := time.Now()
	s.Retire(s.leader)
	var after string
	if err := framework.Eventually(ctx, 30*time.Second, func(ctx context.Context) (err error) {
		after, err = s.Kubectl(ctx, "get", "lease", "-n", framework.Namespace, "fairlead-manager", "-o", "jsonpath={.spec.holderIdentity}")
		if err == nil && (after == before || after == "") {
			err = fmt.Errorf("the lease is held by %q", after)
		}
		return err
	}); err != nil {
		return err
	}
	s.leader = second
	took := time.Since(began)
	if err := written(ctx, 50); err != nil {
		return err
	}
	stop()
	writing.Wait()
	sent, failed, last, problem := load.counts()
	show(fmt.Sprintf("%s -> %s in %.1f s, drain of the old one included\n%d objects created meanwhile, %d failed",
		strings.TrimSpace(before), strings.TrimSpace(after), took.Seconds(), sent, failed))
	if failed > 0 {
		return fmt.Errorf("%d of %d requests failed, the last with: %w", failed, sent, problem)
	}
	if _, said, err := s.kubectl(ctx, "", "wait", "--for=condition=Ready", "--timeout=30s", "extsvc/"+last); err != nil {
		return fmt.Errorf("the new leader does not reconcile: %s", said)
	}
	return nil
}
