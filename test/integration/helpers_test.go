// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how long a condition may take. The machine may be a busy one.
const patience = 2 * time.Minute

// patient keeps a replica from losing its Lease because the machine is busy.
var patient = []string{"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s"}

// kubectl is how a cluster, with or without Fairlead, is spoken to.
type kubectl interface {
	KubectlIO(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) error
	Kubeconfig() string
}

func (s *suite) makeNamespace() {
	s.Helper()
	var err error
	s.namespace, err = framework.NewNamespace(s.Context(), s.client)
	s.must(err)
}

// said is what a call of kubectl brought.
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
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for {
		var stdout, stderr bytes.Buffer
		failure := s.kubectl.KubectlIO(ctx, strings.NewReader(stdin), &stdout, &stderr, append([]string{"-n", s.namespace}, args...)...)
		// Without a resource version kubectl replace takes the one that it reads first, and the operator may write in between.
		raced := failure != nil && args[0] == "replace" && !strings.Contains(stdin, "resourceVersion") && strings.Contains(stderr.String(), "has been modified")
		if !raced {
			return said{stdout.String(), stderr.String(), failure}
		}
	}
}

// run is try where a failure ends the test.
func (s *suite) run(args ...string) string {
	s.Helper()
	answer := s.try(args...)
	if answer.failure != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), answer.failure, answer.err)
	}
	return answer.out
}

// apply applies a manifest and returns kubectl's output and warnings.
func (s *suite) apply(manifest string, more ...string) said {
	s.Helper()
	answer := s.try(append(append([]string{"apply", "-f", "-"}, more...), "--", manifest)...)
	if answer.failure != nil {
		s.Fatalf("apply: %v\n%s\nof\n%s", answer.failure, answer.err, manifest)
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
	s.expect(answer.err, wanted...)
}

// expect wants every piece in a text.
func (s *suite) expect(text string, wanted ...string) {
	s.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			s.Errorf("expected %q in:\n%s", w, text)
		}
	}
}

// eventually waits until ask returns nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	if err := framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }); err != nil {
		s.Fatal(err)
	}
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// get reads an object by name into obj.
func (s *suite) get(name string, obj client.Object) error {
	return s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, obj)
}
