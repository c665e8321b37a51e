// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/disruptions"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// disrupted is the namespace of the workloads, and disruptable how many there are.
	disrupted   = "disrupted"
	disruptable = 100
	// crowds and policies are how many ChaosPods select workloads by labels, and RebootPolicies. The number
	// of crowds is a multiple of that of sizes, so that the workloads of each have as many pods.
	sizes, crowds, policies = 3, 9, 10
	// everyTenth workload must keep all of its pods, so that no run may ever kill one of them.
	everyTenth = 10
	// fewPerDay is maxPerDay of every fourth ChaosPod; that of others is never reached.
	fewPerDay, manyPerDay = 2, 10_000
	// killEvery is how many requests there are for each leader that is killed, and leastKilled the least.
	killEvery, leastKilled = 625, 2
	// changeEvery is how often a ConfigMap changes.
	changeEvery = 500 * time.Millisecond
	// reignAtLeast and reignAtMost bound how long a leader leads before it is killed. With the 15s that the
	// lease takes to expire, one is killed every 25s to 35s.
	reignAtLeast, reignAtMost = 10 * time.Second, 20 * time.Second
	// planWithin bounds the wait for the next run, and calmWithin for the end of all.
	planWithin, calmWithin = time.Minute, 5 * time.Minute
)

// withWorkloads makes the workloads, and waits until they run.
func withWorkloads(ctx context.Context, s *site, _ string) error {
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: disrupted}}); err != nil {
		return err
	}
	for i := range disruptableAt(disruptable) {
		if err := s.apply(ctx, i.manifests()); err != nil {
			return err
		}
	}
	return framework.Eventually(ctx, calmWithin, s.workloadsRun)
}

// apply creates the objects of YAML in the namespace of the workloads.
func (s *site) apply(ctx context.Context, manifests string) error {
	for _, manifest := range bytes.Split([]byte(manifests), []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(manifest, &object.Object); err != nil {
			return fmt.Errorf("%w: %s", err, manifest)
		}
		object.SetNamespace(disrupted)
		if err := s.admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// workloadsRun is nil once every pod of every workload is of its latest template, and available.
func (s *site) workloadsRun(ctx context.Context) error {
	var all appsv1.DeploymentList
	if err := s.admin.List(ctx, &all, client.InNamespace(disrupted)); err != nil {
		return err
	}
	for i := range all.Items {
		d, st := &all.Items[i], all.Items[i].Status
		if n := *d.Spec.Replicas; st.ObservedGeneration != d.Generation || st.Replicas != n || st.UpdatedReplicas != n || st.AvailableReplicas != n {
			return fmt.Errorf("%d of %d pods of Deployment %s are available", st.AvailableReplicas, n, d.Name)
		}
	}
	return nil
}

// disruptAndKill has ChaosPods and RebootPolicies disrupt the same workloads, and kills one leader after
// another, each as soon as a run has been planned: the kill may have been asked for, or not.
func disruptAndKill(ctx context.Context, a *attempt) error {
	record, err := disruptions.Follow(ctx, a.admin, disrupted)
	if err != nil {
		return err
	}
	defer record.Close()
	began := time.Now()
	if err := a.disrupt(ctx); err != nil {
		return err
	}
	changing, stop := context.WithCancel(ctx)
	defer stop()
	var changes changes
	changes.begin(changing, a)
	deaths := max(leastKilled, a.requests/killEvery)
	err = a.killPlanners(ctx, record, deaths)
	stop()
	if err := errors.Join(err, changes.ended()); err != nil {
		return err
	}
	a.note("%d leaders killed within %s, each when a run had just been planned; %d ConfigMaps changed", deaths, time.Since(began).Round(time.Second), changes.made)
	if err := a.calm(ctx); err != nil {
		return err
	}
	return a.settle(ctx, record, began)
}

// disrupt makes the policies, waits until they know what they compare with, and then the ChaosPods.
func (a *attempt) disrupt(ctx context.Context) error {
	for number := range policies {
		if err := a.apply(ctx, policy(number)); err != nil {
			return err
		}
	}
	err := framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		known := 0
		_, restarts, err := a.disrupters(ctx)
		for i := range restarts {
			for _, target := range restarts[i].Status.Targets {
				known += min(len(target.Baselines), 1)
			}
		}
		if err == nil && known != disruptable {
			err = fmt.Errorf("of %d workloads the policies know what they were started with", known)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, manifest := range crowdsChaos() {
		if err := a.apply(ctx, manifest); err != nil {
			return err
		}
	}
	for i := range disruptableAt(disruptable) {
		if err := a.apply(ctx, i.chaos()); err != nil {
			return err
		}
	}
	a.printf("%d ChaosPods and %d RebootPolicies disrupt %d workloads", disruptable+crowds+1, policies, disruptable)
	return nil
}

func (s *site) disrupters(ctx context.Context) ([]chaosv1.ChaosPod, []autorebootv1.RebootPolicy, error) {
	var kills chaosv1.ChaosPodList
	var restarts autorebootv1.RebootPolicyList
	err := errors.Join(s.admin.List(ctx, &kills, client.InNamespace(disrupted)), s.admin.List(ctx, &restarts, client.InNamespace(disrupted)))
	return kills.Items, restarts.Items, err
}

// changes changes the ConfigMap of a workload, of one after the other.
type changes struct {
	running sync.WaitGroup
	made    int
	err     error
}

func (c *changes) begin(ctx context.Context, a *attempt) {
	random := rand.New(rand.NewPCG(a.seed, disruptable)) //nolint:gosec // it must be repeatable
	c.running.Go(func() {
		for pause(ctx, changeEvery) == nil {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: disrupted, Name: disruptableAt(random.IntN(disruptable)).name()}}
			patch := fmt.Appendf(nil, `{"data":{"turn":"%d"}}`, c.made+1)
			if err := a.admin.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
				if ctx.Err() == nil {
					c.err = fmt.Errorf("change ConfigMap %s: %w", object.Name, err)
				}
				return
			}
			c.made++
		}
	})
}

func (c *changes) ended() error {
	c.running.Wait()
	return c.err
}

// killPlanners kills leaders, each as soon as one of its plans is seen.
func (a *attempt) killPlanners(ctx context.Context, record *disruptions.Record, deaths int) error {
	random := rand.New(rand.NewPCG(a.seed, policies)) //nolint:gosec // it must be repeatable
	for range deaths {
		leader, err := a.leader(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, reignAtLeast+time.Duration(random.Int64N(int64(reignAtMost-reignAtLeast)))); err != nil {
			return err
		}
		planning, cancel := context.WithTimeoutCause(ctx, planWithin, fmt.Errorf("no run was planned within %s of a leader's work", planWithin))
		err = record.AwaitPlan(planning)
		cancel()
		if err != nil {
			return fmt.Errorf("%w: %s", err, a.underWay(ctx))
		}
		lost := a.excuseLosses(leader)
		err = a.killLeader(ctx, leader)
		lost()
		if err != nil {
			return err
		}
	}
	return nil
}

// underWay counts what the ChaosPods and RebootPolicies do, and wait for.
func (s *site) underWay(ctx context.Context) string {
	kills, restarts, err := s.disrupters(ctx)
	if err != nil {
		return err.Error()
	}
	n := map[string]int{}
	for i := range kills {
		st := &kills[i].Status
		if st.CurrentRun != nil {
			n["runs "+string(st.CurrentRun.Phase)]++
		}
		if c := meta.FindStatusCondition(st.Conditions, chaosv1.ConditionWaiting); c != nil && c.Status == metav1.ConditionTrue {
			n["ChaosPods "+c.Reason]++
		}
		if st.Halt != nil {
			n["ChaosPods halted by "+st.Halt.Reason]++
		}
	}
	for i := range restarts {
		st := &restarts[i].Status
		for _, restart := range st.InFlight {
			n["restarts "+string(restart.Phase)]++
		}
		if st.Halt != nil {
			n["RebootPolicies halted by "+st.Halt.Reason]++
		}
	}
	return fmt.Sprint(n)
}

// calm suspends the ChaosPods, and waits until nothing is under way, pending, or missing.
func (a *attempt) calm(ctx context.Context) error {
	kills, _, err := a.disrupters(ctx)
	if err != nil {
		return err
	}
	for i := range kills {
		if err := a.admin.Patch(ctx, &kills[i], client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))); err != nil {
			return fmt.Errorf("suspend ChaosPod %s: %w", kills[i].Name, err)
		}
	}
	err = framework.Eventually(ctx, calmWithin, func(ctx context.Context) error {
		kills, restarts, err := a.disrupters(ctx)
		if err != nil {
			return err
		}
		for i := range kills {
			if st := &kills[i].Status; st.CurrentRun != nil || st.ObservedGeneration != kills[i].Generation {
				return fmt.Errorf("a run of ChaosPod %s has not ended", kills[i].Name)
			}
		}
		for i := range restarts {
			if st := &restarts[i].Status; st.Halt == nil && (len(st.InFlight) > 0 || meta.IsStatusConditionTrue(st.Conditions, autorebootv1.ConditionWaiting)) {
				return fmt.Errorf("a restart of RebootPolicy %s has not ended", restarts[i].Name)
			}
		}
		return a.workloadsRun(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, a.underWay(ctx))
	}
	return nil
}

// settle judges what was seen.
func (a *attempt) settle(ctx context.Context, record *disruptions.Record, began time.Time) error {
	floors := map[string]int{}
	for i := range disruptableAt(disruptable) {
		floors[i.name()] = i.floor()
	}
	done, err := record.Account(ctx, floors)
	if err != nil {
		return err
	}
	a.note("%d kills and %d restarts of %d workloads: %d instants with fewer ready pods than minReady, %d overlaps of two disruptions of a workload, %d that no status named beforehand",
		done.Kills, done.Restarts, disruptable, len(done.Below), len(done.Overlaps), len(done.Unnamed))
	for what, list := range map[string][]string{
		"fewer ready pods than minReady": done.Below, "two disruptions at once": done.Overlaps, "no status named it beforehand": done.Unnamed, "not ended": done.Unended,
	} {
		for _, fault := range list[:min(len(list), maxUnexplained)] {
			a.wrong("%s, %d times: %s", what, len(list), fault)
		}
	}
	if done.Kills == 0 || done.Restarts == 0 {
		a.wrong("%d pods were killed and %d workloads restarted: nothing was proven", done.Kills, done.Restarts)
	}
	days := 1 + int(time.Now().UTC().Truncate(24*time.Hour).Sub(began.UTC().Truncate(24*time.Hour))/(24*time.Hour))
	used := 0
	for i := range disruptableAt(disruptable) {
		n := done.KillsBy[i.name()]
		if n > i.maxPerDay()*days {
			a.wrong("ChaosPod %s killed %d pods on %d days, and maxPerDay is %d", i.name(), n, days, i.maxPerDay())
		}
		if n >= i.maxPerDay() {
			used++
		}
	}
	a.note("%d ChaosPods used their maxPerDay up", used)
	return a.verdicts(ctx)
}

// verdicts wants every run survived and every restart verified.
func (a *attempt) verdicts(ctx context.Context) error {
	kills, restarts, err := a.disrupters(ctx)
	if err != nil {
		return err
	}
	for i := range kills {
		for _, run := range kills[i].Status.History {
			if run.Result == chaosv1.ResultRecoveryFailed || run.Result == chaosv1.ResultFailed {
				a.wrong("ChaosPod %s: run %s: %s %s: %s", kills[i].Name, run.ID, run.Result, run.Reason, run.Message)
			}
		}
	}
	for i := range restarts {
		for _, restart := range restarts[i].Status.History {
			if restart.Result == autorebootv1.ResultFailed {
				a.wrong("RebootPolicy %s: restart %s: %s %s: %s", restarts[i].Name, restart.ID, restart.Result, restart.Reason, restart.Message)
			}
		}
	}
	return nil
}
