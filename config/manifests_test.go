// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config_test holds the manifests to what the code says: they name paths, times and flags
// that nothing else would compare.
package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

func TestEachKindHasOneWebhookOfEachSort(t *testing.T) {
	kinds := storedKinds(t)
	got, want := map[string]string{}, map[string]string{}
	for name, w := range webhooks(t) {
		got[name] = *w.ClientConfig.Service.Path
		checkReach(t, name, w.ClientConfig, w.Rules, w.MatchPolicy)
	}
	for _, kind := range kinds {
		name := strings.ToLower(kind.Kind)
		want["fairlead-"+name+"/"+name+".mutate.fairlead.dev"] = admission.MutatePath(kind)
		want["fairlead-"+name+"/"+name+".validate.fairlead.dev"] = admission.ValidatePath(kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks and their paths (-code +manifests):\n%s", diff)
	}
}

// webhooks are those of all configurations by the names of the configuration and the webhook. The mutating ones are as
// validating ones here.
func webhooks(t *testing.T) map[string]admissionv1.ValidatingWebhook {
	t.Helper()
	all := map[string]admissionv1.ValidatingWebhook{}
	for _, path := range []string{"webhook/mutating.yaml", "webhook/validating.yaml"} {
		for _, document := range documents(t, path) {
			var configuration admissionv1.ValidatingWebhookConfiguration
			if err := yaml.Unmarshal(document, &configuration); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, w := range configuration.Webhooks {
				all[configuration.Name+"/"+w.Name] = w
			}
		}
	}
	return all
}

// checkReach sees that a webhook is called at the stored version only, and at none twice.
func checkReach(t *testing.T, name string, client admissionv1.WebhookClientConfig, rules []admissionv1.RuleWithOperations, policy *admissionv1.MatchPolicyType) {
	t.Helper()
	if len(client.CABundle) > 0 {
		t.Errorf("%s: carries a caBundle: the operator owns that field", name)
	}
	if policy == nil || *policy != admissionv1.Equivalent {
		t.Errorf("%s: matchPolicy is not Equivalent: writes at v1alpha1 would pass by", name)
	}
	for _, rule := range rules {
		if diff := cmp.Diff([]string{"v1"}, rule.APIVersions); diff != "" {
			t.Errorf("%s: versions (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoDefinitionIsGeneratedWithAConversion(t *testing.T) {
	// The patch in crd/patches adds it; one that was generated would be overwritten unseen.
	for _, path := range definitions(t) {
		var crd apiextensionsv1.CustomResourceDefinition
		read(t, path, &crd)
		if crd.Spec.Conversion != nil {
			t.Errorf("%s: has spec.conversion", path)
		}
	}
}

func TestNoManifestCarriesACABundle(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if regexp.MustCompile(`(?m)^\s*caBundle:`).Match(content) {
			t.Errorf("%s: carries a caBundle", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePodOutlivesItsOrderlyStop(t *testing.T) {
	for name, d := range map[string]appsv1.DeploymentSpec{
		"both": deployment(t, "manager/deployment.yaml"), "webhooks": deployment(t, "split/webhook_deployment.yaml"), "reconcilers": reconcilers(t),
	} {
		configuration := shipped(t, d.Template.Spec.Containers[0].Args...)
		grace := time.Duration(*d.Template.Spec.TerminationGracePeriodSeconds) * time.Second
		if stop := configuration.GracefulShutdownTimeout.Duration; grace <= stop {
			t.Errorf("%s: terminationGracePeriodSeconds is %s, and gracefulShutdownTimeout %s: the pod is killed in mid-drain", name, grace, stop)
		}
	}
}

// shipped loads the shipped file as a container with these arguments does: strictly, and through all
// its rules.
func shipped(t *testing.T, args ...string) *options.Configuration {
	t.Helper()
	if want := []string{"manager", "--config=/etc/fairlead/config.yaml"}; len(args) < 2 || !slices.Equal(args[:2], want) {
		t.Fatalf("arguments %q, which do not begin with %q", args, want)
	}
	flags := options.NewFlags()
	if err := flags.FlagSet.Parse(append([]string{"--config=manager/config.yaml"}, args[2:]...)); err != nil {
		t.Fatal(err)
	}
	configuration, err := flags.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	return configuration
}

// storedKinds are the kinds of the CRDs at the version that is stored.
func storedKinds(t *testing.T) []schema.GroupVersionKind {
	t.Helper()
	var kinds []schema.GroupVersionKind
	for _, path := range definitions(t) {
		var crd apiextensionsv1.CustomResourceDefinition
		read(t, path, &crd)
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				kinds = append(kinds, schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind})
			}
		}
	}
	return kinds
}

func definitions(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("crd/bases/*.yaml")
	if err != nil || len(paths) != 4 {
		t.Fatalf("CRDs: %q, %v", paths, err)
	}
	return paths
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
