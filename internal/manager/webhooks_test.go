// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/config"
	"github.com/fairlead-dev/fairlead/webhooks/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// asking authorizes nobody: it is not called.
func asking() authorizers {
	return authorizers{authorization.NewExternalService(authorization.Options{}), authorization.NewRebootPolicy(authorization.RebootPolicyOptions{})}
}

func TestEveryKindHasItsWebhooksAtV1AndOnePathConverts(t *testing.T) {
	byPath, err := handlers(config.Default().Webhook, asking(), &overlaps{logger: logr.Discard()}, func(conversion.Failure) {}, nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
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
	byPath, err := handlers(config.Default().Webhook, asking(), &overlaps{logger: logr.Discard()}, func(conversion.Failure) {}, nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
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

func TestOverlapsSayNothingUntilTheCacheHasSyncedAndNeverWait(t *testing.T) {
	pod := func(name string) *chaosv1.ChaosPod {
		p := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		p.Spec.Target.Workload = &chaosv1.WorkloadReference{Kind: chaosv1.WorkloadDeployment, Name: "cart"}
		return p
	}
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	o := &overlaps{logger: logr.Discard()}
	if warnings := o.ofChaosPod(context.Background(), pod("a")); warnings != nil {
		t.Errorf("before the cache: %q", warnings)
	}
	o.open(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod("b")).Build())
	if warnings := o.ofChaosPod(context.Background(), pod("a")); len(warnings) != 1 || !strings.Contains(warnings[0], "ChaosPod b") {
		t.Errorf("with the cache: %q", warnings)
	}
	o.open(broken{})
	if warnings := o.ofChaosPod(context.Background(), pod("a")); warnings != nil {
		t.Errorf("with a cache that does not hold the namespace: %q", warnings)
	}
}

type broken struct{ client.Reader }

func (broken) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("unable to get: shop because of unknown namespace for the cache")
}

// sized measures what the object says of itself.
type sized struct{}

func (sized) RestoreBytes(raw []byte, _ string) (int, error) {
	var object struct {
		Size int `json:"size"`
	}
	err := json.Unmarshal(raw, &object)
	return object.Size, err
}

func TestAnObjectThatCouldNotBeReadAtItsOtherVersionIsRefused(t *testing.T) {
	object := func(size int) any {
		return map[string]any{"size": size, "ballast": strings.Repeat("y", smallObject)}
	}
	const limit = common.MaxRestoreBytes
	for name, test := range map[string]struct {
		obj, old any
		fine     bool
	}{
		"at the limit":                        {object(limit), nil, true},
		"above":                               {object(limit + 1), nil, false},
		"above, and it was before":            {object(limit + 5), object(limit + 5), true},
		"above, but it shrinks":               {object(limit + 5), object(limit + 9), true},
		"above, and it grows":                 {object(limit + 9), object(limit + 5), false},
		"above, and it was not":               {object(limit + 1), object(limit), false},
		"carries one that is large":           {map[string]any{"metadata": map[string]any{"annotations": map[string]string{common.V1Alpha1DataAnnotation: strings.Repeat("z", limit+1)}}}, nil, false},
		"small objects are not even measured": {map[string]any{"size": "no number"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			errs := restorable(sized{}, spoke, test.obj, test.old)
			if (len(errs) == 0) != test.fine {
				t.Errorf("errors %v", errs)
			}
			if !test.fine && !strings.Contains(errs.ToAggregate().Error(), common.ConversionDataAnnotation) {
				t.Errorf("%v does not name the annotation", errs)
			}
		})
	}
}

// Approvals count only where the webhooks have looked.
func TestThePolicyKnowsTheNamespacesThatTheWebhooksAreNotCalledFor(t *testing.T) {
	for _, file := range []string{"mutating.yaml", "validating.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "config", "webhook", file))
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
		options, err := egressOptions(config.Default().Egress, place{namespace: "fairlead-system"})
		if err != nil {
			t.Fatal(err)
		}
		for _, webhook := range manifest.Webhooks {
			if selector := webhook.NamespaceSelector.MatchExpressions; len(selector) != 1 || !slices.Equal(selector[0].Values, options.Unasked) {
				t.Errorf("%s: not called for %+v, and the policy distrusts %q", webhook.Name, selector, options.Unasked)
			}
		}
		if len(manifest.Webhooks) != 3 {
			t.Errorf("%s holds %d webhooks", file, len(manifest.Webhooks))
		}
	}
}
