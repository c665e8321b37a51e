// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestTheErrorLogIsBounded(t *testing.T) {
	var lines []string
	sink := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	log := NewErrorLog(LogOptions{Logger: sink, Message: "connection error"})
	for range 500 {
		log.Print(strings.Repeat("noise ", 1000))
	}
	if len(lines) == 0 || len(lines) > 20 {
		t.Errorf("500 errors became %d lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 1200 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}
