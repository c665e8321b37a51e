// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestAWorkloadChaosPodNeverBecomesATemplateThroughV1alpha1(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(chaosPods.object("v1", "monkey", `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`))
	template := `{"spec":{"containers":[{"name":"c","image":"nginx"}]}}`
	s.refused([]string{"is invalid", "set exactly one of template, target.workload, target.selector"},
		"patch", chaosPods.at("v1alpha1"), "monkey", "--type=merge", "-p", `{"spec":{"template":`+template+`}}`)

	view := s.view(chaosPods, "v1alpha1", "monkey")
	view.Object["spec"] = parse(`{template: ` + template + `}`)
	s.refused([]string{"is invalid", "spec"}, "replace", "-f", "-", "--", framework.Text(view.Object))

	// Another edit at v1alpha1 leaves the target as it is.
	s.run("patch", chaosPods.at("v1alpha1"), "monkey", "--type=merge", "-p", `{"metadata":{"labels":{"touched":"yes"}},"spec":{"nextStop":"2027-01-01T00:00:00Z"}}`)
	after := s.view(chaosPods, "v1", "monkey")
	s.sameField(after, "spec.target", `{workload: {kind: Deployment, name: web}}`)
	s.sameField(after, "spec.schedule.at", `"2027-01-01T00:00:00Z"`)
}
