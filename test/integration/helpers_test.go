// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// said is the result of a call of kubectl.
type said struct {
	out, err string
	failure  error
}

// try runs kubectl in the namespace. What follows "--" is its standard input.
func (s *suite) try(args ...string) said {
	s.Helper()
	var stdin string
	if n := len(args); n > 1 && args[n-2] == "--" {
		stdin, args = args[n-1], args[:n-2]
	}
	for deadline := time.Now().Add(framework.Patience); ; {
		out, problems, failure := s.Try(stdin, args...)
		// Without a resource version kubectl replace takes the one that it reads first, and the operator may write in between.
		raced := failure != nil && args[0] == "replace" && !strings.Contains(stdin, "resourceVersion") && strings.Contains(problems, "has been modified")
		if !raced || time.Now().After(deadline) {
			return said{out, problems, failure}
		}
	}
}

// run is try where a failure ends the test.
func (s *suite) run(args ...string) string {
	s.Helper()
	answer := s.try(args...)
	s.Must(answer.failure)
	return answer.out
}

// apply applies a manifest and returns kubectl's output and warnings.
func (s *suite) apply(manifest string, more ...string) said {
	s.Helper()
	answer := s.try(append(append([]string{"apply", "-f", "-"}, more...), "--", manifest)...)
	if answer.failure != nil {
		s.Fatalf("%v\nof\n%s", answer.failure, manifest)
	}
	return answer
}

// refused runs kubectl, which must fail, with all of the wanted pieces in its complaint.
func (s *suite) refused(wanted []string, args ...string) {
	s.Helper()
	answer := s.try(args...)
	if answer.failure == nil {
		s.Errorf("kubectl %s: was accepted: %s", strings.Join(args, " "), answer.out)
		return
	}
	s.Expect(answer.err, wanted...)
}
