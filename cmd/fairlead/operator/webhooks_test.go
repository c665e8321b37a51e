// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

func TestEveryKindHasItsWebhooksAtV1AndOnePathConverts(t *testing.T) {
	byPath := (&assembly{kinds: allKinds(), config: options.Default()}).handlers(reviews{}, func(conversion.Failure) {})
	want := []string{
		"/convert",
		"/mutate-autoreboot-fairlead-dev-v1-clusterrebootpolicy",
		"/mutate-autoreboot-fairlead-dev-v1-rebootpolicy", "/mutate-chaos-fairlead-dev-v1-chaospod", "/mutate-networking-fairlead-dev-v1-externalservice",
		"/validate-autoreboot-fairlead-dev-v1-clusterrebootpolicy",
		"/validate-autoreboot-fairlead-dev-v1-rebootpolicy", "/validate-chaos-fairlead-dev-v1-chaospod", "/validate-networking-fairlead-dev-v1-externalservice",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(byPath))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConversionAnswersForEveryKindWithoutAnyCacheOrClient(t *testing.T) {
	byPath := (&assembly{kinds: allKinds(), config: options.Default()}).handlers(reviews{}, func(conversion.Failure) {})
	for group, kind := range map[string]string{"networking": "ExternalService", "autoreboot": "RebootPolicy", "chaos": "ChaosPod"} {
		group += ".fairlead.dev"
		review := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"%s/v1",
			"objects":[{"apiVersion":"%s/v1alpha1","kind":"%s","metadata":{"name":"a","namespace":"b"},"spec":{}}]}}`, group, group, kind)
		request := httptest.NewRequest("POST", "/convert", strings.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		byPath["/convert"].ServeHTTP(w, request)
		var answer struct {
			Response struct {
				Result           metav1.Status
				ConvertedObjects []struct{ APIVersion, Kind string }
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if w.Code != http.StatusOK || answer.Response.Result.Status != "Success" || len(answer.Response.ConvertedObjects) != 1 ||
			answer.Response.ConvertedObjects[0].APIVersion != group+"/v1" {
			t.Errorf("%s: %d %s", kind, w.Code, w.Body)
		}
	}
}

// An object with a finalizer that no reconciler looks at could not be deleted.
func TestANewObjectGetsTheFinalizerWhereEveryNamespaceIsReconciled(t *testing.T) {
	const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","namespace":"shop","name":"a",
		"kind":{"group":"networking.fairlead.dev","version":"v1","kind":"ExternalService"},
		"object":{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"namespace":"shop","name":"a"},
		"spec":{"ports":[{"name":"sql","port":5432}],"endpoints":[{"name":"b","dns":{"name":"db.example.com"}}]}}}}`
	for name, test := range map[string]struct {
		change    func(*options.Configuration)
		finalizes bool
	}{
		"by default":            {func(*options.Configuration) {}, true},
		"some namespaces":       {func(c *options.Configuration) { c.Namespaces = []string{"shop"} }, false},
		"others that reconcile": {func(c *options.Configuration) { c.Controllers.Enabled = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := options.Default()
			test.change(c)
			consulted := allowingAll()
			consulted.finalize = c.ReconcilesEveryNamespace()
			byPath := (&assembly{kinds: allKinds(), config: c}).handlers(consulted, func(conversion.Failure) {})
			request := httptest.NewRequest("POST", "/mutate-networking-fairlead-dev-v1-externalservice", strings.NewReader(review))
			request.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			byPath[request.URL.Path].ServeHTTP(w, request)
			var answer struct {
				Response struct {
					Allowed bool
					Patch   []byte
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || !answer.Response.Allowed {
				t.Fatalf("%v: %s", err, w.Body)
			}
			const added = `{"op":"add","path":"/metadata/finalizers","value":["networking.fairlead.dev/unpublish"]}`
			if got := strings.Contains(string(answer.Response.Patch), added); got != test.finalizes {
				t.Errorf("the patch is %s", answer.Response.Patch)
			}
		})
	}
}

// Approvals count only where the webhooks have looked.
func TestThePolicyKnowsTheNamespacesThatTheWebhooksAreNotCalledFor(t *testing.T) {
	for _, file := range []string{"mutating.yaml", "validating.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "webhook", file))
		if err != nil {
			t.Fatal(err)
		}
		options, err := egressOptions(options.Default().Egress, identity{namespace: "fairlead-system"})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var manifest struct {
				Webhooks []struct {
					Name              string
					NamespaceSelector metav1.LabelSelector
				}
			}
			if err := yaml.Unmarshal(document, &manifest); err != nil {
				t.Fatal(err)
			}
			for _, webhook := range manifest.Webhooks {
				found++
				if selector := webhook.NamespaceSelector.MatchExpressions; len(selector) != 1 || !slices.Equal(selector[0].Values, options.WebhookExemptNamespaces) {
					t.Errorf("%s: not called for %+v, and the policy distrusts %q", webhook.Name, selector, options.WebhookExemptNamespaces)
				}
			}
		}
		if found != len(allKinds()) {
			t.Errorf("%s holds %d webhooks", file, found)
		}
	}
}
