// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kubectlTimeout is how long kubectl may take. The machine may be a busy one.
const kubectlTimeout = 5 * time.Minute

// Try runs kubectl as the administrator, and returns what it wrote to both its streams. The error holds both.
func (t *Test) Try(stdin string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), kubectlTimeout)
	defer cancel()
	if t.Namespace != "" {
		args = append([]string{"-n", t.Namespace}, args...)
	}
	var out, problems bytes.Buffer
	if err = t.KubectlIO(ctx, strings.NewReader(stdin), &out, &problems, args...); err != nil {
		err = fmt.Errorf("%w: %s%s", err, problems.String(), out.String())
	}
	return out.String(), problems.String(), err
}

// Kubectl runs kubectl as the administrator, and returns what it printed.
func (t *Test) Kubectl(args ...string) string {
	t.Helper()
	return t.KubectlWith("", args...)
}

// KubectlWith is Kubectl with a standard input.
func (t *Test) KubectlWith(stdin string, args ...string) string {
	t.Helper()
	out, _, err := t.Try(stdin, args...)
	if err != nil {
		t.Fatalf("%v\nof\n%s", err, stdin)
	}
	return out
}

// Apply runs kubectl apply with further arguments on manifests.
func (t *Test) Apply(manifests string, args ...string) string {
	t.Helper()
	return t.KubectlWith(manifests, append([]string{"apply", "-f", "-"}, args...)...)
}

// Rendered returns the output of kubectl kustomize for a folder that does not change.
func (t *Test) Rendered(folder string) string {
	t.Helper()
	manifests, err := rendered.of(t.Context(), t.KubectlIO, folder)
	t.Must(err)
	return string(manifests)
}

// Row waits until kubectl get -o wide has these values in the columns of an object.
func (t *Test) Row(resource, name string, wanted map[string]string) {
	t.Helper()
	t.Eventually(func() error {
		lines := strings.Split(strings.TrimSpace(t.Kubectl("get", resource, name, "-o", "wide")), "\n")
		if len(lines) != 2 {
			return fmt.Errorf("kubectl get: %q", lines)
		}
		for column, want := range wanted {
			at := strings.Index(lines[0], column)
			if at < 0 {
				return fmt.Errorf("no column %s in %q", column, lines[0])
			}
			if got, _, _ := strings.Cut(lines[1][at:]+" ", " "); got != want {
				return fmt.Errorf("%s is %q, want %q in %q", column, got, want, lines)
			}
		}
		return nil
	})
}

// Kustomization makes a folder with a kustomization.yaml, in which CONFIG is replaced by the folder config.
func (t *Test) Kustomization(content string) string {
	t.Helper()
	folder := t.TempDir()
	config, err := filepath.Abs(filepath.Join(Root, "config"))
	t.Must(err)
	at, err := filepath.Rel(folder, config)
	t.Must(err)
	t.Must(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(strings.ReplaceAll(content, "CONFIG", at)), 0o600))
	return folder
}
