// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAnAPIServerThatIsNotThereEndsTheStartInItsTimeWithTheAddress(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	closed, err := loopback.FreePort()
	s.Must(err)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, by its backlog, and never answers
	s.Must(err)
	defer func() { _ = silent.Close() }()
	for name, test := range map[string]struct{ server, says string }{
		"connection refused":            {fmt.Sprintf("https://127.0.0.1:%d", closed), "connection refused"},
		"it never answers":              {"https://" + silent.Addr().String(), "does not answer"},
		"it never answers, without TLS": {"http://" + silent.Addr().String(), "does not answer"},
		"its name is not known":         {"https://api.invalid:6443", "api.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			began := time.Now()
			kubeconfig := s.writeKubeconfig(test.server)
			code, output := s.launch("--set=clientConnection.startTimeout=2s", "--kubeconfig="+kubeconfig).ends(framework.Patience)
			s.complains(code, output, test.server, kubeconfig, test.says, "tried for 2s", "clientConnection.startTimeout")
			if took := time.Since(began); took > 30*time.Second { // the default is a minute
				t.Errorf("it took %s to give up after 2 s", took)
			}
		})
	}
}

func TestAWaitingReplicaIsAliveAndNotReadyAndSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	g := s.newGateway()
	everything := func(*http.Request) bool { return true }
	g.Cut(everything)
	r := s.launch("--kubeconfig="+g.Kubeconfig, "--leader-elect=false")
	s.Eventually(func() error {
		status, err := r.status()
		if err != nil {
			return err
		}
		return framework.Holds(status.Phases[0].Detail, "does not answer")
	})
	if _, err := r.Probe(t.Context(), "/healthz"); err != nil {
		t.Errorf("a replica that waits is not alive: %v", err)
	}
	if _, err := r.Probe(t.Context(), "/readyz"); err == nil {
		t.Error("a replica that waits is ready")
	}
	// Calls that the first bundle has not reached fail, and the replica is ready without it after a while: the others are
	// served.
	s.Kubectl("patch", "crd", framework.Definitions[0], "--type=merge", "-p", `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":null}}}}}`)
	g.Hold(func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/customresourcedefinitions/")
	})
	g.Cut(func(*http.Request) bool { return false })
	var unready error
	s.Eventually(func() error {
		_, unready = r.Probe(t.Context(), "/readyz")
		if unready == nil {
			return nil
		}
		return framework.Holds(unready.Error(), "is being published")
	})
	if unready == nil {
		t.Error("a replica is ready before its CA bundle is published")
	}
	r.degraded(framework.Definitions[0])
	g.Resume()
	r.whole()
	r.reconciles()
}

func TestAnAPIServerThatComesUpLateIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	server := s.Component(cluster.APIServer)
	server.Stop()
	r := s.launch("--set=clientConnection.startTimeout=3m")
	s.Eventually(func() error {
		status, err := r.status()
		if err != nil {
			return err
		}
		return framework.Holds(status.Phases[0].Detail, "connection refused")
	})
	s.Must(server.Start(t.Context()))
	r.reconciles()
	s.Must(r.converts())
}

// It is away for less than the Lease lasts.
func TestARestartOfTheAPIServerIsSurvived(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r := s.start()
	r.reconciles()
	s.Must(s.Component(cluster.APIServer).Restart(t.Context()))
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	if r.PID() == 0 {
		t.Error("the process has ended")
	}
}

func TestMissingPermissionsAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	stranger, err := s.ServiceAccount(framework.Namespace, "stranger")
	s.Must(err)
	s.launch(impatient, "--kubeconfig="+stranger.Kubeconfig).reachesLate("certificates", "fairlead-system/fairlead-webhook-ca", "may not", "config/rbac", "forbidden")

	// With a certificate from elsewhere it gets as far as the caches.
	folder := s.folder(s.issue(time.Hour).files())
	s.launch("--kubeconfig="+stranger.Kubeconfig, "--set=controllers.cacheSyncTimeout=2s", "--set=webhook.certificates.source=folder",
		"--set=webhook.certificates.folder="+folder, "--set=webhook.certificates.injectCA=false").
		reachesLate("caches", "fairlead.dev", "may the service account list it", "not synced within 2s")
}

func TestMissingCRDsAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	bare, err := cluster.Start(tests.Context, cluster.Options{
		Build: cluster.BuildOptions{Root: framework.Root}, WithoutControllerManager: true,
	})
	s.Must(err)
	defer func() { s.Must(bare.Stop()) }()
	_, err = bare.Kubectl(t.Context(), "create", "namespace", framework.Namespace)
	s.Must(err)

	s.launch(impatient, "--kubeconfig="+bare.Kubeconfig()).
		reachesLate("ca-published", append(slices.Concat(framework.Definitions, framework.WebhookConfigurations), "make install")...)

	// A replica that came first finds them when they come.
	r := s.launch("--kubeconfig="+bare.Kubeconfig(), "--leader-elect=false", "--set=webhook.certificates.injectCA=false")
	s.Eventually(func() error {
		status, err := r.status()
		if err != nil {
			return err
		}
		return framework.Holds(status.Phases[4].Detail, "does not serve", "install its CRD")
	})
	_, err = bare.Kubectl(t.Context(), "apply", "--server-side", "-f", filepath.Join(framework.Root, "config", "crd", "bases"))
	s.Must(err)
	r.reconciles()
}
