// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// falsehoods are the faults of one read.
var falsehoods = map[string]faultproxy.Fault{
	"page 404":   {Answer: faultproxy.Page(http.StatusNotFound)},
	"Status 404": {Answer: faultproxy.Status(http.StatusNotFound)},
	"Status 403": {Answer: faultproxy.Status(http.StatusForbidden)},
	"page 403":   {Answer: faultproxy.Page(http.StatusForbidden)},
	"Status 429": {Answer: faultproxy.Status(http.StatusTooManyRequests)},
	"Status 500": {Answer: faultproxy.Status(http.StatusInternalServerError)},
	"page 502":   {Answer: faultproxy.Page(http.StatusBadGateway)},
	"silence":    {Silent: true},
	"5.2 s late": {Delay: 5200 * time.Millisecond},
}

// What the operator looks after while its reads fail: each kind, with Secrets and ConfigMaps that it reads.
const lookedAfter = `
{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: one}}
---
{apiVersion: v1, kind: Secret, metadata: {name: ca}, stringData: {ca.crt: none}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: debug}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: none, envFrom: [{secretRef: {name: creds}}, {configMapRef: {name: settings}}]}]}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: api}
spec:
  targets: [{kind: Deployment, name: api}]
  triggers: [{name: config, type: ConfigChange, configChange: {discovery: Referenced}}, {name: old, type: PodAge, podAge: {max: 24h}}]
  debounce: {quietPeriod: 1s}
---
apiVersion: chaos.fairlead.dev/v1
kind: ChaosPod
metadata: {name: api}
spec: {dryRun: false, target: {workload: {kind: Deployment, name: api}}, schedule: {interval: 24h}}
---
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: checked}
spec:
  ports: [{name: web, port: 443}]
  endpoints: [{name: a, addresses: [192.0.2.21]}]
  healthCheck: {httpGet: {scheme: HTTPS}, tls: {caSecretName: ca}}
`

// row is one read, and what becomes of it once.
type row struct{ read, falsehood string }

// readRows are those of each read that a proxy has counted more often than before.
func readRows(before, counts map[string]int) (rows []row) {
	for _, read := range slices.Sorted(maps.Keys(counts)) {
		if verb, _, _ := strings.Cut(read, " "); counts[read] == before[read] || verb != "get" && verb != "list" && verb != "watch" {
			continue
		}
		for _, falsehood := range slices.Sorted(maps.Keys(falsehoods)) {
			rows = append(rows, row{read, falsehood})
		}
	}
	return rows
}

// Each kind and verb that a replica reads when it takes over is a row, as the proxy has counted it of the second one: a
// read that is added later is a row without a change here. The first such request gets no true answer, of another replica
// in each case. Not among them is what is read of a new object alone.
func TestEachReadMayFailOnceAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	p := s.newFaultProxy()
	s.freeze("reads")
	defer s.thaw()
	s.Namespace = s.NewNamespace()
	first := s.start("--kubeconfig=" + p.Kubeconfig)
	first.reconciles()
	first.calendar(1, 1)
	s.create(s.Namespace, "one")
	s.Apply(lookedAfter, "-n", s.Namespace)
	s.reconciled(s.Namespace, "one")
	s.Eventually(s.isLookedAfter)
	before := s.standing()
	s.Retire(first.Replica)
	counted := p.Counts()
	second := s.start("--kubeconfig=" + p.Kubeconfig)
	second.reconciles()
	s.create(s.Namespace, "two")
	s.reconciled(s.Namespace, "two")
	s.Retire(second.Replica)

	rows := readRows(counted, p.Counts())
	t.Logf("%d rows of %v", len(rows), p.Counts())
	if len(rows) < 30*len(falsehoods) {
		t.Fatalf("%d rows are too few for what a replica reads: %v", len(rows), p.Counts())
	}
	for i, row := range framework.Sample(framework.NewSampler(t), 3, rows) {
		t.Run(row.read+", "+row.falsehood, func(t *testing.T) {
			s := s.in(t)
			fault := falsehoods[row.falsehood]
			fault.Match, fault.Times = faultproxy.Is(row.read), 1
			active := p.Add(fault)
			defer active.Lift()
			r, err := s.StartReplica(s.Context(), framework.Patient("--set=webhook.drainDelay=0s", "--kubeconfig="+p.Kubeconfig)...)
			s.Must(err)
			defer s.Retire(r)
			leader := &replica{r, s}
			leader.reconciles()
			leader.calendar(1, 1)
			name := fmt.Sprintf("more-%d", i)
			s.create(s.Namespace, name)
			s.reconciled(s.Namespace, name)
			s.Eventually(func() error {
				if active.Struck() == 0 {
					return fmt.Errorf("no replica has sent %s", row.read)
				}
				return nil
			})
			if now := s.standing(); now != before {
				t.Errorf("what stood was changed:\n%s\n%s", before, now)
			}
		})
	}
}

// isLookedAfter returns nil once the operator has seen each object of lookedAfter.
func (s *suite) isLookedAfter() error {
	policy, chaos, checked := &autorebootv1.RebootPolicy{}, &chaosv1.ChaosPod{}, &networkingv1.ExternalService{}
	for name, object := range map[string]client.Object{"api": policy, "api ": chaos, "checked": checked} {
		if err := s.Get(strings.TrimSpace(name), object); err != nil {
			return err
		}
	}
	if len(policy.Status.Targets) != 1 || len(policy.Status.Targets[0].Baselines) != 3 {
		return fmt.Errorf("the targets of the RebootPolicy are %+v", policy.Status.Targets)
	}
	if chaos.Status.ObservedGeneration != chaos.Generation || checked.Status.ObservedGeneration != checked.Generation {
		return fmt.Errorf("observed are generations %d and %d", chaos.Status.ObservedGeneration, checked.Status.ObservedGeneration)
	}
	return nil
}

// standing identifies what the operator has made and remembers, and must neither take away nor do again.
func (s *suite) standing() string {
	s.Helper()
	service, policy, deployment, pods := &corev1.Service{}, &autorebootv1.RebootPolicy{}, &appsv1.Deployment{}, &corev1.PodList{}
	s.Must(s.Get("one", service))
	s.Must(s.Get("api", policy))
	s.Must(s.Get("api", deployment))
	s.Must(s.Client.List(s.Context(), pods, client.InNamespace(s.Namespace)))
	text := fmt.Sprintf("Service %s at %s, Deployment at generation %d", service.UID, service.ResourceVersion, deployment.Generation)
	for _, slice := range s.Slices("one") {
		text += fmt.Sprintf(", slice %s at %s", slice.UID, slice.ResourceVersion)
	}
	for _, pod := range pods.Items {
		text += fmt.Sprintf(", pod %s", pod.UID)
	}
	return text + fmt.Sprintf(", in flight %v, baselines %v", policy.Status.InFlight, policy.Status.Targets[0].Baselines)
}
