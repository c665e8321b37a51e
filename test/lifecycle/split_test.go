// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestSplitAKilledReconcilerFailsNoRequestAndAnotherOneGoesOn(t *testing.T) {
	t.Parallel()
	a := newSuite(t).split()
	namespace := a.NewNamespace()
	// Reconcilers first: neither waits for the other to be there.
	leader := a.reconciler(electing(12, 9)...)
	leader.eventuallyReady()
	leader.reconciles()
	standby := a.reconciler(electing(12, 9)...)
	standby.eventuallyReady()
	a.leadership(leader, standby)
	servers := []*replica{a.webhook(), a.webhook()}
	all := append([]*replica{leader, standby}, servers...)

	for _, r := range []*replica{leader, standby} {
		if r.listens() {
			t.Errorf("%s takes connections where webhooks would be", r.ID)
		}
	}
	leader.skips("webhook.enabled is false", "certificates", "webhook-server", "ca-published")
	for _, r := range servers {
		r.reaches("caches", "done")
		r.skips("controllers.enabled is false", "election", "reconcilers")
		a.Must(r.converts())
	}

	a.create(namespace, "one", "two")
	a.reconciled(namespace, "one", "two")
	load := a.traffic(namespace, 2)
	a.alongside(load, namespace, "two")
	a.flows(load, 200)
	before := load.sent.Load()
	killed := time.Now()
	leader.Kill()
	standby.reconciles()
	took := time.Since(killed)
	a.create(namespace, "three")
	a.reconciled(namespace, "three")
	a.flows(load, 200)
	load.end()
	t.Logf("%d requests, %d of them after the leader was killed, %d failed; the next one reconciled %d ms after, with a lease of 12 s",
		load.sent.Load(), load.sent.Load()-before, load.failed.Load(), took.Milliseconds())
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.sent.Load(), load.first.Load())
	}
	if holder := ptr.Deref(a.lease().Spec.HolderIdentity, ""); holder != standby.ID {
		t.Errorf("the Lease is held by %q", holder)
	}
	for _, r := range []*replica{standby, servers[0], servers[1]} {
		t.Logf("%s: resident %.0f MiB", r.ID, r.mustMetric("process_resident_memory_bytes")/(1<<20))
	}

	// No replica reconciles now, and writes succeed as ever.
	standby.Stop()
	a.Must(a.Kube.CoreV1().Services(namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}))
	meanwhile := a.NewNamespace()
	a.create(meanwhile, "one")
	load = a.traffic(meanwhile, 2)
	a.flows(load, 200)
	load.end()
	if load.failed.Load() > 0 {
		t.Errorf("without reconcilers %d of %d requests failed, the first with: %v", load.failed.Load(), load.sent.Load(), load.first.Load())
	}
	if _, err := a.Kube.CoreV1().Services(namespace).Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a replica reconciles without a reconciler: %v", err)
	}
	if holder := ptr.Deref(a.lease().Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("the Lease is held by %q", holder)
	}
	for _, r := range all {
		r.permitted()
	}
}

// As docs/guides/high-availability.md says: the new replicas that serve start before the old ones stop.
func TestSplitIsComeToAndLeftWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	namespace := s.NewNamespace()
	leaving := "--set=webhook.drainDelay=3s" // under load, with a balancer that looks now and then
	together := s.start(leaving)
	together.reconciles()
	s.create(namespace, "one", "two")
	load := s.traffic(namespace, 2)

	a := s.split() // also takes rights from those that still do both
	a.alongside(load, namespace, "two")
	webhooks, reconcilers := a.webhook(leaving), a.reconciler()
	reconcilers.eventuallyReady()
	a.flows(load, 100)
	a.Retire(together.Replica)
	reconcilers.reconciles()
	a.create(namespace, "split")
	a.reconciled(namespace, "split")
	a.flows(load, 100)

	a.Must(a.Reinstall(t.Context()))
	together = a.start(leaving)
	reconcilers.Stop()
	together.reconciles()
	a.flows(load, 100)
	a.Retire(webhooks.Replica)
	a.create(namespace, "together")
	a.reconciled(namespace, "together")
	a.flows(load, 100)
	load.end()
	t.Logf("%d requests, %d failed", load.sent.Load(), load.failed.Load())
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.sent.Load(), load.first.Load())
	}
	webhooks.permitted()
	reconcilers.permitted()
}

func TestSplitTheManifestsAreWhatAnAPIServerTakes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	apply := []string{"apply", "--server-side", "--dry-run=server", "--force-conflicts", "-o", "name", "-k", filepath.Join(framework.Root, "config", "split")}
	all := strings.Fields(s.Kubectl(apply...))
	added := strings.Fields(s.Kubectl(append(apply, "--selector=app.kubernetes.io/component=webhook")...))
	for _, want := range []string{"deployment.apps/fairlead-manager", "service/fairlead-webhook", "configmap/"} {
		if !slices.ContainsFunc(all, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Errorf("%s is not among %q", want, all)
		}
	}
	slices.Sort(added)
	if want := []string{
		"clusterrole.rbac.authorization.k8s.io/fairlead-chaospod-webhook", "clusterrole.rbac.authorization.k8s.io/fairlead-clusterrebootpolicy-webhook",
		"clusterrole.rbac.authorization.k8s.io/fairlead-externalservice-webhook",
		"clusterrole.rbac.authorization.k8s.io/fairlead-rebootpolicy-webhook", "clusterrole.rbac.authorization.k8s.io/fairlead-webhook",
		"clusterrolebinding.rbac.authorization.k8s.io/fairlead-chaospod-webhook",
		"clusterrolebinding.rbac.authorization.k8s.io/fairlead-clusterrebootpolicy-webhook",
		"clusterrolebinding.rbac.authorization.k8s.io/fairlead-externalservice-webhook",
		"clusterrolebinding.rbac.authorization.k8s.io/fairlead-rebootpolicy-webhook", "clusterrolebinding.rbac.authorization.k8s.io/fairlead-webhook",
		"deployment.apps/fairlead-webhook", "poddisruptionbudget.policy/fairlead-webhook",
		"role.rbac.authorization.k8s.io/fairlead-webhook", "rolebinding.rbac.authorization.k8s.io/fairlead-webhook",
		"serviceaccount/fairlead-webhook",
	}; !slices.Equal(added, want) {
		t.Errorf("the first step to come here applies %q, want %q", added, want)
	}
}

// The caches of a reconciler may need conversions, and it is not ready before they are filled. The
// webhooks come up all the same, since they wait for no reconciler.
func TestSplitReconcilersWhoseCachesNeedConversionsWaitForWebhooksThatDoNotWait(t *testing.T) {
	t.Parallel()
	a := newSuite(t).split()
	namespace := a.NewNamespace()
	writer := a.webhook()
	a.store("v1alpha1")
	defer a.store("v1") // changes nothing unless the test ends in between
	a.create(namespace, "a", "b")
	a.store("v1")
	a.Retire(writer.Replica)
	a.wipe(framework.Definitions[0]) // as after a new installation of the CRDs; it also drops all that is cached

	r := a.reconciler("--set=namespaces=" + namespace)
	a.Eventually(func() error {
		status, err := r.status()
		if err == nil && (status.state("caches") != "running" || !strings.Contains(status.Phases[4].Detail, "ExternalService")) {
			err = fmt.Errorf("%s does not wait for ExternalServices yet: %+v", r.ID, status.Phases)
		}
		return err
	})
	if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "caches is running") {
		t.Errorf("without its caches it says of itself: %v", err)
	}
	server := a.webhook()
	r.eventuallyReady()
	a.reconciled(namespace, "a", "b")
	server.permitted()
	r.permitted()
}

func TestSplitWebhooksWarnOfOverlapsAndServeWhereTheyCannotKnowThem(t *testing.T) {
	t.Parallel()
	a := &split{suite: newSuite(t)}
	namespace := a.NewNamespace()
	g := a.newGateway()
	g.Hold(firstReads)
	r := a.webhook("--kubeconfig=" + g.Kubeconfig)
	a.Eventually(func() error {
		if g.Held() == 0 {
			return errors.New("no cache has asked the API server yet")
		}
		return nil
	})
	r.reaches("caches", "running")
	a.Must(r.Ready(t.Context()))
	a.Must(a.Reachable(t.Context()))
	warned := func(name string) string {
		object := fmt.Sprintf(`{"apiVersion": "chaos.fairlead.dev/v1", "kind": "ChaosPod", "metadata": {"name": %q, "namespace": %q},
			"spec": {"target": {"workload": {"kind": "Deployment", "name": "cart"}}, "schedule": {"cron": "0 9 * * 1"}}}`, name, namespace)
		var warnings bytes.Buffer
		if err := a.KubectlIO(t.Context(), strings.NewReader(object), io.Discard, &warnings, "create", "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, warnings.String())
		}
		return warnings.String()
	}
	if got := warned("first"); strings.Contains(got, "acts on") || strings.Contains(got, "ChaosPod first") {
		t.Errorf("nothing overlaps, and it warns: %s", got)
	}
	if got := warned("second"); strings.Contains(got, "ChaosPod first") {
		t.Errorf("it has read nothing yet, and warns: %s", got)
	}
	g.Resume()
	r.reaches("caches", "done")
	a.Expect(warned("third"), "Warning:", "ChaosPod first")
}
