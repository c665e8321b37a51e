// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// workload holds the fields of a Deployment that the board reads.
type workload struct {
	Metadata struct {
		Namespace, Name string
		Generation      int64
		Annotations     map[string]string
	}
	Status struct {
		ObservedGeneration                           int64
		Replicas, UpdatedReplicas, AvailableReplicas int
	}
}

// rolling is whether a rollout of it has not ended.
func (w *workload) rolling() bool {
	s := w.Status
	return s.ObservedGeneration < w.Metadata.Generation || s.Replicas != 1 || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1
}

// revision is how many ReplicaSets were made for it.
func (w *workload) revision() int {
	n, err := strconv.Atoi(w.Metadata.Annotations["deployment.kubernetes.io/revision"])
	if err != nil {
		return 0
	}
	return n
}

// policy holds the fields of a RebootPolicy that the board reads.
type policy struct {
	Metadata struct{ Namespace, Name string }
	Status   struct {
		Halt     *struct{ Reason string }
		InFlight []struct{}
		Targets  []struct {
			Internal struct {
				Baselines []struct{ Source string }
			}
			Pending *struct{}
		}
	}
}

// known is how many workloads have a baseline for each of their Secrets.
func (p *policy) known() int {
	n := 0
	for i := range p.Status.Targets {
		sources := 0
		for _, baseline := range p.Status.Targets[i].Internal.Baselines {
			sources += one(baseline.Source != "")
		}
		n += one(sources == perWorkload)
	}
	return n
}

func (p *policy) pending() int {
	n := 0
	for i := range p.Status.Targets {
		if p.Status.Targets[i].Pending != nil {
			n++
		}
	}
	return n
}

// board shows what the API server has of workloads and policies, and the most of it there ever was.
type board struct {
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex // guards what follows
	workloads map[string]workload
	policies  map[string]policy
	before    map[string]workload  // when the counts began
	written   map[string]time.Time // when the template was first written since then
	rolling   gauge
	inFlight  gauge
	pending   int
	ofOne     int // the most in flight of one policy
	last      time.Time
	gaps      int
	err       error
}

func newBoard() *board {
	return &board{
		workloads: map[string]workload{}, policies: map[string]policy{}, before: map[string]workload{}, written: map[string]time.Time{},
	}
}

// open begins one for the policies with some labels, and returns once it shows what there is.
func open(ctx context.Context, api rest.Interface, policies string) (*board, error) {
	b := newBoard()
	ctx, b.cancel = context.WithCancel(ctx)
	var listed sync.WaitGroup
	listed.Add(2)
	begin := func(follow func(context.Context, rest.Interface, func()) error) {
		b.work.Go(func() {
			once := sync.OnceFunc(listed.Done)
			defer once()
			b.fail(follow(ctx, api, once))
		})
	}
	begin(kind[workload]{"/apis/apps/v1/deployments", measured, func(w *workload) { b.showWorkload(w, time.Now()) }, b.interrupt}.follow)
	show := func(p *policy) { b.showPolicy(p, time.Now()) }
	begin(kind[policy]{"/apis/autoreboot.fairlead.dev/v1/rebootpolicies", policies, show, b.interrupt}.follow)
	listed.Wait()
	return b, b.trouble()
}

func (b *board) close() {
	b.cancel()
	b.work.Wait()
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = errors.Join(b.err, err)
}

func (b *board) interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps++
}

func (b *board) showWorkload(w *workload, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := w.Metadata.Namespace + "/" + w.Metadata.Name
	was, known := b.workloads[key]
	b.workloads[key] = *w
	if _, is := b.written[key]; !is && w.Metadata.Generation > b.before[key].Metadata.Generation {
		b.written[key] = now
	}
	b.rolling.add(one(w.rolling())-one(known && was.rolling()), now)
	b.last = now
}

func (b *board) showPolicy(p *policy, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := p.Metadata.Namespace + "/" + p.Metadata.Name
	was := b.policies[key]
	b.policies[key] = *p
	b.inFlight.add(len(p.Status.InFlight)-len(was.Status.InFlight), now)
	b.pending += p.pending() - was.pending()
	b.ofOne = max(b.ofOne, len(p.Status.InFlight))
	b.last = now
	if p.Status.Halt != nil {
		b.err = fmt.Errorf("policy %s has halted: %s", key, p.Status.Halt.Reason)
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// trouble is why the board is of no use any more.
func (b *board) trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
