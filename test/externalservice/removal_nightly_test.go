// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestANamespaceIsNotHeldUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for name, extra := range map[string]string{"db": "", "kept": "deletionPolicy: Orphan, ", "asleep": "suspend: true, ", "named": ""} {
		endpoint := `addresses: [` + s.Servers.Address() + `]`
		if name == "named" {
			endpoint = `dns: {name: ` + s.host("nowhere") + `}`
		}
		s.apply(name, `{`+extra+`ports: [{name: sql, port: 5432}], endpoints: [{name: a, `+endpoint+`}]}`)
	}
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.condition("kept", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.Tells("ExternalService", "named", "ResolveFailed", 1) // an event that comes too late is refused, and that is logged
	s.Must(s.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
	s.Eventually(func() error {
		var namespace corev1.Namespace
		if err := s.Client.Get(t.Context(), client.ObjectKey{Name: s.Namespace}, &namespace); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("still there: %s", framework.Text(namespace.Status))
	})
}
