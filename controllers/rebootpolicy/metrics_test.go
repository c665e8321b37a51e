// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

func TestMetricsSayWhereAPolicyStandsAndGoWithIt(t *testing.T) {
	now := epoch
	m := newMetrics(func() time.Time { return now })
	status := &autorebootv1.RebootPolicyStatus{
		Targets:  []autorebootv1.TargetStatus{waits("a", autorebootv1.ReasonCooldown, epoch), waits("b", autorebootv1.ReasonCooldown, epoch)},
		Triggers: []autorebootv1.TriggerStatus{{Name: "config", State: autorebootv1.TriggerPending}},
	}
	m.record(policyKey, status, 3)
	now = now.Add(10 * time.Second)
	status.Targets = status.Targets[:1]
	m.record(policyKey, status, 3)
	policy := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments"}}
	policy.Spec.Triggers = []autorebootv1.Trigger{{Name: "config", Type: autorebootv1.TriggerConfigChange}}
	done := &autorebootv1.RestartRecord{
		Record: common.Record{
			Result: autorebootv1.ResultSucceeded, StartTime: &metav1.Time{Time: epoch}, CompletionTime: &metav1.Time{Time: epoch.Add(45 * time.Second)},
		},
		Triggers: []string{"config", "gone"}, Target: common.WorkloadReference{Kind: common.WorkloadDeployment},
	}
	m.ended(policy, done)
	superseded := *done
	superseded.Triggers, superseded.Result = []string{"gone"}, autorebootv1.ResultSuperseded
	m.ended(policy, &superseded)
	now = now.Add(5 * time.Second)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	const policyLabels = "name=payments namespace=shop"
	want := []string{
		"restart_duration_seconds{" + policyLabels + "} 1 of 45 with 1 below 60",
		"restarts_total{" + policyLabels + " result=Succeeded target_kind=Deployment trigger_type=ConfigChange} 1",
		"restarts_total{" + policyLabels + " result=Superseded target_kind=Deployment trigger_type=Unknown} 1",
		"source_objects{" + policyLabels + "} 3",
		"trigger_state{" + policyLabels + " state=Pending trigger=config} 1",
		"waiting_seconds_total{" + policyLabels + " reason=Cooldown} 25",
		"waiting{" + policyLabels + " reason=Cooldown} 1",
	}
	if diff := cmp.Diff(want, gathered(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	m.Drop(policyKey)
	if got := gathered(t, registry); len(got) != 0 {
		t.Errorf("a policy that is gone leaves %q", got)
	}
}

// gathered are all metrics, one a line, without the name that they share.
func gathered(t *testing.T, from prometheus.Gatherer) []string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			value := fmt.Sprint(metric.GetGauge().GetValue() + metric.GetCounter().GetValue())
			if h := metric.GetHistogram(); h != nil {
				for _, bucket := range h.GetBucket() {
					if bucket.GetUpperBound() == 60 {
						value = fmt.Sprintf("%d of %v with %d below 60", h.GetSampleCount(), h.GetSampleSum(), bucket.GetCumulativeCount())
					}
				}
			}
			name := strings.TrimPrefix(family.GetName(), "fairlead_rebootpolicy_")
			lines = append(lines, fmt.Sprintf("%s{%s} %s", name, strings.Join(labels, " "), value))
		}
	}
	slices.Sort(lines)
	return lines
}
