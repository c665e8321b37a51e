// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// need is a right, as in "get secrets creds" or "patch deployments.apps" for all of them, the field that needs it, and
// how the webhook names it where that is not its usual wording.
type need struct{ right, path, words string }

// rightsCase is an object that needs these rights of its writer and no others.
type rightsCase struct {
	kind          kind
	version, spec string
	annotations   map[string]string
	needs         []need
	// stored means that the administrator has stored the object without the annotations, which the writer adds.
	stored bool
	// webhookOnly are rights that no policy of the API server reviews: it does not know the addresses of the cluster.
	webhookOnly bool
}

const weekly = `{name: weekly, type: Schedule, schedule: {cron: "0 3 * * 0"}}`

// restartOf is a RebootPolicy at v1 of the Deployment web, with further fields, and what they need.
func restartOf(more string, needs ...need) rightsCase {
	if !strings.Contains(more, "targets:") {
		more, needs = "targets: [{kind: Deployment, name: web}], "+more, append(needs, need{right: "patch deployments.apps web", path: "spec.targets[0]"})
	}
	if !strings.Contains(more, "triggers:") {
		more += ", triggers: [" + weekly + "]"
	}
	return rightsCase{kind: rebootPolicies, version: "v1", spec: "{" + more + "}", needs: needs}
}

// triggeredBy is a RebootPolicy at v1 with one trigger, and what that needs.
func triggeredBy(trigger string, needs ...need) rightsCase {
	return restartOf("triggers: ["+trigger+"]", needs...)
}

// gatedBy is a RebootPolicy at v1 with one gate, and what that needs.
func gatedBy(gate, right string) rightsCase {
	return restartOf("gates: [{name: gate, "+gate+"}]", need{right: right, path: "spec.gates[0]"})
}

// killing is a ChaosPod at v1, and what it needs.
func killing(more string, needs ...need) rightsCase {
	return rightsCase{kind: chaosPods, version: "v1", spec: "{schedule: {interval: 1h}, " + more + "}", needs: needs}
}

// publishing is an ExternalService at v1 with one annotation.
func publishing(annotation, value, right, words string) rightsCase {
	return rightsCase{
		kind: externalServices, version: "v1", annotations: map[string]string{annotation: value},
		spec:  `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`,
		needs: []need{{right, "metadata.annotations[" + annotation + "]", words}},
	}
}

// limiting is an ExternalService of a name with a NetworkPolicy.
func limiting(version, name string) rightsCase {
	right := func(verb, of, words string) need {
		return need{verb + " networkpolicies.networking.k8s.io" + of, "spec.networkPolicy", "may not " + verb + " " + words}
	}
	one := fmt.Sprintf("the NetworkPolicy %q", name+"-egress")
	return rightsCase{
		kind: externalServices, version: version,
		spec: `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}], networkPolicy: {podSelector: {matchLabels: {app: web}}}}`,
		needs: []need{
			right("create", "", "networkpolicies.networking.k8s.io"), right("update", " "+name+"-egress", one), right("delete", " "+name+"-egress", one),
		},
	}
}

// commanded is an object of the administrator's, to which a writer who has these rights adds an annotation.
func commanded(c rightsCase, annotation, value string) rightsCase {
	c.stored, c.annotations = true, map[string]string{annotation: value}
	return c
}

var (
	evicting = need{right: "create pods/eviction", path: "spec.action.type"}
	seeing   = need{right: "get pods", path: "spec.target"}
	creating = []need{
		{"create services", "addresses[0]", "may not create services in"},
		{"create endpointslices.discovery.k8s.io", "addresses[0]", "may not create endpointslices.discovery.k8s.io in"},
	}
)

// rightsCases has each field and value of testdata/rights.txt that needs a right.
func rightsCases() map[string]rightsCase {
	const source, action, canary = "spec.triggers[0].configChange.sources[0]", "spec.action.type", "template: {spec: {containers: [{name: c, image: nginx}]}}"
	configured := func(source string) string {
		return "{name: config, type: ConfigChange, configChange: {sources: [{" + source + "}]}}"
	}
	cases := map[string]rightsCase{
		"target-selector": restartOf("targets: [{kind: Deployment, selector: {matchLabels: {app: web}}}]", need{right: "patch deployments.apps", path: "spec.targets[0]"}),
		"target-of-any-kind": restartOf("targets: [{selector: {}}]", need{right: "patch deployments.apps", path: "spec.targets[0]"},
			need{right: "patch statefulsets.apps", path: "spec.targets[0]"}, need{right: "patch daemonsets.apps", path: "spec.targets[0]"}),
		"target-of-any-rollout": restartOf("targets: [{group: argoproj.io, selector: {}}]", need{right: "patch rollouts.argoproj.io", path: "spec.targets[0]"}),
		"strategy-evict":        restartOf("targets: [{kind: Deployment, name: web}], strategy: {type: Evict}", need{right: "create pods/eviction", path: "spec.strategy.type"}, need{right: "get pods", path: "spec.strategy.type"}),
		"account":               restartOf("targets: [{kind: Deployment, name: web}], serviceAccountName: robot", need{right: "impersonate serviceaccounts robot", path: "spec.serviceAccountName"}, need{right: "get deployments.apps web", path: "spec.targets[0]"}),
		"account-of-a-selector": restartOf("targets: [{kind: StatefulSet, selector: {matchLabels: {app: web}}}], serviceAccountName: robot, strategy: {type: Evict}", need{right: "impersonate serviceaccounts robot", path: "spec.serviceAccountName"}, need{right: "list statefulsets.apps", path: "spec.targets[0]"}),
		"source-configmap":      triggeredBy(configured("kind: ConfigMap, name: conf"), need{right: "get configmaps conf", path: source}),
		"source-secret":         triggeredBy(configured("kind: Secret, name: creds"), need{right: "get secrets creds", path: source}),
		"source-class": triggeredBy(configured("kind: SecretProviderClass, name: vault"),
			need{right: "list secretproviderclasspodstatuses.secrets-store.csi.x-k8s.io", path: source}),
		"source-selector":   triggeredBy(configured("kind: Secret, selector: {matchLabels: {app: web}}"), need{right: "list secrets", path: source}),
		"source-configmaps": triggeredBy(configured("kind: ConfigMap, selector: {matchLabels: {app: web}}"), need{right: "list configmaps", path: source}),
		"certificate":       triggeredBy("{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: tls}}", need{right: "get secrets tls", path: "spec.triggers[0].certificateRenewal.secretName"}),
		"endpoints-change":  triggeredBy("{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: db}}", need{right: "get externalservices.networking.fairlead.dev db", path: "spec.triggers[0].endpointsChange.externalServiceName"}),
		"probe-authority":   restartOf("cooldown: 10m, triggers: [{name: up, type: Probe, probe: {httpGet: {port: 80}, tls: {caSecretName: roots}}}]", need{right: "get secrets roots", path: "spec.triggers[0].probe.tls.caSecretName"}),
		"probe-secrets": restartOf("cooldown: 10m, triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80, steps: [{sendFrom: {secretKeyRef: {name: login, key: password}}}]}, tls: {clientCertificateSecretName: client}}}]",
			need{right: "get secrets client", path: "spec.triggers[0].probe.tls.clientCertificateSecretName"}, need{right: "get secrets login", path: "spec.triggers[0].probe.tcpSocket.steps[0].sendFrom.secretKeyRef"}),
		"verification-authority": restartOf("targets: [{kind: Deployment, name: web}], verification: {probes: [{name: up, host: 192.0.2.1, httpGet: {port: 443}, tls: {caSecretName: roots}}]}", need{right: "get secrets roots", path: "spec.verification.probes[0].tls.caSecretName"}, need{right: "patch deployments.apps web", path: "spec.targets[0]"}),
		"gate-query":             restartOf("gates: [{name: quiet, type: PrometheusQueryEmpty, prometheusQueryEmpty: {query: up}}]"),
		"gate-no-pods":           gatedBy("type: NoPods, noPods: {selector: {matchLabels: {app: job}}}", "list pods"),
		"gate-external-service":  gatedBy("type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}", "get externalservices.networking.fairlead.dev db"),
		"gate-certificate":       gatedBy("type: Condition, condition: {apiVersion: cert-manager.io/v1, kind: Certificate, name: web, type: Ready, maxAge: 1h}", "get certificates.cert-manager.io web"),
		"gate-pod":               gatedBy("type: Condition, condition: {apiVersion: v1, kind: Pod, name: web-0}", "get pods web-0"),
		"gate-chaos-pod":         gatedBy("type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: drill, type: Survived}", "get chaospods.chaos.fairlead.dev drill"),
		"kill-selector":          killing("target: {selector: {matchLabels: {app: web}}}", evicting, seeing),
		"kill-delete":            killing("target: {workload: {kind: Deployment, name: web}}, action: {type: Delete}", need{right: "delete pods", path: action}, seeing),
		"kill-authority": killing("target: {workload: {kind: Deployment, name: web}}, verification: {probes: [{name: up, host: 192.0.2.1, httpGet: {port: 443}, tls: {caSecretName: roots}}]}",
			evicting, seeing, need{right: "get secrets roots", path: "spec.verification.probes[0].tls.caSecretName"}),
		"kill-template":          killing("target: {"+canary+"}", evicting, need{right: "create pods", path: "spec.target.template"}),
		"kill-account":           killing("target: {selector: {matchLabels: {app: web}}}, serviceAccountName: robot", need{right: "impersonate serviceaccounts robot", path: "spec.serviceAccountName"}, need{right: "list pods", path: "spec.target"}),
		"kill-account-template":  killing("target: {"+canary+"}, serviceAccountName: robot", need{right: "impersonate serviceaccounts robot", path: "spec.serviceAccountName"}),
		"kill-template-v1alpha1": {kind: chaosPods, version: "v1alpha1", spec: "{" + canary + ", nextStop: 2030-01-01T00:00:00Z}", needs: []need{evicting, {right: "create pods", path: "spec.template"}}},
		"adopt":                  publishing("networking.fairlead.dev/adopt-service", "true", "update services adopt", `may not update the Service "adopt"`),
		"fault":                  publishing("networking.fairlead.dev/inject-fault", "BlackHole for=10m at=2026-03-02T14:00:00Z", "update endpointslices.discovery.k8s.io", "may not update endpointslices"),
		"authority":              {kind: externalServices, version: "v1", spec: `{ports: [{name: web, port: 443}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {httpGet: {}, tls: {caSecretName: roots}}}`, needs: []need{{"get secrets roots", "spec.healthCheck.tls.caSecretName", `may not get the Secret "roots"`}}},
		"check-secrets": {kind: externalServices, version: "v1", spec: `{ports: [{name: web, port: 443}], endpoints: [{name: a, addresses: [192.0.2.1]}], healthCheck: {tcpSocket: {steps: [{expect: hello}, {sendFrom: {secretKeyRef: {name: login, key: password}}}]}, tls: {clientCertificateSecretName: client}}}`,
			needs: []need{{"get secrets client", "spec.healthCheck.tls.clientCertificateSecretName", `may not get the Secret "client"`}, {"get secrets login", "spec.healthCheck.tcpSocket.steps[1].sendFrom.secretKeyRef", `may not get the Secret "login"`}}},
		"network-policy":           limiting("v1", "network-policy"),
		"network-policy-v1alpha1":  limiting("v1alpha1", "network-policy-v1alpha1"),
		"cluster-address":          {kind: externalServices, version: "v1", spec: `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [10.96.7.7]}]}`, needs: creating, webhookOnly: true},
		"cluster-address-v1alpha1": {kind: externalServices, version: "v1alpha1", spec: `{ports: [{name: sql, port: 5432}], endpoints: [{name: host-0, addresses: [10.96.7.7]}]}`, webhookOnly: true, needs: creating},
	}
	for name, command := range map[string]struct{ annotation, value string }{
		"restart-now":       {"autoreboot.fairlead.dev/restart-now", "now"},
		"retry":             {"autoreboot.fairlead.dev/retry", "now"},
		"on-injected-fault": {"autoreboot.fairlead.dev/on-injected-fault", "Restart"},
	} {
		cases[name] = commanded(cases["target-selector"], command.annotation, command.value)
	}
	const approve = "autoreboot.fairlead.dev/approve"
	cases["approve"] = commanded(rightsCase{kind: rebootPolicies, version: "v1", spec: cases["target-selector"].spec,
		needs: []need{{right: "approve rebootpolicies.autoreboot.fairlead.dev approve", path: "metadata.annotations[" + approve + "]"}}}, approve, "0123456789abcdef")
	cases["run-now"] = commanded(cases["kill-delete"], "chaos.fairlead.dev/run-now", "now")
	cases["retry-kills"] = commanded(cases["kill-delete"], "chaos.fairlead.dev/retry", "now")
	for _, workload := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Rollout"} {
		group := "apps"
		if workload == "Rollout" {
			group = "argoproj.io"
		}
		name, resource, of := strings.ToLower(workload), strings.ToLower(workload)+"s."+group, "{group: "+group+", kind: "+workload+", name: web}"
		cases["kill-"+name] = killing("target: {workload: "+of+"}", evicting, seeing)
		if workload == "ReplicaSet" {
			continue // is restarted by its Deployment
		}
		cases["target-"+name] = restartOf("targets: ["+of+"]", need{right: "patch " + resource + " web", path: "spec.targets[0]"})
		cases["target-"+name+"-v1alpha1"] = rightsCase{kind: rebootPolicies, version: "v1alpha1",
			spec:  "{targets: [" + of + "], cooldown: 10m, policies: [{name: http, type: Probe, probe: {httpGet: {port: 80}}}]}",
			needs: []need{{right: "patch " + resource + " web", path: "spec.targets[0]"}}}
		if group != "apps" {
			continue // no gate reads it
		}
		cases["gate-"+name] = gatedBy("type: Condition, condition: {apiVersion: apps/v1, kind: "+workload+", name: ledger}", "get "+resource+" ledger")
	}
	return cases
}

// fieldsOfSpecs returns the fields of the specs of all kinds at all versions, with the values of enumerations. A
// selector, a window and a pod template are one field each.
func fieldsOfSpecs(t *testing.T) (fields []string) {
	t.Helper()
	var add func(path string, node apiextensionsv1.JSONSchemaProps)
	add = func(path string, node apiextensionsv1.JSONSchemaProps) {
		_, isSelector := node.Properties["matchExpressions"]
		_, isWindow := node.Properties["duration"]
		_, isTemplate := node.Properties["metadata"]
		switch {
		case len(node.Properties) > 0 && !isSelector && !isWindow && !isTemplate:
			for name, member := range node.Properties {
				add(path+"."+name, member)
			}
		case node.Items != nil:
			add(path+"[]", *node.Items.Schema)
		case node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil:
			add(path+"{}", *node.AdditionalProperties.Schema)
		case len(node.Enum) > 0:
			for _, value := range node.Enum {
				fields = append(fields, path+"="+strings.Trim(string(value.Raw), `"`))
			}
		default:
			fields = append(fields, path)
		}
	}
	for _, k := range kinds {
		raw, err := crd.Definition(k.group, k.resource)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			if version.Deprecated {
				continue // it has the same fields
			}
			add(k.name+"/"+version.Name+":spec", version.Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	return fields
}

// annotationConstant is a constant of the API packages that names an annotation.
var annotationConstant = regexp.MustCompile(`Annotation\s+=\s+"(.+)"|Annotation = "(.+)"`)

// annotationNames returns the annotations of the API packages.
func annotationNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../api/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../../api/*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, deeper...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range annotationConstant.FindAllSubmatch(raw, -1) {
			names = append(names, "annotation:"+string(found[1])+string(found[2]))
		}
	}
	return names
}

func TestAWriterNeedsExactlyTheRightsToWhatAnObjectDoes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.writeWithRights(framework.Sample(framework.NewSampler(t), 24, slices.Sorted(maps.Keys(rightsCases()))), func(c rightsCase, missing need, said string) bool {
		words := missing.words
		if words == "" {
			words = wordsOf(missing.right)
		}
		return strings.Contains(said, missing.path) && strings.Contains(said, words)
	})
}

// writeWithRights writes the cases: each as a user who has its rights alone, who succeeds, and as users who lack one of
// them, who are refused in words that name it.
func (s *suite) writeWithRights(names []string, isNamed func(c rightsCase, missing need, said string) bool) {
	s.Helper()
	type write struct {
		writer  string
		c       rightsCase
		name    string
		missing *need
	}
	var writes []write
	cases := rightsCases()
	for _, name := range names {
		c := cases[name]
		all := s.newWriterWith(name, c, c.needs)
		writes = append(writes, write{all, c, name, nil})
		for i := range c.needs {
			without := s.newWriterWith(fmt.Sprintf("%s-%d", name, i), c, slices.Delete(slices.Clone(c.needs), i, i+1))
			writes = append(writes, write{without, c, name, &c.needs[i]})
		}
		if c.stored {
			c.annotations = nil
			s.Must(framework.Retry(func() error { return s.writeAs("", c, name, false) }))
		}
	}
	for _, w := range writes {
		check := func() error {
			err := s.writeAs(w.writer, w.c, w.name, true)
			switch {
			case w.missing == nil && err != nil:
				return fmt.Errorf("%s, by a user with all of its rights: %w", w.name, err)
			case w.missing != nil && err == nil:
				return fmt.Errorf("%s: was accepted without the right to %s", w.name, w.missing.right)
			case w.missing != nil && !isNamed(w.c, *w.missing, err.Error()):
				return fmt.Errorf("%s, without the right to %s at %s: %w", w.name, w.missing.right, w.missing.path, err)
			}
			return nil
		}
		s.soon(check)
	}
}

// soon repeats a check that fails for some seconds: the API server learns of a Role or of a policy in a moment.
func (s *suite) soon(check func() error) {
	s.Helper()
	err := check()
	for deadline := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(deadline); err = check() {
		<-time.After(100 * time.Millisecond)
	}
	if err != nil {
		s.Error(err)
	}
}

// newWriterWith returns a user who may write the kind of a case, and has these rights.
func (s *suite) newWriterWith(name string, c rightsCase, needs []need) string {
	s.Helper()
	user := name + "@" + s.Namespace
	rules := []string{"{apiGroups: [" + c.kind.group + "], resources: [" + c.kind.resource + "], verbs: [create, patch]}"}
	for _, n := range needs {
		rules = append(rules, ruleOf(n.right))
	}
	s.Grant("rights-"+name, "{kind: User, apiGroup: rbac.authorization.k8s.io, name: "+user+"}", rules...)
	return user
}

// ruleOf returns the rule of a Role that allows a right.
func ruleOf(right string) string {
	words := append(strings.Fields(right), "")
	resource, group, _ := strings.Cut(words[1], ".")
	return fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [%q], resourceNames: [%s]}", group, resource, words[0], words[2])
}

// writeAs creates the object of a case, or adds its annotations to the stored one, as a user; "" is the administrator.
func (s *suite) writeAs(user string, c rightsCase, name string, dryRun bool) error {
	s.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = user
	all, err := dynamic.NewForConfig(config)
	s.Must(err)
	object := s.Object(c.kind.object(c.version, name, c.spec))
	object.SetAnnotations(c.annotations)
	resource := all.Resource(schema.GroupVersionResource{Group: c.kind.group, Version: c.version, Resource: c.kind.resource}).Namespace(s.Namespace)
	var dry []string
	if dryRun {
		dry = []string{metav1.DryRunAll}
	}
	if c.stored && c.annotations != nil {
		patch := framework.Text(map[string]any{"metadata": map[string]any{"annotations": c.annotations}})
		_, err = resource.Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry})
		return err
	}
	_, err = resource.Create(s.Context(), object, metav1.CreateOptions{DryRun: dry})
	return err
}

// wordsOf returns how a refusal names a right.
func wordsOf(right string) string {
	words := strings.Fields(right)
	resource, group, _ := strings.Cut(words[1], ".")
	if resource, sub, has := strings.Cut(words[1], "/"); has {
		return fmt.Sprintf("may not %s %s/%s in all of namespace", words[0], resource, sub)
	}
	if group != "" {
		resource += "." + group
	}
	if len(words) > 2 {
		return fmt.Sprintf("may not %s %s %q in namespace", words[0], resource, words[2])
	}
	return fmt.Sprintf("may not %s %s in all of namespace", words[0], resource)
}

// fieldAtV1 returns how the policies of the API server, which look at what is stored, name a field.
func fieldAtV1(path string) string {
	switch path {
	case "spec.template":
		return "spec."
	}
	for _, below := range []string{".sources[", ".probe.", "[1].sendFrom"} {
		path, _, _ = strings.Cut(path, below)
	}
	return path
}
