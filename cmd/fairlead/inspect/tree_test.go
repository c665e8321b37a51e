// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// killer is a ChaosPod that kills pods of a Deployment.
func killer(name, target string) *chaosv1.ChaosPod {
	return &chaosv1.ChaosPod{ObjectMeta: named(name),
		Spec: chaosv1.ChaosPodSpec{Target: chaosv1.Target{Workload: &common.WorkloadReference{Kind: "Deployment", Name: target}}}}
}

func status(t *testing.T, s *server, selector string) (*Status, string) {
	t.Helper()
	all, err := Read(t.Context(), s.client(t), "shop")
	if err != nil {
		t.Fatal(err)
	}
	only, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	found := New(all).Status(only)
	var text strings.Builder
	if err := found.WriteText(&text, false, true); err != nil {
		t.Fatal(err)
	}
	return found, text.String()
}

func TestStatusIsATreeOfWhatDependsOnWhat(t *testing.T) {
	s := shop(autorebootv1.ReasonCooldown)
	worker := deployment("worker", 3)
	worker.Annotations = map[string]string{common.DependsOnAnnotation: "externalservice/db"}
	alone := payments(autorebootv1.ReasonBlackout)
	alone.Name, alone.Spec.Gates, alone.Labels = "alone", nil, map[string]string{"team": "a"}
	s.objects["deployments"] = append(s.objects["deployments"], worker)
	s.objects["rebootpolicies"] = append(s.objects["rebootpolicies"], alone)
	s.objects["chaospods"] = []client.Object{killer("killer", "gone")}
	found, text := status(t, s, "")
	want := `OBJECT                                        HEALTH     BECAUSE                           WAITS
ExternalService/db                            Degraded   Degraded                          -
├─RebootPolicy/payments (gate database)       Waiting    Cooldown                          Deployment api waits
│ └─Deployment/api (restarts)                 Degraded   2 of 3 pods available             -
└─Deployment/worker (depends on)              Healthy    3 of 3 pods available             -
RebootPolicy/alone                            Waiting    Blackout                          Deployment api waits
└─Deployment/api (restarts)                   Degraded   2 of 3 pods available             -
ChaosPod/killer                               Unknown    no operator has observed it yet   -
└─Deployment/gone (kills pods of)             Unknown    it does not exist                 -
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(text)); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if found.Worst() != Unknown {
		t.Error(found.Worst())
	}
	if labeled, _ := status(t, s, "team=a"); len(labeled.Trees) != 1 || labeled.Trees[0].Name != "alone" {
		t.Errorf("%+v", labeled.Trees)
	}
}

func TestStatusNamesWhatCouldNotBeRead(t *testing.T) {
	s := shop(autorebootv1.ReasonCooldown)
	s.refuse = map[string]*apierrors.StatusError{"externalservices": forbidden("externalservices"), "deployments": forbidden("deployments"), "chaospods": notServed()}
	found, text := status(t, s, "")
	want(t, text, "Not known: chaospods.chaos.fairlead.dev could not be read: its CRD chaospods.chaos.fairlead.dev is not installed")
	if len(found.Unread) != 3 || !strings.Contains(text, "Not known: deployments.apps could not be read: you have no permission: grant list on deployments.apps in namespace shop.") ||
		!strings.Contains(text, "Deployment/api (restarts)") || found.Worst() != Unknown || strings.Contains(text, string(Healthy)) {
		t.Error(text)
	}
}
