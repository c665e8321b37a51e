// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// frozenAfter is how long after the calendar was written every replica knows it: it is watched.
const frozenAfter = 3 * time.Second

// toggled are the objects that are suspended and resumed.
var toggled = []struct{ name, apiVersion, kind, object string }{
	{"ExternalService steady", "networking.fairlead.dev/v1", "ExternalService", "steady"},
	{"RebootPolicy web", "autoreboot.fairlead.dev/v1", "RebootPolicy", "web"},
	{"RebootPolicy calm", "autoreboot.fairlead.dev/v1", "RebootPolicy", "calm"},
	{"ChaosPod kills", "chaos.fairlead.dev/v1", "ChaosPod", "kills"},
	{"ChaosPod dry", "chaos.fairlead.dev/v1", "ChaosPod", "dry"},
}

// span is a while.
type span struct{ from, to time.Time }

// player plays a history in a world.
type player struct {
	*world
	replicas *replicas
	// spans of each freeze, in which nothing may begin.
	freezes []span

	ending sync.WaitGroup // disturbances and refusals that last
	path   sync.Mutex     // held while the path is disturbed
	gate   sync.Mutex     // held while admission refuses
	mu     sync.Mutex     // guards err
	err    error
}

// play makes each move in its turn. Disturbances and refusals last while the next moves are made; all have ended when it
// returns.
func (p *player) play(ctx context.Context, h history) error {
	defer p.ending.Wait()
	for i, m := range h {
		if err := pause(ctx, m.Pause); err != nil {
			return err
		}
		if err := p.make(ctx, m); err != nil {
			return fmt.Errorf("move %d, %s: %w", i+1, m, err)
		}
	}
	p.ending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *player) make(ctx context.Context, m move) error {
	switch m.Kind {
	case editSpec:
		p.variant = m.Which % len(variants)
		return p.replaceSpec(ctx)
	case replaceObjects:
		var errs []error
		for _, manifest := range p.kinds() {
			errs = append(errs, p.replace(ctx, manifest))
		}
		return errors.Join(errs...)
	case failPrimary:
		p.failed = true
		return p.primary.Set(externalnet.Behavior{Fault: externalnet.Refuse})
	case recoverPrimary:
		p.failed = false
		return p.primary.Set(externalnet.Behavior{})
	case changeConfig:
		return p.change(ctx)
	case toggleSuspend:
		return p.toggle(ctx, m.Which)
	case relabel:
		return p.relabel(ctx, restarted[m.Which%len(restarted)])
	case renameTrigger:
		return p.rename(ctx, restarted[m.Which%len(restarted)])
	case runChaos:
		p.asked++
		return p.patch(ctx, &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Name: "kills"}}, fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, chaosv1.RunNowAnnotation, p.asked))
	case disturbPath:
		return p.lasting(ctx, &p.path, m.Lasts, func() (func() error, error) { return p.replicas.disturb(m.Fault), nil })
	case refuseWrites:
		return p.lasting(ctx, &p.gate, m.Lasts, func() (func() error, error) { return p.refuse(ctx, m.Which) })
	case freezeCluster:
		return p.freeze(ctx, m)
	case killLeader:
		return p.replicas.killLeader(ctx)
	default:
		return fmt.Errorf("%q is no kind of move", m.Kind)
	}
}

// lasting begins something that ends after a while. Of what one lock guards, one at a time lasts.
func (p *player) lasting(ctx context.Context, one *sync.Mutex, lasts time.Duration, begin func() (end func() error, err error)) error {
	one.Lock()
	end, err := begin()
	if err != nil {
		one.Unlock()
		return err
	}
	p.ending.Go(func() {
		defer one.Unlock()
		err := errors.Join(pause(ctx, lasts), end())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = errors.Join(p.err, err)
	})
	return nil
}

// freeze begins once all replicas know of it, lasts while the path is disturbed and a ConfigMap has changed, and ends
// when the path is as it was.
func (p *player) freeze(ctx context.Context, m move) error {
	p.path.Lock()
	defer p.path.Unlock()
	calendar := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.Namespace, Name: "fairlead-calendar"},
		Data:       map[string]string{"blackouts": "- {name: history, start: 2020-01-01T00:00:00Z, end: 2100-01-01T00:00:00Z}"},
	}
	if err := p.Client.Create(ctx, calendar); err != nil {
		return err
	}
	err := pause(ctx, frozenAfter)
	var frozen span
	if err == nil {
		frozen.from = time.Now()
		end := p.replicas.disturb(m.Fault)
		err = errors.Join(p.change(ctx), pause(ctx, m.Lasts), end())
		frozen.to = time.Now()
		p.freezes = append(p.freezes, frozen)
	}
	return errors.Join(err, p.Client.Delete(ctx, calendar))
}

// change gives the ConfigMap of "web" data that it never had.
func (p *player) change(ctx context.Context) error {
	p.changes++
	err := p.patch(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, fmt.Sprintf(`{"data":{"turn":"%d"}}`, p.changes))
	p.changedAt = time.Now()
	return err
}

func (p *player) toggle(ctx context.Context, which int) error {
	t := toggled[which%len(toggled)]
	for _, suspend := range []bool{true, false} {
		object, err := p.object(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}}", t.apiVersion, t.kind, t.object))
		if err != nil {
			return err
		}
		if err := p.patch(ctx, object, fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend)); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// relabel has a RebootPolicy select its Deployment no more, and select it again.
func (p *player) relabel(ctx context.Context, name string) error {
	for _, value := range []string{"null", fmt.Sprintf("%q", name)} {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := p.patch(ctx, deployment, fmt.Sprintf(`{"metadata":{"labels":{"restart":%s}}}`, value)); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// rename gives the trigger of a RebootPolicy a name that it never had.
func (p *player) rename(ctx context.Context, name string) error {
	p.names[name]++
	return p.replace(ctx, p.policyOf(name))
}

// replaceSpec writes the present variant of "steady". It is an update: by server-side apply, a field that another manager
// wrote as well, as the move "replace" does, would stay.
func (p *player) replaceSpec(ctx context.Context) error {
	object, err := p.object(p.steadyManifest())
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := object.DeepCopy()
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
			return err
		}
		live.Object["spec"] = object.DeepCopy().Object["spec"]
		return p.Client.Update(ctx, live)
	})
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (w *world) patch(ctx context.Context, object client.Object, patch string) error {
	object.SetNamespace(w.namespace)
	return framework.Retry(func() error { return w.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))) })
}
