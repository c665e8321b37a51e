// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/migrate"
)

// inputs are testdata/migrate/PEER[-CASE].in.EXTENSION, written after the documentation of each peer, with the peer and
// the arguments of each.
func inputs(t *testing.T) map[string][]string {
	t.Helper()
	found, seen := map[string][]string{}, map[string]bool{}
	files, err := filepath.Glob("testdata/migrate/*.in.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		peer := ""
		for _, p := range migrate.Peers() {
			if name := filepath.Base(file); strings.HasPrefix(name, p.Name+".") || strings.HasPrefix(name, p.Name+"-") {
				peer = max(peer, p.Name)
			}
		}
		content, err := os.ReadFile(file)
		if err != nil || peer == "" {
			t.Fatalf("%s: of no peer, or %v", file, err)
		}
		arguments := []string{"migrate", peer}
		if m := regexp.MustCompile(`(?m)^# arguments:(.*)$`).FindStringSubmatch(string(content)); m != nil {
			arguments = append(arguments, strings.Fields(m[1])...)
		}
		found[file], seen[peer] = arguments, true
	}
	for _, p := range migrate.Peers() {
		if !seen[p.Name] {
			t.Errorf("there is no input of %s", p.Name)
		}
	}
	return found
}

// golden compares a text with a file, or writes it there.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestMigrateWritesWhatPassesVetAndIsTheSameOverItsOwnOutput(t *testing.T) {
	for file, arguments := range inputs(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			code, out, plan := runCommand(t, append(arguments, file)...)
			stem, _, _ := strings.Cut(file, ".in.")
			golden(t, stem+".out.yaml", out)
			golden(t, stem+".plan.txt", plan)
			if want := strings.Contains(plan, "\nCannot be migrated:\n"); want != (code == 1) || code > 1 {
				t.Errorf("exit code %d", code)
			}
			output := filepath.Join(t.TempDir(), "out.yaml")
			if err := os.WriteFile(output, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out, "\nkind: ") {
				if code, stdout, stderr := runCommand(t, "vet", output); code != 0 {
					t.Errorf("vet: %s%s", stdout, stderr)
				}
			}
			for _, order := range [][]string{{file, output}, {output, file}} {
				if _, again, plan := runCommand(t, append(arguments, order...)...); again != out || strings.Contains(plan, "In the input already") {
					t.Errorf("over its own output (-first +second):\n%s%s", cmp.Diff(out, again), plan)
				}
			}
			code, alone, _ := runCommand(t, append(arguments, "--strict", "--plan", file)...)
			if alone != plan || (code == 1) != (strings.Contains(plan, "not carried over: ") || strings.Contains(plan, "Cannot be")) {
				t.Errorf("--strict --plan: exit code %d (-want +got):\n%s", code, cmp.Diff(plan, alone))
			}
		})
	}
}
