// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Schedule says when runs are due: by cron, or by interval, or once at a given time. With at and
// interval, or at and cron, the first run is at that time and the others follow. Without at an
// interval counts from when the object was made. Missed runs are never made up: only the latest
// counts, and only within the starting deadline. A run that comes due while another is under way is
// skipped. With target.template and none of the three, the interval is 15s.
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

	// jitterPercent moves each run by a random part of the time to the next one, or earlier by one of
	// the time from the last, up to this percentage. It moves no run out of a window or into a
	// blackout, and not the one of at. The default is 0.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`

	// startingDeadline is how late a run may begin. A run that is later still is skipped. The
	// default is 5m.
	//
	// +optional
	StartingDeadline *common.Duration `json:"startingDeadline,omitempty"`
}
