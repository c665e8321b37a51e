// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

var update = flag.Bool("update", false, "write the schema of the configuration file into that of the chart's values")

// A slip in `configuration` is told by helm install, and not by pods that do not start.
func TestTheSchemaOfTheChartKnowsTheFieldsOfTheConfigurationFile(t *testing.T) {
	const file = "chart/values.schema.json"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const before = `"configuration": `
	text := string(content)
	at := strings.LastIndex(text, before)
	if at < 0 {
		t.Fatalf("%s has no configuration", file)
	}
	want, err := json.MarshalIndent(schemaOf(t, reflect.TypeFor[options.Configuration]()), "    ", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text = text[:at] + before + string(want) + "\n  }\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var schema struct {
		Properties struct{ Configuration map[string]any }
	}
	var wanted map[string]any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, schema.Properties.Configuration); diff != "" {
		t.Errorf("%s is stale: run `make generate` (-code +file):\n%s", file, diff)
	}
}

// schemaOf is the JSON Schema of a type of the configuration file.
func schemaOf(t *testing.T, of reflect.Type) map[string]any {
	t.Helper()
	switch of {
	case reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+)$`}
	case reflect.TypeFor[options.Level]():
		return map[string]any{"type": []any{"string", "integer"}}
	case reflect.TypeFor[metav1.Time]():
		return map[string]any{"type": "string"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return schemaOf(t, of.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t, of.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t, of.Elem())}
	case reflect.Struct:
		properties := map[string]any{}
		for i := range of.NumField() {
			field := of.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if options == "inline" {
				for name, schema := range schemaOf(t, field.Type)["properties"].(map[string]any) {
					properties[name] = schema
				}
				continue
			}
			if name == "" {
				t.Fatalf("%s.%s has no name in JSON", of, field.Name)
			}
			properties[name] = schemaOf(t, field.Type)
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	}
	t.Fatalf("%s: what is it in a schema?", of)
	return nil
}
