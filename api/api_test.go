// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
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
