// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAForeignServiceIsNeverAdoptedAndItsRemovalIsNoticed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	// Admission refuses the name of a Service that is there already: this one comes while we sleep.
	s.apply(externalServices.object("v1", "db", strings.Replace(database, "{", "{suspend: true, ", 1)))
	s.run("create", "-f", "-", "--", fmt.Sprintf(foreignService, "db"))
	before := s.service("db")
	s.run("patch", "extsvc", "db", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	es := s.settled("db", metav1.ConditionFalse, networkingv1.ReasonServiceConflict)
	ready := meta.FindStatusCondition(es.Status.Conditions, networkingv1.ConditionReady)
	s.Expect(ready.Message, s.Namespace+"/db", "delete it, or rename")
	if es.Status.ServiceRef != nil || len(s.Addresses("db")) > 0 {
		t.Errorf("published behind a foreign Service: %s %q", framework.Text(es.Status), s.Addresses("db"))
	}
	if after := s.service("db"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the foreign Service was touched:\n%s\n%s", framework.Text(before), framework.Text(after))
	}
	s.run("delete", "service", "db")
	s.settled("db", metav1.ConditionTrue, networkingv1.ReasonPublished)
	s.publishes("db", "192.0.2.1")
}
