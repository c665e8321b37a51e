// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxBlackouts is how many blackouts a list may have.
const MaxBlackouts = 100

// Blackout is a time without disruption: from Start until End, or repeatedly by Schedule and Duration.
type Blackout struct {
	// Name identifies the blackout: a DNS label, unique in its list. Required.
	Name string `json:"name"`

	// Start and End bound a single blackout, in RFC 3339. End is exclusive.
	Start *metav1.Time `json:"start,omitempty"`
	End   *metav1.Time `json:"end,omitempty"`

	// Schedule is a cron expression of five fields, at which a repeated blackout begins.
	Schedule string `json:"schedule,omitempty"`
	// TimeZone of Schedule, an IANA name. Defaults to UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// Duration of each, from 1m to 168h.
	Duration common.Duration `json:"duration,omitempty"`
}

var blackoutName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// NewBlackouts parses at most MaxBlackouts blackouts. The error names the first invalid one, such as
// blackouts[1].
func NewBlackouts(all []Blackout) (*Calendar, error) {
	if len(all) > MaxBlackouts {
		return nil, fmt.Errorf("blackouts: %d are too many: at most %d", len(all), MaxBlackouts)
	}
	names := map[string]bool{}
	c := &Calendar{}
	for i := range all {
		b := &all[i]
		p, err := b.interval()
		switch {
		case !blackoutName.MatchString(b.Name):
			err = fmt.Errorf("name %.70q: must be a DNS label, such as year-end", b.Name)
		case names[b.Name]:
			err = fmt.Errorf("name %q: another blackout has it", b.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("blackouts[%d]: %w", i, err)
		}
		names[b.Name] = true
		c.blackouts = append(c.blackouts, namedInterval{p, b.Name})
	}
	return c, nil
}

func (b *Blackout) interval() (interval, error) {
	once, repeats := b.Start != nil || b.End != nil, b.Schedule != "" || b.TimeZone != "" || b.Duration != ""
	switch {
	case once == repeats:
		return nil, errors.New("needs either start and end, or schedule and duration")
	case repeats:
		w, err := newWindow(common.Window{Schedule: b.Schedule, TimeZone: ptr.To(b.TimeZone), Duration: b.Duration})
		if err == nil {
			w.repeats = true
		}
		return w, err
	case b.Start == nil || b.End == nil:
		return nil, errors.New("needs start and end")
	case !b.Start.Before(b.End):
		return nil, errors.New("end: must be after start")
	}
	return oneTime{b.Start.Time, b.End.Time}, nil
}

// Blackout returns the name of a blackout that holds at t; empty where none with a name does.
func (c *Calendar) Blackout(t time.Time) string {
	if c == nil {
		return ""
	}
	for i := range c.blackouts {
		if b := &c.blackouts[i]; b.name != "" && b.isOpen(t) {
			return b.name
		}
	}
	return ""
}

// oneTime is open once.
type oneTime struct{ start, end time.Time }

func (o oneTime) isOpen(t time.Time) bool { return !t.Before(o.start) && t.Before(o.end) }

func (o oneTime) openUntil(t, _ time.Time) time.Time {
	if o.isOpen(t) {
		return o.end
	}
	return t
}

func (o oneTime) next(t time.Time) time.Time {
	if o.start.After(t) {
		return o.start
	}
	return time.Time{}
}
