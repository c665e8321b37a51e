// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// patterns are those of text that a rule of cmd/fairlead/options names.
var patterns = map[string]string{
	"label":     `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`,
	"subdomain": `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`,
	"address":   `0|([^:]*|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}`,
}

// schemaOf is the JSON Schema of a value of the configuration file with a rule, by its default.
func schemaOf(t *testing.T, of reflect.Value, rule string) map[string]any {
	t.Helper()
	switch of.Interface().(type) {
	case metav1.Duration:
		return durationSchema(rule)
	case options.Level:
		return map[string]any{"type": []string{"string", "integer"}, "enum": levels()}
	case metav1.Time:
		return map[string]any{"type": "string"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return schemaOf(t, reflect.Zero(of.Type().Elem()), rule)
	case reflect.String:
		return textSchema(t, rule)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return integerSchema(rule)
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t, reflect.Zero(of.Type().Elem()), rule)}
	case reflect.Map:
		properties := map[string]any{} // of the default, which has all keys
		for _, key := range of.MapKeys() {
			properties[key.String()] = schemaOf(t, of.MapIndex(key), rule)
		}
		return object(properties)
	case reflect.Struct:
		return object(propertiesOf(t, of))
	}
	t.Fatalf("%s: what is it in a schema?", of.Type())
	return nil
}

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// propertiesOf are the schemas of the fields of a struct.
func propertiesOf(t *testing.T, of reflect.Value) map[string]any {
	t.Helper()
	properties := map[string]any{}
	for i := range of.NumField() {
		field := of.Type().Field(i)
		name, more, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case more == "inline":
			maps.Copy(properties, propertiesOf(t, of.Field(i)))
		case name == "":
			t.Fatalf("%s.%s has no name in JSON", of.Type(), field.Name)
		default:
			properties[name] = schemaOf(t, of.Field(i), field.Tag.Get("rule"))
		}
	}
	return properties
}

func textSchema(t *testing.T, rule string) map[string]any {
	t.Helper()
	of := map[string]any{"type": "string"}
	if words := strings.Split(rule, "|"); len(words) > 1 {
		of["enum"] = words
	} else if name, optional := strings.CutSuffix(rule, ",optional"); name != "" {
		pattern, is := patterns[name]
		if !is {
			t.Fatalf("rule %q: what is it in a schema?", rule)
		}
		if optional {
			pattern += "|"
		}
		of["pattern"] = "^(" + pattern + ")$"
	}
	return of
}

func integerSchema(rule string) map[string]any {
	of := map[string]any{"type": "integer"}
	least, most, _ := strings.Cut(rule, "..")
	for name, text := range map[string]string{"minimum": least, "maximum": most} {
		if text != "" {
			of[name] = json.Number(text)
		}
	}
	return of
}

// durationSchema has the bounds of a duration under x-bounds, a name of the chart's own: JSON Schema does not compare durations,
// and the template fairlead.bounded does.
func durationSchema(rule string) map[string]any {
	of := map[string]any{"type": "string", "pattern": `^(0|([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+)$`}
	if rule == "positive" {
		rule = "1ns.."
	}
	if least, most, has := strings.Cut(rule, ".."); has {
		of["x-bounds"] = []string{least, most}
	}
	return of
}

// levels returns the log levels that the operator takes. A level may be a number.
func levels() (all []any) {
	for _, level := range []string{"error", "info", "debug"} {
		all = append(all, level)
	}
	for n := 0; ; n++ {
		text := strconv.Itoa(n)
		if _, err := (options.Logging{Level: options.Level(text)}).Verbosity(); err != nil {
			return all
		}
		all = append(all, n, text)
	}
}
