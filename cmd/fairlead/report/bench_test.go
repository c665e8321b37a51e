// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// many is how many objects of each kind a benchmark has.
const many = 10_000

// BenchmarkManyObjects reports on 10,000 Deployments, each with an ExternalService, a RebootPolicy and a ChaosPod of its own, which
// were read before.
func BenchmarkManyObjects(b *testing.B) {
	var objects []client.Object
	for i := range many {
		name := fmt.Sprintf("a-%05d", i)
		p := policy(b, `{history: [{id: r1, result: Succeeded, target: {kind: Deployment, name: api}, completionTime: "2026-03-01T00:00:00Z", requests: {sent: 421, failed: 0}}]}`)
		c := chaosPod(b, byAPI, `{history: [{id: c1, result: RecoveryFailed, message: "Deployment `+name+` has 1 of 3 pods ready", completionTime: "2026-03-01T01:00:00Z"}]}`)
		s := service(b, `{fault: {request: "BlackHole for=10m", type: BlackHole, outcome: DeadlineReached, deadlineTime: "2026-03-01T00:10:00Z", startTime: "2026-03-01T00:00:00Z", completionTime: "2026-03-01T00:10:00Z", dependants: [{kind: Deployment, name: `+name+`, ready: StayedReady}]}}`)
		p.Name, c.Name, s.Name = name, name, name
		p.Spec.Targets[0].Name, p.Spec.Gates[0].ExternalServiceHealthy.Name, p.Status.History[0].Target.Name = name, name, name
		c.Spec.Target.Workload.Name = name
		objects = append(objects, deployment(name, name), p, c, s)
	}
	for _, form := range []string{"text", "csv", "html"} {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := of(nil, objects...)
				write := map[string]func(io.Writer) error{"text": func(to io.Writer) error { return r.WriteText(to, true) }, "csv": r.WriteCSV, "html": r.WriteHTML}[form]
				if err := write(io.Discard); err != nil || r.Count(Failed) != many || r.Count(Survived) != 2*many {
					b.Fatal(err, r.Summary())
				}
			}
		})
	}
}
