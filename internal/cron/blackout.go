// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
)

// MaxBlackouts is how many blackouts a list may have.
const MaxBlackouts = 100

// Blackout is a time without disruption of the whole cluster: a repeated one as in a spec, or from Start until End.
type Blackout struct {
	// Name identifies the blackout: a DNS label, unique in its list. Required.
	Name string `json:"name"`

	// Start and End bound a single blackout, in RFC 3339. End is exclusive.
	Start *metav1.Time `json:"start,omitempty"`
	End   *metav1.Time `json:"end,omitempty"`

	// Cron, Duration and TimeZone are those of a common.Window. It is not embedded, since decoders would name its fields
	// Window.cron in their errors.
	Cron     common.Cron     `json:"cron,omitempty"`
	Duration common.Duration `json:"duration,omitempty"`
	TimeZone common.TimeZone `json:"timeZone,omitempty"`
}

var blackoutName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// NewBlackouts parses at most MaxBlackouts blackouts. The error names the first invalid one.
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
			err = errors.New("the name must be a DNS label, such as year-end")
		case names[b.Name]:
			err = errors.New("another one has this name")
		}
		if err != nil {
			return nil, fmt.Errorf("blackout %.70q: %w", b.Name, err)
		}
		names[b.Name] = true
		c.blackouts = append(c.blackouts, namedInterval{p, b.Name})
	}
	return c, nil
}

func (b *Blackout) interval() (interval, error) {
	once, repeats := b.Start != nil || b.End != nil, b.Cron != "" || b.TimeZone != "" || b.Duration != ""
	switch {
	case once == repeats:
		return nil, errors.New("needs either start and end, or cron and duration")
	case repeats:
		return newWindow(&common.Window{Cron: b.Cron, Duration: b.Duration, TimeZone: b.TimeZone}, true)
	case b.Start == nil || b.End == nil:
		return nil, errors.New("needs start and end")
	case !b.Start.Before(b.End):
		return nil, errors.New("end: must be after start")
	}
	return oneTime{b.Start.Time, b.End.Time}, nil
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
