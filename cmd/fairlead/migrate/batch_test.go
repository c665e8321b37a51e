// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"
)

// CronJobs and Jobs that ask get targets, unless Reloader leaves their kind alone, and never without an annotation.
func TestCronJobsAndJobsThatAskAreTargets(t *testing.T) {
	const input = `apiVersion: apps/v1
kind: Deployment
metadata: {name: reloader}
spec: {template: {spec: {containers: [{name: reloader, image: reloader, args: [%s]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop, annotations: {reloader.stakater.com/auto: "true"}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec: {jobTemplate: {spec: {template: {metadata: {annotations: {reloader.stakater.com/auto: "true"}}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: shop, annotations: {reloader.stakater.com/auto: "true"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: other, namespace: shop}
`
	for arguments, want := range map[string][]string{
		"":                                {"kind: CronJob\n", "kind: Job\n"},
		`--auto-reload-all=true`:          {"kind: CronJob\n", "kind: Job\n"},
		`"--ignored-workload-types=jobs"`: {"kind: CronJob\n"},
		`"--ignored-workload-types=jobs,cronjobs"`: nil,
	} {
		objects, plan, result := migrated(t, reloader, Options{}, fmt.Sprintf(input, arguments))
		if result.Has(Refused) {
			t.Errorf("%s: %s", arguments, plan)
		}
		for _, kind := range []string{"kind: CronJob\n", "kind: Job\n"} {
			target := false
			for _, item := range strings.Split(objects, "\n      - ") {
				target = target || strings.Contains(item, kind) && strings.Contains(item, "group: batch\n") && strings.Contains(item, "optIn: Annotation")
			}
			if wanted := strings.Contains(strings.Join(want, ""), kind); target != wanted {
				t.Errorf("%q: a target with %q: %t\n%s\n%s", arguments, kind, target, objects, plan)
			}
		}
		if strings.Contains(plan, "Job other") && len(want) > 0 && !strings.Contains(plan, "Job report") {
			t.Errorf("%s: %s", arguments, plan)
		}
	}
}
