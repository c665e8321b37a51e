// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// Slots of the cluster, and a time after which those of restarts that do not end lapse.
const fewSlots = `{apiVersion: config.fairlead.dev/v1alpha1, kind: FairleadConfiguration, rebootPolicies: {maxRestarts: 4, slotTimeout: 8s}}`

// A tenant restarts as many workloads as the cluster has slots, and none of them ever becomes available.
func TestANamespaceWhoseRestartsNeverEndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(file, []byte(fewSlots), 0o600); err != nil {
		t.Fatal(err)
	}
	c := tests.OpenFor(t, framework.Options{Cluster: cluster.Options{Nodes: 1}})
	if _, err := c.StartReplica(t.Context(), framework.Patient("--config="+file)...); err != nil {
		t.Fatal(err)
	}
	tenant, shop := &suite{framework.NewTest(t, c)}, &suite{framework.NewTest(t, c)}
	for i := range 4 {
		tenant.workload(deployment, fmt.Sprint("broken-", i), bare, faulty("image-pull"))
	}
	const all = `targets: [{kind: Deployment, selector: {matchExpressions: [{key: app, operator: Exists}]}}], ` + onConfig
	_, refused, err := tenant.Try(tenant.manifest("p", "{"+all+", verification: {timeout: 87600h}}"), "apply", "-f", "-")
	if err == nil || !strings.Contains(refused, "spec.verification.timeout") || !strings.Contains(refused, "must be at most 24h") {
		t.Errorf("a timeout of ten years: %v: %s", err, refused)
	}
	tenant.policy("p", "{"+all+", verification: {timeout: 24h}}")
	tenant.watching("p", 4)
	shop.run(deployment, "web", bare)
	shop.policy("p", "{"+all+"}")
	shop.watching("p", 1)
	tenant.annotate("p", autorebootv1.RestartNowAnnotation, "now")
	tenant.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.InFlight) != 4 {
			return fmt.Errorf("%d restarts are in flight", len(st.InFlight))
		}
		return nil
	})
	shop.annotate("p", autorebootv1.RestartNowAnnotation, "now")
	shop.held("p", "web", autorebootv1.ReasonConcurrencyLimit)
	st := shop.condition("p", autorebootv1.ConditionWaiting, metav1.ConditionTrue, autorebootv1.ReasonConcurrencyLimit)
	if text := framework.Text(st.Conditions); !strings.Contains(text, "most of them in namespace "+tenant.Namespace) {
		t.Errorf("the condition does not name the namespace: %s", text)
	}
	shop.succeeded("p", 1)
	tenant.Eventually(func() error {
		samples := tenant.Samples()
		held, lapsed := samples.Sum("fairlead_disruption_slots", tenant.Namespace), samples.Sum("fairlead_disruption_slots_lapsed", tenant.Namespace)
		if held != 1 || lapsed != 3 {
			return errors.New(strings.Join(samples.Rows("fairlead_disruption_slots"), "\n"))
		}
		return nil
	})
}
