// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
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

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

func TestEveryKindHasItsWebhooksAtV1AndOnePathConverts(t *testing.T) {
	byPath := handlers(options.Default().Webhook, reviews{}, func(conversion.Failure) {}, nil, logr.Discard())
	want := []string{
		"/convert",
		"/mutate-autoreboot-fairlead-dev-v1-rebootpolicy", "/mutate-chaos-fairlead-dev-v1-chaospod", "/mutate-networking-fairlead-dev-v1-externalservice",
		"/validate-autoreboot-fairlead-dev-v1-rebootpolicy", "/validate-chaos-fairlead-dev-v1-chaospod", "/validate-networking-fairlead-dev-v1-externalservice",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(byPath))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConversionAnswersForEveryKindWithoutAnyCacheOrClient(t *testing.T) {
	byPath := handlers(options.Default().Webhook, reviews{}, func(conversion.Failure) {}, nil, logr.Discard())
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

// Approvals count only where the webhooks have looked.
func TestThePolicyKnowsTheNamespacesThatTheWebhooksAreNotCalledFor(t *testing.T) {
	for _, file := range []string{"mutating.yaml", "validating.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "webhook", file))
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			Webhooks []struct {
				Name              string
				NamespaceSelector metav1.LabelSelector
			}
		}
		if err := yaml.Unmarshal(content, &manifest); err != nil {
			t.Fatal(err)
		}
		options, err := egressOptions(options.Default().Egress, identity{namespace: "fairlead-system"})
		if err != nil {
			t.Fatal(err)
		}
		for _, webhook := range manifest.Webhooks {
			if selector := webhook.NamespaceSelector.MatchExpressions; len(selector) != 1 || !slices.Equal(selector[0].Values, options.WebhookExemptNamespaces) {
				t.Errorf("%s: not called for %+v, and the policy distrusts %q", webhook.Name, selector, options.WebhookExemptNamespaces)
			}
		}
		if len(manifest.Webhooks) != 3 {
			t.Errorf("%s holds %d webhooks", file, len(manifest.Webhooks))
		}
	}
}
