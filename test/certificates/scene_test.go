// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// patience is how long a condition may take. The machine may be a busy one.
	patience = 3 * time.Minute

	serverName  = "fairlead-webhook.fairlead-system.svc"
	serving     = "fairlead-webhook"
	servingKey  = "fairlead-webhook-tls"
	trustSecret = "fairlead-webhook-trust"
	issuing     = "--webhook-certificates=certManager"
	injectFrom  = "cert-manager.io/inject-ca-from-secret"
)

var (
	certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	crds         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	mutating     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// scene is one test on a stage of its own: what cert-manager has made must belong to no other test.
type scene struct {
	*testing.T
	*framework.Cluster
	kube   kubernetes.Interface
	client dynamic.Interface
}

func newScene(t *testing.T) *scene {
	t.Helper()
	folder := filepath.Join(logs, t.Name())
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	opened, err := framework.Open(suite, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{LogFolder: folder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &scene{T: t, Cluster: opened}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	s.must(err)
	config.QPS = -1
	s.kube, err = kubernetes.NewForConfig(config)
	s.must(err)
	s.client, err = dynamic.NewForConfig(config)
	s.must(err)
	return s
}

// start runs replicas behind the Service, and returns when the API server reaches them. No Lease is
// lost because the machine is busy.
func (s *scene) start(count int, args ...string) []*framework.Replica {
	s.Helper()
	// Some leave under load, and close what has been silent for as long as the drain delay: on a busy
	// machine half a second of silence means nothing.
	patient := []string{"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s", "--webhook-drain-delay=2s"}
	var all []*framework.Replica
	for range count {
		r, err := s.StartReplica(s.Context(), append(patient, args...)...)
		s.must(err)
		all = append(all, r)
	}
	s.must(s.Reachable(s.Context()))
	return all
}

// must ends the test on an error.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until ask returns nil.
func (s *scene) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

// kubectl runs it as the administrator; a failure ends the test.
func (s *scene) kubectl(args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	out, err := s.Kubectl(ctx, args...)
	s.must(err)
	return out
}

// apply applies manifests as the administrator.
func (s *scene) apply(manifests string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	var out, problems strings.Builder
	if err := s.KubectlIO(ctx, strings.NewReader(manifests), &out, &problems, "apply", "--server-side", "-f", "-"); err != nil {
		s.Fatalf("apply: %v: %s", err, problems.String())
	}
}

// fails waits for a replica that was launched to end by itself with all of the texts in its log.
func (s *scene) fails(r *framework.Replica, texts ...string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if err := r.Wait(ctx); err == nil || ctx.Err() != nil {
		s.Fatalf("%s has not failed: %v", r.ID, err)
	}
	lines, err := r.Logs()
	s.must(err)
	for _, text := range texts {
		if !strings.Contains(lines, text) {
			s.Errorf("%q is not in the log of %s:\n%s", text, r.ID, lines)
		}
	}
}
