// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestTheDefaultManifestsPassAServersDryRun(t *testing.T) {
	t.Parallel()
	s := newBareSuite(t)
	rendered := s.run("kustomize", framework.Root+"/config/default")
	// A dry run makes no namespace for what comes after it.
	s.run("create", "namespace", framework.Namespace)
	s.Namespace = framework.Namespace
	out := s.run("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", "--", rendered)
	s.Expect(out, "deployment.apps/fairlead-manager", "service/fairlead-webhook", "serviceaccount/fairlead-manager",
		"mutatingwebhookconfiguration.admissionregistration.k8s.io/fairlead-chaospod", "customresourcedefinition.apiextensions.k8s.io/chaospods.chaos.fairlead.dev")
	if objects := len(s.Objects(rendered)); strings.Count(out, "serverside-applied (server dry run)") != objects {
		t.Errorf("%d objects were rendered; the API server took\n%s", objects, out)
	}
}

// registered are the webhooks of all configurations, as they are shipped and as they stand in
// the cluster.
func (s *suite) registered(t *testing.T) []map[string]any {
	t.Helper()
	var hooks []map[string]any
	add := func(objects []*unstructured.Unstructured) {
		for _, object := range objects {
			list, _, err := unstructured.NestedSlice(object.Object, "webhooks")
			s.Must(err)
			for _, hook := range list {
				hooks = append(hooks, hook.(map[string]any))
			}
		}
	}
	add(s.Objects(s.run("kustomize", framework.Root+"/config/webhook")))
	for _, name := range framework.WebhookConfigurations {
		add(s.Objects(s.run("get", "mutatingwebhookconfiguration", name, "-o", "json")))
		add(s.Objects(s.run("get", "validatingwebhookconfiguration", name, "-o", "json")))
	}
	if len(hooks) != 16 {
		t.Fatalf("%d webhooks are shipped and registered, want 2 for each kind, twice", len(hooks))
	}
	return hooks
}

func TestEveryWebhookFailsClosedAndNeverLocksTheClusterUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, hook := range s.registered(t) {
		name := hook["name"].(string)
		for key, want := range map[string]string{
			"matchPolicy": "Equivalent", "failurePolicy": "Fail", "sideEffects": "None",
		} {
			if hook[key] != want {
				t.Errorf("%s: %s is %v, want %s", name, key, hook[key], want)
			}
		}
		if timeout, ok := hook["timeoutSeconds"].(int64); !ok || timeout < 1 || timeout > 10 {
			t.Errorf("%s: timeoutSeconds is %v, want 1 to 10", name, hook["timeoutSeconds"])
		}
		scope := `"Namespaced"`
		if strings.HasPrefix(name, "clusterrebootpolicy.") {
			scope = `"Cluster"`
		}
		s.Expect(framework.Text(hook["namespaceSelector"]), `"kubernetes.io/metadata.name"`, `"NotIn"`, `"kube-system"`, `"`+framework.Namespace+`"`)
		for _, rule := range hook["rules"].([]any) {
			rule := rule.(map[string]any)
			if framework.Text(rule["apiVersions"]) != `["v1"]` || framework.Text(rule["operations"]) != `["CREATE","UPDATE"]` || framework.Text(rule["scope"]) != scope {
				t.Errorf("%s: rule %s", name, framework.Text(rule))
			}
			for _, resource := range rule["resources"].([]any) {
				if !slices.ContainsFunc(kinds, func(k kind) bool {
					return (k.resource == resource || "cluster"+k.resource == resource) && framework.Text(rule["apiGroups"]) == framework.Text([]string{k.group})
				}) {
					t.Errorf("%s: rule on %s of %s", name, resource, framework.Text(rule["apiGroups"]))
				}
			}
		}
	}
}

func TestTheServerServesTheRegisteredPathsAndNoOthers(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	paths := map[string]bool{"/convert": true}
	for _, hook := range s.registered(t) {
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		s.Must(err)
		paths[path] = true
	}
	if len(paths) != 9 {
		t.Errorf("registered paths: %v", paths)
	}
	for _, k := range kinds {
		path := s.run("get", "crd", k.definition(), "-o", "jsonpath={.spec.conversion.webhook.clientConfig.service.path}")
		if path != "/convert" {
			t.Errorf("%s is converted at %q", k.name, path)
		}
	}
	for _, replica := range s.Running() {
		for path := range paths {
			if code, _ := s.post(replica, path, ""); code != http.StatusBadRequest {
				t.Errorf("%s: an empty POST to %s is answered with %d, want 400", replica.ID, path, code)
			}
			for _, other := range []string{path + "/", strings.Replace(path, "-v1-", "-v1alpha1-", 1), strings.ToUpper(path)} {
				if code, _ := s.post(replica, other, ""); other != path && code != http.StatusNotFound {
					t.Errorf("%s: %s is answered with %d, want 404", replica.ID, other, code)
				}
			}
		}
	}
}

// post sends a body to a replica's webhook server, as an API server does, and returns the status code and the answer. Who
// serves is not the question here, so the certificate is not verified.
func (s *suite) post(replica *framework.Replica, path, body string) (int, string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+replica.Webhook+path, strings.NewReader(body))
	s.Must(err)
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	s.Must(err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	s.Must(err)
	return response.StatusCode, string(answer)
}
