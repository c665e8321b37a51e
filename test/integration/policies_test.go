// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// policyCase is a write at v1 that no webhook sees, and what a policy says.
type policyCase struct {
	kind kind
	// spec is the new one, and old the stored one; "" is a create.
	spec, old string
	// annotations are the new ones, and stored those of the stored object.
	annotations, stored map[string]string
	// user writes. The default is ann.
	user string
	// rights are all that the user has beside the right to write the kind, as in "get secrets creds", separated by commas.
	rights string
	// refusal is in the refusal; "" is a write that is accepted.
	refusal string
}

// policyCases returns the cases of each policy, by the names of their objects.
func policyCases() map[string]map[string]policyCase {
	return map[string]map[string]policyCase{
		"fairlead-annotations":            annotationCases(),
		"fairlead-externalservice-names":  nameCases(),
		"fairlead-externalservice-rights": publishingCases(),
		"fairlead-rebootpolicy-rights":    restartCases(),
		"fairlead-rebootpolicy-reads":     readCases(),
		"fairlead-rebootpolicy-gates":     gateCases(),
		"fairlead-rebootpolicy-approval":  approvalCases(),
		"fairlead-chaospod-rights":        chaosCases(),
	}
}

// grantRights gives each right of the cases to a group of its name.
func (s *suite) grantRights() {
	s.Helper()
	rules := map[string]string{"writers": `{apiGroups: ["*"], resources: [externalservices, rebootpolicies, chaospods], verbs: [create, update]}`}
	for _, cases := range policyCases() {
		for _, c := range cases {
			for right := range strings.SplitSeq(c.rights, ",") {
				if right != "" {
					rules[right] = ruleOf(right)
				}
			}
		}
	}
	for i, group := range slices.Sorted(maps.Keys(rules)) {
		s.Grant(fmt.Sprintf("right-%d", i), fmt.Sprintf("{kind: Group, apiGroup: rbac.authorization.k8s.io, name: %q}", group), rules[group])
	}
}

// boundPolicies returns the objects of config/admission-policy. The bindings are limited to the namespace.
func (s *suite) boundPolicies() (policies, bindings []*unstructured.Unstructured) {
	s.Helper()
	for _, object := range s.Objects(s.run("kustomize", s.Kustomization("components: [CONFIG/admission-policy]\n"))) {
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			policies = append(policies, object)
			continue
		}
		object.SetName(object.GetName() + "-" + s.Namespace)
		s.Must(unstructured.SetNestedStringMap(object.Object, map[string]string{corev1.LabelMetadataName: s.Namespace},
			"spec", "matchResources", "namespaceSelector", "matchLabels"))
		bindings = append(bindings, object)
	}
	return policies, bindings
}

// policyObject returns an object of a case.
func (s *suite) policyObject(c policyCase, name, spec string, annotations map[string]string) *unstructured.Unstructured {
	s.Helper()
	object := s.Object(c.kind.object("v1", name, spec))
	object.SetAnnotations(annotations)
	return object
}

// writePolicyCase writes a case by a dry run, and returns an error where it is not as the case says.
func (s *suite) writePolicyCase(policy string, c policyCase, name string, old *unstructured.Unstructured) error {
	s.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: cmp.Or(c.user, "ann"), Groups: append(strings.Split(c.rights, ","), "writers")}
	all, err := dynamic.NewForConfig(config)
	s.Must(err)
	writer := all.Resource(schema.GroupVersionResource{Group: c.kind.group, Version: "v1", Resource: c.kind.resource}).Namespace(s.Namespace)
	object := s.policyObject(c, name, c.spec, c.annotations)
	if old == nil {
		_, err = writer.Create(s.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	} else {
		object.SetResourceVersion(old.GetResourceVersion())
		_, err = writer.Update(s.Context(), object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	switch {
	case c.refusal == "" && err != nil:
		return fmt.Errorf("%s, which is to be accepted: %w", name, err)
	case c.refusal != "" && err == nil:
		return fmt.Errorf("%s was accepted, and is to be refused with %q", name, c.refusal)
	case c.refusal != "" && (!strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), c.refusal)):
		return fmt.Errorf("%s is to be refused by %s with %q: %w", name, policy, c.refusal, err)
	}
	return nil
}
