// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"strings"
	"testing"
)

const page = "# Title\n\n```console\n$ kubectl apply -f - <<'YAML'\na: 1\nYAML\nobject created\n$ kubectl get \\\n    object\nNAME AGE\nx    5s\n```\n\n<!-- test: refuse 192.0.2.1:80 -->\n\n```yaml\n$ no command\n```\n\n  ```console\n  $ for a in b; do\n      true\n    done\n  $ true\n  ```\n\n```console\n# as root\n```\n"

func TestAPageIsReadAndWritten(t *testing.T) {
	all := steps(page)
	if len(all) != 7 || all[0].command != "kubectl apply -f - <<'YAML'\na: 1\nYAML" || all[1].command != "kubectl get \\\n    object" ||
		strings.Join(all[1].output, "|") != "NAME AGE|x    5s" || all[1].quiet || all[2].outside != "refuse 192.0.2.1:80" ||
		all[3].language != "yaml" || all[3].command != "" || all[4].command != "for a in b; do\n    true\n  done" || !all[4].quiet ||
		all[5].command != "true" || all[5].begins != all[4].begins || all[6].command != "" || all[6].block != "# as root" {
		t.Fatalf("read %+v", all)
	}
	got := rewritten(page, all, map[int][]string{all[0].line: {"object changed", "twice"}, all[1].line: nil, all[5].line: {"done"}})
	want := strings.NewReplacer("object created", "object changed\ntwice", "NAME AGE\nx    5s\n", "", "  $ true", "  $ true\ndone").Replace(page)
	if got != want {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
}

func TestOutputsAreComparedWithoutWhatDiffersFromRunToRun(t *testing.T) {
	for _, test := range []struct {
		shown, printed string
		want           bool
	}{
		{"web-6d4cf56db6-x7k2p  5s", "web-7f8d9c5b4d-abc12 2m3s", false}, // a vowel is in no such name
		{"web-6d4cf56db6-x7k2p  5s", "web-7f8d9c5b4d-zbc12 2m3s", true},
		{"restart 8e3163a3-1 took 5s", "restart 4406666d-1 took 1m0s", true},
		{"ready", "ready", true},
		{"ready", "unready", false},
		{"a|...|c", "a|b|b|c", true},
		{"a|...", "a", true},
		{"a|...|c", "a|b", false},
		{"a", "a|b", false},
		{"10.0.0.7 at 2026-01-01T00:00:00Z", "10.0.3.9 at 2026-11-24T02:30:00Z", true},
		{"192.0.2.10", "192.0.2.20", false},
	} {
		if got := same(strings.Split(test.shown, "|"), strings.Split(test.printed, "|")); got != test.want {
			t.Errorf("%q and %q: %v", test.shown, test.printed, got)
		}
	}
}
