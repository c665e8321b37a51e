// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Schedule defines when runs are due: by cron, by interval, or once at a given time. If at is set with interval or
// cron, the first run is at that time and the others follow. Without at, an interval counts from the creation of the
// object. Missed runs are not made up for: only the latest one can still begin, within startingDeadline. A run that
// becomes due during another run is skipped. With target.template and none of the three, the interval is 15s.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.cron) && has(self.interval))",message="cron and interval exclude each other"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.cron)",message="timeZone goes with cron"
type Schedule struct {
	// cron is the times at which a run is due, in five fields or as a macro such as @daily.
	//
	// +optional
	Cron common.Cron `json:"cron,omitempty"`

	// interval is the time between two runs, at least 10s.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="interval must be at least 10s"
	// +optional
	Interval common.Duration `json:"interval,omitempty"`

	// at is the time of one run, to the second.
	//
	// +optional
	At *metav1.Time `json:"at,omitempty"`

	// timeZone of cron, an IANA name such as Europe/Zurich. The default is UTC.
	//
	// +optional
	TimeZone common.TimeZone `json:"timeZone,omitempty"`

	// jitterPercent moves each run at random. The largest delay is this share of the time to the next run. The largest
	// advance is this share of the time since the last run. No run moves out of a window or into a blackout, and the run
	// of at does not move. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`

	// startingDeadline is how late a run may begin. Later than that, the run is skipped. The default is 5m.
	//
	// +optional
	StartingDeadline *common.Duration `json:"startingDeadline,omitempty"`
}
