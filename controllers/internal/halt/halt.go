// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package halt compares the time of a halt with that of the annotation by which a user ends it. Both are whole
// seconds, so that one second may have an annotation, a halt, and another annotation.
package halt

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is within what time an annotation is observed.
const moment = 10 * time.Second

// Began returns the time of a halt that begins now: the next second, where the annotation was set in this one and
// so before the halt.
func Began(now time.Time, annotation string) metav1.Time {
	began := now.UTC().Truncate(time.Second)
	if at, err := parse(annotation); err == nil && at.Equal(began) {
		began = began.Add(time.Second)
	}
	return metav1.NewTime(began)
}

// IsEnded reports whether the annotation ends a halt of that time, as it does from the halt's second on: a script
// may set it as soon as it sees the halt. For an annotation that names a later time than now, it returns that time.
// The time of a halt may be in the future where the clock of a former leader was ahead: an annotation that was set a moment
// ago ends it then.
func IsEnded(began metav1.Time, annotation string, now time.Time) (ended bool, later time.Time) {
	at, err := parse(annotation)
	from := began.Time
	if from.After(now.Add(time.Second)) { // Began returns the next second at most
		from = now.Add(-moment)
	}
	switch {
	case err != nil || at.Before(from):
		return false, time.Time{}
	case at.After(now):
		return false, at
	}
	return true, time.Time{}
}

// ignored returns why an annotation that is set does not end a halt; empty where none is set, or it does.
func ignored(began metav1.Time, annotation string, now time.Time) string {
	at, err := parse(annotation)
	switch {
	case annotation == "":
	case err != nil:
		return fmt.Sprintf("its value %.64q is no such time", annotation)
	case at.Before(began.Time):
		return "its value " + at.Format(time.RFC3339) + " lies before the halt, which began at " + began.UTC().Format(time.RFC3339)
	case at.After(now):
		return "its value " + at.Format(time.RFC3339) + " lies in the future, and ends the halt then"
	}
	return ""
}

// Remedy returns how a user ends a halt of that time, as a part of a message, and why the annotation does not do so that is
// set.
func Remedy(name string, began metav1.Time, annotation string, now time.Time) string {
	text := "to go on, change the spec, or set the annotation " + name + " to the present time (RFC 3339)"
	if why := ignored(began, annotation, now); why != "" {
		text += "; " + why
	}
	return text
}

// parse returns the time of an annotation in RFC 3339.
func parse(annotation string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, annotation)
	return at.UTC().Truncate(time.Second), err
}
