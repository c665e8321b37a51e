// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const samples = "../../../config/samples"

func TestVetEndsWithACodeThatScriptsCanTrust(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := write("bad.yaml", "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\nspec: {endpoints: [{name: a, addresses: [127.0.0.1]}], ports: [{name: a, port: 1}]}\n")
	other := write("other.yaml", "apiVersion: v1\nkind: Secret\n")
	warned := write("warned.yaml", headless)
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"clean":                   {[]string{samples}, 0, "7 objects in 9 files: 0 errors, 0 warnings; skipped 4 objects of other kinds\n", ""},
		"a warning":               {[]string{warned}, 0, "1 object in 1 file: 0 errors, 1 warning\n", ""},
		"warnings as errors":      {[]string{"--warnings-as-errors", warned}, 1, "does not translate ports", ""},
		"findings":                {[]string{bad}, 1, bad + ":4:42: error: ExternalService a: spec.endpoints[0].addresses[0]: ", ""},
		"other kinds":             {[]string{other}, 0, "0 objects in 1 file: 0 errors, 0 warnings; skipped 1 object of other kinds", ""},
		"a missing file":          {[]string{bad, "missing.yaml", samples}, 2, "8 objects in 10 files", "missing.yaml"},
		"a missing file in SARIF": {[]string{"-o", "sarif", "missing.yaml"}, 2, `"executionSuccessful": false`, "missing.yaml"},
		"nothing named":           {nil, 2, "", "name a file, a folder, or -"},
		"a cluster and a file":    {[]string{"--live", samples}, 2, "", "--live takes no files"},
		"a context and a file":    {[]string{"--context=a", samples}, 2, "", "--context goes with --live"},
		"one and all namespaces":  {[]string{"--live", "-n=shop", "-A"}, 2, "", "not both"},
		"no such kubeconfig":      {[]string{"--live", "--kubeconfig=missing.yaml"}, 2, "", "missing.yaml"},
		"an unknown format":       {[]string{"-o", "xml", samples}, 2, "", "junit"},
		"an unknown flag":         {[]string{"--fix", samples}, 2, "", "--fix"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append([]string{"vet"}, test.args...)...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
			}
			if lines := strings.Count(stderr, "\n"); test.stderr == "" && stderr != "" || test.stderr != "" && lines != 1 {
				t.Errorf("stderr: %q", stderr)
			}
		})
	}
}

// headless is valid, and worth a warning.
const headless = "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\n" +
	"spec: {service: {type: Headless}, ports: [{name: sql, port: 5432, targetPort: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n"

func TestVetQuietSaysNothingOfWarnings(t *testing.T) {
	warned := filepath.Join(t.TempDir(), "warned.yaml")
	if err := os.WriteFile(warned, []byte(headless), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runCommand(t, "vet", "--quiet", warned); code != 0 || stdout != "" || stderr != "" {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, _ := runCommand(t, "vet", "-q", "--warnings-as-errors", warned); code != 1 || strings.Count(stdout, "\n") != 1 {
		t.Errorf("code %d, %q", code, stdout)
	}
}
