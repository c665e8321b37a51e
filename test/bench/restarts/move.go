// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/bench/subject"
)

const (
	// moveQuiet is debounce.quietPeriod of the template: that of the comparison with Reloader.
	moveQuiet = time.Second
	// moveCalm is how long nothing more may happen after all has.
	moveCalm = moveQuiet + 3*time.Second
	// moveStorm is how many sources of a workload change at once in the storm, in which moveShare of 100 workloads take part.
	moveStorm, moveShare = 2, 40
	// moveEvery is the time between two of the changes that are dated: the control plane keeps up with their rollouts.
	moveEvery = 500 * time.Millisecond
	// movePolicy is the name of the ClusterRebootPolicy.
	movePolicy = "move"
	// bigSecret is how many bytes each of the Secrets has that no workload refers to.
	bigSecret = 20_000
)

// MoveOptions of RunMove.
type MoveOptions struct {
	// Root is the checkout whose operator and manifests are measured.
	Root string
	// Namespaces that the workloads are spread over. The default is 300.
	Namespaces int
	// Workloads with the annotation of Reloader, with two ConfigMaps and two Secrets each. The default is 1,000.
	Workloads int
	// Changes of one source each, two a second, whose time until the patch is measured. The default is 200.
	Changes int
	// Secrets of 20 KB that no workload refers to, and that memory is measured with besides. The default is 5,000.
	Secrets int
	// Limit is how long all of it may take. The default is 30m.
	Limit time.Duration
	// Profiles is a folder for a profile of the operator in the storm. The default is none.
	Profiles string
	// Output takes progress. The default is none.
	Output io.Writer
}

// Spent is the cost of a step.
type Spent struct {
	// Drained is until each workload was restarted and nothing waited.
	Drained time.Duration
	// CPU are seconds of a processor of the operator, and APIServer those of the API server.
	CPU, APIServer float64
	Calls          Calls
	// Written is how often a template was written, least and most.
	Written span
}

// MoveResult of RunMove.
type MoveResult struct {
	Options MoveOptions
	// Made is from the ClusterRebootPolicy until each namespace had its policy, and Known until each source had a baseline.
	Made, Known time.Duration
	Making      Spent
	// Latencies are from a change until the template was patched.
	Latencies     []time.Duration
	Single, Storm Spent
	// Started is the memory before the ClusterRebootPolicy, Settled after the storm, and WithSecrets with the Secrets besides.
	Started, Settled, WithSecrets, Peak float64
	// Floor is how long a plain client took for the storm, and FloorAPIServer what it cost the API server.
	Floor          time.Duration
	FloorAPIServer float64
}

// move is one measurement of a move from Reloader.
type move struct {
	run
	MoveOptions
	result MoveResult
}

// RunMove measures. It starts a control plane and leaves nothing of it.
func RunMove(ctx context.Context, o MoveOptions) (result MoveResult, err error) {
	o.Namespaces, o.Workloads, o.Changes = cmp.Or(o.Namespaces, 300), cmp.Or(o.Workloads, 1000), cmp.Or(o.Changes, 200)
	o.Namespaces, o.Changes = min(o.Namespaces, o.Workloads), min(o.Changes, o.Workloads)
	o.Limit = cmp.Or(o.Limit, 30*time.Minute)
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Workloads > 10_000 || min(o.Workloads, o.Namespaces, o.Changes) < 1 || o.Secrets < 0 {
		return MoveResult{}, fmt.Errorf("move: %d workloads in %d namespaces, %d changes and %d Secrets: there may be 1 to 10000 workloads, "+
			"1 namespace and change at least, and no fewer than 0 Secrets", o.Workloads, o.Namespaces, o.Changes, o.Secrets)
	}
	m := &move{
		run:         run{options: Options{Root: o.Root, Workloads: o.Workloads, Cap: 50, Profiles: o.Profiles, Output: o.Output}},
		MoveOptions: o, result: MoveResult{Options: o},
	}
	defer func() { err = errors.Join(err, m.close()) }()
	err = subject.Walk(ctx, o.Limit, m.sayMove,
		subject.Step{Title: "start a control plane", Do: m.open},
		subject.Step{Title: "make the workloads", Do: m.populate},
		subject.Step{Title: "have a policy made in each namespace", Do: m.adopt},
		subject.Step{Title: "change sources one by one", Do: m.single},
		subject.Step{Title: "change many at once", Do: m.storm},
		subject.Step{Title: "make Secrets that nothing refers to", Do: m.ballast},
		subject.Step{Title: "do the same by a plain client", Do: m.floor},
	)
	if err != nil {
		return MoveResult{}, fmt.Errorf("move: %w", err)
	}
	return m.result, nil
}

func (m *move) sayMove(format string, args ...any) {
	_, _ = fmt.Fprintf(m.Output, "move: "+format+"\n", args...) // progress is worth no failure
}

func (m *move) home(workload int) string { return fmt.Sprintf("move-%d", workload%m.Namespaces) }

func (m *move) key(workload int) string { return m.home(workload) + "/" + name(workload) }

// source is the name of one of the four sources of a workload; an odd one is a Secret.
func (m *move) source(workload, number int) string {
	return fmt.Sprintf("source-%d-%d", workload, number)
}

// write creates or changes a source.
func (m *move) write(ctx context.Context, workload, number, generation int) error {
	resource, member := "configmaps", "data"
	if number%2 == 1 {
		resource, member = "secrets", "stringData"
	}
	kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}[resource]
	body := fmt.Appendf(nil, `{"apiVersion": "v1", "kind": %q, "metadata": {"name": %q}, %q: {"token": %q}}`,
		kind, m.source(workload, number), member, content(generation, 1000))
	request := m.client.CoreV1().RESTClient().Post()
	if generation > 0 {
		request = m.client.CoreV1().RESTClient().Patch(types.MergePatchType).Name(m.source(workload, number))
	}
	return request.Namespace(m.home(workload)).Resource(resource).Body(body).Do(ctx).Error()
}

// populate makes the workloads with their sources, and waits until all of them run.
func (m *move) populate(ctx context.Context) error {
	for i := range m.Namespaces {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.home(i)}}
		if _, err := m.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	err := each(ctx, m.Workloads, writers, func(ctx context.Context, i int) error {
		var from []corev1.EnvFromSource
		for number := range perWorkload {
			if err := m.write(ctx, i, number, 0); err != nil {
				return err
			}
			reference := corev1.LocalObjectReference{Name: m.source(i, number)}
			if number%2 == 1 {
				from = append(from, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference}})
			} else {
				from = append(from, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference}})
			}
		}
		labels := map[string]string{"app": name(i)}
		made := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Name: name(i), Labels: map[string]string{measured: movePolicy}, Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
			},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{AutomountServiceAccountToken: ptr.To(false),
						Containers: []corev1.Container{{Name: "main", Image: "none", EnvFrom: from}}},
				},
			},
		}
		_, err := m.client.AppsV1().Deployments(m.home(i)).Create(ctx, made, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return m.until(ctx, pace, func() (bool, error) { return m.board.finished(m.Workloads), nil })
}

// adopt makes the ClusterRebootPolicy, and waits until each namespace has its policy, and that a baseline for each source.
func (m *move) adopt(ctx context.Context) error {
	if err := m.lead(ctx); err != nil {
		return err
	}
	if err := m.stage.Reachable(ctx); err != nil {
		return err
	}
	usage, err := process.UsageOf(m.leader.PID())
	if err != nil {
		return err
	}
	m.result.Started = usage.Memory
	m.result.Making, err = m.spend(ctx, func(began time.Time) error {
		body := fmt.Sprintf(`{"apiVersion": "autoreboot.fairlead.dev/v1", "kind": "ClusterRebootPolicy", "metadata": {"name": %q},
			"spec": {"namespaceSelector": {}, "template": {"spec": {"compatibility": "Reloader",
			"targets": [{"selector": {}, "optIn": "Annotation"}], "triggers": [{"name": "config", "type": "ConfigChange"}], "debounce": {"quietPeriod": %q}, "cooldown": "0s",
			"concurrency": {"maxTargets": "100%%"}, "verification": {"soak": "0s"}}}}}`, movePolicy, moveQuiet)
		if err := m.client.Discovery().RESTClient().Post().AbsPath("/apis/autoreboot.fairlead.dev/v1/clusterrebootpolicies").
			SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error(); err != nil {
			return err
		}
		if err := m.until(ctx, pace, func() (bool, error) { return m.board.policyCount() == m.Namespaces, nil }); err != nil {
			return err
		}
		m.result.Made = time.Since(began)
		if err := m.until(ctx, pace, func() (bool, error) { return m.board.known(m.Workloads), nil }); err != nil {
			return err
		}
		m.result.Known = time.Since(began)
		return nil
	})
	return err
}

// spend does something, and returns what that took, with what follows it for a while.
func (m *move) spend(ctx context.Context, do func(began time.Time) error) (s Spent, err error) {
	before, err := process.UsageOf(m.leader.PID())
	if err != nil {
		return s, err
	}
	others, err := m.others()
	if err != nil {
		return s, err
	}
	from, err := Logged(m.stage.AuditLog())
	if err != nil {
		return s, err
	}
	m.board.begin()
	began := time.Now()
	if err := do(began); err != nil {
		return s, err
	}
	s.Drained = time.Since(began)
	if err := m.pause(ctx, moveCalm); err != nil {
		return s, err
	}
	after, err := process.UsageOf(m.leader.PID())
	if err != nil {
		return s, err
	}
	if others, err = m.spent(others); err != nil {
		return s, err
	}
	to, err := Logged(m.stage.AuditLog())
	if err != nil {
		return s, err
	}
	s.CPU, s.APIServer = after.CPU-before.CPU, others["kube-apiserver"]
	s.Written = m.board.counts(time.Now()).Written
	m.result.Settled, m.result.Peak = after.Memory, after.Peak
	s.Calls, err = ReadCalls(m.stage.AuditLog(), from, to)
	return s, err
}

// single changes one source of some workloads, at a pace at which no change waits for another.
func (m *move) single(ctx context.Context) (err error) {
	changed := make([]time.Time, m.Changes)
	m.result.Single, err = m.spend(ctx, func(time.Time) error {
		ticker := time.NewTicker(moveEvery)
		defer ticker.Stop()
		for i := range m.Changes {
			changed[i] = time.Now()
			if err := m.write(ctx, i, i%perWorkload, 1); err != nil {
				return err
			}
			<-ticker.C
		}
		return m.until(ctx, pace, func() (bool, error) { done, _ := m.board.drained(m.Changes); return done, nil })
	})
	if err != nil {
		return err
	}
	for i := range m.Changes {
		m.result.Latencies = append(m.result.Latencies, m.board.patched(m.key(i)).Sub(changed[i]))
	}
	slices.Sort(m.result.Latencies)
	return nil
}

// stormed is how many workloads the storm is about.
func (m *move) stormed() int { return max(1, m.Workloads*moveShare/100) }

// storm changes several sources of many workloads at once.
func (m *move) storm(ctx context.Context) (err error) {
	profiled := m.profile(ctx)
	m.result.Storm, err = m.spend(ctx, func(time.Time) error {
		change := func(ctx context.Context, i int) error { return m.changeAll(ctx, i, 2) }
		if err := each(ctx, m.stormed(), writers, change); err != nil {
			return err
		}
		return m.until(ctx, pace, func() (bool, error) { done, _ := m.board.drained(m.stormed()); return done, nil })
	})
	return errors.Join(err, <-profiled)
}

func (m *move) changeAll(ctx context.Context, workload, generation int) error {
	for number := range moveStorm {
		if err := m.write(ctx, workload, number, generation); err != nil {
			return err
		}
	}
	return nil
}

// ballast makes Secrets that no workload refers to, and measures memory with them.
func (m *move) ballast(ctx context.Context) error {
	err := each(ctx, m.Secrets, writers, func(ctx context.Context, i int) error {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ballast-%d", i)}}
		made.Data = map[string][]byte{"content": content(i, bigSecret)}
		_, err := m.client.CoreV1().Secrets(m.home(i)).Create(ctx, made, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := m.pause(ctx, moveCalm); err != nil {
		return err
	}
	usage, err := process.UsageOf(m.leader.PID())
	m.result.WithSecrets = usage.Memory
	return err
}

// floor does what the storm did by a plain client, which patches the template after the changes of a workload.
func (m *move) floor(ctx context.Context) error {
	m.retire()
	others, err := m.others()
	if err != nil {
		return err
	}
	m.board.begin()
	began := time.Now()
	err = each(ctx, m.stormed(), m.options.Cap, func(ctx context.Context, i int) error {
		if err := m.changeAll(ctx, i, 3); err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": %q}}}}}`,
			time.Now().Format(time.RFC3339Nano))
		_, err := m.client.AppsV1().Deployments(m.home(i)).Patch(ctx, name(i), types.StrategicMergePatchType, body, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return m.until(ctx, pace, func() (bool, error) {
			written, rolling := m.board.state(m.key(i))
			return written > 0 && !rolling, nil
		})
	})
	if err != nil {
		return err
	}
	m.result.Floor = time.Since(began)
	if others, err = m.spent(others); err == nil {
		m.result.FloorAPIServer = others["kube-apiserver"]
	}
	return err
}
