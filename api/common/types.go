// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package common

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Duration is a span of time as Gateway API writes one (GEP-2257), such as "30s", "1h30m" or "500ms". It has one to
// four numbers of at most five digits, each with its unit, and is at most 399996h. The bytes stay as the user wrote
// them: "90s" is never rewritten to "1m30s".
//
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$')",message="must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms"
// +kubebuilder:validation:MaxLength=32
type Duration string

// largest is the longest span that DurationOf can write: it uses each unit once.
const largest = 99999*time.Hour + 59*time.Minute + 59*time.Second + 999*time.Millisecond

// DurationOf writes d to the millisecond in its shortest form, such as "10m" rather than "10m0s". A longer span than
// 99999h59m59s999ms is written as that one. A negative one is written with its sign, and is no valid Duration.
func DurationOf(d time.Duration) Duration {
	d = min(max(d, -largest), largest)
	var text []byte
	if d < 0 {
		text, d = append(text, '-'), -d
	}
	for _, unit := range units {
		if n := d / unit.span; n > 0 {
			text, d = append(strconv.AppendInt(text, int64(n), 10), unit.name...), d%unit.span
		}
	}
	if len(text) == 0 {
		return "0s"
	}
	return Duration(text)
}

var units = []struct {
	span time.Duration
	name string
}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}}

// Parse returns the span. It fails if time.ParseDuration does. That function also accepts what a Duration may not be:
// fractions, a sign and units below a millisecond.
func (d Duration) Parse() (time.Duration, error) { return time.ParseDuration(string(d)) }

// Or reads the span, or returns fallback where d is nil or does not parse.
func (d *Duration) Or(fallback time.Duration) time.Duration {
	if d == nil {
		return fallback
	}
	span, err := d.Parse()
	if err != nil {
		return fallback
	}
	return span
}

// LabelSelector selects objects by their labels, as metav1.LabelSelector does, with bounds that
// keep the cost of evaluating it known. An empty one selects all objects of the namespace.
type LabelSelector struct {
	// matchLabels are labels that an object must carry, each with this value.
	//
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are further requirements; all must hold.
	//
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label, at most 63 characters.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelRequirement is one requirement on one label.
type LabelRequirement struct {
	// key is the label's key.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	Key string `json:"key,omitempty"`

	// operator relates the key to the values: In, NotIn, Exists or DoesNotExist.
	//
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator,omitempty"`

	// values go with In and NotIn, and must be absent otherwise.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// IsEverything reports whether the selector is empty, and thus selects all objects of the namespace.
func (s *LabelSelector) IsEverything() bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// Selector compiles the selector. It fails if a key, value or operator is invalid, or if values and operator do not
// fit. An empty selector selects everything, and nil nothing.
func (s *LabelSelector) Selector() (labels.Selector, error) {
	if s == nil {
		return labels.Nothing(), nil
	}
	return metav1.LabelSelectorAsSelector(s.Meta())
}

// Meta returns the selector as Kubernetes has it in its own kinds.
func (s *LabelSelector) Meta() *metav1.LabelSelector {
	meta := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		if meta.MatchLabels == nil {
			meta.MatchLabels = make(map[string]string, len(s.MatchLabels))
		}
		meta.MatchLabels[key] = string(value)
	}
	for _, r := range s.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator}
		for _, value := range r.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		meta.MatchExpressions = append(meta.MatchExpressions, requirement)
	}
	return meta
}
