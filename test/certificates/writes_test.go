// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const rootSecret = "fairlead-webhook-ca"

// certificateWrite is a write without which a replica that starts serves nothing that API servers trust.
type certificateWrite struct {
	framework.Write
	name string
	args []string // of the replica
}

var (
	createRoot  = certificateWrite{framework.Write{Version: "v1", Resource: "secrets", Operation: "CREATE"}, rootSecret, nil}
	createTrust = certificateWrite{framework.Write{Version: "v1", Resource: "secrets", Operation: "CREATE"}, trustSecret, []string{issuing}}
	patchCRD    = certificateWrite{
		framework.Write{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions", Operation: "UPDATE"},
		"externalservices.networking.fairlead.dev", nil,
	}
	// No admission policy and no webhook is called for these.
	patchValidating = certificateWrite{framework.Write{Resource: "validatingwebhookconfigurations", Operation: "UPDATE"}, "fairlead-externalservice", nil}
	patchMutating   = certificateWrite{framework.Write{Resource: "mutatingwebhookconfigurations", Operation: "UPDATE"}, "fairlead-externalservice", nil}
)

// writeDenial is one way in which one of the writes is refused.
type writeDenial struct {
	certificateWrite
	framework.Denial
}

// refuses reports whether the write of a target is refused. The right is one to all CRDs, or to all webhook configurations.
func (d writeDenial) refuses(t target) bool {
	if d.Name == "right" {
		return (t.resource == crds) == (d.Resource == crds.Resource)
	}
	return t.resource.Resource == d.Resource && t.name == d.name
}

func writeDenials() (all []writeDenial) {
	for _, w := range []certificateWrite{createRoot, createTrust, patchCRD} {
		match := fmt.Sprintf("object.metadata.name == %q", w.name)
		for _, d := range []framework.Denial{
			framework.PolicyDenial("Invalid", w.Write, match), framework.PolicyDenial("Forbidden", w.Write, match), framework.WebhookDenial(w.Write, match),
		} {
			all = append(all, writeDenial{w, d})
		}
	}
	all = append(all, writeDenial{createRoot, framework.QuotaDenial("secrets")})
	for _, w := range []certificateWrite{createRoot, createTrust, patchCRD, patchValidating, patchMutating} {
		all = append(all, writeDenial{w, operatorRightDenial(w.Write)})
	}
	return all
}

// operatorRightDenial takes a right from the roles of the operator, and gives it back.
func operatorRightDenial(w framework.Write) framework.Denial {
	verb := map[string]string{"CREATE": "create", "UPDATE": "patch"}[w.Operation]
	without := func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		for i := range rules {
			if slices.Contains(rules[i].Resources, w.Resource) {
				rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(v string) bool { return v == verb })
			}
		}
		return slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
	}
	whole := make([]rbacv1.ClusterRole, len(framework.Roles))
	var local rbacv1.Role
	return framework.Denial{Name: "right", Words: "cannot " + verb, Put: func(t *framework.Test) {
		for i, name := range framework.Roles {
			t.Must(t.Client.Get(t.Context(), client.ObjectKey{Name: name}, &whole[i]))
			less := whole[i].DeepCopy()
			less.Rules = without(less.Rules)
			t.Must(t.Client.Update(t.Context(), less))
		}
		t.Must(t.Client.Get(t.Context(), client.ObjectKey{Namespace: framework.Namespace, Name: "fairlead-manager"}, &local))
		fewer := local.DeepCopy()
		fewer.Rules = without(fewer.Rules)
		t.Must(t.Client.Update(t.Context(), fewer))
	}, Lift: func(t *framework.Test) {
		for i := range whole {
			whole[i].ResourceVersion = ""
			t.Must(t.Client.Update(t.Context(), &whole[i]))
		}
		local.ResourceVersion = ""
		t.Must(t.Client.Update(t.Context(), &local))
	}}
}

// A replica that starts while a write of its certificates is refused says so in the API server's words, does everything
// else, and is like any other once the write is allowed.
func TestARefusedWriteOfCertificatesIsToldAndStopsNothingElse(t *testing.T) {
	t.Parallel()
	own := tests.OpenFor(t, framework.Options{}) // its logs have what is forbidden
	common := &suite{framework.Test{T: t, Cluster: own, Namespace: framework.Namespace}}
	issues := false
	for _, d := range framework.Sample(framework.NewSampler(t), 3, writeDenials()) {
		t.Run(d.name+"/"+d.Name, func(t *testing.T) {
			s := common.in(t)
			if len(d.args) > 0 && !issues {
				s.installCertManager()
				issues = true
			}
			s.startsAlthoughRefused(d)
		})
	}
}

func (s *suite) startsAlthoughRefused(d writeDenial) {
	s.Helper()
	for _, name := range []string{rootSecret, trustSecret} {
		s.Kubectl("delete", "secret", "--ignore-not-found", "-n", framework.Namespace, name)
	}
	d.Put(&s.Test)
	s.Eventually(func() error { return s.isDenied(d) })
	r, err := s.Launch(s.Context(), framework.Patient(append([]string{soon}, d.args...)...)...)
	s.Must(err)
	s.Serve(r)
	defer s.Retire(r)
	s.Eventually(func() error {
		told, err := s.told(r)
		if err != nil {
			return err
		}
		return framework.Holds(told, d.name, d.Words)
	})
	if d.Operation == "UPDATE" {
		// All other targets have the bundle of the new root.
		s.Eventually(func() error { return s.trustedBut(d.refuses) })
	}
	d.Lift(&s.Test)
	s.Eventually(func() error { return r.Started(s.Context()) })
	s.Eventually(func() error {
		if told, err := s.told(r); err != nil || strings.Contains(told, d.Words) {
			return fmt.Errorf("still tells: %s (%w)", told, err)
		}
		return nil
	})
}

// told returns what a replica says of itself.
func (s *suite) told(r *framework.Replica) (string, error) {
	s.Helper()
	phases, err := r.Phases(s.Context())
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, p := range phases {
		all.WriteString(p.Phase + " is " + p.State + ": " + p.Detail + "\n")
	}
	// It fails until the certificates are there.
	if ready, err := r.Probe(s.Context(), "/readyz"); err == nil {
		all.WriteString(ready)
	}
	return all.String(), nil
}

// isDenied returns an error until the API server refuses what d is to refuse.
func (s *suite) isDenied(d writeDenial) error {
	s.Helper()
	verb, resource := "create", "secret"
	args := []string{"create", "secret", "generic", d.name, "-n", framework.Namespace, "--dry-run=server"}
	if d.Operation == "UPDATE" {
		verb, resource = "patch", d.Resource
		args = []string{"annotate", d.Resource, d.name, "denied=yet", "--dry-run=server"}
	}
	words := d.Words
	if d.Name == "right" {
		words = "no"
		args = []string{"auth", "can-i", verb, resource, "-n", framework.Namespace, "--as=system:serviceaccount:fairlead-system:fairlead-manager"}
	}
	stdout, stderr, err := s.Try("", args...)
	if err == nil || !strings.Contains(stdout+stderr, words) {
		return fmt.Errorf("%s is not in force yet: %q", d.Name, stdout+stderr)
	}
	return nil
}

// trustedBut returns an error until all targets but those that are refused trust the authority of the operator's Secret.
func (s *suite) trustedBut(refused func(target) bool) error {
	s.Helper()
	secret, err := s.Kube.CoreV1().Secrets(framework.Namespace).Get(s.Context(), rootSecret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range targets {
		all, err := s.bundles(s.Context(), one)
		s.Must(err)
		if has := bytes.Contains(all[0], secret.Data["ca.crt"]); has == refused(one) {
			errs = append(errs, fmt.Errorf("%s trusts the new root: %v", one, has))
		}
	}
	return errors.Join(errs...)
}
