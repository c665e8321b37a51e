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

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

var update = flag.Bool("update", false, "write the schema of the configuration file into that of the chart's values")

// helm install reports a mistake in `configuration`, before pods fail to start.
func TestTheSchemaOfTheChartKnowsTheFieldsOfTheConfigurationFile(t *testing.T) {
	const file = "../charts/fairlead/values.schema.json"
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
	want, err := json.MarshalIndent(schemaOf(t, reflect.ValueOf(*options.Default()), ""), "    ", "  ")
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
