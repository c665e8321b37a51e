// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// atOnce is a clock that no wait takes time by, and renews is called for each.
type atOnce struct {
	*clocktesting.FakePassiveClock
	renews func()
}

func (c atOnce) After(time.Duration) <-chan time.Time {
	c.renews()
	now := make(chan time.Time, 1)
	now <- c.Now()
	return now
}

func leaseOf(name, holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To(int32(15)), RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

// operator is a Deployment of one.
func operator(name string, available int32, arguments ...string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: name, Labels: map[string]string{"app.kubernetes.io/name": "fairlead"}},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "manager", Args: append([]string{"manager"}, arguments...),
		}}}}},
		Status: appsv1.DeploymentStatus{AvailableReplicas: available},
	}
}

func TestAStateThatNobodyReconcilesIsNotKnown(t *testing.T) {
	const main = "fairlead-manager"
	now := noon.Time
	for name, c := range map[string]struct {
		leases, deployments []client.Object
		refuse              []string
		renews              bool // while it is read a second time
		lacks               string
		unknown             bool // whether there is a leader is not known
	}{
		"renewed":            {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-3*time.Second))}, deployments: []client.Object{operator("manager", 1)}},
		"silent":             {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-35*time.Second))}, deployments: []client.Object{operator("manager", 0)}, lacks: "has not renewed Lease fairlead-system/fairlead-manager"},
		"a clock behind":     {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Hour))}, deployments: []client.Object{operator("manager", 1)}, renews: true},
		"a clock ahead":      {leases: []client.Object{leaseOf(main, "pod-a", now.Add(time.Hour))}, deployments: []client.Object{operator("manager", 1)}, renews: true},
		"ahead, and silent":  {leases: []client.Object{leaseOf(main, "pod-a", now.Add(time.Hour))}, deployments: []client.Object{operator("manager", 1)}, lacks: "has not renewed"},
		"released":           {leases: []client.Object{leaseOf(main, "", now)}, deployments: []client.Object{operator("manager", 1)}, lacks: "has released"},
		"never":              {deployments: []client.Object{operator("manager", 1)}, lacks: "no replica has led yet"},
		"no permission":      {refuse: []string{"leases"}, deployments: []client.Object{operator("manager", 1)}, unknown: true},
		"the Lease alone":    {refuse: []string{"deployments"}, leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Minute))}, lacks: "has not renewed"},
		"the Lease, renewed": {refuse: []string{"deployments"}, leases: []client.Object{leaseOf(main, "pod-a", now)}},
		"nothing to find":    {refuse: []string{"deployments"}, unknown: true},
		"split": {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Minute))}, deployments: []client.Object{
			operator("webhook", 2, "--set=controllers.enabled=false"), operator("controllers", 0, "--set=webhook.enabled=false")}, lacks: "Deployment fairlead-system/controllers"},
		"another name": {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Minute)), leaseOf("other", "pod-b", now)},
			deployments: []client.Object{operator("manager", 1, "--set=leaderElection.resourceName=other")}},
		"no election": {deployments: []client.Object{operator("manager", 0, "--set=leaderElection.leaderElect=false")}, lacks: "none is available"},
		"for life": {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Hour))},
			deployments: []client.Object{operator("manager", 1, "--set=leaderElection.mode=forLife")}},
		"other namespaces": {leases: []client.Object{leaseOf(main, "pod-a", now.Add(-time.Minute))},
			deployments: []client.Object{operator("manager", 0, "--set=namespaces=elsewhere")}, lacks: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop("Cooldown")
			healthy := database()
			healthy.Status.Conditions[1] = condition("Healthy", "True", "AllHealthy", "")
			healthy.Status.Conditions = append(healthy.Status.Conditions, condition("FailedOver", "True", networkingv1.ReasonFailbackManual, "priority 0 is healthy"))
			s.objects["externalservices"] = []client.Object{healthy}
			s.objects["leases"], s.objects["deployments"] = c.leases, c.deployments
			s.refuse = map[string]*apierrors.StatusError{}
			for _, resource := range c.refuse {
				s.refuse[resource] = forbidden(resource)
			}
			from := s.client(t)
			clock := atOnce{clocktesting.NewFakePassiveClock(now), func() {
				if c.renews {
					for _, o := range c.leases {
						lease, is := o.(*coordinationv1.Lease)
						if is {
							lease.Spec.RenewTime = &metav1.MicroTime{Time: lease.Spec.RenewTime.Add(time.Second)}
						}
					}
				}
			}}
			leaders := ReadLeaders(t.Context(), from, "fairlead-system", clock)
			key := Key{ExternalService, "shop", "db"}
			graph, o, err := ReadWith(t.Context(), from, key)
			if err != nil {
				t.Fatal(err)
			}
			graph.SetLeaders(leaders)
			var why, status strings.Builder
			if err := graph.Explain(o).WriteText(&why, now); err != nil {
				t.Fatal(err)
			}
			shown := graph.Status(labels.Everything())
			if err := shown.WriteText(&status, false, false); err != nil {
				t.Fatal(err)
			}
			if got := len(leaders.Unread) > 0; got != c.unknown || HasErrors(leaders.Unread) {
				t.Errorf("what is not known: %v", leaders.Unread)
			}
			if c.unknown && !strings.Contains(status.String(), "Not known: leases/fairlead-manager in namespace fairlead-system") {
				t.Errorf("it does not say what is not known:\n%s", &status)
			}
			lacks := c.lacks != "" && c.lacks != "-"
			if (o.Health == Unknown) != lacks || (len(Lacking(shown.Leaders)) > 0) != (c.lacks != "") {
				t.Errorf("it is %s (%s), leaders %+v", o.Health, o.Said, shown.Leaders)
			}
			if lacks && (!strings.Contains(why.String(), "Operator is Failed") || strings.Contains(why.String(), "fairlead failback") ||
				strings.Contains(why.String(), "is Healthy") || strings.Contains(why.String(), "check succeeds") ||
				!strings.Contains(status.String(), c.lacks) || strings.Contains(why.String(), "as its spec says")) {
				t.Errorf("why:\n%s\nstatus:\n%s", &why, &status)
			}
			if lacks && !strings.HasPrefix(why.String(), "Operator is Failed") {
				t.Errorf("it is not said first:\n%s", &why)
			}
			if c.lacks == "" && !strings.Contains(why.String(), "Run `fairlead failback externalservice/db -n shop`") {
				t.Errorf("without its remedy:\n%s", &why)
			}
		})
	}
}
