// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// uidRange admits what OpenShift's restricted-v2 does: a pod that leaves its user to the platform, or takes one of the
// range of its namespace.
const uidRange = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: uid-range}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ranged}}
  variables:
  - name: users
    expression: >-
      [object.spec.?securityContext.?runAsUser, object.spec.?securityContext.?runAsGroup, object.spec.?securityContext.?fsGroup]
      + object.spec.containers.map(c, c.?securityContext.?runAsUser)
  validations:
  - expression: variables.users.all(u, !u.hasValue() || u.value() >= 1000700000 && u.value() < 1000710000)
    message: a user or group is not of the range of the namespace
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: uid-range}
spec: {policyName: uid-range, validationActions: [Deny]}
`

// constrained are values that a platform asks for.
var constrained = map[string]any{
	"fullnameOverride": "ranged-fairlead", "crds": map[string]any{"enabled": false}, "layout": "split", "hostNetwork": true, "dnsPolicy": "Default",
	"podSecurityContext": map[string]any{"runAsUser": nil, "runAsGroup": nil},
	"podLabels":          map[string]any{"sidecar.istio.io/inject": "false"}, "podAnnotations": map[string]any{"team": "platform"},
	"env":           []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy.example.com"}},
	"extraVolumes":  []any{map[string]any{"name": "clients", "secret": map[string]any{"secretName": "clients"}}},
	"priorityClass": map[string]any{"create": false, "name": "system-cluster-critical"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
	"extraVolumeMounts": []any{map[string]any{"name": "clients", "mountPath": "/etc/clients"}},
	"serviceAccount":    map[string]any{"automount": false, "annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn"}},
	"webhook":           map[string]any{"annotations": map[string]any{"admissions.enforcer/disabled": "true"}},
	"affinity":          map[string]any{"nodeAffinity": map[string]any{}},
	"topologySpreadConstraints": []any{
		map[string]any{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
	},
	"configuration": map[string]any{"webhook": map[string]any{"port": 10250}},
	"commonLabels":  map[string]any{"team": "platform"}, "deploymentAnnotations": map[string]any{"team": "platform"},
	"podDisruptionBudget": map[string]any{"minAvailable": "50%"}, "livenessProbe": map[string]any{"failureThreshold": 5}, "revisionHistoryLimit": 0,
	"networkPolicy": map[string]any{"enabled": true, "egress": []any{map[string]any{"ports": []any{map[string]any{"port": 443}}}}},
	"dashboard":     map[string]any{"enabled": true},
	"extraObjects":  []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "{{ .Release.Name }}-extra", "namespace": "ranged"}}},
}

// fitsPlatforms has the API server judge what the chart renders for platforms that constrain pods, by dry runs.
func (s *suite) fitsPlatforms() {
	s.Helper()
	s.kubectl("create", "namespace", "ranged")
	s.kubectl("label", "namespace", "ranged", "pod-security.kubernetes.io/enforce=restricted")
	s.apply(uidRange)
	fixed, err := s.release("ranged", current, action.DryRunClient, map[string]any{"fullnameOverride": "ranged-fairlead"})
	s.must(err)
	s.eventually(func() error { // the API server reads policies by a watch
		if err := s.admitsPods(fixed); err == nil || !strings.Contains(err.Error(), "not of the range of the namespace") {
			return fmt.Errorf("pods of the default: %w", err)
		}
		return nil
	})
	manifests, err := s.release("ranged", current, action.DryRunClient, constrained)
	s.must(err)
	// Strictly: a field that Kubernetes does not know is an error.
	s.kubectlWith(manifests, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
	if err := s.admitsPods(manifests); err == nil || !strings.Contains(err.Error(), "host namespaces") {
		s.Errorf("pods with the network of nodes, in a namespace that forbids it: %v", err)
	}
	s.kubectl("label", "--overwrite", "namespace", "ranged", "pod-security.kubernetes.io/enforce=privileged")
	s.must(s.admitsPods(manifests))
	s.kubectl("delete", "namespace", "ranged")
	s.kubectlWith(uidRange, "delete", "-f", "-")
}

// sharesWebhooks has another field manager add a selector to the webhooks, as AKS does to those without its annotation: the
// operator is not disturbed, Helm names the other one in a conflict, and takes the selector back by force.
func (s *suite) sharesWebhooks(values map[string]any) {
	s.Helper()
	for _, configuration := range []string{"mutating", "validating"} {
		s.kubectl("patch", configuration+"webhookconfiguration", "fairlead-chaospod", "--field-manager=admissionsenforcer", "--type=json", "-p",
			`[{"op": "add", "path": "/webhooks/0/namespaceSelector/matchExpressions/-", "value": {"key": "control-plane", "operator": "DoesNotExist"}}]`)
	}
	s.sound()
	if err := s.tryUpgrade("fairlead-system", current, upgradeFlags{}, values); err == nil || !strings.Contains(err.Error(), `conflict with "admissionsenforcer"`) {
		s.Errorf("an upgrade beside another field manager of the selectors: %v", err)
	}
	s.upgrade("fairlead-system", current, upgradeFlags{forceConflicts: true}, values)
	s.sound()
}

// admitsPods creates a pod of each Deployment by a dry run.
func (s *suite) admitsPods(manifests string) error {
	pods := 0
	for document := range strings.SplitSeq("\n"+manifests, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil || object.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			return err
		}
		pod := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: d.Spec.Template.Spec}
		pod.Name, pod.Namespace = d.Name, d.Namespace
		pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName = "", "" // which a dry run does not make
		content, err := json.Marshal(pod)
		if err != nil {
			return err
		}
		if _, err := s.tryKubectl(string(content), "create", "--dry-run=server", "-f", "-"); err != nil {
			return err
		}
		pods++
	}
	if pods == 0 {
		return fmt.Errorf("no Deployment in %d bytes", len(manifests))
	}
	return nil
}
