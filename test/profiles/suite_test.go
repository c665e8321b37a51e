// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// root is the checkout.
	root = "../.."
	// patience is how long anything may take on a busy machine.
	patience = 3 * time.Minute
	// watched is the namespace that every profile works in, and other is one that no one names.
	watched, other = "shop", "bank"
)

var suiteContext, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

// A control plane takes a processor.
func TestMain(m *testing.M) {
	os.Exit(framework.Main(m, 2, func() error { closing(); return nil }))
}

// profile is a way to install.
type profile struct {
	layout     string   // default or split
	components []string // of config
	namespaced bool     // with config/namespaced, for the namespace watched
	second     bool     // a second operator in the cluster, of other names, for the namespace other
}

// names of the operator: its namespace, what its objects' names begin with, and the namespace that it works in.
func (p profile) names() (namespace, prefix, works string) {
	if p.second {
		return "team-system", "team-", other
	}
	return framework.Namespace, "", watched
}

func (p profile) has(component string) bool { return slices.Contains(p.components, component) }

// overlay writes the kustomization of the profile to a folder.
func (p profile) overlay(folder string) error {
	config, err := filepath.Abs(filepath.Join(root, "config"))
	if err != nil {
		return err
	}
	if config, err = filepath.Rel(folder, config); err != nil {
		return err
	}
	namespace, prefix, works := p.names()
	resources, components := []string{"operator", "users.yaml"}, []string{}
	files := map[string]string{
		"users.yaml":                  fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", watched, other),
		"operator/kustomization.yaml": fmt.Sprintf("{namespace: %s, resources: [%s]}\n", namespace, filepath.Join("..", config, p.layout)),
	}
	if p.namespaced {
		resources, components = append(resources, "namespaces.yaml", works), append(components, filepath.Join(config, "namespaced"))
		files["namespaces.yaml"] = fmt.Sprintf(`{apiVersion: kustomize.fairlead.dev/v1, kind: Namespaces, metadata: {name: fairlead, annotations: {config.kubernetes.io/local-config: "true"}},
			names: [%[1]s], arguments: {namespaces: "--namespaces=%[1]s", clusterCIDRs: "--cluster-cidrs=10.0.0.0/8,127.0.0.0/8"}}`, works)
		files[works+"/kustomization.yaml"] = fmt.Sprintf("{namespace: %s, resources: [%s]}\n", works, filepath.Join("..", config, "namespaced", "rights"))
	}
	for _, component := range p.components {
		components = append(components, filepath.Join(config, component))
	}
	files["kustomization.yaml"] = fmt.Sprintf("namePrefix: %q\nresources: [%s]\ncomponents: [%s]\n", prefix, strings.Join(resources, ", "), strings.Join(components, ", "))
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// suite is a control plane with what a profile renders.
type suite struct {
	*testing.T
	*framework.Cluster
	profile  profile
	client   client.WithWatch
	replicas []*framework.Replica
}

// open installs the profile and runs the operator as its Deployments would.
func open(t *testing.T, p profile) *suite {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.overlay(folder); err != nil {
		t.Fatal(err)
	}
	audit, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{T: t, profile: p}
	s.Cluster, err = framework.Open(suiteContext, framework.Options{
		Root: root, Overlay: folder, Output: os.Stderr, Cluster: cluster.Options{Nodes: 2, AuditPolicy: audit},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.client, err = framework.NewClient(s.Kubeconfig())
	s.must(err)
	if p.layout == "split" {
		user, err := s.ServiceAccount(framework.Namespace, "fairlead-webhook")
		s.must(err)
		s.serve(append(s.arguments("fairlead-webhook"), "--kubeconfig="+user.Kubeconfig)...)
		reconciler, err := s.Launch(suiteContext, s.arguments("fairlead-manager")...)
		s.must(err)
		s.replicas = append(s.replicas, reconciler)
	} else {
		s.serve(s.arguments("fairlead-manager")...)
	}
	if p.has("namespaced/without-cluster-role") {
		s.publish()
	}
	s.eventually(s.reachable)
	return s
}

func (s *suite) serve(args ...string) {
	s.Helper()
	replica, err := s.StartReplica(suiteContext, args...)
	s.must(err)
	s.replicas = append(s.replicas, replica)
}

// arguments are those of a Deployment in the cluster, with its configuration file on this host.
func (s *suite) arguments(name string) []string {
	s.Helper()
	var d appsv1.Deployment
	namespace, prefix, _ := s.profile.names()
	s.must(s.client.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: prefix + name}, &d))
	pod := d.Spec.Template.Spec
	if pod.ServiceAccountName != prefix+name {
		s.Fatalf("Deployment %s runs as %s", d.Name, pod.ServiceAccountName)
	}
	args := pod.Containers[0].Args
	if want := []string{"manager", "--config=/etc/fairlead/config.yaml"}; len(args) < 2 || !slices.Equal(args[:2], want) {
		s.Fatalf("arguments %q do not begin with %q", args, want)
	}
	var c corev1.ConfigMap
	s.must(s.client.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: pod.Volumes[0].ConfigMap.Name}, &c))
	file := filepath.Join(s.TempDir(), "config.yaml")
	s.must(os.WriteFile(file, []byte(c.Data["config.yaml"]), 0o600))
	return append(append([]string{"--config=" + file}, args[2:]...), "--sources-poll-interval=1s")
}

// publish copies the authority to where API servers look for it, as docs/guides/namespaced.md tells an administrator.
func (s *suite) publish() {
	s.Helper()
	bundle := s.kubectl("-n", framework.Namespace, "get", "secret", "fairlead-webhook-ca", "-o", `jsonpath={.data.ca\.crt}`)
	patch := func(path string) string { return fmt.Sprintf(`{"op": "add", "path": %q, "value": %q}`, path, bundle) }
	var webhooks []string
	for i := range 3 {
		webhooks = append(webhooks, patch(fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i)))
	}
	for _, kind := range []string{"mutating", "validating"} {
		s.kubectl("patch", kind+"webhookconfiguration", "fairlead-"+kind, "--type=json", "-p", "["+strings.Join(webhooks, ",")+"]")
	}
	for _, crd := range definitions {
		if !s.profile.has("v1-only") {
			s.kubectl("patch", "crd", crd, "--type=json", "-p", "["+patch("/spec/conversion/webhook/clientConfig/caBundle")+"]")
		}
	}
}

var definitions = []string{"externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev", "chaospods.chaos.fairlead.dev"}

// reachable is nil once the API server reaches the webhooks for each kind.
func (s *suite) reachable() error {
	for _, manifest := range []string{
		"{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: r}, spec: {" + database + "}}",
		"{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: r}, spec: {" + restarts + "}}",
		"{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: r}, spec: {" + kills + "}}",
	} {
		if _, err := s.try(manifest, "create", "--dry-run=server"); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

func (s *suite) kubectl(args ...string) string {
	s.Helper()
	out, err := s.Kubectl(s.Context(), args...)
	s.must(err)
	return out
}

// try gives a manifest of the watched namespace to kubectl, and returns what it printed.
func (s *suite) try(manifest string, args ...string) (string, error) {
	var out, problems bytes.Buffer
	err := s.KubectlIO(s.Context(), strings.NewReader(manifest), &out, io.MultiWriter(&problems, &out), append([]string{"-n", watched, "-f", "-"}, args...)...)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problems.String())
	}
	return out.String(), err
}

func (s *suite) apply(manifest string) {
	s.Helper()
	_, err := s.try(manifest, "apply", "--server-side")
	s.must(err)
}

// shows waits until a field of an object has a value.
func (s *suite) shows(want, path string, object ...string) {
	s.Helper()
	s.eventually(func() error {
		got, err := s.Kubectl(s.Context(), append([]string{"-n", watched, "get", "-o", "jsonpath=" + path}, object...)...)
		if err == nil && got != want {
			all, _ := s.Kubectl(s.Context(), append([]string{"-n", watched, "get", "-o", "yaml"}, object...)...)
			err = fmt.Errorf("%s of %q is %q, want %q:\n%s", path, object, got, want, all)
		}
		return err
	})
}

// gone waits until none of the objects is there.
func (s *suite) gone(objects ...string) {
	s.Helper()
	for _, object := range objects {
		s.eventually(func() error {
			got, err := s.Kubectl(s.Context(), "-n", watched, "get", object, "--ignore-not-found", "-o", "name")
			if err == nil && got != "" {
				err = fmt.Errorf("%s is still there", object)
			}
			return err
		})
	}
}

// file holds a manifest.
func (s *suite) file(manifest string) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), "manifest.yaml")
	s.must(os.WriteFile(path, []byte(manifest), 0o600))
	return path
}
