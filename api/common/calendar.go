// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

// Cron is a cron expression of five fields (minute, hour, day of month, month, day of week), or a macro such as @daily.
// It applies in the timeZone beside it, and must match a time within five years.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="!self.contains('TZ=')",message="use timeZone instead of TZ= or CRON_TZ="
type Cron string

// TimeZone is the name of a time zone of the IANA database, such as Europe/Zurich.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'local'",message="timeZone must be an IANA name, not Local"
type TimeZone string

// Calendar defines when a restart or a run of chaos may begin.
type Calendar struct {
	// windows are the spans of time in which a restart or a run may begin. Without any, it may begin at any time.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Windows []Window `json:"windows,omitempty"`

	// blackouts are spans of time in which no restart and no run begins. They take precedence over windows, and over
	// urgency.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Blackouts []Window `json:"blackouts,omitempty"`
}

// Window is a recurring span of time: it opens whenever its cron expression matches, and stays open for its duration.
type Window struct {
	// name of the window, unique in its list. Messages use it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +required
	Name string `json:"name,omitempty"`

	// cron is the times at which the window opens, in five fields or as a macro such as @daily.
	//
	// +required
	Cron Cron `json:"cron,omitempty"`

	// duration is how long it stays open, from 1m to 168h.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h') || !self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="duration must be between 1m and 168h"
	// +required
	Duration Duration `json:"duration,omitempty"`

	// timeZone of cron, an IANA name such as Europe/Zurich. The default is UTC.
	//
	// +optional
	TimeZone TimeZone `json:"timeZone,omitempty"`
}
