// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// disruptableAt is one of the workloads.
type disruptableAt int

func (d disruptableAt) name() string { return fmt.Sprintf("w-%d", d) }

func (d disruptableAt) pods() int { return 2 + int(d)%sizes }

func (d disruptableAt) spared() bool { return d%everyTenth == everyTenth-1 }

// floor is how many pods must be ready at any time, whatever disrupts the workload. Its rollouts keep as
// many, so that no instant is excused: one pod may be missing, and never two.
func (d disruptableAt) floor() int {
	if d.spared() {
		return d.pods()
	}
	return d.pods() - 1
}

func (d disruptableAt) crowd() string {
	if d.spared() {
		return "spared"
	}
	return fmt.Sprint(int(d) % crowds)
}

func (d disruptableAt) maxPerDay() int {
	if d%4 == 0 {
		return fewPerDay
	}
	return manyPerDay
}

// manifests are a ConfigMap and a Deployment that takes it. Every second one may miss a pod in rollouts.
func (d disruptableAt) manifests() string {
	unavailable := int(d) / sizes % 2
	if d.spared() {
		unavailable = 0
	}
	return fmt.Sprintf(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {turn: "0"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, labels: {policy: "%[2]d"}}, spec: {replicas: %[3]d, revisionHistoryLimit: 2,
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: %[4]d}}, selector: {matchLabels: {app: %[1]s}},
  template: {metadata: {labels: {app: %[1]s, crowd: "%[5]s"}, annotations: {kwok.fairlead.dev/ready-after: %[6]ds}},
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none, envFrom: [{configMapRef: {name: %[1]s}}]}]}}}}`,
		d.name(), int(d)%policies, d.pods(), unavailable, d.crowd(), 1+int(d)%2)
}

// chaos is the workload's own ChaosPod.
func (d disruptableAt) chaos() string {
	action := "Evict"
	if d%3 == 0 {
		action = "Delete"
	}
	return chaosOf(d.name(), fmt.Sprintf("{workload: {kind: Deployment, name: %s}}", d.name()), fmt.Sprint(d.floor()), d.maxPerDay(),
		fmt.Sprintf("count: 1, action: {type: %s}, schedule: {interval: %ds, jitterPercent: 50}", action, 30+d%30))
}

// crowdsChaos are the ChaosPods that select. They do not wait for rollouts by themselves.
func crowdsChaos() []string {
	const often = "count: 3, schedule: {interval: 10s, jitterPercent: 30}"
	all := []string{chaosOf("spared", "{selector: {matchLabels: {crowd: spared}}}", "100%", manyPerDay, often)}
	for c := range crowds {
		size := disruptableAt(c).pods()
		all = append(all, chaosOf(fmt.Sprintf("crowd-%d", c), fmt.Sprintf(`{selector: {matchLabels: {crowd: "%d"}}}`, c),
			fmt.Sprintf("%d%%", (size-1)*100/size), manyPerDay, often))
	}
	return all
}

func chaosOf(name, target, floor string, maxPerDay int, more string) string {
	return fmt.Sprintf(`{apiVersion: %s, kind: ChaosPod, metadata: {name: %s}, spec: {dryRun: false, target: %s, filter: {minAge: 0s},
		safety: {minReady: %s, maxPerDay: %d, requireStable: false}, %s}}`, chaosv1.GroupVersion, name, target, floor, maxPerDay, more)
}

func policy(number int) string {
	return fmt.Sprintf(`{apiVersion: %s, kind: RebootPolicy, metadata: {name: p-%d}, spec: {
		targets: [{kind: Deployment, selector: {matchLabels: {policy: "%[2]d"}}}], triggers: [{name: config, type: ConfigChange}],
		debounce: {quietPeriod: 1s}, cooldown: 0s, limit: {maxRestarts: 100, within: 1h}, concurrency: {maxTargets: 5}, verification: {soak: 2s}}}`,
		autorebootv1.GroupVersion, number)
}
