// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

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
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/authorization"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

// asking authorizes no user: it is not called.
func asking() authorizers {
	return authorizers{authorization.NewExternalService(authorization.Options{}), authorization.NewRebootPolicy(authorization.RebootPolicyOptions{}), authorization.NewChaosPod(nil)}
}

func TestEveryKindHasItsWebhooksAtV1AndOnePathConverts(t *testing.T) {
	byPath := handlers(options.Default().Webhook, asking(), &overlaps{logger: logr.Discard()}, func(conversion.Failure) {}, nil, logr.Discard())
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
	byPath := handlers(options.Default().Webhook, asking(), &overlaps{logger: logr.Discard()}, func(conversion.Failure) {}, nil, logr.Discard())
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
	annotated := func(size int, name, value string) any {
		return map[string]any{"size": size, "ballast": strings.Repeat("y", smallObject), "metadata": map[string]any{"annotations": map[string]string{name: value}}}
	}
	beside := func(size, others int) any { return annotated(size, "x/y", strings.Repeat("o", others)) }
	dropped := func() any { return annotated(0, common.V1Alpha1DataAnnotation, `{"dropped":70000}`) }
	with := func(object any, name, value string) any {
		object.(map[string]any)["metadata"].(map[string]any)[name] = value
		return object
	}
	for name, test := range map[string]struct {
		obj, old any
		fine     bool
		written  string
	}{
		"at the limit":                         {object(limit), nil, true, hub},
		"above":                                {object(limit + 1), nil, false, hub},
		"above, and it was before":             {object(limit + 5), object(limit + 5), true, hub},
		"above, but it shrinks":                {object(limit + 5), object(limit + 9), true, hub},
		"above, and it grows":                  {object(limit + 9), object(limit + 5), false, hub},
		"above, and it was not":                {object(limit + 1), object(limit), false, hub},
		"carries one that is large":            {map[string]any{"metadata": map[string]any{"annotations": map[string]string{common.V1Alpha1DataAnnotation: strings.Repeat("z", limit+1)}}}, nil, false, hub},
		"does not fit beside others":           {beside(40<<10, 230<<10), nil, false, hub},
		"fits beside others":                   {beside(40<<10, 200<<10), nil, true, hub},
		"others, and nothing to restore":       {beside(0, 255<<10), nil, true, hub},
		"others grow":                          {beside(40<<10, 230<<10), beside(40<<10, 200<<10), false, hub},
		"did not fit before, and shrinks":      {beside(40<<10, 230<<10), beside(40<<10, 231<<10), true, hub},
		"did not fit before, and is deleted":   {with(beside(40<<10, 232<<10), "deletionTimestamp", "2026-01-01T00:00:00Z"), beside(40<<10, 231<<10), true, hub},
		"dropped when it was converted":        {dropped(), nil, false, spoke},
		"dropped, and written where it is not": {dropped(), dropped(), true, hub},
		"small objects are not even measured":  {map[string]any{"size": "no number"}, nil, true, hub},
	} {
		t.Run(name, func(t *testing.T) {
			errs := restorable(sized{}, spoke, test.written, test.obj, test.old)
			if (len(errs) == 0) != test.fine {
				t.Errorf("errors %v", errs)
			}
			if !test.fine && !strings.Contains(errs.ToAggregate().Error(), "metadata.annotations") {
				t.Errorf("%v does not name the annotation", errs)
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
