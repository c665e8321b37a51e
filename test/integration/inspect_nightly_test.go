// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// kubectl asks a program beside the plugin, which docs/guides/convert.md shows.
func TestKubectlCompletesTheNamesOfObjects(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}]}`))
	s.apply(rebootPolicies.object("v1", "web", `{targets: [{kind: Deployment, name: absent}]}`))
	programs := t.TempDir()
	s.Must(os.Symlink(s.program(), filepath.Join(programs, "kubectl-fairlead")))
	guide, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", "convert.md"))
	s.Must(err)
	script := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n.*?)```").FindSubmatch(guide)
	s.Must(os.WriteFile(filepath.Join(programs, "kubectl_complete-fairlead"), script[1], 0o700))
	for word, want := range map[string]string{"rebootpolicy/": "rebootpolicy/api\nrebootpolicy/web\n", "rbp/w": "rbp/web\n", "": "rebootpolicy/\n"} {
		command := exec.CommandContext(s.Context(), s.KubectlPath(), "__complete", "fairlead", "restart", "-n", s.Namespace, word)
		command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "PATH="+programs+":"+os.Getenv("PATH"))
		if printed, err := command.Output(); err != nil || !strings.HasPrefix(string(printed), want) {
			s.Errorf("%q completes to %q, %v", word, printed, err)
		}
	}
}

func TestWhatPublishPrintsIsTakenByTheAPIServer(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, args := range [][]string{
		{"192.0.2.1:5432", "192.0.2.2:5432", "--name=db"}, {"api.example.com:443", "--check=https", "--path=/healthz"}, {"a.example.com:50051", "--check=grpc"},
	} {
		manifest, err := exec.CommandContext(s.Context(), s.program(), append([]string{"publish", "-n", s.Namespace}, args...)...).Output()
		s.Must(err)
		if answer := s.apply(string(manifest)); !strings.Contains(answer.out, "created") || answer.err != "" {
			s.Errorf("%q: %s%s", args, answer.out, answer.err)
		}
	}
}

// The pages are served as a user with all rights and as one who may read nothing of Fairlead.
func TestPagesShowWhatTheUserMayReadAndNameTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}]}`))
	s.run("wait", "--for=condition=Ready=False", "rebootpolicy/api", "--timeout=60s")
	page, end := s.pages(s.Kubeconfig())
	s.Expect(s.page(page+"?object=RebootPolicy/"+s.Namespace+"/api"), "<b>db</b>", "Why RebootPolicy "+s.Namespace+"/api is Failed", "Create the workload, or correct spec.targets.")
	s.apply(externalServices.object("v1", "late", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.Eventually(func() error { // by the watch
		if shown := s.page(page); !strings.Contains(shown, "<b>late</b>") {
			return errors.New(shown)
		}
		return nil
	})
	end()

	reader, err := s.User("reader-of-" + s.Namespace)
	s.Must(err)
	page, end = s.pages(reader.Kubeconfig)
	shown := s.page(page + "?object=ExternalService/" + s.Namespace + "/db")
	s.Expect(shown, "grant list and watch on externalservices.networking.fairlead.dev in namespace "+s.Namespace, "Nothing can be shown")
	if strings.Contains(shown, "<b>db</b>") {
		s.Errorf("shown without the right: %s", shown)
	}
	end()
}

// A user who watches gets each change, without a request of their own.
func TestStatusIsWatched(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.run("wait", "--for=condition=Ready", "externalservice/db", "--timeout=60s")
	bounded, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	command := exec.CommandContext(bounded, s.program(), "status", "--watch", "-n", s.Namespace, "--kubeconfig", s.Kubeconfig())
	stdout, err := command.StdoutPipe()
	s.Must(err)
	s.Must(command.Start())
	printed := bufio.NewScanner(stdout)
	until := func(words string) {
		s.Helper()
		for printed.Scan() {
			if strings.Contains(printed.Text(), words) {
				return
			}
		}
		s.Fatalf("ended without %q: %v", words, printed.Err())
	}
	until("ExternalService/db   Healthy")
	s.Merge("networking.fairlead.dev/v1", "ExternalService", "db", `{"spec": {"suspend": true}}`)
	until("Z  ExternalService/db  Suspended")
	s.run("delete", "externalservice", "db")
	until("ExternalService/db  gone; it was ")
	s.Must(command.Process.Signal(os.Interrupt))
	s.Must(command.Wait())
	if code, _, stderr := s.fairlead(s.Kubeconfig(), "status", "--watch", "-o", "json"); code != 2 || !strings.Contains(stderr, "--watch shows lines, and not json") {
		s.Errorf("%d: %s", code, stderr)
	}
}
