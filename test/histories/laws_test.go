// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/disruptions"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// restWithin bounds the wait, after the last move, until nothing is pending: leases expire, back-offs of half a
	// minute end, pods roll out.
	restWithin = 4 * time.Minute
	// quietFor is how long nothing may be written then, which quietWithin bounds the wait for.
	quietFor, quietWithin = 4 * time.Second, time.Minute
)

// records holds the recorded changes of the objects while a history is played.
type records struct {
	began          time.Time
	steady, moving *slicesRecord
	disruptions    *disruptions.Record
}

// follow begins the records of a world at rest.
func follow(ctx context.Context, w *world) (r records, err error) {
	r.began = time.Now()
	if r.steady, err = followSlices(ctx, w.Client, w.namespace, "steady"); err != nil {
		return r, err
	}
	if r.moving, err = followSlices(ctx, w.Client, w.namespace, "moving"); err != nil {
		return r, err
	}
	r.disruptions, err = disruptions.Follow(ctx, w.Client, w.namespace)
	return r, err
}

// atRest is nil once everything is as it is meant to be, and nothing is pending.
func (w *world) atRest(ctx context.Context) error {
	published := func(name string, addresses ...string) error {
		var es networkingv1.ExternalService
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &es); err != nil {
			return err
		}
		ready, err := w.ready(ctx, name)
		if err == nil && (!slices.Equal(ready, addresses) || es.Status.ObservedGeneration != es.Generation ||
			!meta.IsStatusConditionTrue(es.Status.Conditions, networkingv1.ConditionReady)) {
			err = fmt.Errorf("ExternalService %s at generation %d: %q is ready, want %q: %s", name, es.Generation, ready, addresses, framework.Text(es.Status))
		}
		return err
	}
	active := w.primary
	if w.failed {
		active = w.standby
	}
	return errors.Join(published("steady", ip(w.steady)), published("moving", ip(active)), w.policiesAtRest(ctx), w.chaosAtRest(ctx), w.rolledOut(ctx))
}

// ready are the addresses behind a Service that are, sorted.
func (w *world) ready(ctx context.Context, service string) ([]string, error) {
	var list discoveryv1.EndpointSliceList
	err := w.Client.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
	set := map[string]bool{}
	for i := range list.Items {
		for _, address := range readyIn(&list.Items[i]) {
			set[address] = true
		}
	}
	return slices.Sorted(maps.Keys(set)), err
}

func (w *world) policiesAtRest(ctx context.Context) error {
	var list autorebootv1.RebootPolicyList
	if err := w.Client.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		p, st := &list.Items[i], &list.Items[i].Status
		known := len(st.Targets) == 1 && st.Targets[0].Pending == nil && slices.ContainsFunc(st.Targets[0].Baselines, func(b autorebootv1.Baseline) bool {
			return b.Trigger == p.Spec.Triggers[0].Name
		})
		if st.ObservedGeneration != p.Generation || !known || len(st.InFlight) > 0 || st.Halt != nil || !meta.IsStatusConditionTrue(st.Conditions, autorebootv1.ConditionReady) {
			errs = append(errs, fmt.Errorf("RebootPolicy %s at generation %d: %s", p.Name, p.Generation, framework.Text(st)))
		}
	}
	return errors.Join(errs...)
}

func (w *world) chaosAtRest(ctx context.Context) error {
	var list chaosv1.ChaosPodList
	if err := w.Client.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		c, st := &list.Items[i], &list.Items[i].Status
		if st.ObservedGeneration != c.Generation || st.CurrentRun != nil || st.Halt != nil {
			errs = append(errs, fmt.Errorf("ChaosPod %s at generation %d: %s", c.Name, c.Generation, framework.Text(st)))
		}
	}
	return errors.Join(errs...)
}

// judge waits until the world is at rest, and returns which laws were broken.
func (w *world) judge(ctx context.Context, r records, freezes []span) error {
	if err := w.Client.Patch(ctx, &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dry"}},
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))); err != nil { // it writes at each run
		return err
	}
	if err := framework.Eventually(ctx, restWithin, w.atRest); err != nil {
		return fmt.Errorf("every wait has an end: %w", err)
	}
	errs := []error{framework.Eventually(ctx, quietWithin, w.quiet)}
	steady, err := r.steady.close()
	errs = append(errs, err)
	if err := always(steady, r.began, ip(w.steady)); err != nil {
		errs = append(errs, fmt.Errorf("what does not change in the network stays published: ExternalService steady: %w", err))
	}
	moving, err := r.moving.close()
	errs = append(errs, err)
	if err := within(moving, r.began, ip(w.primary), ip(w.standby)); err != nil {
		errs = append(errs, fmt.Errorf("only what the spec has is published: ExternalService moving: %w", err))
	}
	done, err := r.disruptions.Account(ctx, map[string]int{"web": 0, "calm": 0})
	errs = append(errs, err)
	for law, broken := range map[string][]string{
		"one disruption of a workload at a time": done.Overlaps, "what is done is in a status beforehand": done.Unnamed, "every disruption ends": done.Unended,
	} {
		if len(broken) > 0 {
			errs = append(errs, fmt.Errorf("%s: %q", law, broken))
		}
	}
	if done.Kills > w.asked || done.Kills > done.KillsBy["kills"] {
		errs = append(errs, fmt.Errorf("twice is once: %d pods were killed by %v, and %d runs were asked for", done.Kills, done.KillsBy, w.asked))
	}
	return w.described(ctx, errors.Join(append(errs, w.judgeRestarts(ctx, freezes))...))
}

// described adds to an error what the statuses say.
func (w *world) described(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var services networkingv1.ExternalServiceList
	var policies autorebootv1.RebootPolicyList
	var chaos chaosv1.ChaosPodList
	for _, list := range []client.ObjectList{&services, &policies, &chaos} {
		if problem := w.Client.List(ctx, list, client.InNamespace(w.namespace)); problem != nil {
			return errors.Join(err, problem)
		}
	}
	for i := range services.Items {
		err = fmt.Errorf("%w\nExternalService %s: %s", err, services.Items[i].Name, framework.Text(services.Items[i].Status))
	}
	for i := range policies.Items {
		err = fmt.Errorf("%w\nRebootPolicy %s: %s", err, policies.Items[i].Name, framework.Text(policies.Items[i].Status))
	}
	for i := range chaos.Items {
		err = fmt.Errorf("%w\nChaosPod %s: %s", err, chaos.Items[i].Name, framework.Text(chaos.Items[i].Status))
	}
	return err
}

// judgeRestarts counts restarts by the ReplicaSets of the Deployments, which keep them all.
func (w *world) judgeRestarts(ctx context.Context, freezes []span) error {
	var sets appsv1.ReplicaSetList
	if err := w.Client.List(ctx, &sets, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	restarts := map[string][]time.Time{}
	for i := range sets.Items {
		set := &sets.Items[i]
		if set.Spec.Template.Annotations[autorebootv1.RestartIDAnnotation] != "" {
			restarts[set.Labels["app"]] = append(restarts[set.Labels["app"]], set.CreationTimestamp.Time)
		}
	}
	var errs []error
	if n := len(restarts["calm"]); n > 0 {
		errs = append(errs, fmt.Errorf("nothing is restarted without a change: Deployment calm was restarted %d times", n))
	}
	if n := len(restarts["web"]); n > w.changes || n == 0 && w.changes > 0 {
		errs = append(errs, fmt.Errorf("a change is owed exactly once: Deployment web was restarted %d times for %d changes", n, w.changes))
	}
	for _, at := range restarts["web"] {
		for _, f := range freezes {
			if at.After(f.from) && at.Before(f.to.Truncate(time.Second)) {
				errs = append(errs, fmt.Errorf("nothing is restarted within a freeze: Deployment web was at %s, in one from %s to %s", at, f.from, f.to))
			}
		}
	}
	return errors.Join(append(errs, w.latestConfig(ctx))...)
}

// latestConfig is nil where each pod of "web" was made after the last change of its ConfigMap.
func (w *world) latestConfig(ctx context.Context) error {
	if w.changes == 0 {
		return nil
	}
	var list corev1.PodList
	if err := w.Client.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{"app": "web"}); err != nil {
		return err
	}
	for i := range list.Items {
		if made := list.Items[i].CreationTimestamp.Time; made.Before(w.changedAt.Truncate(time.Second)) {
			return fmt.Errorf("a change is owed exactly once: pod %s was made at %s, and the ConfigMap changed last at %s", list.Items[i].Name, made, w.changedAt)
		}
	}
	return nil
}

// quiet is nil once nothing of the operator's has been written for a while.
func (w *world) quiet(ctx context.Context) error {
	before, err := w.versions(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, quietFor); err != nil {
		return err
	}
	after, err := w.versions(ctx)
	if err == nil && !maps.Equal(before, after) {
		maps.DeleteFunc(after, func(name, version string) bool { return before[name] == version })
		err = fmt.Errorf("with the world at rest nothing is written: within %s %v was", quietFor, slices.Sorted(maps.Keys(after)))
	}
	return err
}

// versions are the resource versions of what the operator writes.
func (w *world) versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for _, list := range []client.ObjectList{&networkingv1.ExternalServiceList{}, &autorebootv1.RebootPolicyList{}, &chaosv1.ChaosPodList{},
		&corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &appsv1.DeploymentList{}} {
		if err := w.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil {
				versions[fmt.Sprintf("%T %s", item, object.GetName())] = object.GetResourceVersion()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}
