// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// refusals are the writes of the operator that admission refuses.
var refusals = []struct{ name, group, resource string }{
	{"Services", `""`, "services"},
	{"EndpointSlices", "discovery.k8s.io", "endpointslices"},
	{"Deployments", "apps", "deployments"},
	{"evictions", `""`, "pods/eviction"},
	{"ExternalServices", "networking.fairlead.dev", "externalservices"},
	{"the status of ExternalServices", "networking.fairlead.dev", "externalservices/status"},
	{"the status of RebootPolicies", "autoreboot.fairlead.dev", "rebootpolicies/status"},
	{"the status of ChaosPods", "chaos.fairlead.dev", "chaospods/status"},
	{"events", "events.k8s.io", "events"},
}

// refuse has a ValidatingAdmissionPolicy refuse one of the operator's writes in the namespace, and returns the function
// that lifts it.
func (p *player) refuse(ctx context.Context, which int) (func() error, error) {
	r := refusals[which%len(refusals)]
	policy, err := clusterObject(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %s}, spec: {
		matchConstraints: {resourceRules: [{apiGroups: [%s], apiVersions: ["*"], operations: [CREATE, UPDATE, DELETE], resources: [%s]}]},
		matchConditions: [{name: operator, expression: "request.userInfo.username == 'system:serviceaccount:%s:fairlead-manager'"}],
		validations: [{expression: "false", message: refused by a history}]}}`, p.namespace, r.group, r.resource, framework.Namespace))
	if err != nil {
		return nil, err
	}
	binding, err := clusterObject(fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %s}, spec: {
		policyName: %[1]s, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}}}`, p.namespace))
	if err != nil {
		return nil, err
	}
	lift := func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(p.Client.Delete(ctx, binding), p.Client.Delete(ctx, policy))
	}
	return lift, errors.Join(p.Client.Create(ctx, policy), p.Client.Create(ctx, binding))
}

func clusterObject(manifest string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		return nil, fmt.Errorf("%w: %s", err, manifest)
	}
	return object, nil
}
