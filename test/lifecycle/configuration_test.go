// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAFileConfiguresAndAFlagOverridesIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	file := s.File("fairlead.yaml", `
apiVersion: config.fairlead.dev/v1alpha1
kind: FairleadConfiguration
webhook:
  tls: {minVersion: VersionTLS12}
leaderElection:
  resourceName: from-file
logging:
  format: text
  level: debug
`)
	r := s.start("--config="+file, "--set=leaderElection.resourceName="+leaseName, "--log-level=info")
	r.reconciles()
	conn, err := tls.Dial("tcp", r.Webhook, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err != nil {
		t.Errorf("the file's webhook.tls.minVersion has no effect: %v", err)
	} else {
		s.Must(conn.Close())
	}
	text, err := r.Logs()
	s.Must(err)
	s.Expect(text, `level=info msg="start: phase done"`)
	if strings.Contains(text, "level=debug") {
		t.Error("--log-level does not override the file")
	}
	if holder := s.lease().Spec.HolderIdentity; holder == nil || *holder != r.ID {
		t.Errorf("--set does not override the file: the Lease is held by %v", holder)
	}
	if _, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(t.Context(), "from-file", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the file's Lease was made although a flag named another: %v", err)
	}
}

func TestOnlyTheGivenNamespacesAreReconciledWhileWebhooksServeAll(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	watched, second, other := s.NewNamespace(), s.NewNamespace(), s.NewNamespace()
	r := s.start("--set=namespaces=" + watched + "," + second)
	r.reconciles()
	s.create(other, "not-watched") // through admission and conversion
	for _, namespace := range []string{watched, second} {
		s.create(namespace, "one")
		s.reconciled(namespace, "one")
	}
	object, err := s.Dynamic.Resource(services).Namespace(other).Get(t.Context(), "not-watched", metav1.GetOptions{})
	s.Must(err)
	if ready(object) {
		t.Error("an object outside the given namespaces is Ready")
	}
	if policy, _ := object.Object["spec"].(map[string]any)["deletionPolicy"].(string); policy != "Delete" {
		t.Errorf("an object outside the given namespaces was not defaulted: deletionPolicy %q", policy)
	}
	if _, err := s.Kube.CoreV1().Services(other).Get(t.Context(), "not-watched", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object outside the given namespaces has a Service: %v", err)
	}
}

func TestMetricsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start("--metrics-bind-address=0")
	r.reconciles()
	if code, _, err := r.scrape("/metrics", ""); err == nil {
		t.Errorf("metrics are answered with %d", code)
	}
}

func TestProfilesAreOptIn(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Kubectl("create", "clusterrole", "profiler", "--verb=get", "--non-resource-url=/debug/pprof/*")
	profiler := s.token("profiler", "profiler")

	r := s.start()
	r.reconciles()
	s.Eventually(r.scrapable)
	if code, body, err := r.scrape("/debug/pprof/heap", profiler); err != nil || code != http.StatusNotFound {
		t.Errorf("by default profiles are answered %d %.100s, %v", code, body, err)
	}
	r.Stop()

	port, err := loopback.FreePort()
	s.Must(err)
	r = s.start("--set=profiling.onMetrics=true", fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", port))
	r.reconciles()
	s.Eventually(r.scrapable)
	for token, want := range map[string]int{profiler: http.StatusOK, s.scraper(): http.StatusForbidden, "": http.StatusUnauthorized} {
		if code, _, err := r.scrape("/debug/pprof/heap", token); err != nil || code != want {
			t.Errorf("profiles are answered %d, %v; want %d", code, err, want)
		}
	}
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/cmdline", port))
	s.Must(err)
	s.Must(response.Body.Close())
	if response.StatusCode != http.StatusOK {
		t.Errorf("on loopback profiles are answered %s", response.Status)
	}
}

func TestHelpListsTheFlagsAndVersionAnswers(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		var out, problems bytes.Buffer
		command := exec.CommandContext(t.Context(), filepath.Join(framework.Root, "bin", "fairlead"), args...)
		command.Stdout, command.Stderr = &out, &problems
		if err := command.Run(); err != nil || problems.Len() > 0 {
			t.Fatalf("fairlead %s: %v %s", strings.Join(args, " "), err, problems.String())
		}
		return out.String()
	}
	for text, wanted := range map[string][]string{
		run("manager", "--help"): {"--leader-elect", "--config", "--set FIELD=VALUE"},
		run("--help"):            {"manager", "version"},
		run("version"):           {"fairlead "},
	} {
		if err := framework.Holds(text, wanted...); err != nil {
			t.Error(err)
		}
	}
}
