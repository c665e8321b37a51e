// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	autoreboot "github.com/fairlead-dev/fairlead/api/autoreboot/applyconfiguration/autoreboot/v1"
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaos "github.com/fairlead-dev/fairlead/api/chaos/applyconfiguration/chaos/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networking "github.com/fairlead-dev/fairlead/api/networking/applyconfiguration/networking/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Who imports the types builds what these need, and nothing that the operator needs.
func TestTypesBringNothingOfTheOperatorToTheirImporters(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"./common", "./networking/v1", "./networking/v1alpha1", "./autoreboot/v1", "./autoreboot/v1alpha1", "./chaos/v1", "./chaos/v1alpha1")
	said, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	modules := strings.Fields(string(said))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if !slices.Contains(modules, "k8s.io/apimachinery") || len(modules) > 20 {
		t.Errorf("%d modules, want 20 at most: %q", len(modules), modules)
	}
	for _, heavy := range []string{
		"k8s.io/client-go", "k8s.io/apiserver", "k8s.io/apiextensions-apiserver", "sigs.k8s.io/controller-runtime",
		"github.com/cert-manager/cert-manager", "github.com/prometheus/client_golang", "google.golang.org/grpc", "github.com/google/cel-go",
	} {
		if slices.Contains(modules, heavy) {
			t.Errorf("%s is built by each importer", heavy)
		}
	}
}

// An apply configuration says what is set and nothing else, in the words of the type.
func TestApplyConfigurationsAreOfTheTypes(t *testing.T) {
	for name, c := range map[string]struct {
		configuration, object any
		want                  string
	}{
		"ExternalService": {
			networking.ExternalService("db", "shop").WithSpec(networking.ExternalServiceSpec().
				WithPorts(networking.ServicePort().WithName("postgres").WithPort(5432))), &networkingv1.ExternalService{},
			`{"kind":"ExternalService","apiVersion":"networking.fairlead.dev/v1","metadata":{"name":"db","namespace":"shop"},"spec":{"ports":[{"name":"postgres","port":5432}]}}`,
		},
		"RebootPolicy": {
			autoreboot.RebootPolicy("db", "shop").WithSpec(autoreboot.RebootPolicySpec().WithSuspend(true)), &autorebootv1.RebootPolicy{},
			`{"kind":"RebootPolicy","apiVersion":"autoreboot.fairlead.dev/v1","metadata":{"name":"db","namespace":"shop"},"spec":{"suspend":true}}`,
		},
		"ChaosPod": {
			chaos.ChaosPod("db", "shop").WithLabels(map[string]string{"a": "b"}), &chaosv1.ChaosPod{},
			`{"kind":"ChaosPod","apiVersion":"chaos.fairlead.dev/v1","metadata":{"name":"db","namespace":"shop","labels":{"a":"b"}}}`,
		},
	} {
		raw, err := json.Marshal(c.configuration)
		if err != nil || string(raw) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, raw, c.want)
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(c.object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
