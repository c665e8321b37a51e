// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

const (
	// referenceEvery is the least time between two questions to the reference, and how often one that
	// is lost is asked.
	referenceEvery = 5 * time.Second
	// referenceTimeout bounds one question.
	referenceTimeout = 5 * time.Second
)

// reference is what is known of Options.Reference.
type reference struct {
	requests chan struct{}
	// pending says that it is asked now: failures wait for it.
	pending bool
	// unreachable says that it was not reached.
	unreachable bool
	// lastReply is when it last replied.
	lastReply time.Time
}

// requestReference has the reference asked where much has begun to fail. The lock is held.
func (p *Prober) requestReference() {
	r := &p.reference
	if p.Reference == nil || r.pending || r.unreachable || !p.suspicion.needsReference() {
		return
	}
	if !r.lastReply.IsZero() && time.Since(r.lastReply) < referenceEvery {
		return
	}
	select {
	case r.requests <- struct{}{}:
		r.pending = true
	default: // asked just now
	}
}

// runReference asks the reference until ctx ends.
func (p *Prober) runReference(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.reference.requests:
		}
		for !p.checkReference(ctx) {
			pause := time.NewTimer(referenceEvery)
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
		}
	}
}

// checkReference asks once, and lets the failures that wait for it decide if it is reached.
func (p *Prober) checkReference(ctx context.Context) bool {
	asked, cancel := context.WithTimeout(ctx, referenceTimeout)
	reached := true // a panic is a defect here, and no sign of a lost network
	panics.Go("reference", func() { reached = p.Reference(asked) })
	cancel()
	if ctx.Err() != nil {
		return true
	}
	p.mu.Lock()
	p.reference.pending, p.reference.unreachable, p.reference.lastReply = false, !reached, time.Now()
	told := p.updateSuspect()
	if reached {
		told = append(told, p.decideAwaiting()...)
	}
	p.mu.Unlock()
	p.notify(told)
	return reached
}

// decideAwaiting lets the failures decide that waited for the reference.
func (p *Prober) decideAwaiting() []types.NamespacedName {
	var told []types.NamespacedName
	for _, o := range p.objects {
		for _, t := range o.targets {
			if !t.awaitsReference {
				continue
			}
			t.awaitsReference = false
			if !p.suspect {
				told = append(told, p.decide(t)...)
			}
		}
	}
	return told
}
