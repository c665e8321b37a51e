// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// started is Reloader with arguments and environment, and a workload of each of two namespaces.
func started(arguments, env string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: reloader, namespace: ops}
spec: {template: {spec: {containers: [{image: ghcr.io/stakater/reloader:v1.4.21, args: [%s], env: [%s]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {reloader.stakater.com/auto: "true"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ops, annotations: {reloader.stakater.com/auto: "true"}}
`, arguments, env)
}

// clusterPolicyOf returns the object that is written; nil for none.
func clusterPolicyOf(t *testing.T, objects string) *autorebootv1.ClusterRebootPolicy {
	t.Helper()
	if !strings.Contains(objects, "\nkind: ") {
		return nil
	}
	of := &autorebootv1.ClusterRebootPolicy{}
	if err := yaml.UnmarshalStrict([]byte(objects), of); err != nil {
		t.Fatalf("%v\n%s", err, objects)
	}
	return of
}

// requirements returns the selector of namespaces as "key Operator values", several separated by semicolons.
func requirements(of *autorebootv1.ClusterRebootPolicy) string {
	var all []string
	for _, r := range of.Spec.NamespaceSelector.MatchExpressions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.TrimPrefix(r.Key, "kubernetes.io/metadata."), r.Operator, strings.Trim(fmt.Sprint(r.Values), "[]"))))
	}
	return strings.Join(all, "; ")
}

// The flags of Reloader mean what its own parser and its own code make of them.
func TestTheFlagsOfReloaderAreReadAsItsOwnParserDoes(t *testing.T) {
	for name, test := range map[string]struct {
		arguments, env string
		namespaces     string // of the selector
		exclude        string // beside SecretProviderClasses
		plan           string
		none           bool // nothing is written
	}{
		"none":                                   {},
		"a namespace selector":                   {arguments: `"--namespace-selector=env=test"`, namespaces: "env In test"},
		"in quotes, as the chart writes it":      {arguments: `'--namespace-selector="env=test"'`, namespaces: "env In test"},
		"several in quotes":                      {arguments: `'--namespace-selector="env=test,team in (a,b)"'`, namespaces: "env In test; team In a b"},
		"several, one after the other":           {arguments: `"--namespace-selector", "env=test", "--namespace-selector=!old"`, namespaces: "env In test; old DoesNotExist"},
		"with a colon and a star":                {arguments: `"--namespace-selector=env:test,tier:*,zone=*"`, namespaces: "env In test; tier Exists; zone Exists"},
		"set again":                              {arguments: `"--namespace-selector=env!=test"`, namespaces: "env NotIn test"},
		"an empty one in quotes":                 {arguments: `'--namespace-selector=""'`},
		"a selector that is none":                {arguments: `"--namespace-selector=env=="`, namespaces: "env In", plan: ""},
		"a selector that cannot be read":         {arguments: `"--namespace-selector=a b"`, none: true, plan: "is no selector such as team=shop"},
		"a selector that compares numbers":       {arguments: `"--namespace-selector=a>1"`, none: true, plan: "compares numbers"},
		"quotes that do not end":                 {arguments: `'--namespace-selector="env=test'`, none: true, plan: "unless it makes Reloader watch less"},
		"namespaces":                             {arguments: `"--namespaces=shop,bank"`, namespaces: "name In shop bank"},
		"namespaces, which hide the others":      {arguments: `"--namespaces=shop", "--namespaces-to-ignore=shop", "--namespace-selector=a=b"`, namespaces: "name In shop"},
		"its own namespace":                      {arguments: `"--namespace-selector=a=b"`, env: "{name: KUBERNETES_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}", namespaces: "name In ops"},
		"a namespace of the environment":         {env: "{name: KUBERNETES_NAMESPACE, value: shop}", namespaces: "name In shop"},
		"a namespace from elsewhere":             {env: "{name: KUBERNETES_NAMESPACE, valueFrom: {secretKeyRef: {name: a, key: b}}}", none: true, plan: "confines Reloader to a namespace that the manifest does not name"},
		"no namespace of the environment":        {env: "{name: KUBERNETES_NAMESPACE, value: ''}"},
		"namespaces to ignore":                   {arguments: `"--namespaces-to-ignore=ops"`, namespaces: "name NotIn ops"},
		"namespaces to ignore, one with a blank": {arguments: `"--namespaces-to-ignore=ops, bank"`, namespaces: "name NotIn ops", plan: `has " bank", which is the name of no namespace, to Reloader neither`},
		"kinds":                                  {arguments: `--resources-to-ignore=configMaps`, exclude: "ConfigMap all"},
		"both kinds":                             {arguments: `"--resources-to-ignore=configmaps,secrets"`, none: true, plan: "Reloader does not start with"},
		"labels of sources":                      {arguments: `"--resource-label-selector=reload=yes"`, exclude: "ConfigMap reload NotIn yes, Secret reload NotIn yes"},
		"more labels of sources":                 {arguments: `'--resource-label-selector="reload notin (no),!old"', --resources-to-ignore=secrets`, exclude: "Secret all, ConfigMap old Exists, ConfigMap reload In no"},
		"classes with labels":                    {arguments: `--enable-csi-integration, "--resource-label-selector=a"`, exclude: "ConfigMap a DoesNotExist, Secret a DoesNotExist", plan: "SecretProviderClasses are left out"},
		"a webhook":                              {arguments: `--webhook-url, "http://example.com"`, none: true, plan: "restarts nothing"},
		"another name":                           {arguments: `--auto-annotation=a`, none: true, plan: "gives an annotation another name"},
		"the same name":                          {arguments: `--auto-annotation, reloader.stakater.com/auto`},
		"a flag that is not known":               {arguments: `--see-less`, none: true, plan: "unknown flag: --see-less"},
		"a variable":                             {arguments: `"--namespaces=$(A)"`, none: true, plan: "refers to a variable"},
		"about the process":                      {arguments: `--log-format=json, --log-level, debug, --enable-ha=true, "--pprof-addr=:6060", --enable-pprof, --reload-strategy=annotations, --sync-after-restart=true`},
	} {
		t.Run(name, func(t *testing.T) {
			objects, plan, _ := migrated(t, reloader, Options{}, started(test.arguments, test.env))
			if joined := strings.Join(strings.Fields(plan), " "); !strings.Contains(joined, test.plan) {
				t.Errorf("the plan does not say %q:\n%s", test.plan, plan)
			}
			of := clusterPolicyOf(t, objects)
			if (of == nil) != test.none {
				t.Fatalf("written is\n%s\n%s", objects, plan)
			}
			if test.none {
				return
			}
			if got := requirements(of); got != test.namespaces {
				t.Errorf("namespaces with %q, want %q", got, test.namespaces)
			}
			var exclude []string
			for _, e := range of.Spec.Template.Spec.Triggers[0].ConfigChange.Exclude {
				what := string(e.Kind) + " all"
				for _, r := range e.Selector.MatchExpressions {
					what = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Kind, r.Key, r.Operator, strings.Trim(fmt.Sprint(r.Values), "[]")))
				}
				if what != "SecretProviderClass all" {
					exclude = append(exclude, what)
				}
			}
			if got := strings.Join(exclude, ", "); got != test.exclude {
				t.Errorf("without %q, want %q", got, test.exclude)
			}
		})
	}
}

// What Reloader does not restart is not restarted after the move either.
func TestWhatReloaderDoesNotRestartIsLeft(t *testing.T) {
	rollout := "---\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: cart, namespace: shop, annotations: {reloader.stakater.com/auto: \"true\"}}\n"
	cronJob := "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: shop, annotations: {reloader.stakater.com/auto: \"true\"}}\n"
	job := "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: single, namespace: shop, ownerReferences: [{kind: CronJob}], annotations: {reloader.stakater.com/auto: \"true\"}}\n"
	for name, test := range map[string]struct{ arguments, more, want, not string }{
		"a Rollout":                    {"", rollout, "Reloader restarts no Rollouts without --is-Argo-Rollouts=true", "Rollout cart,"},
		"a Rollout, with another word": {"--is-Argo-Rollouts=1", rollout, "Reloader restarts no Rollouts", ""},
		"a Rollout, with the flag":     {"--is-Argo-Rollouts=true", rollout, "Rollout cart", "Reloader restarts no Rollouts"},
		"a CronJob":                    {"", cronJob, "CronJob nightly,", ""},
		"a CronJob that is ignored":    {"--ignored-workload-types=cronjobs", cronJob, "", "nightly"},
		"an unknown type ignores all":  {"\"--ignored-workload-types=cronjobs,pods\"", cronJob, "CronJob nightly,", ""},
		"a Job of a CronJob":           {"", job, "", "single"},
		"no Job without an annotation": {"--auto-reload-all", cronJob, "CronJob nightly,", "without an annotation"},
		"a DeploymentConfig":           {"", "---\napiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\nmetadata: {name: old, namespace: shop, annotations: {reloader.stakater.com/auto: \"true\"}}\n", "DeploymentConfig shop/old: no policy is written for its kind", ""},
		"Jobs without an annotation":   {"--auto-reload-all", "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: shop}\n", "starts CronJobs and Jobs again also without an annotation, which no policy does: 1 CronJob here", ""},
	} {
		_, plan, _ := migrated(t, reloader, Options{}, started(test.arguments, "")+test.more)
		joined := strings.Join(strings.Fields(plan), " ")
		if !strings.Contains(joined, test.want) || test.not != "" && strings.Contains(joined, test.not) {
			t.Errorf("%s: the plan is\n%s", name, plan)
		}
	}
	two := started("--auto-reload-all", "") + "---\n" + strings.ReplaceAll(started("", ""), "name: reloader, namespace: ops", "name: reloader, namespace: bank")
	if objects, plan, _ := migrated(t, reloader, Options{}, two); clusterPolicyOf(t, objects) != nil || !strings.Contains(plan, "is a second Reloader with other flags") {
		t.Errorf("two Reloaders: %s", plan)
	}
	confined := func(namespace string) string {
		return strings.ReplaceAll(started("", "{name: KUBERNETES_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}"), "name: reloader, namespace: ops", "name: reloader, namespace: "+namespace)
	}
	if objects, plan, _ := migrated(t, reloader, Options{}, confined("ops")+"---\n"+confined("shop")); requirements(clusterPolicyOf(t, objects)) != "name In ops shop" {
		t.Errorf("two Reloaders of a namespace each: %s%s", objects, plan)
	}
	if _, plan, _ := migrated(t, reloader, Options{}, strings.SplitN(started("", ""), "---\n", 2)[1]); !strings.Contains(plan, "Reloader: its Deployment is not in the input") {
		t.Errorf("without Reloader: %s", plan)
	}
}

// A policy of one workload is written only where its namespace is known to be selected.
func TestAPolicyOfAWorkloadNeedsTheLabelsOfItsNamespace(t *testing.T) {
	namespace := func(labels string) string {
		return "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {" + labels + "}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ops}\n"
	}
	for more, want := range map[string]string{
		"": "Namespace shop is not in the input: add it", namespace("env: prod"): "its namespace is one that Reloader does not watch",
		namespace("env: test"): "RebootPolicy shop/web",
	} {
		_, plan, _ := migrated(t, reloaderPerWorkload, Options{}, started(`'--namespace-selector="env=test"'`, "")+more)
		if joined := strings.Join(strings.Fields(plan), " "); !strings.Contains(joined, want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan)
		}
	}
}

// A pace is written as fields, with a comment each, and over its own output it is the same.
func TestThePaceIsWrittenAsFieldsWithComments(t *testing.T) {
	for pace, want := range map[Pace][]string{
		"":          {"quietPeriod: 0s", "cooldown: 0s", "maxRestarts: 100", "within: 1h", "maxTargets: 100%", "soak: 0s"},
		PaceCareful: {"quietPeriod: 15s", "maxDelay: 5m", "cooldown: 10m", "maxRestarts: 6", "within: 24h", "maxTargets: 1", "soak: 2m"},
	} {
		for _, p := range []*Peer{reloader, reloaderPerWorkload} {
			objects, plan, _ := migrated(t, p, Options{Pace: pace}, started("", ""))
			for _, field := range want {
				if !strings.Contains(objects, field+"\n") {
					t.Errorf("%q: no %q in\n%s", pace, field, objects)
				}
			}
			o := Options{Pace: pace}
			for field, comment := range o.profile().comments {
				if at := strings.Index(objects, "# "+comment+"\n"); at < 0 || !strings.HasPrefix(strings.TrimSpace(objects[at+len(comment)+3:]), field+":") {
					t.Errorf("%q: no comment above %s in\n%s", pace, field, objects)
				}
			}
			if !strings.Contains(strings.Join(strings.Fields(plan), " "), o.profile().difference) {
				t.Errorf("%q: the plan is\n%s", pace, plan)
			}
		}
	}
}

// A policy that reads no annotations has the pause of a Deployment as a debounce, and CronJobs and Jobs as targets of their group.
func TestAPolicyOfAWorkloadKeepsWhatItsAnnotationsAskFor(t *testing.T) {
	const annotated = "---\napiVersion: %s\nkind: %s\nmetadata: {name: nightly, namespace: shop, annotations: {reloader.stakater.com/auto: \"true\", %s}}\n"
	for name, test := range map[string]struct {
		more  string
		want  []string
		other string
	}{
		"a pause": {fmt.Sprintf(annotated, "apps/v1", "Deployment", "deployment.reloader.stakater.com/pause-period: 5m"),
			[]string{"quietPeriod: 5m", "maxDelay: 5m", "cooldown: 0s", "# As with deployment.reloader.stakater.com/pause-period"}, "is a debounce: the Deployment is not paused"},
		"a CronJob": {fmt.Sprintf(annotated, "batch/v1", "CronJob", "a: b"), []string{"group: batch", "kind: CronJob"}, "has kind CronJob of group batch"},
		"a Job":     {fmt.Sprintf(annotated, "batch/v1", "Job", "a: b"), []string{"group: batch", "kind: Job"}, "has kind Job of group batch"},
	} {
		objects, plan, _ := migrated(t, reloaderPerWorkload, Options{}, started("", "")+test.more)
		var of string
		for object := range strings.SplitSeq(objects, "---\n") {
			if strings.Contains(object, "name: nightly\n") {
				of = object
			}
		}
		for _, want := range test.want {
			if !strings.Contains(of, want) {
				t.Errorf("%s: no %q in\n%s", name, want, of)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(plan), " "), test.other) {
			t.Errorf("%s: the plan is\n%s", name, plan)
		}
	}
}
