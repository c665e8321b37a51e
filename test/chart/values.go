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

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// fields are values that have the fields of a pod or a container, each with a default as a whole.
var fields = []string{"resources", "nodeSelector", "podSecurityContext", "securityContext"}

// page is a path of the documentation in a comment.
var page = regexp.MustCompile(`\(docs/((?:guides|reference)/([a-z-]+)\.md)\)`)

// Reference is the page of the chart's values: a table of what values.yaml has, with its comments. A value without a
// comment is an error.
func Reference(config string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(config, "chart", "values.yaml"))
	if err != nil {
		return nil, err
	}
	root, err := yaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	text := bytes.NewBufferString(`# Values of the chart

What values.yaml says, with the defaults; ` + "`make generate`" + ` writes this page. [Installing](../guides/install.md) compares the chart with the kustomizations. The chart refuses other values, and values that exclude each other.

A value that is left blank is null, and is refused. In ` + "`" + strings.Join(fields, "`, `") + "`" + `, which have the fields of a pod or a container, a null takes a default out.

| value | default | what it is |
| --- | --- | --- |
`)
	if err := rows(text, root.YNode(), ""); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// rows writes a row for each value of a map.
func rows(text *bytes.Buffer, of *yaml.Node, path string) error {
	for n := 0; n+1 < len(of.Content); n += 2 {
		key, value := of.Content[n], of.Content[n+1]
		name := path + key.Value
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && !slices.Contains(fields, name) {
			if err := rows(text, value, name+"."); err != nil {
				return err
			}
			continue
		}
		comment := strings.Join(strings.Fields(regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(key.HeadComment, "")), " ")
		if comment == "" {
			return fmt.Errorf("values.yaml: %s has no comment", name)
		}
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			return fmt.Errorf("values.yaml: %s: %w", name, err)
		}
		standard, err := json.Marshal(decoded)
		if err != nil {
			return err
		}
		comment = page.ReplaceAllString(comment, "([$2](../$1))")
		fmt.Fprintf(text, "| `%s` | `%s` | %s |\n", name, standard, strings.ReplaceAll(comment, "|", `\|`))
	}
	return nil
}
