// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// fields are values that have the fields of a pod or a container, each with a default as a whole.
var fields = []string{"resources", "nodeSelector", "podSecurityContext", "securityContext"}

var (
	// page is a path of the documentation in a comment.
	page = regexp.MustCompile(`\(docs/((?:guides|reference)/([a-z-]+)\.md)\)`)
	// described begins a comment that describes a value, by the convention of helm-docs.
	described = regexp.MustCompile(`(?ms)^# -- (.*)`)
)

// Reference returns the page of the chart's values, those of the folder of a chart.
func Reference(folder string) ([]byte, error) {
	values, err := table(folder, "../")
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `# Values of the chart

`+"`make generate`"+` writes this page from `+"`charts/fairlead/values.yaml`"+`. [Installing](../guides/install.md) compares the chart with the kustomizations. The chart refuses other values, and values that exclude each other.

A value that is left blank is null, and is refused. In `+"`%s`"+`, which have the fields of a pod or a container, a null removes a default.

%s`, strings.Join(fields, "`, `"), values), nil
}

// Readme returns the README.md of the chart in a folder, as helm-docs arranges it: what Chart.yaml says, and the values.
func Readme(folder string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var about chartv2.Metadata
	if err := sigsyaml.Unmarshal(content, &about); err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	values, err := table(folder, about.Home+"/blob/main/docs/")
	if err != nil {
		return nil, err
	}
	var maintainers strings.Builder
	for _, m := range about.Maintainers {
		fmt.Fprintf(&maintainers, "| %s | %s | <%s> |\n", m.Name, m.Email, m.URL)
	}
	return fmt.Appendf(nil, `<!-- Generated from Chart.yaml and values.yaml by `+"`make generate`"+`. -->

# %[1]s

%[2]s

**Homepage:** <%[3]s>

## Install

`+"```console"+`
$ helm install %[1]s oci://ghcr.io/fairlead-dev/charts/%[1]s --namespace fairlead-system --create-namespace --wait
$ helm test %[1]s --namespace fairlead-system --logs
`+"```"+`

The chart of the repository, with an image of yours:

`+"```console"+`
$ helm install %[1]s charts/%[1]s --namespace fairlead-system --create-namespace --wait \
    --set image.repository=registry.example.com/%[1]s --set image.tag=v0.1.0
`+"```"+`

[Installing](%[3]s/blob/main/docs/guides/install.md) has the requirements, [upgrading and uninstalling](%[3]s/blob/main/docs/guides/lifecycle.md) the order of steps.

## Maintainers

| Name | Email | Url |
| ---- | ------ | --- |
%[4]s
## Source Code

* <%[5]s>

## Requirements

Kubernetes: `+"`%[6]s`"+`

## Values

The chart refuses other values, and values that exclude each other. A value that is left blank is null, and is refused. In `+"`%[7]s`"+`, a null removes a default.

%[8]s`, about.Name, about.Description, about.Home, maintainers.String(), strings.Join(about.Sources, ">\n* <"), about.KubeVersion, strings.Join(fields, "`, `"), values), nil
}

// table is a row for each value of a chart, with its comment. A value without a comment is an error. Links to the documentation
// begin with docs.
func table(folder, docs string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		return nil, err
	}
	root, err := yaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	text := bytes.NewBufferString("| Key | Type | Default | Description |\n| --- | --- | --- | --- |\n")
	if err := rows(text, root.YNode(), "", docs); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// rows writes a row for each value of a map. One with a comment of its own is a row as a whole.
func rows(text *bytes.Buffer, of *yaml.Node, path, docs string) error {
	for n := 0; n+1 < len(of.Content); n += 2 {
		key, value := of.Content[n], of.Content[n+1]
		name := path + key.Value
		comment := described.FindStringSubmatch(key.HeadComment)
		if comment == nil && value.Kind == yaml.MappingNode {
			if err := rows(text, value, name+".", docs); err != nil {
				return err
			}
			continue
		}
		if comment == nil {
			return fmt.Errorf("values.yaml: %s has no comment that begins with # --", name)
		}
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && !slices.Contains(append(fields, "dashboard.labels"), name) {
			return fmt.Errorf("values.yaml: %s has a comment, which is for the values in it", name)
		}
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			return fmt.Errorf("values.yaml: %s: %w", name, err)
		}
		standard, err := json.Marshal(decoded)
		if err != nil {
			return err
		}
		words := strings.Join(strings.Fields(regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(comment[1], "")), " ")
		words = page.ReplaceAllString(words, "([$2]("+docs+"$1))")
		fmt.Fprintf(text, "| `%s` | %s | `%s` | %s |\n", name, typeOf(decoded), standard, strings.ReplaceAll(words, "|", `\|`))
	}
	return nil
}

// typeOf is the type of a value in the words of helm-docs.
func typeOf(value any) string {
	switch value.(type) {
	case bool:
		return "bool"
	case int:
		return "int"
	case string:
		return "string"
	case []any:
		return "list"
	}
	return "object"
}
