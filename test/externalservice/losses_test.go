// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// losses are ways to take away what the operator relies on in an object, its Service and its slices.
var losses = []struct {
	name string
	lose func(s *suite, name, spec string)
}{
	{"a replace by the manifest", func(s *suite, name, spec string) { s.KubectlWith(s.manifest(name, spec), "replace", "-f", "-") }},
	{"the finalizer, by a patch", patchLoss("externalservice", `{"metadata":{"finalizers":null}}`)},
	{"the status, by a patch", func(s *suite, name, _ string) {
		s.Kubectl("patch", "externalservice", name, "--subresource=status", "--type=json", "-p", `[{"op":"replace","path":"/status","value":{}}]`)
	}},
	{"a part of the status", func(s *suite, name, _ string) {
		s.Kubectl("patch", "externalservice", name, "--subresource=status", "--type=merge", "-p", `{"status":{"serviceRef":null,"clusterIP":null,"activePriority":null,"endpoints":null}}`)
	}},
	{"the labels of the Service", patchLoss("service", `{"metadata":{"labels":null}}`)},
	{"the annotations of the Service", patchLoss("service", `{"metadata":{"annotations":null}}`)},
	{"all marks of the Service", patchLoss("service", `{"metadata":{"labels":null,"annotations":null}}`)},
	{"a replace of the Service", func(s *suite, name, _ string) {
		service := s.service(name)
		s.KubectlWith(fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {clusterIP: %s, ports: [{port: 1}]}}`, name, service.Spec.ClusterIP), "replace", "-f", "-")
	}},
	{"the type of the Service", patchLoss("service", `{"spec":{"type":"NodePort"}}`)},
	{"the Service, in the background", deleteLoss("service", "background")},
	{"the Service, in the foreground", deleteLoss("service", "foreground")},
	{"the Service without its slices", deleteLoss("service", "orphan")},
	{"the labels of a slice", sliceLoss("patch", "--type=merge", "-p", `{"metadata":{"labels":null}}`)},
	{"the owner of a slice", sliceLoss("patch", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)},
	{"the endpoints of a slice", sliceLoss("patch", "--type=merge", "-p", `{"endpoints":[]}`)},
	{"a slice", sliceLoss("delete")},
}

func patchLoss(kind, patch string) func(*suite, string, string) {
	return func(s *suite, name, _ string) {
		s.Helper()
		s.Kubectl("patch", kind, name, "--type=merge", "-p", patch)
	}
}

func deleteLoss(kind, cascade string) func(*suite, string, string) {
	return func(s *suite, name, _ string) {
		s.Helper()
		s.Kubectl("delete", kind, name, "--wait=false", "--cascade="+cascade)
	}
}

func sliceLoss(verb string, args ...string) func(*suite, string, string) {
	return func(s *suite, name, _ string) {
		s.Helper()
		s.Kubectl(append([]string{verb, "endpointslice", s.Slices(name)[0].Name}, args...)...)
	}
}

// Whatever is taken off an object, its Service or its slices is put back.
func TestWhatIsTakenAwayIsPutBack(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	for i, loss := range framework.Sample(framework.NewSampler(t), 8, losses) {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			s, name := s.in(t), fmt.Sprint("db-", i)
			s.apply(name, plainly(address))
			s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			before := s.service(name)
			loss.lose(s, name, plainly(address))
			s.Eventually(func() error { return s.isWhole(name, before.Spec.ClusterIP, address) })
		})
	}
}

// isWhole returns what is missing of a published object.
func (s *suite) isWhole(name, clusterIP, address string) error {
	s.Helper()
	es, err := s.get(name)
	if err != nil {
		return err
	}
	service, status := &corev1.Service{}, &es.Status
	if err := s.Get(name, service); err != nil {
		return err
	}
	all := s.Slices(name)
	switch {
	case !slices.Contains(es.Finalizers, rules.UnpublishFinalizer):
		return fmt.Errorf("finalizers %q", es.Finalizers)
	case status.ServiceRef == nil || status.ServiceRef.UID != service.UID || status.ClusterIP != clusterIP || len(status.Endpoints) != 1 || status.ActivePriority == nil:
		return fmt.Errorf("status %s", framework.Text(status))
	case service.Annotations[rules.OwnerAnnotation] != string(es.UID) || service.Labels[common.ManagedByLabel] == "" || service.DeletionTimestamp != nil ||
		service.Spec.ClusterIP != clusterIP || service.Spec.Type != "ClusterIP" || service.Spec.Ports[0].Name != "sql":
		return fmt.Errorf("the Service is %s", framework.Text(service))
	case len(all) != 1 || !metav1.IsControlledBy(&all[0], service) || !slices.Equal(s.published(name), []string{address}):
		return fmt.Errorf("slices %s", framework.Text(all))
	}
	return nil
}

// The garbage collector deletes what has an owner reference without waiting for finalizers of the owner.
func TestADeletionInTheForegroundDrainsAndOrphansAsAnyOther(t *testing.T) {
	t.Parallel()
	for _, cascade := range []string{"foreground", "background", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			address := s.Servers.Address()
			for _, name := range []string{"kept", "gone"} {
				policy := map[string]string{"kept": "Orphan", "gone": "Delete"}[name]
				s.apply(name, `{deletionPolicy: `+policy+`, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [`+address+`]}]}`)
				s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			}
			service := s.service("kept")
			changes, from := s.watchSlices(), time.Now()
			s.Kubectl("delete", "externalservice", "kept", "gone", "--wait=false", "--cascade="+cascade)
			if cascade != "orphan" {
				if took := s.drains("gone", 1, changes).Sub(from); took < drainPeriod/2 {
					t.Errorf("its slice went after %s, want about %s", took, drainPeriod)
				}
			}
			s.vanishes("kept")
			s.vanishes("gone")
			// What another object makes, and loses again, shows that the garbage collector has come by.
			s.apply("other", plainly(address))
			s.condition("other", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			s.Kubectl("delete", "service", "other", "--cascade=foreground")
			if after := s.service("kept"); after.UID != service.UID || after.Annotations[rules.OwnerAnnotation] != "" {
				t.Errorf("the Service is %s", framework.Text(after.ObjectMeta))
			}
			s.publishes("kept", address)
		})
	}
}

// A deletion right after a replace drains, and orphans, since the finalizer was never away.
func TestAReplacedObjectIsDeletedAsAnyOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	spec := `{deletionPolicy: Orphan, ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [` + s.Servers.Address() + `]}]}`
	s.apply("db", spec)
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	before := s.service("db")
	s.KubectlWith(s.manifest("db", spec), "replace", "-f", "-")
	s.delete("db")
	s.vanishes("db")
	if after := s.service("db"); after.UID != before.UID || after.Annotations[rules.OwnerAnnotation] != "" {
		t.Errorf("the Service is %s", framework.Text(after.ObjectMeta))
	}
}

// A backup is restored without UIDs, owner references and status, Services before ExternalServices.
func TestARestoredBackupIsWhole(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	address := s.Servers.Address()
	for _, name := range []string{"db", "late"} {
		s.apply(name, plainly(address))
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	}
	restored := &suite{framework.NewTest(t, open(t))}
	restore := func(kind, name string) {
		object := &unstructured.Unstructured{}
		s.Must(object.UnmarshalJSON([]byte(s.Kubectl("get", kind, name, "-o", "json"))))
		kept := object.Object["metadata"].(map[string]any)
		for field := range kept {
			if field != "name" && field != "labels" && field != "annotations" && field != "finalizers" {
				delete(kept, field)
			}
		}
		kept["namespace"] = restored.Namespace
		delete(object.Object, "status")
		if spec, ok := object.Object["spec"].(map[string]any); ok {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		s.Must(restored.Client.Create(t.Context(), object))
	}
	restore("service", "db")
	restore("endpointslice", s.Slices("db")[0].Name)
	service := restored.service("db")
	restore("externalservice", "db")
	restored.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	restored.Eventually(func() error { return restored.isWhole("db", service.Spec.ClusterIP, address) })
	if after := restored.service("db"); after.UID != service.UID {
		t.Error("the restored Service was replaced")
	}

	// Who may not update the Service may not take it over so.
	restore("service", "late")
	outsider := restored.newPerson("outsider")
	s.Must(expected(outsider.create("v1", "late", plainly(address)), `may not update the Service "late"`))
	if service := restored.service("late"); strings.Contains(framework.Text(service.ManagedFields), "outsider") {
		t.Error("it was written")
	}
}
