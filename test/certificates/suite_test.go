// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

var (
	tests = framework.NewTests(3) // a control plane takes a processor

	// logs holds a folder of logs for each cluster. No test provokes a crash or lacks a permission, or has a key logged.
	logs = framework.Shared(func() (string, error) { return tests.LogFolder("PRIVATE KEY-----", "panic", "goroutine ", "forbidden") })

	// clusters are control planes with Fairlead and cert-manager. Each test has one for itself.
	clusters = tests.NewPool(logs, func(*framework.Cluster) error { return nil })
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// suite is one test on a cluster. What another test had issued there is gone.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{framework.Test{T: t, Cluster: clusters.Take(t)}}
	s.clear()
	s.installCertManager()
	s.Cleanup(s.Component(certManager).Stop)
	return s
}

// newSuiteWithoutCertManager is on a cluster that never had it.
func newSuiteWithoutCertManager(t *testing.T) *suite {
	t.Helper()
	own := tests.OpenFor(t, framework.Options{Cluster: cluster.Options{LogFolder: filepath.Join(logs(t), t.Name())}})
	return &suite{framework.Test{T: t, Cluster: own}}
}

// clear removes what was issued, and what trusts it, while neither the operator nor cert-manager runs.
func (s *suite) clear() {
	s.Helper()
	for _, resource := range []schema.GroupVersionResource{certificates, requests, issuers, secrets, leases, deployments} {
		err := s.Dynamic.Resource(resource).Namespace(framework.Namespace).DeleteCollection(s.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if !apierrors.IsNotFound(err) { // before cert-manager is installed
			s.Must(err)
		}
	}
	for _, t := range targets {
		object, err := s.Dynamic.Resource(t.resource).Get(s.Context(), t.name, metav1.GetOptions{})
		s.Must(err)
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", injectFrom)
		unstructured.RemoveNestedField(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		if hooks, ok := object.Object["webhooks"].([]any); ok {
			for _, hook := range hooks {
				unstructured.RemoveNestedField(hook.(map[string]any), "clientConfig", "caBundle")
			}
		}
		object.SetManagedFields(slices.DeleteFunc(object.GetManagedFields(), isInjector))
		_, err = s.Dynamic.Resource(t.resource).Update(s.Context(), object, metav1.UpdateOptions{})
		s.Must(err)
	}
}

// isInjector reports whether managed fields are those of the operator's injector. It owns the names of webhooks as well.
func isInjector(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == injection.FieldOwner }
