// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// writer is a user who may write ChaosPods here, and what further rules say.
func (s *suite) writer(name string, rules ...string) client.Client {
	s.Helper()
	_, c := s.NewWriter(name, &chaosv1.ChaosPod{}, "chaospods.chaos.fairlead.dev", rules...)
	return c
}

func TestAWriterHasNoPodKilledWithoutTheRight(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	none := s.writer("none")
	evicts := s.writer("evicts", `{apiGroups: [""], resources: [pods], verbs: [get]}`, `{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`)
	create := func(c client.Client, spec string) error {
		return c.Create(s.Context(), s.Object(s.manifest("c", spec)))
	}
	for spec, want := range map[string]string{
		web: "may not create pods/eviction", web + ", action: {type: Delete}": "may not delete pods",
		web + ", serviceAccountName: default": "may not impersonate serviceaccounts",
	} {
		if err := create(none, spec+", "+someday); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
	if err := create(evicts, web+", action: {type: Delete}, "+someday); err == nil || !strings.Contains(err.Error(), "may not delete pods") {
		t.Errorf("evicts may not delete: %v", err)
	}
	s.Must(create(evicts, web+", dryRun: false, "+someday))
	s.condition("c", chaosv1.ConditionReady, metav1.ConditionTrue, "")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+chaosv1.RunNowAnnotation+`":"1"}}}`))
	if err := none.Patch(s.Context(), s.Object(s.manifest("c", web)), patch); err == nil || !strings.Contains(err.Error(), "may not create pods/eviction") {
		t.Errorf("run-now without the right: %v", err)
	}
	before := s.pods("web")
	s.Must(evicts.Patch(s.Context(), s.Object(s.manifest("c", web)), patch))
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("died %q", died)
	}
}

func TestAServiceAccountKillsWhatItMayAndNoMore(t *testing.T) {
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.run("web", 3, "")
	s.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: killer}}")
	s.Grant("impersonator", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
		`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [killer], verbs: [impersonate]}`)
	s.chaos("c", web+", dryRun: false, serviceAccountName: killer, "+someday)
	before := s.pods("web")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultFailed)
	if c := s.condition("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonForbidden); !strings.Contains(c.Message, "ServiceAccount killer may not evict") {
		t.Errorf("says %q", c.Message)
	}
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("died %q", died)
	}
	s.Grant("killer", "{kind: ServiceAccount, name: killer, namespace: "+s.Namespace+"}", `{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`)
	s.now("c", "2")
	s.ended("c", 2, chaosv1.ResultSurvived)
}

func TestNothingDiesInANamespaceThatIsDenied(t *testing.T) {
	s := newSuite(t)
	denied := s.Object(s.manifest("d", web+", "+someday))
	denied.SetNamespace("kube-system")
	s.Must(s.Client.Create(s.Context(), denied))
	s.Cleanup(func() { _ = s.Client.Delete(context.Background(), denied) })
	s.Eventually(func() error {
		var d chaosv1.ChaosPod
		if err := s.Client.Get(s.Context(), client.ObjectKeyFromObject(denied), &d); err != nil {
			return err
		}
		c := meta.FindStatusCondition(d.Status.Conditions, chaosv1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != chaosv1.ReasonForbidden {
			return fmt.Errorf("in kube-system: %+v", d.Status)
		}
		return nil
	})
}

// asking has the admission webhooks called for the test's namespace, or not.
func (s *suite) asking(asks bool) {
	s.Helper()
	exclude := func(selector *metav1.LabelSelector) {
		of := &selector.MatchExpressions[0].Values
		if *of = slices.DeleteFunc(*of, func(name string) bool { return name == s.Namespace }); !asks {
			*of = append(*of, s.Namespace)
		}
	}
	change := func(object client.Object, change func()) {
		s.Helper()
		s.Must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			if err := s.Client.Get(s.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			change()
			return s.Client.Update(s.Context(), object)
		}))
	}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-chaospod"}}
	change(mutating, func() {
		for i := range mutating.Webhooks {
			exclude(mutating.Webhooks[i].NamespaceSelector)
		}
	})
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-chaospod"}}
	change(validating, func() {
		for i := range validating.Webhooks {
			exclude(validating.Webhooks[i].NamespaceSelector)
		}
	})
}

func TestAnObjectThatIsApprovedByNoUserDoesNothing(t *testing.T) {
	s := newSuite(t)
	s.run("web", 3, "")
	s.asking(false)
	s.Eventually(func() error { // until the API server has noticed
		object := s.Object(s.manifest("c", web+", dryRun: false, "+someday))
		if err := s.Client.Create(s.Context(), object); err != nil {
			return err
		}
		if object.GetAnnotations()[common.ApprovedByAnnotation] == "" {
			return nil
		}
		s.Must(s.Client.Delete(s.Context(), object))
		return errors.New("the webhook is still called")
	})
	if c := s.condition("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonForbidden); !strings.Contains(c.Message, "not approved: apply the ChaosPod again") {
		t.Errorf("says %q", c.Message)
	}
	before := s.pods("web")
	s.now("c", "1")
	s.annotate("c", common.ApprovedByAnnotation, "ann sha256:0000") // a forged one
	s.Eventually(func() error {
		c := s.condition("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonForbidden)
		if !strings.Contains(c.Message, "does not cover") {
			return fmt.Errorf("says %q", c.Message)
		}
		return nil
	})
	if died := gone(before, s.pods("web")); len(died) > 0 {
		t.Fatalf("died %q", died)
	}
	// Once a user with the rights writes it, the run that was asked for begins.
	s.asking(true)
	s.Eventually(func() error {
		object := s.Object(s.manifest("c", web))
		err := s.Client.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+common.ApprovedByAnnotation+`":"please"}}}`)))
		if err == nil && !strings.Contains(object.GetAnnotations()[common.ApprovedByAnnotation], "sha256:") {
			err = errors.New("the webhook is not called yet")
		}
		return err
	})
	s.ended("c", 1, chaosv1.ResultSurvived)
	if died := gone(before, s.pods("web")); len(died) != 1 {
		t.Errorf("died %q", died)
	}
}
