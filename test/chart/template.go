// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Marks stand in an object for what becomes an action of the template: block for the value of a field, which may
// be text, lines as a key or as an item for lines in its place, and inline within a value.
const (
	block  = "chart-block:"
	lines  = "chart-lines:"
	inline = "chart-inline:"
	// space is the placeholder of a space in a mark, at which a long line would be folded.
	space = "chart-space"
)

var (
	blockMark  = regexp.MustCompile(`(?m)^( *)((?:- )?)([\w.-]+): '?` + block + `(.*?)'?$`)
	linesMark  = regexp.MustCompile(`(?m)^( *)(?:- )?'?` + lines + `(.*?)'?(?:: (?:null|""))?$`)
	inlineMark = regexp.MustCompile(`'?` + inline + `(.*?)'?\n`)
	accounts   = regexp.MustCompile(`(?m)(serviceAccountName: |- kind: ServiceAccount\n *name: )` + prefixMark + `fairlead-(manager|webhook)$`)
	whole      = regexp.MustCompile(`(?m)(: |- )` + namespaceMark + `$`)
	watched    = regexp.MustCompile(`(?m)^( *)- ` + watchedMark + `$`)
	section    = regexp.MustCompile(`(?m)^  \w`)
)

// ofKinds has, for a part of the names of its objects, when there is a kind, and when there are canaries.
var ofKinds = []struct{ name, when string }{
	{"externalservice", `has "ExternalService" .Values.kinds`},
	{"rebootpolic", `has "RebootPolicy" .Values.kinds`},
	{"chaospod", `has "ChaosPod" .Values.kinds`},
	{"canaries", `and .Values.canaries (has "ChaosPod" .Values.kinds)`},
}

// whenOfKind puts what has a name behind the condition that its kind is wanted, if it is of one.
func whenOfKind(name, text string) string {
	for _, kind := range ofKinds {
		if strings.Contains(name, kind.name) {
			return "{{- if " + kind.when + " }}\n" + text + "{{- end }}\n"
		}
	}
	return text
}

// template is the text of an object in the chart.
func template(o object) (string, error) {
	text, err := body(o.Unstructured)
	if err != nil {
		return "", err
	}
	if o.v1Only != nil {
		other, err := body(o.v1Only)
		if err != nil {
			return "", err
		}
		text = either(".Values.v1Only", sections(other), sections(text))
	}
	text = "---\n" + text
	text = whenOfKind(o.GetName(), text)
	if o.GetNamespace() == watchedMark { // once for each, with the dot as it is elsewhere
		text = "{{- range $watched := .Values.namespaces }}{{- with $ }}\n" + text + "{{- end }}{{- end }}\n"
	}
	switch {
	case o.GetKind() == "PodDisruptionBudget":
		text = "{{- if .Values.podDisruptionBudget.enabled }}\n" + text + "{{- end }}\n"
	case isOfPods(o.Unstructured):
		text = "{{- if .Values.serviceAccount.create }}\n" + text + "{{- end }}\n"
	}
	if o.when != "" {
		text = "{{- if " + o.when + " }}\n" + text + "{{- end }}\n"
	}
	return text, nil
}

// sections are the parts of an object's text that begin with a field of its spec or metadata.
func sections(text string) []string {
	var parts []string
	begin := 0
	for _, at := range section.FindAllStringIndex(text, -1) {
		parts = append(parts, text[begin:at[0]])
		begin = at[0]
	}
	return append(parts, text[begin:])
}

// either joins two texts of the same sections. Of what differs between the lines that a section has in common at its
// beginning and its end, a condition of the template chooses.
func either(when string, yes, no []string) string {
	var text strings.Builder
	for n := range no {
		if yes[n] == no[n] {
			text.WriteString(no[n])
			continue
		}
		a, b := slices.Collect(strings.Lines(yes[n])), slices.Collect(strings.Lines(no[n]))
		first, last := 0, 0
		for first < min(len(a), len(b)) && a[first] == b[first] {
			first++
		}
		for last < min(len(a), len(b))-first && a[len(a)-1-last] == b[len(b)-1-last] {
			last++
		}
		text.WriteString(strings.Join(b[:first], "") + "{{- if " + when + " }}\n" + strings.Join(a[first:len(a)-last], "") +
			"{{- else }}\n" + strings.Join(b[first:len(b)-last], "") + "{{- end }}\n" + strings.Join(b[len(b)-last:], ""))
	}
	return text.String()
}

// body is the text of an object without its condition.
func body(o *unstructured.Unstructured) (string, error) {
	if err := withValues(o); err != nil {
		return "", err
	}
	content, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(content), "{{", `{{ "{{" }}`)
	text = accounts.ReplaceAllString(text, `$1{{ include "fairlead.serviceAccountName" (list $$ "$2") | quote }}`)
	text = whole.ReplaceAllString(text, "$1{{ .Release.Namespace | quote }}")
	text = strings.NewReplacer(namespaceMark, "{{ .Release.Namespace }}", prefixMark+"fairlead", `{{ include "fairlead.fullname" $ }}`).Replace(text)
	if strings.Contains(text, prefixMark) {
		return "", errors.New("a name does not begin with fairlead, which fullnameOverride replaces")
	}
	text = blockMark.ReplaceAllStringFunc(text, func(line string) string {
		m := blockMark.FindStringSubmatch(line)
		expression, text := strings.CutPrefix(m[4], "text ")
		style := ""
		if text {
			style = " |"
		}
		return fmt.Sprintf("%s%s%s:%s {{- %s | nindent %d }}", m[1], m[2], m[3], style, expression, len(m[1])+len(m[2])+2)
	})
	text = linesMark.ReplaceAllStringFunc(text, func(line string) string {
		m := linesMark.FindStringSubmatch(line)
		return fmt.Sprintf("%s{{- with include %q $ }}{{ . | trim | nindent %d }}{{ end }}", m[1], m[2], len(m[1]))
	})
	text = inlineMark.ReplaceAllString(text, "{{ $1 }}\n")
	text = watched.ReplaceAllStringFunc(text, func(line string) string {
		indent := strings.Index(line, "-")
		return fmt.Sprintf("%s{{- toYaml .Values.namespaces | nindent %d }}", line[:indent], indent)
	})
	return strings.NewReplacer(
		space, " ",
		"namespace: "+watchedMark+"\n", "namespace: {{ $watched | quote }}\n",
		"--set=namespaces="+watchedMark, `--set=namespaces={{ join "," .Values.namespaces }}`).Replace(text), nil
}

// withValues puts marks where the values of the chart go.
func withValues(o *unstructured.Unstructured) error {
	labels := o.GetLabels()
	if labels["app.kubernetes.io/managed-by"] != "kustomize" {
		return fmt.Errorf("labels %v: every object of config carries app.kubernetes.io/managed-by", labels)
	}
	delete(labels, "app.kubernetes.io/managed-by")
	labels[lines+"fairlead.labels"] = ""
	o.SetLabels(labels)
	metadata, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("metadata is no object but %T", o.Object["metadata"])
	}
	switch o.GetKind() {
	case "CustomResourceDefinition":
		annotations := o.GetAnnotations()
		annotations[lines+"fairlead.definition"] = ""
		o.SetAnnotations(annotations)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		metadata[lines+"fairlead.webhooks"] = nil
		return timeouts(o)
	case "ServiceMonitor", "PodMonitor", "PrometheusRule":
		labels[lines+"fairlead.monitoringLabels"] = ""
		o.SetLabels(labels)
	case "ServiceAccount":
		if component, is := strings.CutPrefix(o.GetName(), prefixMark+"fairlead-"); is && isOfPods(o) {
			metadata[lines+"fairlead.serviceAccount"] = nil
			o.Object[lines+"fairlead.automount"] = nil
			metadata["name"] = inline + fmt.Sprintf(`include "fairlead.serviceAccountName" (list $ %q) | quote`, component)
		}
	case "PodDisruptionBudget":
		unstructured.RemoveNestedField(o.Object, "spec", "maxUnavailable")
		return unstructured.SetNestedField(o.Object, nil, "spec", lines+"fairlead.disruptionBudget")
	case "Service":
		return service(o)
	case "ConfigMap":
		if strings.HasSuffix(o.GetName(), "-dashboard") {
			delete(labels, "grafana_dashboard")
			labels[lines+"fairlead.dashboardLabels"] = ""
			o.SetLabels(labels)
			return unstructured.SetNestedField(o.Object, block+`text .Files.Get "files/dashboard.json"`, "data", "fairlead.json")
		}
		o.SetName(prefixMark + "fairlead-config")
		return unstructured.SetNestedField(o.Object, block+`text include "fairlead.configuration" .`, "data", "config.yaml")
	case "Deployment":
		return deployment(o)
	}
	return nil
}

// isOfPods reports whether an object is a ServiceAccount that pods of a Deployment run as.
func isOfPods(o *unstructured.Unstructured) bool {
	_, noPodHasIt := o.Object["automountServiceAccountToken"]
	return o.GetKind() == "ServiceAccount" && !noPodHasIt
}

// timeouts gives the webhooks of a configuration their timeout.
func timeouts(o *unstructured.Unstructured) error {
	all, _, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, hook := range all {
		of, ok := hook.(map[string]any)
		if !ok {
			return fmt.Errorf("webhook %v is no object", hook)
		}
		of["timeoutSeconds"] = inline + ".Values.webhook.timeoutSeconds"
	}
	return unstructured.SetNestedSlice(o.Object, all, "webhooks")
}

// probes gives the probes of a container their numbers, with those of the kustomizations as defaults.
func probes(container map[string]any) error {
	for _, name := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		of, ok := container[name].(map[string]any)
		if !ok {
			return fmt.Errorf("there is no %s", name)
		}
		for _, field := range []string{"periodSeconds", "timeoutSeconds", "failureThreshold"} {
			of[field] = inline + strings.ReplaceAll(fmt.Sprintf(".Values.%s.%s | default %v", name, field, of[field]), " ", space)
		}
	}
	return nil
}

// service has the port of a Service without an address of its own be that of the pods, to which it leads.
func service(o *unstructured.Unstructured) error {
	if address, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); address != "None" {
		return nil
	}
	ports, _, err := unstructured.NestedSlice(o.Object, "spec", "ports")
	if err != nil {
		return err
	}
	if err := number(ports, "port"); err != nil {
		return err
	}
	return unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
}

// number gives ports their numbers, by their names.
func number(ports []any, field string) error {
	for _, port := range ports {
		of, ok := port.(map[string]any)
		if !ok {
			return fmt.Errorf("port %v is no object", port)
		}
		of[field] = inline + fmt.Sprintf(`(include "fairlead.ports" . | fromYaml).%s`, of["name"])
	}
	return nil
}

// deployment puts the values of a Deployment in their places.
func deployment(o *unstructured.Unstructured) error {
	spec, found, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil || !found {
		return fmt.Errorf("spec: %w", err)
	}
	template, _, _ := unstructured.NestedMap(spec, "template")
	containers, _, err := unstructured.NestedSlice(template, "spec", "containers")
	if err != nil || len(containers) != 1 {
		return fmt.Errorf("%d containers: %w", len(containers), err)
	}
	container, _ := containers[0].(map[string]any)
	arguments, _, err := unstructured.NestedSlice(container, "args")
	if err != nil {
		return err
	}
	for i, argument := range arguments {
		if text, _ := argument.(string); strings.HasPrefix(text, "--set=egress.clusterCIDRs=") {
			arguments[i] = inline + `include "fairlead.clusterCIDRs" . | quote`
		}
	}
	added := []any{lines + "fairlead.arguments"}
	if reconciles(arguments) {
		added = append(added, lines+"fairlead.reconcilerArguments")
	}
	// Those of config/namespaced come last, since it is laid over everything else.
	last := slices.Index(arguments, any("--set=clusterAccess=false"))
	if last < 0 {
		last = len(arguments)
	}
	arguments = slices.Insert(arguments, last, added...)
	container["args"] = arguments
	mounts, _, err := unstructured.NestedSlice(container, "volumeMounts")
	if err != nil {
		return err
	}
	container["volumeMounts"] = append(mounts, lines+"fairlead.volumeMounts")
	environment, _, err := unstructured.NestedSlice(container, "env")
	if err != nil {
		return err
	}
	container["env"] = append(environment, lines+"fairlead.env")
	ports, _, err := unstructured.NestedSlice(container, "ports")
	if err != nil {
		return err
	}
	if err := number(ports, "containerPort"); err != nil {
		return err
	}
	container["ports"] = ports
	container["securityContext"] = block + `include "fairlead.securityContext" .`
	container["image"] = inline + `include "fairlead.image" . | quote`
	container["imagePullPolicy"] = inline + ".Values.image.pullPolicy"
	podLabels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	container["resources"] = block + "toYaml .Values.resources"
	if podLabels["app.kubernetes.io/component"] == "webhook" {
		container["resources"] = block + "toYaml (.Values.webhook.resources | default .Values.resources)"
	}
	if err := probes(container); err != nil {
		return err
	}
	spec["replicas"] = inline + ".Values.replicaCount"
	spec["revisionHistoryLimit"] = inline + ".Values.revisionHistoryLimit"
	if o.GetAnnotations() != nil {
		return fmt.Errorf("annotations %v: the chart has those of a value there", o.GetAnnotations())
	}
	if err := unstructured.SetNestedField(o.Object, nil, "metadata", lines+"fairlead.deployment"); err != nil {
		return err
	}
	pod, _, _ := unstructured.NestedMap(template, "spec")
	pod["containers"] = containers
	pod[lines+"fairlead.pod"], pod[lines+"fairlead.priorityClass"], pod[lines+"fairlead.automount"] = nil, nil, nil
	delete(pod, "nodeSelector") // which fairlead.pod has, as it has the securityContext
	delete(pod, "securityContext")
	delete(pod, "priorityClassName")
	if podLabels["fairlead.dev/webhooks"] == "true" {
		pod[lines+"fairlead.servingPlacement"] = nil
		pod["terminationGracePeriodSeconds"] = inline + `include "fairlead.grace" .`
		spec["strategy"] = block + `include "fairlead.servingStrategy" .`
	} else {
		pod[lines+"fairlead.placement"] = nil
		spec["strategy"] = block + `include "fairlead.strategy" .`
	}
	pod["topologySpreadConstraints"] = block + fmt.Sprintf(`include "fairlead.spread" (list . %q)`, podLabels["app.kubernetes.io/component"])
	volumes, _, _ := unstructured.NestedSlice(pod, "volumes")
	for _, volume := range volumes {
		of, ok := volume.(map[string]any)
		if !ok {
			return fmt.Errorf("volume %v is no object", volume)
		}
		if err := unstructured.SetNestedField(of, prefixMark+"fairlead-config", "configMap", "name"); err != nil {
			return err
		}
	}
	pod["volumes"] = append(volumes, lines+"fairlead.volumes")
	template["spec"] = pod
	annotations, _, _ := unstructured.NestedMap(template, "metadata", "annotations")
	// A changed configuration rolls the Deployment.
	annotations["checksum/configuration"] = inline + `include "fairlead.checksum" .`
	annotations[lines+"fairlead.podAnnotations"] = ""
	podLabels[lines+"fairlead.podLabels"] = ""
	if err := errors.Join(
		unstructured.SetNestedMap(template, annotations, "metadata", "annotations"),
		unstructured.SetNestedStringMap(template, podLabels, "metadata", "labels"),
	); err != nil {
		return err
	}
	spec["template"] = template
	o.Object["spec"] = spec
	return nil
}

func reconciles(arguments []any) bool {
	for _, argument := range arguments {
		if argument == "--set=controllers.enabled=false" {
			return false
		}
	}
	return true
}
