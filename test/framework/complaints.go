// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"strings"
)

// Complaints are the lines of the replicas' logs that tell of a missing permission or a panic,
// which no test provokes. That nothing can be made in a namespace that is being deleted is no matter of
// permissions, although the API server calls it forbidden.
func Complaints(replicas ...*Replica) []string {
	var found []string
	for _, replica := range replicas {
		lines, err := replica.Logs()
		if err != nil {
			found = append(found, err.Error())
		}
		for line := range strings.Lines(lines) {
			lower := strings.ToLower(line)
			forbidden := strings.Contains(lower, "forbidden") && !strings.Contains(lower, "because it is being terminated")
			if forbidden || strings.Contains(lower, "panic") {
				found = append(found, replica.ID+": "+strings.TrimSpace(line))
			}
		}
	}
	return found
}

// NoComplaints is nil where there are no such lines of the operator's log.
func NoComplaints(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return errors.New("the operator's log holds what it never should:\n" + strings.Join(lines, "\n"))
}
