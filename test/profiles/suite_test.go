// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// watched is the namespace that every profile works in, and other is one that no one names.
const watched, other = "shop", "bank"

var tests = framework.NewTests(2) // a control plane takes a processor

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

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
	config, err := filepath.Abs(filepath.Join(framework.Root, "config"))
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
			names: [%[1]s], arguments: {namespaces: "--set=namespaces=%[1]s", clusterCIDRs: "--set=egress.clusterCIDRs=10.0.0.0/8,127.0.0.0/8"}}`, works)
		rights := filepath.Join("..", config, "namespaced", "rights")
		if p.has("namespaced/watch-secrets") {
			rights += ", " + filepath.Join("..", config, "namespaced", "watch-secrets", "rights")
		}
		files[works+"/kustomization.yaml"] = fmt.Sprintf("{namespace: %s, resources: [%s]}\n", works, rights)
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
	framework.Test
	profile  profile
	mapper   meta.RESTMapper
	replicas []*framework.Replica
	seen     int // requests that exist has looked at
}

// newSuite installs the profile and runs the operator as its Deployments would.
func newSuite(t *testing.T, p profile) *suite {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = p.overlay(folder)
	}
	if err != nil {
		t.Fatal(err)
	}
	audit, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := tests.OpenFor(t, framework.Options{Overlay: folder, Cluster: cluster.Options{Nodes: 2, AuditPolicy: audit}})
	s := &suite{Test: framework.Test{T: t, Cluster: own, Namespace: watched}, profile: p}
	s.discover()
	if p.layout == "split" {
		user, err := s.ServiceAccount(framework.Namespace, "fairlead-webhook")
		s.Must(err)
		s.serve(append(s.arguments("fairlead-webhook"), "--kubeconfig="+user.Kubeconfig)...)
		reconciler, err := s.Launch(s.Context(), s.arguments("fairlead-manager")...)
		s.Must(err)
		s.replicas = append(s.replicas, reconciler)
	} else {
		s.serve(s.arguments("fairlead-manager")...)
	}
	if p.has("namespaced/without-cluster-role") {
		s.publish()
	}
	s.Eventually(s.reachable)
	return s
}

// discover looks up which kinds the API server has now.
func (s *suite) discover() {
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Kube.Discovery()))
}

func (s *suite) serve(args ...string) {
	s.Helper()
	replica, err := s.StartReplica(s.Context(), args...)
	s.Must(err)
	s.replicas = append(s.replicas, replica)
}

// arguments are those of a Deployment in the cluster, with its configuration file on this host.
func (s *suite) arguments(name string) []string {
	s.Helper()
	var d appsv1.Deployment
	namespace, prefix, _ := s.profile.names()
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: prefix + name}, &d))
	pod := d.Spec.Template.Spec
	if pod.ServiceAccountName != prefix+name {
		s.Fatalf("Deployment %s runs as %s", d.Name, pod.ServiceAccountName)
	}
	args := pod.Containers[0].Args
	if want := []string{"manager", "--config=/etc/fairlead/config.yaml"}; len(args) < 2 || !slices.Equal(args[:2], want) {
		s.Fatalf("arguments %q do not begin with %q", args, want)
	}
	var c corev1.ConfigMap
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: pod.Volumes[0].ConfigMap.Name}, &c))
	file := s.File("config.yaml", c.Data["config.yaml"])
	return append(append([]string{"--config=" + file}, args[2:]...), "--set=rebootPolicies.sourcesPollInterval=1s")
}

// publish copies the authority to where API servers look for it, as docs/guides/install-scope.md tells an administrator.
func (s *suite) publish() {
	s.Helper()
	bundle := s.Kubectl("-n", framework.Namespace, "get", "secret", "fairlead-webhook-ca", "-o", `jsonpath={.data.ca\.crt}`)
	patch := func(path string) string { return fmt.Sprintf(`{"op": "add", "path": %q, "value": %q}`, path, bundle) }
	s.Kubectl(append([]string{"patch", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--type=json",
		"-p", "[" + patch("/webhooks/0/clientConfig/caBundle") + "]"}, framework.WebhookConfigurations...)...)
	for _, crd := range framework.Definitions {
		if !s.profile.has("v1-only") {
			s.Kubectl("patch", "crd", crd, "--type=json", "-p", "["+patch("/spec/conversion/webhook/clientConfig/caBundle")+"]")
		}
	}
}

// reachable is nil once the API server reaches the webhooks for each kind of the profile.
func (s *suite) reachable() error {
	for kind, manifest := range map[string]string{
		"externalservice": "{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: r}, spec: {" + database + "}}",
		"rebootpolicy":    "{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: r}, spec: {" + restarts + "}}",
		"chaospod":        "{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: r}, spec: {" + kills + "}}",
	} {
		if s.profile.has("without/" + kind) {
			continue
		}
		if _, _, err := s.Try(manifest, "create", "--dry-run=server", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

// shows waits until a field of an object has a value. The object is as kubectl takes it.
func (s *suite) shows(want, path string, object ...string) {
	s.Helper()
	field := jsonpath.New(path).AllowMissingKeys(true)
	s.Must(field.Parse(path))
	s.Eventually(func() error {
		content, err := s.read(object...)
		if err != nil {
			return err
		}
		var got strings.Builder
		if err := field.Execute(&got, content); err != nil {
			return err
		}
		if got.String() != want {
			return fmt.Errorf("%s of %q is %q, want %q:\n%s", path, object, got.String(), want, framework.Text(content))
		}
		return nil
	})
}

// gone waits until none of the objects is there.
func (s *suite) gone(objects ...string) {
	s.Helper()
	for _, object := range objects {
		s.Eventually(func() error {
			_, err := s.read(object)
			if err == nil {
				err = fmt.Errorf("%s is still there", object)
			}
			return client.IgnoreNotFound(err)
		})
	}
}

// read returns an object, or the list that a label selects. Of what a profile takes, half was kubectl that asked again.
func (s *suite) read(object ...string) (map[string]any, error) {
	kind, name, _ := strings.Cut(object[0], "/")
	if len(object) > 1 {
		name = object[1]
	}
	resource, group := schema.ParseResourceArg(kind)
	if resource == nil {
		found, err := s.mapper.ResourceFor(group.WithVersion(""))
		if err != nil {
			return nil, err
		}
		resource = &found
	}
	objects := s.Dynamic.Resource(*resource).Namespace(s.Namespace)
	if selector, selects := strings.CutPrefix(name, "--selector="); selects {
		list, err := objects.List(s.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		return list.UnstructuredContent(), nil
	}
	found, err := objects.Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return found.Object, nil
}
