// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
)

// samples are the specs that are created by a dry run, by kind and version. They are valid, name nothing that must
// exist, and leave fields out that the mutating webhook sets.
var samples = map[string]string{
	"ExternalService/v1":           `{ports: [{name: http, port: 80}], endpoints: [{name: check, addresses: [192.0.2.1]}]}`,
	"ExternalService/v1alpha1":     `{ports: [{name: http, port: 80}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`,
	"RebootPolicy/v1":              `{targets: [{kind: Deployment, name: fairlead-check}], triggers: [{name: yearly, type: Schedule, schedule: {cron: "0 0 1 1 *"}}]}`,
	"RebootPolicy/v1alpha1":        `{targets: [{kind: Deployment, name: fairlead-check}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
	"ClusterRebootPolicy/v1":       `{namespaceSelector: {matchLabels: {fairlead.dev/check: none}}, template: {spec: {targets: [{kind: Deployment, name: fairlead-check}]}}}`,
	"ClusterRebootPolicy/v1alpha1": `{namespaceSelector: {matchLabels: {fairlead.dev/check: none}}, template: {spec: {targets: [{kind: Deployment, name: fairlead-check}]}}}`,
	"ChaosPod/v1":                  `{target: {workload: {kind: Deployment, name: fairlead-check}}, schedule: {cron: "0 0 1 1 *"}}`,
	"ChaosPod/v1alpha1":            `{template: {spec: {containers: [{name: check, image: check}]}}}`,
}

// sample returns the object that is created by a dry run; false where this binary knows none of the version.
func sample(kind, apiVersion, version, namespace string) (*unstructured.Unstructured, bool, error) {
	text, known := samples[kind+"/"+version]
	if !known {
		return nil, false, nil
	}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		return nil, false, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{"generateName": "fairlead-check-", "namespace": namespace},
	}}, true, nil
}

// checkDryRuns creates an object of each kind at each served version by a dry run: that takes both webhooks, and
// the conversion at every version but the stored one. Nothing is stored.
func (r *run) checkDryRuns(ctx context.Context) {
	looksAt, err := r.namespaceLabels(ctx)
	if err != nil {
		r.results = append(r.results, unread(CheckDryRun, "Namespace "+r.options.Namespace, "get on namespaces", err,
			"create it, or give another one with --namespace"))
		return
	}
	var all []func() Result
	for _, d := range r.definitions {
		if left := r.leftOut(d, looksAt); left != "" {
			r.add(CheckDryRun, d.Kind.Kind, Unchecked, left+" does not look at namespace "+r.options.Namespace, "give a namespace with --namespace in which the operator works")
			continue
		}
		for _, version := range d.served() {
			all = append(all, func() Result { return r.dryRun(ctx, d, version) })
		}
	}
	results := make([]Result, len(all))
	concurrently(len(all), func(i int) { results[i] = all[i]() })
	r.results = append(r.results, results...)
}

// namespaceLabels are the labels of the namespace of the dry runs. Without the right to read it, it is the one that the
// API server sets, by which the shipped webhooks choose.
func (r *run) namespaceLabels(ctx context.Context) (labels.Set, error) {
	namespace, err := r.options.Kubernetes.CoreV1().Namespaces().Get(ctx, r.options.Namespace, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return labels.Set{"kubernetes.io/metadata.name": r.options.Namespace}, nil
	}
	if err != nil {
		return nil, err
	}
	return namespace.Labels, nil
}

// leftOut names a webhook of the kind that does not look at the namespace; "" where all do.
func (r *run) leftOut(d definition, namespace labels.Set) string {
	for _, c := range r.configurations {
		h := c.hookOf(d)
		if h == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(h.NamespaceSelector)
		if err != nil || !selector.Matches(namespace) {
			return "webhook " + h.Name
		}
	}
	return ""
}

func (r *run) dryRun(ctx context.Context, d definition, version string) Result {
	resource := schema.GroupVersionResource{Group: d.Group, Version: version, Resource: d.Plural}
	result := Result{CheckDryRun, d.Kind.Kind + " at " + version, OK, "created by a dry run in namespace " + r.options.Namespace, ""}
	namespace := r.options.Namespace
	if d.crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		namespace, result.Message = "", "created by a dry run"
	}
	object, known, err := sample(d.Kind.Kind, resource.GroupVersion().String(), version, namespace)
	if err != nil || !known {
		result.Status, result.Message = Skipped, "this binary does not know the version"
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	created, err := r.options.Dynamic.Resource(resource).Namespace(namespace).Create(ctx, object, dryRun)
	if err != nil {
		return r.refused(result, d, err)
	}
	// The mutating webhook sets defaults, and the schema none, and it approves what takes rights: what comes back as it was sent,
	// no webhook has seen.
	if version == hub && reflect.DeepEqual(created.Object["spec"], object.Object["spec"]) && created.GetAnnotations()[common.ApprovedByAnnotation] == "" {
		result.Status, result.Message = Failed, "it was created without the defaults of the mutating webhook, which was not called"
		result.Remedy = "look at the rules, the namespaceSelector and the failurePolicy of the webhook configurations"
	}
	return result
}

// policies matches refusals by config/admission-policy, whatever the name prefix.
var policies = regexp.MustCompile(`ValidatingAdmissionPolicy '[a-z0-9-]*fairlead-(externalservice|rebootpolicy|chaospod)-`)

// ignored reports whether requests pass where a webhook of the kind does not respond, or whether this is not known.
func (r *run) ignored(d definition) bool {
	failing := 0
	for _, c := range r.configurations {
		if h := c.hookOf(d); h != nil && ptr.Deref(h.FailurePolicy, admissionregistrationv1.Fail) == admissionregistrationv1.Fail {
			failing++
		}
	}
	return failing < 2
}

// refused returns what a refusal of a dry run means.
func (r *run) refused(result Result, d definition, err error) Result {
	text := err.Error()
	look := fmt.Sprintf("look at `kubectl -n %s get pods,endpointslices` and at the log of the operator", r.namespace)
	result.Status, result.Message = Failed, brief(err)
	switch {
	case strings.Contains(text, "cannot create resource") && d.crd.Spec.Scope == apiextensionsv1.ClusterScoped:
		result.Status, result.Message = Skipped, "you have no permission to create it, which is a right in the whole cluster"
	case strings.Contains(text, "cannot create resource"):
		result.Status, result.Message = Unchecked, "you have no permission to create it"
		result.Remedy = "grant create on " + d.Plural + "." + d.Group + in(r.options.Namespace) + "; a dry run takes the same right"
	case strings.Contains(text, ".fairlead.dev\" denied the request"):
		// The webhooks respond, which is what is checked: this user lacks a right, or the egress policy has no place for
		// the address.
		result.Status, result.Message = OK, "the webhooks answer; they refuse the sample for this user"
	case policies.MatchString(text):
		// The API server evaluates these behind the mutating webhooks and before the validating ones.
		result.Status, result.Message = OK, "the mutating webhook responds; Fairlead's admission policies refuse the sample for this user"
		if r.ignored(d) {
			result.Status, result.Message = Warning, "Fairlead's admission policies refuse the sample for this user, so that it is not seen whether the webhooks respond"
			result.Remedy = "check as a user who may delete and evict pods and patch workloads" + in(r.options.Namespace)
		}
	case apierrors.IsNotFound(err):
		result.Remedy = "create namespace " + r.options.Namespace + ", or give another one with --namespace"
	case strings.Contains(text, "conversion webhook for"), strings.Contains(text, "failed calling webhook"):
		result.Remedy = look
	case strings.Contains(text, "denied"), apierrors.IsForbidden(err):
		result.Status, result.Message = Warning, "something else than Fairlead's webhooks refuses it: "+brief(err)
		result.Remedy = "give a namespace with --namespace to which that policy does not apply"
	default:
		result.Remedy = look
	}
	return result
}
