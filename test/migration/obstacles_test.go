// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/controllers/storagemigration"
)

// many makes objects in one request of kubectl's each hundred.
func (s *suite) many(n int) {
	s.Helper()
	for from := 0; from < n; from += 100 {
		var list []string
		for i := from; i < min(n, from+100); i++ {
			list = append(list, s.object("v1alpha1", fmt.Sprintf("o-%05d", i), "ann"))
		}
		s.KubectlWith(`{"apiVersion": "v1", "kind": "List", "items": [`+strings.Join(list, ",")+`]}`, "create", "-f", "-")
	}
}

// The next leader comes to every object again, and says that nothing is left only then.
func TestAPassThatEndsIsMadeAgainByTheNextLeader(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "crashes")
	s.define("v1alpha1 served storage", "v1 served")
	const all = 600 // of which a list has 500
	s.many(all)
	s.define("v1alpha1 served", "v1 served storage")

	// The first leader dies on its second page.
	var asked atomic.Int32
	first, counted := s.migrator(func(o *storagemigration.Options) {
		o.Healthy = func(context.Context) error {
			if asked.Add(1) > 550 {
				return errors.New("dead")
			}
			return nil
		}
	})
	stop := s.runs(first)
	s.Eventually(func() error {
		if asked.Load() <= 550 {
			return fmt.Errorf("%d objects", asked.Load())
		}
		return nil
	})
	stop()
	if got := s.crd().Status.StoredVersions; len(got) != 2 {
		t.Errorf("status.storedVersions is %v in the middle of a pass", got)
	}
	before := s.count(counted, "rewritten")

	second, again := s.migrator(nil)
	s.runs(second)
	s.storedVersions("v1")
	if rewritten, unchanged := s.count(again, "rewritten"), s.count(again, "unchanged"); before != 550 || unchanged != before || rewritten != all-before {
		t.Errorf("of %d objects the first rewrote %d, the second %d, and found %d as they should be", all, before, rewritten, unchanged)
	}
	for _, i := range []int{0, 499, 500, 549, 551, all - 1} {
		if at := s.storedAt(fmt.Sprintf("o-%05d", i)); at != "v1" {
			t.Errorf("object %d is stored at %s", i, at)
		}
	}
}

// A pass that pauses goes on in the same process from where it was.
func TestAPassThatPausesGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "pauses")
	s.define("v1alpha1 served storage", "v1 served")
	s.many(30)
	s.define("v1alpha1 served", "v1 served storage")
	var asked atomic.Int32
	m, counted := s.migrator(func(o *storagemigration.Options) {
		o.Healthy = func(context.Context) error {
			if asked.Add(1)%10 == 0 {
				return errors.New("no replica converts")
			}
			return nil
		}
	})
	s.runs(m)
	s.storedVersions("v1")
	if rewritten, unchanged := s.count(counted, "rewritten"), s.count(counted, "unchanged"); rewritten != 30 || unchanged != 0 {
		t.Errorf("of 30 objects %d were rewritten, and %d found as they should be", rewritten, unchanged)
	}
}

// A CRD that was changed during a pass may have had another storage version in between.
func TestADefinitionThatChangesDuringAPassIsMigratedAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "races")
	s.define("v1alpha1 served storage", "v1 served")
	s.many(20)
	s.define("v1alpha1 served", "v1 served storage")
	var asked atomic.Int32
	m, counted := s.migrator(func(o *storagemigration.Options) {
		o.Healthy = func(context.Context) error {
			if asked.Add(1) == 10 {
				// A user rolls back, writes, and goes forward again, while the first pass runs.
				s.define("v1alpha1 served storage", "v1 served")
				s.owns("v1", "o-00000", "bob")
				s.define("v1alpha1 served", "v1 served storage")
			}
			return nil
		}
	})
	s.runs(m)
	s.storedVersions("v1")
	if at := s.storedAt("o-00000"); at != "v1" {
		t.Errorf("what was written during the pass is stored at %s, though storedVersions says that nothing is", at)
	}
	if got := s.count(counted, "rewritten"); got <= 20 {
		t.Errorf("%d objects rewritten by what should be two passes over 20", got)
	}
}

// While conversions fail, no pass hammers the API server, and nothing is said to be migrated.
func TestFailingConversionsPauseTheMigration(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "failures")
	s.define("v1alpha1 served storage", "v1 served")
	s.many(30)
	s.define("v1alpha1 served", "v1 served storage")
	// A webhook that is not served. At the storage version, what is stored at the other one is lost to
	// readers until it answers.
	s.patch(`{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
		"clientConfig": {"url": "https://127.0.0.1:1/convert"}}}}}`)
	s.Eventually(func() error {
		if _, _, err := s.Try("", "get", s.plural+".v1.toys.example.com", "o-00000"); err == nil {
			return errors.New("the webhook is not asked yet")
		}
		return nil
	})
	m, counted := s.migrator(nil)
	s.runs(m)
	s.Eventually(func() error {
		if status := m.Status(); !strings.Contains(status, "conversion webhook") {
			return fmt.Errorf("the migration says %q", status)
		}
		return nil
	})
	if got := s.crd().Status.StoredVersions; len(got) != 2 {
		t.Errorf("status.storedVersions is %v while nothing can be converted", got)
	}
	if got := s.count(counted, "rewritten"); got != 0 {
		t.Errorf("%d objects rewritten", got)
	}
	s.patch(`{"spec": {"conversion": {"strategy": "None", "webhook": null}}}`)
	s.storedVersions("v1")
}

// Objects that cannot be rewritten hold up nothing but the end, however many of them there are in a row,
// and one is named.
func TestObjectsThatAreRefusedHoldUpNoOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "refusals")
	s.define("v1alpha1 served storage", "v1 served")
	s.many(12)
	s.define("v1alpha1 served", "v1 served storage")
	s.KubectlWith(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "refusals"}, "spec": {
		"matchConstraints": {"resourceRules": [{"apiGroups": ["toys.example.com"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["refusals"]}]},
		"validations": [{"expression": "object.metadata.name < 'o-00003' || object.metadata.name > 'o-00009'", "message": "is a historic monument"}]}}
	`, "apply", "-f", "-")
	s.KubectlWith(`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "refusals"},
		"spec": {"policyName": "refusals", "validationActions": ["Deny"]}}`, "apply", "-f", "-")
	s.Eventually(func() error {
		if _, _, err := s.Try("", "label", s.plural+".v1.toys.example.com", "o-00005", "try=1", "--dry-run=server"); err == nil {
			return errors.New("the policy does not hold yet")
		}
		return nil
	})
	m, counted := s.migrator(nil)
	s.runs(m)
	s.Eventually(func() error {
		if status := m.Status(); !strings.Contains(status, ": 7 of the objects") || !strings.Contains(status, "is a historic monument") {
			return fmt.Errorf("the migration says %q", status)
		}
		return nil
	})
	if got := s.count(counted, "rewritten"); got != 5 {
		t.Errorf("%d of the other 5 are rewritten", got)
	}
	s.Kubectl("delete", "validatingadmissionpolicybinding", "refusals")
	s.storedVersions("v1")
}

func (s *suite) patch(body string) {
	s.Helper()
	_, err := s.crds.Patch(s.Context(), s.definition(), types.MergePatchType, []byte(body), metav1.PatchOptions{})
	s.Must(err)
}
