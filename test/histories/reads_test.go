// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// TestAReadThatFailsHoldsWhatNeedsItAlone has two workloads of a policy, and no replica can read the Secret that one of them needs:
// the other is restarted and verified meanwhile, and the one once it can be read. Each is restarted once.
func TestAReadThatFailsHoldsWhatNeedsItAlone(t *testing.T) {
	r := open(t)
	w, err := newReadsWorld(t, r.Cluster)
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, check func(*autorebootv1.RebootPolicy) error) {
		t.Helper()
		err := framework.Eventually(t.Context(), setUpWithin, func(ctx context.Context) error {
			policy := &autorebootv1.RebootPolicy{}
			if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "reads"}, policy); err != nil {
				return err
			}
			return check(policy)
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	until("the policy is watching", func(p *autorebootv1.RebootPolicy) error {
		if !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady) || len(p.Status.Targets) != 2 {
			return fmt.Errorf("%+v", p.Status)
		}
		return nil
	})
	fault := r.proxy.Add(faultproxy.Fault{Answer: faultproxy.Status(http.StatusTooManyRequests), Match: func(q faultproxy.Request) bool {
		return q.Verb == "get" && q.Resource == "secrets" && q.Namespace == w.namespace && q.Name == "key"
	}})
	defer fault.Lift()
	if err := w.replace(t.Context(), "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {turn: '1'}}"); err != nil {
		t.Fatal(err)
	}
	until("one waits, and the other is verified", func(p *autorebootv1.RebootPolicy) error {
		waiting := meta.FindStatusCondition(p.Status.Conditions, autorebootv1.ConditionWaiting)
		if len(p.Status.History) != 1 || waiting == nil || waiting.Reason != autorebootv1.ReasonUnknown {
			return fmt.Errorf("history %+v, waiting %+v", p.Status.History, waiting)
		}
		if ended := p.Status.History[0]; ended.Target.Name != "open" || ended.Result != autorebootv1.ResultSucceeded || !strings.Contains(waiting.Message, "Secret/key") {
			return fmt.Errorf("ended %+v, waiting for %s", ended, waiting.Message)
		}
		return nil
	})
	if struck := fault.Struck(); struck == 0 {
		t.Error("no read was refused")
	}
	fault.Lift()
	until("both are verified", func(p *autorebootv1.RebootPolicy) error {
		if len(p.Status.History) != 2 || !meta.IsStatusConditionTrue(p.Status.Conditions, autorebootv1.ConditionReady) {
			return fmt.Errorf("%+v", p.Status)
		}
		return nil
	})
	for _, name := range []string{"open", "needs"} {
		d := &appsv1.Deployment{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, d); err != nil || d.Generation != 2 {
			t.Errorf("Deployment %s is at generation %d, want one restart: %v", name, d.Generation, err)
		}
	}
}

// newReadsWorld makes the two workloads and the policy of both. "needs" does not start without the Secret "key".
func newReadsWorld(t *testing.T, c *framework.Cluster) (*world, error) {
	t.Helper()
	w := &world{Cluster: c}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reads-"}}
	if err := c.Client.Create(t.Context(), namespace); err != nil {
		return w, err
	}
	w.namespace = namespace.Name
	manifests := []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {turn: '0'}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {key: x}}",
	}
	for name, env := range map[string]string{"open": "", "needs": ", {secretRef: {name: key}}"} {
		manifests = append(manifests, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: %[2]d,
			selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {terminationGracePeriodSeconds: 1,
			containers: [{name: main, image: none, envFrom: [{configMapRef: {name: settings}}%[3]s]}]}}}}`, name, pods, env))
	}
	var errs []error
	for _, manifest := range manifests {
		errs = append(errs, w.create(t.Context(), manifest))
	}
	if err := errors.Join(errs...); err != nil {
		return w, err
	}
	if err := framework.Eventually(t.Context(), setUpWithin, w.rolledOut); err != nil {
		return w, err
	}
	return w, w.create(t.Context(), `{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: reads}, spec: {
		targets: [{kind: Deployment, name: open}, {kind: Deployment, name: needs}], debounce: {quietPeriod: 0s}, cooldown: 0s,
		triggers: [{name: settings, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: ConfigMap, name: settings}]}}],
		verification: {soak: 0s, timeout: 5m}}}`)
}
