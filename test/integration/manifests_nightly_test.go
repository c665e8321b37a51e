// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"strings"
	"testing"
)

func TestTheOptionalComponentsRenderTogether(t *testing.T) {
	t.Parallel()
	s := newBareSuite(t)
	overlay := s.Kustomization("resources: [CONFIG/default]\ncomponents: [CONFIG/admission-policy, CONFIG/network-policy, CONFIG/flow-schema, CONFIG/prometheus, CONFIG/certmanager, CONFIG/certmanager/cainjector]\n")
	s.Expect(s.run("kustomize", overlay), "kind: ValidatingAdmissionPolicyBinding", "kind: NetworkPolicy", "kind: FlowSchema", "kind: ServiceMonitor", "--set=webhook.certificates.source=certManager", "inject-ca-from-secret", "kind: Deployment")
}

// kustomize does not know that FlowSchemas have no namespace, and gives them that of an overlay.
func TestFlowSchemasOfAnOverlayWithANamespacePassAServersDryRun(t *testing.T) {
	t.Parallel()
	s := newBareSuite(t)
	overlay := s.Kustomization("namespace: elsewhere\nresources: [CONFIG/namespace]\ncomponents: [CONFIG/flow-schema]\n")
	var schemas []string
	for _, object := range s.Objects(s.run("kustomize", overlay)) {
		if object.GetKind() != "FlowSchema" {
			continue
		}
		text, err := object.MarshalJSON()
		s.Must(err)
		if strings.Contains(string(text), "fairlead-system") || !strings.Contains(string(text), `"namespace":"elsewhere"`) {
			t.Errorf("another namespace than that of the overlay: %s", text)
		}
		schemas = append(schemas, string(text))
	}
	out := s.run("apply", "--server-side", "--dry-run=server", "-f", "-", "--", strings.Join(schemas, "\n---\n"))
	s.Expect(out, "flowschema.flowcontrol.apiserver.k8s.io/fairlead-leader-election serverside-applied", "flowschema.flowcontrol.apiserver.k8s.io/fairlead-reviews serverside-applied")
}
