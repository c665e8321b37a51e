// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator is fairlead, with its flags and all of its checks, whose connections to the
// outside end at the servers of test/externalnet on this host. It never dials any other address.
//
// Where FAIRLEAD_RECONCILE_LOG names a file, it appends a line of JSON to it whenever it begins or ends
// to lead, or to reconcile an object: {"replica","event","kind","namespace","name","at"}, where the
// event is lead, unlead, begin or end. Several replicas may append to one file.
//
// Where FAIRLEAD_CLOCK names a file that holds a duration, such as 144h or -2h, the clock by which it
// judges certificates goes ahead or behind by that much, from when the file is there.
//
// FAIRLEAD_SILENCE is how long nothing may arrive from the API server on a watch, such as 20s.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/command"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

func main() {
	options := command.Options{Dial: externalnet.Dial}
	if path := os.Getenv("FAIRLEAD_RECONCILE_LOG"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the user who runs a test names it
		if err != nil {
			fmt.Fprintln(os.Stderr, "operator:", err)
			os.Exit(1)
		}
		// It is written without a buffer, and the kernel closes it.
		options.Reconciles = file
	}
	if path := os.Getenv("FAIRLEAD_CLOCK"); path != "" {
		options.Clock = stepped{path: path}
	}
	if text := os.Getenv("FAIRLEAD_SILENCE"); text != "" {
		silence, err := time.ParseDuration(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, "operator: FAIRLEAD_SILENCE:", err)
			os.Exit(1)
		}
		options.Silence = silence
	}
	os.Exit(command.Execute(os.Args[1:], options))
}

// stepped is the real clock, ahead or behind by what a file says. What it measures is not stepped, as
// with a real clock that is set: only the time of day is.
type stepped struct {
	clock.RealClock
	path string
}

// Now is the time of day.
func (s stepped) Now() time.Time {
	now := time.Now().Round(0) // without the monotonic reading, which no step changes
	written, err := os.ReadFile(s.path)
	if err != nil {
		return now
	}
	by, err := time.ParseDuration(strings.TrimSpace(string(written)))
	if err != nil {
		return now
	}
	return now.Add(by)
}
