// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// waitsForApproval waits until a policy offers another approval than before, and returns it.
func (s *suite) waitsForApproval(name, before string) (token string) {
	s.Helper()
	s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		if token = string(st.PendingApproval); token == "" || token == before {
			return fmt.Errorf("it offers the approval %q, after %q", token, before)
		}
		return nil
	})
	return token
}

// approve sets the annotation as the person.
func (p *person) approve(name, token string) error {
	p.Helper()
	return p.patch(name, fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, autorebootv1.ApproveAnnotation, token))
}

// command runs fairlead approve as the person, and returns what it prints.
func (p *person) command(args ...string) (string, error) {
	p.Helper()
	program := exec.CommandContext(p.Context(), filepath.Join(framework.Root, "bin", "fairlead"),
		append([]string{"approve", "rebootpolicy/p", "-n", p.Namespace, "--kubeconfig=" + p.Kubeconfig(), "--as=" + p.user}, args...)...)
	printed, err := program.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, printed)
	}
	return string(printed), err
}

// TestARestartWaitsForSomeoneWhoMayApproveIt has a person who may write the policy and restart its workload, and another who may
// approve and nothing else.
func TestARestartWaitsForSomeoneWhoMayApproveIt(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", cooldown: 0s, gates: [{name: release, type: Approval}]}")
	s.watching("p", 1)
	editor := s.newPerson("editor", "{apiGroups: [apps], resources: [deployments], verbs: [patch], resourceNames: [web]}")
	approver := s.newPerson("approver", "{apiGroups: [autoreboot.fairlead.dev], resources: [rebootpolicies], verbs: [approve], resourceNames: [p]}")
	s.Must(editor.patch("p", `{"spec": {"historyLimit": 7}}`))

	s.secret("creds", "password", "second")
	first := s.waitsForApproval("p", "")
	s.held("p", "web", autorebootv1.ReasonApprovalRequired)
	s.Tells("RebootPolicy", "p", "ApprovalRequired", 1)
	s.refused(editor.approve("p", first), "may not approve rebootpolicies.autoreboot.fairlead.dev", `"p"`, "leave the annotation as it is")
	s.refused(editor.patch("p", `{"spec": {"gates": null}}`), "spec.gates", "may not approve", "keep the gate of type Approval")
	s.refused(approver.patch("p", `{"spec": {"cooldown": "1s"}}`), "spec.targets[0]", "may not patch deployments.apps")
	s.Must(editor.patch("p", `{"spec": {"gates": [{"name": "another-name", "type": "Approval"}]}}`))

	// What is approved is what waits, and not what it was.
	s.secret("creds", "password", "third")
	second := s.waitsForApproval("p", first)
	s.Must(approver.approve("p", first))
	s.Tells("RebootPolicy", "p", "RequestIgnored", 1)
	third := s.waitsForApproval("p", second) // no id comes twice
	s.restarted(deployment, "web", 0)
	_, err := editor.command()
	s.refused(err, "you have no permission to approve", "grant approve on rebootpolicies.autoreboot.fairlead.dev")
	_, err = approver.command("--id=" + second)
	s.refused(err, second+" is not what waits now", "approve "+third)
	printed, err := approver.command("--id="+third, "--wait")
	s.Must(err)
	if !strings.Contains(printed, "the restart of Deployment web for config") || !strings.Contains(printed, "it is approved") {
		t.Errorf("it prints %s", printed)
	}
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)

	// An old approval that is applied again is for nothing, and so is a request for a restart.
	s.secret("creds", "password", "fourth")
	fourth := s.waitsForApproval("p", third)
	s.Must(approver.patch("p", fmt.Sprintf(`{"metadata": {"annotations": {%q: null}}}`, autorebootv1.ApproveAnnotation)))
	s.Must(approver.approve("p", third))
	s.annotate("p", autorebootv1.RestartNowAnnotation, "monday")
	fifth := s.waitsForApproval("p", fourth)
	s.Never(func() error {
		if n := s.rollouts(deployment, "web"); n != 2 {
			return fmt.Errorf("it has had %d templates, want 2", n)
		}
		return nil
	})
	s.Must(approver.approve("p", fifth))
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
}
