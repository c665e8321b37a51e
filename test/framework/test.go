// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Patience is how long a condition may take. The machine may be a busy one.
const Patience = 3 * time.Minute

// Test is a test of a cluster. Where a method has no error to return, an error ends the test.
type Test struct {
	*testing.T
	*Cluster
	// Namespace is that of manifests, and where kubectl works. With "" each object is in its own.
	Namespace string
	// Patience is how long Eventually waits. The default is that of the package.
	Patience time.Duration
	// Pause is how long Eventually pauses each time. By default it pauses the longer, the longer it has waited.
	Pause time.Duration
}

// NewTest returns a test with a namespace that no other test has.
func NewTest(t *testing.T, c *Cluster) Test {
	t.Helper()
	test := Test{T: t, Cluster: c}
	test.Namespace = test.NewNamespace()
	return test
}

// NewNamespace makes one that no other test has, and returns its name.
func (t *Test) NewNamespace() string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	t.Must(t.Client.Create(t.Context(), namespace))
	return namespace.Name
}

// In is the same test in a subtest.
func (t *Test) In(sub *testing.T) Test {
	in := *t
	in.T = sub
	return in
}

// Must ends the test on an error.
func (t *Test) Must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until ask returns nil.
func (t *Test) Eventually(ask func() error) {
	t.Helper()
	shortest, longest := cmp.Or(t.Pause, shortestPause), cmp.Or(t.Pause, longestPause)
	t.Must(eventually(t.Context(), cmp.Or(t.Patience, Patience), shortest, longest, func(context.Context) error { return ask() }))
}

// Never watches for a short while that ask goes on returning nil. It follows a sign that whatever
// ask denies would have begun by now.
func (t *Test) Never(ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		t.Must(ask())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// File makes a file for the test, and returns its path.
func (t *Test) File(name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	t.Must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Expect wants every piece in a text.
func (t *Test) Expect(text string, wanted ...string) {
	t.Helper()
	if err := Holds(text, wanted...); err != nil {
		t.Error(err)
	}
}

// Holds names the pieces that are not in a text.
func Holds(text string, wanted ...string) error {
	var errs []error
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			errs = append(errs, fmt.Errorf("expected %q in:\n%s", w, text))
		}
	}
	return errors.Join(errs...)
}

// Text is a value as JSON, with sorted keys.
func Text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
