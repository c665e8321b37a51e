// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestGates(t *testing.T) {
	month := func(name string, phase corev1.PodPhase) *corev1.Pod {
		p := pod(name, nil)
		p.Labels, p.Status.Phase = map[string]string{"job": "month-end"}, phase
		return p
	}
	sick := db()
	sick.Status.Conditions[0].Status = metav1.ConditionFalse
	ledger := deployment("ledger", 2, nil)
	short := deployment("ledger", 2, nil)
	short[0].(*appsv1.Deployment).Status.AvailableReplicas = 1
	const healthy, available, none = `{type: ExternalServiceHealthy, name: db}`, `{type: WorkloadAvailable, kind: Deployment, name: ledger}`, `{type: NoPods, selector: {matchLabels: {job: month-end}}}`
	for name, test := range map[string]struct {
		gate    string
		objects []client.Object
		want    string
	}{
		"healthy":                {healthy, []client.Object{db()}, ""},
		"not healthy":            {healthy, []client.Object{sick}, "ExternalService db is not Healthy"},
		"health is not known":    {healthy, []client.Object{&networkingv1.ExternalService{ObjectMeta: db().ObjectMeta}}, "ExternalService db is not Healthy"},
		"no ExternalService":     {healthy, nil, "ExternalService db does not exist"},
		"available":              {available, ledger, ""},
		"not available":          {available, short, "Deployment ledger is not available"},
		"no workload":            {available, nil, "Deployment ledger does not exist"},
		"no pods":                {none, []client.Object{pod("other", nil)}, ""},
		"pods that are done":     {none, []client.Object{month("a", corev1.PodSucceeded), month("b", corev1.PodFailed)}, ""},
		"a pod":                  {none, []client.Object{month("a", corev1.PodPending), month("b", corev1.PodFailed)}, "pod a has not finished"},
		"pods, named by one":     {none, []client.Object{month("b", corev1.PodRunning), month("a", corev1.PodRunning)}, "pod a and 1 more have not finished"},
		"several, one is shut":   {healthy + "," + available, append(deployment("ledger", 2, nil), sick.DeepCopy()), "ExternalService db is not Healthy"},
		"several, both are shut": {healthy + "," + available, nil, "ExternalService db does not exist; Deployment ledger does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, config+"gates: ["+test.gate+"]\n", append(deployment("api", 1, nil), test.objects...)...)
			if got := strings.Join(s.looks().gates, "; "); got != test.want {
				t.Errorf("closed: %q, want %q", got, test.want)
			}
		})
	}
}

func TestAGateThatCannotBeReadIsClosed(t *testing.T) {
	s := newStand(t, config+`gates: [{type: ExternalServiceHealthy, name: db}, {type: NoPods, selector: {matchLabels: {job: month-end}}}]`, append(deployment("api", 1, nil), db())...)
	seen := s.begin(s.object())
	broken := errors.New("broken")
	s.Client = interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})
	if got := strings.Join(s.closed(t.Context(), seen), "; "); got != "ExternalService db cannot be read; the pods of a gate cannot be read" {
		t.Errorf("closed: %q", got)
	}
}
