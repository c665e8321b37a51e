// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// policies apply the component, first as a dry run of all of it.
func (s *suite) policies() {
	s.Helper()
	rendered := s.run("kustomize", s.Kustomization("components: [CONFIG/admission-policy]\n"))
	for _, dry := range []string{"--dry-run=server", "--dry-run=none"} {
		out := s.run("apply", "--server-side", dry, "-f", "-", "--", rendered)
		if want := len(s.Objects(rendered)); strings.Count(out, "serverside-applied") != want || want != 16 {
			s.Fatalf("%d objects were rendered, and the API server took\n%s", want, out)
		}
	}
}

// asUser runs kubectl as a user who may write Fairlead's kinds in the namespace, and nothing else but
// what a role of this test says.
func (s *suite) asUser(args ...string) said {
	s.Helper()
	return s.try(append([]string{"--as=ann"}, args...)...)
}

// failing sets the failure policy of all webhooks, or takes the webhooks away.
func (s *suite) failing(policy string) {
	s.Helper()
	for _, kind := range []string{"mutatingwebhookconfiguration", "validatingwebhookconfiguration"} {
		if policy == "" {
			s.run(append([]string{"delete", kind}, framework.WebhookConfigurations...)...)
			continue
		}
		for _, name := range framework.WebhookConfigurations {
			s.run("patch", kind, name, "--type=json", "-p", framework.Text([]any{map[string]any{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}}))
		}
	}
}

const (
	loopback = `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [127.0.0.1]}]}`
	forged   = `{"user":"ann","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}`
	drill    = `{target: {workload: {kind: Deployment, name: web}}, schedule: {interval: 1h}}`
	restart  = `{targets: [{kind: Deployment, name: web}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}]}`
)

// annotated is an object with an annotation.
func (k kind) annotated(version, name, spec, key, value string) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(k.object(version, name, spec)), &object); err != nil {
		panic(err) //nolint:forbidigo // the object is our own
	}
	object["metadata"].(map[string]any)["annotations"] = map[string]any{key: value}
	return framework.Text(object)
}

// stalls waits until the reconciler refuses an object, in these words.
func (s *suite) stalls(k kind, name string, words ...string) {
	s.Helper()
	const condition = `{.status.conditions[?(@.type=="Stalled")]`
	s.run("wait", k.at("v1"), name, "--for=jsonpath="+condition+".status}=True", "--timeout="+framework.Patience.String())
	s.Expect(s.run("get", k.at("v1"), name, "-o", "jsonpath="+condition+"}"), words...)
}

// Webhooks come to be passed by in three ways, and the floor holds in each. It comes as one test, on a
// cluster that goes from bad to worse.
func TestTheFloorHoldsWhileTheWebhooksDoNot(t *testing.T) {
	t.Parallel()
	s, replica := newOwnSuite(t, framework.Shipped) // policies hold for a whole cluster
	s.run("create", "clusterrole", "writer", "--verb=*", "--resource=externalservices.networking.fairlead.dev,rebootpolicies.autoreboot.fairlead.dev,chaospods.chaos.fairlead.dev")
	s.run("create", "rolebinding", "ann", "--clusterrole=writer", "--user=ann")
	create := []string{"create", "-f", "-", "--"}
	reserve := func(name string) string { return externalServices.object("v1", name, reserved) }

	// With webhooks and no floor, and then with both: what is good passes, at either version.
	const good = `{ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}]}`
	s.run(append(create, externalServices.object("v1alpha1", "before", good))...)
	s.failing("Ignore")
	s.policies()
	chaos := chaosPods.object("v1", "bad", drill)
	s.Eventually(func() error { // the API server takes note of policies in a moment
		if s.asUser(append(create[:1:1], "--dry-run=server", "-f", "-", "--", chaos)...).failure == nil {
			return fmt.Errorf("no policy is in force")
		}
		return nil
	})
	if answer := s.asUser(append(create, externalServices.annotated("v1", "claimed", database, "fairlead.dev/approved-by", forged))...); answer.failure != nil {
		t.Errorf("what the webhook would have replaced was refused: %s", answer.err)
	}
	s.run(append(create, externalServices.object("v1alpha1", "old", good))...)
	s.run(append(create, externalServices.object("v1", "new", database))...)
	s.run(append(create, rebootPolicies.object("v1", "new", restart))...)
	s.run(append(create, chaosPods.object("v1", "new", drill))...)
	for _, p := range pairs {
		s.run(append(create, p.object("v1alpha1", "pair", p.old))...)
		s.run("patch", p.at("v1"), "pair", "--type=merge", "-p", p.newEdit)
		s.run("patch", p.at("v1alpha1"), "pair", "--type=merge", "-p", p.oldEdit)
	}

	// The webhooks are not called, and conversion still works: what is stored without a check is the reconcilers' to refuse.
	s.failing("")
	for version, manifest := range map[string]string{
		"v1alpha1": externalServices.object("v1alpha1", "loopback", `{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [127.0.0.1]}]}`),
		"v1":       externalServices.object("v1", "loopback", `{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [127.0.0.1]}]}`),
	} { // the schemas of both versions refuse the same
		if answer := s.try(append(create, manifest)...); answer.failure == nil || !strings.Contains(answer.err, "spec.endpoints[0].addresses[0]") {
			t.Errorf("a loopback address at %s: %s", version, answer.err)
		}
	}
	s.Eventually(func() error {
		return s.try(append(create, rebootPolicies.object("v1alpha1", "nowhere",
			`{targets: [{kind: Deployment, name: web}], policies: [{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0", timeZone: Europe/Atlantis}}]}`))...).failure
	})
	s.stalls(rebootPolicies, "nowhere", `"InvalidSpec"`, "spec.triggers[0].schedule.timeZone")
	if found := s.run("get", "services", "-o", "name"); strings.Contains(found, "loopback") {
		t.Errorf("an invalid object was published: %s", found)
	}
	for wanted, manifest := range map[string]string{
		"spec.service.labels: a label of kubernetes.io":             reserve("bad"),
		"metadata.name: the Service gets this name":                 externalServices.object("v1", "with.dot", database),
		"the last label must not be a number":                       externalServices.object("v1", "bad", `{ports: [{name: sql, port: 1}], endpoints: [{name: a, dns: {name: "0x7f.1"}}]}`),
		"metadata.annotations[fairlead.dev/approved-by]: you may":   externalServices.annotated("v1", "bad", database, "fairlead.dev/approved-by", forged),
		"spec.targets[0]: you may not patch this workload":          rebootPolicies.object("v1", "bad", restart),
		"spec.action.type: you may not create pods/eviction":        chaos,
		"is invalid: spec.endpoints[0].addresses[0]: Invalid value": externalServices.object("v1", "bad", loopback),
	} {
		answer := s.asUser(append(create, manifest)...)
		if answer.failure == nil {
			t.Errorf("%s: was accepted: %s", wanted, manifest)
			continue
		}
		s.Expect(answer.err, wanted)
	}
	// Ann's approval in bob's name is denied by two policies, and the API server tells one of them. An administrator's is denied by one.
	s.Expect(s.try(append(create, externalServices.annotated("v1", "bad", database, "fairlead.dev/approved-by", forged))...).err,
		"metadata.annotations[fairlead.dev/approved-by]: only")
	s.run("create", "role", "restarts", "--verb=patch", "--resource=deployments.apps", "--resource-name=web")
	s.run("create", "rolebinding", "restarts", "--role=restarts", "--user=ann")
	s.Eventually(func() error {
		answer := s.asUser(append(create, rebootPolicies.object("v1", "granted", restart))...)
		return answer.failure
	})

	// The policies ask for the same rights as the webhook, of what they can know.
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(rightsCases())), func(name string) bool { return rightsCases()[name].webhookOnly })
	s.writeWithRights(names, func(_ rightsCase, missing need, said string) bool {
		return strings.Contains(said, "ValidatingAdmissionPolicy") && strings.Contains(said, "may not") &&
			strings.Contains(said, fieldAtV1(missing.path))
	})

	// What stood before is relabeled, held and deleted, whatever the floor says of it.
	outside := *s
	outside.Namespace = "kube-system"
	outside.run(append(create, reserve("unseen"))...)
	outside.run("delete", "extsvc", "unseen")
	s.run("delete", "validatingadmissionpolicybinding", "--all")
	s.Eventually(func() error { return s.try(append(create, reserve("invalid"))...).failure })
	s.policies()
	s.Eventually(func() error {
		if s.try("create", "--dry-run=server", "-f", "-", "--", reserve("other")).failure == nil {
			return fmt.Errorf("the bindings are not in force again")
		}
		return nil
	})
	s.run("patch", "extsvc", "invalid", "--type=merge", "-p", `{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/hold"]}}`)
	s.run("patch", "extsvc", "invalid", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	s.run("patch", "extsvc", "invalid", "--subresource=status", "--type=merge", "-p", `{"status":{"activePriority":1}}`)
	s.run("delete", "extsvc", "invalid", "--wait=false")
	s.run("patch", "extsvc", "invalid", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	s.run("wait", "--for=delete", "extsvc/invalid", "--timeout="+framework.Patience.String())

	// No replica answers at all. Fail refuses, Ignore leaves it to the floor.
	s.Must(s.Reinstall(t.Context()))
	s.Retire(replica)
	s.Eventually(func() error {
		answer := s.try("create", "--dry-run=server", "-f", "-", "--", externalServices.object("v1", "closed", database))
		if answer.failure == nil {
			return fmt.Errorf("it was accepted while no webhook answers")
		}
		s.Expect(answer.err, "failed calling webhook")
		return nil
	})
	s.run("delete", "extsvc", "before", "--wait=false") // must not be refused
	s.failing("Ignore")
	s.Eventually(func() error {
		return s.try(append(create, externalServices.object("v1", "open", database))...).failure
	})
	s.refused([]string{"fairlead-externalservice-names", "choose another key"}, append(create, reserve("bad"))...)
}
