// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func TestTheOldestAPIServerTakesEveryDefinition(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d definitions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var shipped apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(read(t, file), &shipped); err != nil {
				t.Fatal(err)
			}
			shipped.Spec.Conversion = nil // an overlay adds the rest of it
			scheme.Default(&shipped)
			var definition apiextensions.CustomResourceDefinition
			if err := scheme.Convert(&shipped, &definition, nil); err != nil {
				t.Fatal(err)
			}
			definition.Status.StoredVersions = []string{"v1"} // as the API server sets it before it validates
			for _, problem := range validation.ValidateCustomResourceDefinition(t.Context(), &definition) {
				t.Error(problem)
			}
		})
	}
}

func TestTheOldestVersionIsTheOneThatTheChartPromises(t *testing.T) {
	promised := minor(t, "../../charts/fairlead/Chart.yaml", `kubeVersion: ">=1\.(\d+)\.`)
	if linked := minor(t, "go.mod", `k8s\.io/apiextensions-apiserver v0\.(\d+)\.`); linked != promised {
		t.Errorf("the chart promises 1.%s, and the definitions are validated as 1.%s does", promised, linked)
	}
}

func minor(t *testing.T, file, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(read(t, file))
	if found == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return string(found[1])
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
