// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// asks is an edit that annotates a workload.
func asks(annotation, value string) edit { return with(value, "metadata", "annotations", annotation) }

// clusterPolicy makes a ClusterRebootPolicy for the namespaces that are labeled with its name, and deletes it after the test.
func (s *suite) clusterPolicy(name, more string) {
	s.Helper()
	s.Make(fmt.Sprintf(`{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: %q},
		spec: {namespaceSelector: {matchLabels: {%[1]s: "yes"}}, template: {spec: {%s, %s, debounce: {quietPeriod: 0s}, cooldown: 1s, verification: {soak: 1s}}}}}`,
		name, more, onConfig))
	s.Cleanup(func() { s.deleteClusterPolicy(name) })
}

func (s *suite) deleteClusterPolicy(name string) {
	s.Helper()
	object := &autorebootv1.ClusterRebootPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(s.Client.Delete(context.Background(), object)); err != nil {
		s.Error(err)
	}
}

// label sets a label of a namespace.
func (s *suite) label(namespace, name, value string) {
	s.Helper()
	s.Must(s.Client.Patch(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, name, value))))
}

// inStep waits for a ClusterRebootPolicy to have counts, and a reason of Ready.
func (s *suite) inStep(name, reason string, namespaces, policies, refused int32) autorebootv1.ClusterRebootPolicyStatus {
	s.Helper()
	var status autorebootv1.ClusterRebootPolicyStatus
	s.Eventually(func() error {
		var of autorebootv1.ClusterRebootPolicy
		if err := s.Client.Get(s.Context(), client.ObjectKey{Name: name}, &of); err != nil {
			return err
		}
		status = of.Status
		ready := meta.FindStatusCondition(status.Conditions, autorebootv1.ConditionReady)
		if ready == nil || ready.Reason != reason || status.Namespaces == nil || *status.Namespaces != namespaces ||
			*status.Policies != policies || *status.RefusedNamespaces != refused || status.ObservedGeneration != of.Generation {
			return fmt.Errorf("want %s, %d namespaces, %d policies, %d refused: %s", reason, namespaces, policies, refused, framework.Text(status))
		}
		return nil
	})
	return status
}

// gone waits until there is no policy of a name.
func (s *suite) gone(name string) {
	s.Helper()
	s.Eventually(func() error {
		if _, err := s.get(name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("policy %s is there: %w", name, err)
		}
		return nil
	})
}

func TestAClusterRebootPolicyKeepsAPolicyInStepWhereSomethingAsksForIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	s.secret("creds", "password", "first")
	s.workload(deployment, "web", takes("creds"), asks(common.RestartOnChangeAnnotation, "true"))
	s.workload(deployment, "bystander", takes("creds"))
	s.available(deployment, "web")
	s.available(deployment, "bystander")
	s.clusterPolicy(name, `targets: [{selector: {}, optIn: Annotation}]`)
	s.inStep(name, autorebootv1.ClusterReasonInStep, 0, 0, 0)

	s.label(s.Namespace, name, "yes")
	s.inStep(name, autorebootv1.ClusterReasonInStep, 1, 1, 0)
	s.watching(name, 1)
	policy, err := s.get(name)
	s.Must(err)
	if rules.ClusterPolicyOf(policy) != name || policy.Labels[autorebootv1.ClusterPolicyLabel] != name || policy.Labels[common.ManagedByLabel] != common.ManagedBy {
		t.Errorf("the policy is not known as made: %s", framework.Text(policy.ObjectMeta))
	}
	s.secret("creds", "password", "second")
	s.succeeded(name, 1)
	s.restarted(deployment, "web", 1)
	s.restarted(deployment, "bystander", 0)

	// An edit by hand is reported and put back; the status stays.
	s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", name, `{spec: {suspend: true, windows: [{name: never, cron: "0 0 1 1 *", duration: 1h}]}}`)
	s.Tells("RebootPolicy", name, "Reverted", 1)
	s.Eventually(func() error {
		policy, err := s.get(name)
		if err == nil && (*policy.Spec.Suspend || len(policy.Spec.Windows) > 0 || len(policy.Status.History) != 1) {
			err = fmt.Errorf("it is %s", framework.Text(policy))
		}
		return err
	})

	// Who edits it again and again is named.
	s.Eventually(func() error {
		s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", name, `{spec: {suspend: true}}`)
		var of autorebootv1.ClusterRebootPolicy
		s.Must(s.Client.Get(s.Context(), client.ObjectKey{Name: name}, &of))
		if r := of.Status.Refusals; len(r) != 1 || r[0].Reason != autorebootv1.ClusterReasonChangedRepeatedly || !strings.Contains(r[0].Message, `field manager "`) {
			return fmt.Errorf("the refusals are %s", framework.Text(of.Status))
		}
		return nil
	})
	s.inStep(name, autorebootv1.ClusterReasonInStep, 1, 1, 0)

	// A user's own policy for the only workload takes precedence, and a workload that it leaves gets the other one again.
	s.policy("own", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.gone(name)
	s.inStep(name, autorebootv1.ClusterReasonInStep, 0, 0, 0)
	s.workload(deployment, "other", takes("creds"), asks(common.RestartOnChangeAnnotation, "true"))
	s.available(deployment, "other")
	s.watching(name, 1)
	s.Delete("autoreboot.fairlead.dev/v1", "RebootPolicy", "own")
	s.watching(name, 2)

	// A namespace that leaves loses it, and nothing is restarted.
	s.label(s.Namespace, name, "no")
	s.gone(name)
	s.restarted(deployment, "web", 1)
	s.restarted(deployment, "other", 0)
}

func TestAClusterRebootPolicyReadsTheAnnotationsOfReloader(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	s.secret("creds", "password", "first")
	s.configMap("app", "color", "red")
	s.workload(deployment, "auto", takes("creds"), asks("reloader.stakater.com/auto", "true"))
	s.workload(deployment, "named", takes("creds"), asks("configmap.reloader.stakater.com/reload", "app"))
	s.workload(deployment, "opted-out", takes("creds"), asks("reloader.stakater.com/auto", "false"))
	for _, w := range []string{"auto", "named", "opted-out"} {
		s.available(deployment, w)
	}
	s.label(s.Namespace, name, "yes")
	s.clusterPolicy(name, `compatibility: Reloader, targets: [{selector: {}, optIn: Annotation}]`)
	s.watching(name, 2)
	s.secret("creds", "password", "second")
	s.succeeded(name, 1)
	s.configMap("app", "color", "blue")
	s.succeeded(name, 2)
	s.restarted(deployment, "auto", 1)
	s.restarted(deployment, "named", 1)
	s.restarted(deployment, "opted-out", 0)
}

// A target without optIn is --auto-reload-all: annotations of one kind then take nothing away from the others. What one workload
// names and is missing is no fault of the policy, and a source that Reloader ignores counts for none.
func TestAClusterRebootPolicyForAllWorkloadsReadsTheAnnotationsOfReloader(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	s.secret("creds", "password", "first")
	s.secret("ignored", "password", "first")
	s.configMap("app", "color", "red")
	s.configMap("unlabelled", "color", "red")
	s.Merge("v1", "Secret", "ignored", `{metadata: {annotations: {reloader.stakater.com/ignore: "true"}}}`)
	for kind, named := range map[string]string{"Secret": "creds", "ConfigMap": "app"} {
		s.Merge("v1", kind, named, `{metadata: {labels: {reload: "yes"}}}`)
	}
	s.Merge("v1", "Secret", "ignored", `{metadata: {labels: {reload: "yes"}}}`)
	s.workload(deployment, "silent", takes("creds"))
	s.workload(deployment, "named", takes("creds"), asks("configmap.reloader.stakater.com/reload", "app, gone"))
	s.workload(deployment, "secrets-off", takes("creds"), asks("secret.reloader.stakater.com/auto", "false"))
	s.workload(deployment, "ignoring", takes("ignored"), asks("secret.reloader.stakater.com/reload", "ignored"))
	s.workload(deployment, "unlabelled", takesConfigMap("unlabelled"))
	for _, w := range []string{"silent", "named", "secrets-off", "ignoring", "unlabelled"} {
		s.available(deployment, w)
	}
	s.label(s.Namespace, name, "yes")
	s.clusterPolicy(name, `compatibility: Reloader, targets: [{selector: {}}]`)
	s.Merge("autoreboot.fairlead.dev/v1", "ClusterRebootPolicy", name, `{spec: {template: {spec: {triggers: [{name: config, type: ConfigChange, configChange: {exclude: [
		{kind: Secret, selector: {matchExpressions: [{key: reload, operator: NotIn, values: ["yes"]}]}},
		{kind: ConfigMap, selector: {matchExpressions: [{key: reload, operator: NotIn, values: ["yes"]}]}}]}}]}}}}`)
	s.watching(name, 5)
	s.Eventually(func() error {
		policy, err := s.get(name)
		if err != nil {
			return err
		}
		ready := meta.FindStatusCondition(policy.Status.Conditions, autorebootv1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || !strings.Contains(ready.Message, "Deployment named: ConfigMap gone, which an annotation names, does not exist") {
			return fmt.Errorf("%s", framework.Text(ready))
		}
		return nil
	})
	s.Merge("v1", "Secret", "creds", `{stringData: {password: second}}`) // the label stays
	s.succeeded(name, 2)
	s.Merge("v1", "ConfigMap", "app", `{data: {color: blue}}`)
	s.succeeded(name, 3)
	s.Merge("v1", "Secret", "ignored", `{stringData: {password: second}}`)
	s.configMap("unlabelled", "color", "blue")
	s.Merge("v1", "Secret", "creds", `{stringData: {password: third}}`) // which comes last
	s.succeeded(name, 5)
	for workload, times := range map[string]int{"silent": 2, "named": 3, "secrets-off": 0, "ignoring": 0, "unlabelled": 0} {
		s.restarted(deployment, workload, times)
	}

	// A policy that a finalizer keeps from being deleted restarts nothing, and both objects say so.
	s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", name, `{metadata: {finalizers: [example.com/backup]}}`)
	s.Must(s.Client.Delete(s.Context(), s.Object("{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: "+name+"}}")))
	s.condition(name, autorebootv1.ConditionReady, "False", autorebootv1.ReasonDeleting)
	s.inStep(name, autorebootv1.ClusterReasonNotInStep, 1, 0, 0)
	s.Merge("autoreboot.fairlead.dev/v1", "RebootPolicy", name, `{metadata: {finalizers: null}}`)
	s.inStep(name, autorebootv1.ClusterReasonInStep, 1, 1, 0)
}

func TestWhoWritesAClusterRebootPolicyNeedsTheRightsInAllNamespaces(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	user, err := s.User("wide@" + name)
	s.Must(err)
	writer, err := framework.NewClient(user.Kubeconfig)
	s.Must(err)
	grant := func(role, rules string) {
		s.Make("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + role + "}, rules: [" + rules + "]}")
		s.Make("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: " + role +
			"}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}, subjects: [{kind: User, name: \"" + user.Name + "\"}]}")
	}
	grant(name+"-write", `{apiGroups: [autoreboot.fairlead.dev], resources: [clusterrebootpolicies], verbs: ["*"]}`)
	s.Grant("patch", "{kind: User, name: \""+user.Name+"\"}", "{apiGroups: [apps], resources: [deployments], verbs: [patch]}")
	manifest := func(version string) string {
		return fmt.Sprintf(`{apiVersion: autoreboot.fairlead.dev/%s, kind: ClusterRebootPolicy, metadata: {name: %q},
			spec: {namespaceSelector: {matchLabels: {%[2]s: "yes"}}, template: {spec: {targets: [{kind: Deployment, selector: {}, optIn: Annotation}], %s}}}}`,
			version, name, onConfig)
	}
	for _, version := range []string{"v1", "v1alpha1"} {
		var refusal error
		s.Eventually(func() error {
			if refusal = writer.Create(s.Context(), s.Object(manifest(version))); refusal != nil && strings.Contains(refusal.Error(), "cannot create") {
				return refusal // the API server does not know the role yet
			}
			return nil
		})
		s.refused(refusal, "spec.template.spec.targets[0]", "may not patch deployments.apps in all namespaces")
	}
	grant(name+"-patch", "{apiGroups: [apps], resources: [deployments], verbs: [patch]}")
	s.Eventually(func() error { return writer.Create(s.Context(), s.Object(manifest("v1alpha1"))) })
	s.Cleanup(func() { s.deleteClusterPolicy(name) })
	s.inStep(name, autorebootv1.ClusterReasonInStep, 0, 0, 0)
	var stored autorebootv1.ClusterRebootPolicy
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Name: name}, &stored))
	if len(stored.Annotations) != 1 || !strings.Contains(stored.Annotations[common.ApprovedByAnnotation], user.Name) {
		t.Errorf("annotations: %s", framework.Text(stored.Annotations))
	}
	s.refused(s.Client.Create(s.Context(), s.Object(strings.Replace(manifest("v1"), "optIn: Annotation", "optIn: Some", 1))), "spec.template.spec.targets[0].optIn", "Unsupported value")
	s.refused(s.Client.Create(s.Context(), s.Object(strings.Replace(manifest("v1"), "ConfigChange", "Schedule, schedule: {cron: \"99 * * * *\"}", 1))), "spec.template.spec.triggers[0].schedule.cron")
}
