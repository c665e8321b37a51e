// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "strings"

// complains wants a process to have failed with one line, the last of its output, that holds every
// piece.
func (s *suite) complains(code int, output string, wanted ...string) {
	s.Helper()
	s.complainsWith(1, code, output, wanted...)
}

// complainsWith expects an exit code and one last line that is a complaint with all that is wanted. The code is 2 for a command line
// that is wrong.
func (s *suite) complainsWith(want, code int, output string, wanted ...string) {
	s.Helper()
	if code != want {
		s.Errorf("exit code %d, want %d", code, want)
	}
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "fairlead: ") {
		s.Errorf("the last line is no complaint: %s\nafter:\n%s", last, output)
	}
	if n := strings.Count(output, "\nfairlead: "); n > 1 {
		s.Errorf("%d complaints:\n%s", n, output)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "{") {
			s.Errorf("neither a line of the log nor the complaint: %s", line)
		}
	}
	s.Expect(last, wanted...)
}
