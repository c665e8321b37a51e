// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// Pace is how soon a change restarts the workloads.
type Pace string

const (
	// PaceReloader restarts for each change at once, as Reloader and Wave do, and verifies the restart. It is the default.
	PaceReloader Pace = "reloader"
	// PaceCareful restarts one workload of a namespace at a time, and watches it.
	PaceCareful Pace = "careful"
)

// Paces lists all of them, the default first.
func Paces() []Pace { return []Pace{PaceReloader, PaceCareful} }

// profile has what a pace is in the spec of a policy, and what to know about each field.
type profile struct {
	quietPeriod, maxDelay, cooldown, within, soak common.Duration
	maxRestarts                                   int32
	maxTargets                                    intstr.IntOrString
	// difference is the plan's sentence about the pace.
	difference string
	// comments are by the path of a field below the spec.
	comments map[string]string
}

var profiles = map[Pace]*profile{
	PaceReloader: {
		quietPeriod: "0s", maxDelay: "30s", cooldown: "0s", maxRestarts: 100, within: "1h", maxTargets: intstr.FromString("100%"), soak: "0s",
		difference: "Each change restarts its workloads at once, all of them together, as before (--pace=reloader). --pace=careful writes " +
			"one workload of a namespace at a time.",
		comments: map[string]string{
			"debounce":     "A change restarts at once. With 2s, changes within two seconds make one restart.",
			"cooldown":     "Content that comes back to what it was restarts at once too. With 10m, it waits for ten minutes after the last restart.",
			"limit":        "A stop for a loop that writes content again and again, and no limit of a busy day.",
			"concurrency":  "All workloads of a change restart together. With 1, one restarts after the other.",
			"verification": "A restart is verified once its pods are available. With 30s, they have to stay so for that long.",
		},
	},
	PaceCareful: {
		quietPeriod: "15s", maxDelay: "5m", cooldown: "10m", maxRestarts: 6, within: "24h", maxTargets: intstr.FromInt32(1), soak: "2m",
		difference: "In a namespace, one workload at a time is restarted (concurrency), 15s after the last change (debounce). It is watched for " +
			"2m (soak), beside the next one. Content that comes back to what it was waits for 10m (cooldown), and a workload has 6 restarts " +
			"a day at most (limit). --pace=reloader restarts at once.",
		comments: map[string]string{
			"debounce":     "A restart waits until the content has not changed for 15s. With 0s, it starts at once.",
			"cooldown":     "Content that comes back to what it was waits for ten minutes after the last restart. With 0s, it restarts at once too.",
			"limit":        "A workload has six restarts a day at most; then a person looks.",
			"concurrency":  "One workload of the namespace restarts at a time. With 100%, all of a change together.",
			"verification": "A restart is verified once its pods have stayed available for two minutes, in which others may start.",
		},
	},
}

// profile returns that of the options.
func (o *Options) profile() *profile {
	if of := profiles[o.Pace]; of != nil {
		return of
	}
	return profiles[PaceReloader]
}

// apply writes the pace into a spec.
func (p *profile) apply(spec *autorebootv1.RebootPolicySpec) {
	spec.Debounce = &autorebootv1.Debounce{QuietPeriod: ptr.To(p.quietPeriod), MaxDelay: ptr.To(p.maxDelay)}
	spec.Cooldown = ptr.To(p.cooldown)
	spec.Limit = &autorebootv1.Limit{MaxRestarts: p.maxRestarts, Within: p.within}
	spec.Concurrency = &autorebootv1.Concurrency{MaxTargets: ptr.To(p.maxTargets)}
	spec.Verification = &autorebootv1.Verification{Verification: common.Verification{Soak: ptr.To(p.soak)}}
}
