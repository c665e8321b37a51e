// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// late waits until a phase is late, for a reason that holds every text, and is told wherever it should be.
func (r *replica) late(phase string, texts ...string) {
	r.suite.Helper()
	r.reachesLate(phase, texts...)
	r.suite.Eventually(func() error {
		if got, err := r.metric(fmt.Sprintf("fairlead_startup_phase_late{phase=%q}", phase)); err != nil || got != 1 {
			return fmt.Errorf("the metric of the late phase %s is %v, %v", phase, got, err)
		}
		return framework.Holds(r.suite.Kubectl("get", "events", "--all-namespaces", "-o", "wide"), "without "+phase)
	})
}

// reachesLate waits until a phase is late, for a reason that holds every text.
func (r *replica) reachesLate(phase string, texts ...string) {
	r.suite.Helper()
	r.suite.Eventually(func() error {
		status, err := r.status()
		if err != nil {
			return err
		}
		if got := status.state(phase); got != "late" {
			return fmt.Errorf("phase %s is %s: %+v", phase, got, status.Phases)
		}
		i := slices.Index(phases, phase)
		return framework.Holds(status.Phases[i].Detail, texts...)
	})
}

// whole waits until every phase is done and nothing is degraded, in the same process.
func (r *replica) whole() {
	r.suite.Helper()
	r.suite.Eventually(func() error {
		if err := r.Started(r.suite.Context()); err != nil {
			return err
		}
		body, err := r.Probe(r.suite.Context(), "/readyz")
		if err == nil && strings.Contains(body, "degraded") {
			err = fmt.Errorf("/readyz: %s", body)
		}
		return err
	})
}

// lack is something that the start needs, and that is missing, refused or wrong.
type lack struct {
	title string
	// remove takes it away, and restore puts it back.
	remove, restore func(s *suite)
	args            []string
	phase           string   // that is late
	texts           []string // of its reason
	kind            bool     // whether ExternalServices cannot be reconciled meanwhile
}

// lacks are all of them.
func (s *suite) lacks(account string) (all []lack) {
	reinstall := func(s *suite) { s.Must(s.Reinstall(s.Context())) }
	for _, name := range framework.Definitions {
		all = append(all, lack{
			title: "no " + name, phase: "caches", texts: []string{"does not serve", "install its CRD"}, kind: name == framework.Definitions[0],
			remove: func(s *suite) {
				r := s.start("--leader-elect=false") // without which finalizers hold the objects, and these the CRD
				r.reconciles()
				s.Kubectl("delete", name, "--all", "--all-namespaces")
				r.Stop()
				s.Kubectl("delete", "crd", name)
			},
			restore: reinstall,
		})
	}
	for i, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		name := framework.WebhookConfigurations[2*i]
		all = append(all, lack{
			title: "no " + kind + " " + name, phase: "ca-published", texts: []string{kind + " " + name, "does not exist"},
			remove: func(s *suite) { s.Kubectl("delete", kind, name) }, restore: reinstall,
		})
	}
	const bundle = "/spec/conversion/webhook/clientConfig/caBundle"
	name := framework.Definitions[2]
	all = append(all, lack{
		title: "a bundle of another manager", phase: "ca-published", texts: []string{name, "another field manager"},
		remove: func(s *suite) {
			foreign := base64.StdEncoding.EncodeToString([]byte(s.issue(time.Hour).ca))
			s.Kubectl("patch", "crd", name, "--type=json", "--field-manager=rival", "-p", `[{"op":"add","path":"`+bundle+`","value":"`+foreign+`"}]`)
		},
		restore: func(s *suite) {
			s.Kubectl("patch", "crd", name, "--type=json", "-p", `[{"op":"remove","path":"`+bundle+`"}]`)
		},
	}, lack{
		title: "a Secret of another owner", phase: "certificates", texts: []string{rootSecret, "not the operator's to use"},
		remove: func(s *suite) {
			s.Kubectl("label", "secret", rootSecret, "-n", framework.Namespace, "app.kubernetes.io/managed-by=helm", "--overwrite")
		},
		restore: func(s *suite) { s.Kubectl("delete", "secret", rootSecret, "-n", framework.Namespace) },
	}, lack{
		title: "a folder that is not mounted", phase: "certificates", texts: []string{"does not exist", "mount"},
		args:   []string{"--set=webhook.certificates.source=folder", "--set=webhook.certificates.folder=" + filepath.Join(s.TempDir(), "late")},
		remove: func(*suite) {},
	}, lack{
		title: "no cert-manager", phase: "certificates", texts: []string{"cert-manager is not installed"},
		args: []string{"--set=webhook.certificates.source=certManager"}, remove: func(*suite) {},
	})
	for _, right := range []struct{ role, resource, phase, text string }{
		{"role", "secrets", "certificates", rootSecret},
		{"clusterrole", "customresourcedefinitions", "ca-published", "may not use it"},
		{"clusterrole", "validatingwebhookconfigurations", "ca-published", "may not use it"},
		{"clusterrole", "rebootpolicies", "caches", "RebootPolicy"},
		{"clusterrole", "chaospods", "caches", "ChaosPod"},
	} {
		all = append(all, lack{
			title: "no right to " + right.resource, phase: right.phase, texts: []string{right.text}, args: []string{"--kubeconfig=" + account, "--set=controllers.cacheSyncTimeout=3s"},
			remove: func(s *suite) {
				s.revoke(right.role, right.resource)
				if right.resource == "secrets" { // reading one that is there is a right of the cluster's role
					s.Kubectl("delete", "secret", rootSecret, "-n", framework.Namespace)
				}
			},
			restore: func(s *suite) { s.applyRights(filepath.Join(framework.Root, "config", "default")) },
		})
	}
	return all
}

// revoke takes the rules about a resource from the operator's roles.
func (s *suite) revoke(kind, resource string) {
	s.Helper()
	rbac := s.Kube.RbacV1()
	if kind == "clusterrole" {
		for _, name := range framework.Roles {
			role, err := rbac.ClusterRoles().Get(s.Context(), name, metav1.GetOptions{})
			s.Must(err)
			for i := range role.Rules {
				role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
			}
			role.Rules = slices.DeleteFunc(role.Rules, isEmpty)
			_, err = rbac.ClusterRoles().Update(s.Context(), role, metav1.UpdateOptions{})
			s.Must(err)
		}
		return
	}
	role, err := rbac.Roles(framework.Namespace).Get(s.Context(), "fairlead-manager", metav1.GetOptions{})
	s.Must(err)
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
	}
	role.Rules = slices.DeleteFunc(role.Rules, isEmpty)
	_, err = rbac.Roles(framework.Namespace).Update(s.Context(), role, metav1.UpdateOptions{})
	s.Must(err)
}

func isEmpty(rule rbacv1.PolicyRule) bool { return len(rule.Resources) == 0 }

// A process that runs bears the loss of any one of these, and so does a start: it serves and reconciles what it can, says
// what is missing, and is whole without a restart once the thing is there.
func TestAStartGoesOnWithoutWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.applyRights(filepath.Join(framework.Root, "config", "default"))
	user, err := s.ServiceAccount(framework.Namespace, "fairlead-manager")
	s.Must(err)
	first := s.start("--leader-elect=false")
	first.reconciles()
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	first.Stop()
	t.Cleanup(func() { s.Must(s.Reinstall(context.WithoutCancel(t.Context()))) })

	for _, l := range framework.Sample(framework.NewSampler(t), 4, s.lacks(user.Kubeconfig)) {
		t.Run(l.title, func(t *testing.T) {
			s := s.in(t)
			l.remove(s)
			s.Kubectl("delete", "service", "one", "-n", namespace, "--ignore-not-found")
			r := s.launch(append([]string{impatient, "--leader-elect=false"}, l.args...)...)
			r.late(l.phase, l.texts...)
			r.reaches("reconcilers", "done")
			if !l.kind {
				s.Eventually(func() error {
					_, err := s.Kube.CoreV1().Services(namespace).Get(t.Context(), "one", metav1.GetOptions{})
					return err
				})
			}
			if l.restore != nil {
				l.restore(s)
				r.whole()
			}
			if l.kind { // its objects went with it
				s.Serve(r.Replica)
				s.Eventually(func() error {
					_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Create(t.Context(), old("one"), metav1.CreateOptions{})
					if apierrors.IsAlreadyExists(err) {
						return nil
					}
					return err
				})
				s.reconciled(namespace, "one")
			}
			s.Retire(r.Replica)
		})
	}
}

// An operator that was upgraded without its role publishes what needs none of the new rights, and says what the rest lacks. It
// goes on without a restart once it has the role.
func TestWithoutTheRightToNetworkPoliciesExternalServicesArePublished(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.applyRights(filepath.Join(framework.Root, "config", "default"))
	user, err := s.ServiceAccount(framework.Namespace, "fairlead-manager")
	s.Must(err)
	t.Cleanup(func() { s.Must(s.Reinstall(context.WithoutCancel(t.Context()))) })
	s.revoke("clusterrole", "networkpolicies")
	r := s.start("--leader-elect=false", "--kubeconfig="+user.Kubeconfig)
	r.reconciles()
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	s.KubectlWith(`{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: limited}, spec: {
		ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.20]}], networkPolicy: {podSelector: {matchLabels: {app: a}}}}}`,
		"apply", "-n", namespace, "-f", "-")
	ready := func(texts ...string) {
		t.Helper()
		s.Eventually(func() error {
			return framework.Holds(s.Kubectl("get", "externalservice", "limited", "-n", namespace, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')]}"), texts...)
		})
	}
	ready("WriteRefused", "networkpolicies.networking.k8s.io", "limited-egress", "is forbidden", "fairlead-manager")
	if _, err := s.Kube.CoreV1().Services(namespace).Get(t.Context(), "limited", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	s.applyRights(filepath.Join(framework.Root, "config", "default"))
	ready("Published", "1 address")
}

// While the CRDs call the Service of another installation, this one writes nothing to them and reconciles nothing. When
// they are its own, it does both without a restart; when they no longer are, it ends its term.
func TestASecondInstallationLeavesTheFirstAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	first := s.start("--leader-elect=false")
	first.reconciles()
	versions := s.generations()
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")

	const second = "fairlead-second"
	s.Kubectl("create", "namespace", second)
	t.Cleanup(func() {
		s.Must(s.Reinstall(context.WithoutCancel(t.Context())))
		_, _ = s.Cluster.Kubectl(context.WithoutCancel(t.Context()), "delete", "namespace", second, "--wait=false")
	})
	other := s.launch("--kubeconfig="+s.Kubeconfig(), "--set=service.namespace="+second, "--leader-elect=false", impatient, "--set=webhook.configurations=second-externalservice,second-rebootpolicy,second-clusterrebootpolicy,second-chaospod")
	other.late("ca-published", framework.Definitions[0], "Service "+framework.Namespace+"/fairlead-webhook", "another installation")
	other.late("reconcilers", "another installation of Fairlead reconciles")
	for range 20 {
		s.create(namespace, fmt.Sprintf("more-%d", time.Now().UnixNano()))
	}
	for name, generation := range s.generations() {
		if generation != versions[name] {
			t.Errorf("%s was written: generation %d, and before %d", name, generation, versions[name])
		}
	}

	first.Stop()
	for _, name := range framework.Definitions {
		_, err := s.Dynamic.Resource(crds).Patch(t.Context(), name, types.JSONPatchType,
			[]byte(`[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/service/namespace","value":"`+second+`"}]`), metav1.PatchOptions{})
		s.Must(err)
	}
	s.Kubectl("delete", "service", "one", "-n", namespace)
	other.reaches("reconcilers", "done")
	s.Eventually(func() error {
		_, err := s.Kube.CoreV1().Services(namespace).Get(t.Context(), "one", metav1.GetOptions{})
		return err
	})
	s.Must(s.Reinstall(t.Context()))
	if code, output := other.ends(framework.Patience); code != 1 || !strings.Contains(output, "another installation of Fairlead reconciles") {
		t.Errorf("it ended with %d:\n%s", code, output)
	}
}
