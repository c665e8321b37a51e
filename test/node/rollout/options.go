// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"io"
	"time"
)

// The images that Run rolls between: the same program under two tags.
const (
	Repository = "localhost/fairlead"
	One        = "one"
	Two        = "two"
)

// Defaults of Options.
const (
	DefaultRequests = 20_000
	DefaultRollouts = 3
	DefaultRate     = 150
	DefaultLimit    = 30 * time.Minute
)

// Options of Run.
type Options struct {
	// Root is the checkout.
	Root string
	// Requests is how many the rolling updates see at least. Default 20,000.
	Requests int
	// Rollouts is how many rolling updates there are at least. Default 3.
	Rollouts int
	// Rate is how many steps of one or two requests there are per second at most. Default 150.
	Rate float64
	// Limit bounds how long a scenario goes on. Default 30 min.
	Limit time.Duration
	// Only is a regular expression of the scenarios to run. Default: all.
	Only string
	// Stay keeps the node until the context ends. Default: no.
	Stay bool
	// Logs is a folder for the logs of the operator's pods. Default: they are lost.
	Logs string
	// Before are rows of what was played before, which the table begins with. Default: none.
	Before []Row
	// Output takes the table. Default: none.
	Output io.Writer
}

func (o *Options) setDefaults() {
	if o.Requests == 0 {
		o.Requests = DefaultRequests
	}
	if o.Rollouts == 0 {
		o.Rollouts = DefaultRollouts
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
}
