// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
	"github.com/fairlead-dev/fairlead/test/framework"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// fenced is a block of YAML in Markdown.
var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

func TestSamplesAndDocumentedManifestsDoNotDrift(t *testing.T) {
	s := newSuite(t)
	s.reconcile()
	var manifests []*unstructured.Unstructured
	for i, object := range append(samples(t), documented(t)...) {
		object.SetNamespace(s.Namespace)
		object.SetName(fmt.Sprintf("%s-%d", object.GetName(), i))
		manifests = append(manifests, object)
	}
	for _, m := range manifests {
		text := marshal(t, m)
		s.Apply(text)
	}
	for _, m := range manifests {
		s.reconciled(m)
	}
	for _, m := range manifests {
		text := marshal(t, m)
		if out := s.Apply(text); !strings.Contains(out, " unchanged") {
			t.Errorf("%s applied again: %s", title(m), out)
		}
		if _, _, err := s.Try(text, "diff", "-f", "-"); err != nil {
			t.Errorf("%s: %v", title(m), err)
		}
	}
	s.inSync(manifests)
}

func TestServerSideApplyOfTheSameManifestWritesNothing(t *testing.T) {
	s := newSuite(t)
	s.reconcile()
	var manifests []*unstructured.Unstructured
	for i, object := range append(samples(t), documented(t)...) {
		object.SetNamespace(s.Namespace)
		object.SetName(fmt.Sprintf("%s-%d", object.GetName(), i))
		manifests = append(manifests, object)
		s.apply(object)
		s.reconciled(object)
	}
	s.pause() // so that only what is applied is written
	for _, m := range manifests {
		before := s.get(m, "v1").GetResourceVersion()
		s.apply(m)
		if after := s.get(m, "v1").GetResourceVersion(); after != before {
			t.Errorf("%s was written: %s, then %s", title(m), before, after)
		}
	}
	s.inSync(manifests)
}

func TestGeneratedManifestsDoNotDrift(t *testing.T) {
	s := newSuite(t)
	s.pause()
	const wanted = 25
	var manifests []*unstructured.Unstructured
	for kind := range resources {
		for _, version := range []string{"v1", "v1alpha1"} {
			random, good, accepted := rand.New(rand.NewPCG(1, 0)), bases(t, kind, version), 0
			for seed := 1; seed < 10*wanted && accepted < wanted; seed++ {
				m := &unstructured.Unstructured{Object: rulestest.Vary(random, good[random.IntN(len(good))])}
				m.SetNamespace(s.Namespace)
				m.SetName(fmt.Sprintf("g%d-%s", seed, version))
				delete(m.Object, "status")
				m.SetAnnotations(nil)
				created := m.DeepCopy()
				created.SetAnnotations(map[string]string{lastApplied: marshal(t, m)})
				_, err := s.at(kind, version).Create(t.Context(), created, metav1.CreateOptions{
					FieldManager: "kubectl-client-side-apply", FieldValidation: metav1.FieldValidationStrict,
				})
				switch {
				case apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err): // not what this is about
					continue
				case err != nil:
					t.Fatalf("%s: %v", title(m), err)
				}
				accepted++
				manifests = append(manifests, m)
				s.serverSideApplied(m)
			}
			if accepted < wanted {
				t.Errorf("%s %s: only %d generated objects were accepted", kind, version, accepted)
			}
		}
	}
	s.inSync(manifests)
}

// serverSideApplied applies a manifest under another name. The first time that nothing changes, the
// default of the status is stored, since nothing reconciles; the second time nothing may be written.
func (s *suite) serverSideApplied(m *unstructured.Unstructured) {
	s.Helper()
	other := m.DeepCopy()
	other.SetName("s-" + m.GetName())
	s.apply(other)
	before, after := s.apply(other), s.apply(other)
	if before.GetResourceVersion() != after.GetResourceVersion() {
		s.Errorf("%s was written by a server-side apply that changes nothing", title(m))
	}
}

// apply applies a manifest server-side, as Argo CD does.
func (s *suite) apply(m *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	live, err := s.at(m.GetKind(), m.GroupVersionKind().Version).Patch(s.Context(), m.GetName(), types.ApplyPatchType,
		[]byte(marshal(s.T, m)), metav1.PatchOptions{FieldManager: "argocd-controller"})
	s.Must(err)
	return live
}

// inSync wants no tool to see a difference between manifests and what is stored.
func (s *suite) inSync(manifests []*unstructured.Unstructured) {
	s.Helper()
	var stream bytes.Buffer
	for _, m := range manifests {
		live := marshal(s.T, s.get(m, m.GroupVersionKind().Version))
		stream.WriteString("---\n" + marshal(s.T, m) + "\n")
		config := marshal(s.T, m)
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(config), []byte(config), []byte(live))
		s.Must(err)
		if string(patch) != "{}" {
			s.Errorf("%s: kubectl and Helm patch it: %s", title(m), patch)
		}
	}
	for _, v := range s.argoCD(stream.Bytes(), len(manifests)) {
		if v.ClientSide != "{}" {
			s.Errorf("%s: OutOfSync in Argo CD: %s", v.Object, v.ClientSide)
		}
		if v.ServerSideApply != "{}" {
			s.Errorf("%s: OutOfSync in Argo CD with ServerSideApply=true: %s", v.Object, v.ServerSideApply)
		}
	}
}

type verdict struct{ Object, ClientSide, ServerSideApply string }

// argoCD compares manifests with the cluster by the program of test/argocd.
func (s *suite) argoCD(stream []byte, wanted int) []verdict {
	s.Helper()
	program, err := filepath.Abs(filepath.Join(framework.Root, "bin", "argocd"))
	s.Must(err)
	build := exec.CommandContext(s.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = filepath.Join(framework.Root, "test", "argocd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		s.Fatalf("build test/argocd: %v\n%s", err, out)
	}
	command := exec.CommandContext(s.Context(), program, "--kubeconfig="+s.Kubeconfig())
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(stream), &stderr
	out, err := command.Output()
	if err != nil {
		s.Fatalf("test/argocd: %v\n%s", err, stderr.String())
	}
	var verdicts []verdict
	for line := range bytes.Lines(out) {
		var v struct {
			Object                      string
			ClientSide, ServerSideApply json.RawMessage
		}
		s.Must(json.Unmarshal(line, &v))
		verdicts = append(verdicts, verdict{v.Object, string(v.ClientSide), string(v.ServerSideApply)})
	}
	if len(verdicts) != wanted {
		s.Fatalf("test/argocd compared %d of %d manifests", len(verdicts), wanted)
	}
	return verdicts
}

func samples(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(framework.Root + "/config/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []*unstructured.Unstructured
	for _, file := range files {
		found = append(found, read(t, file)...)
	}
	if len(found) < 6 {
		t.Fatalf("only %d samples", len(found))
	}
	return found
}

// documented are the complete manifests in README.md and docs.
func documented(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	collect := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
			objects, err := documents(block[1])
			if err != nil {
				continue // an excerpt
			}
			for _, o := range objects {
				if _, complete := o.Object["spec"]; complete && o.GetAPIVersion() != "" && o.GetName() != "" {
					found = append(found, o)
				}
			}
		}
	}
	collect(framework.Root + "/README.md")
	if err := filepath.WalkDir(framework.Root+"/docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			collect(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) < 3 {
		t.Fatalf("only %d complete manifests in README.md and docs", len(found))
	}
	return found
}

// bases are objects to begin from: the good ones of the rules' tests, and the samples.
func bases(t *testing.T, kind, version string) []map[string]any {
	t.Helper()
	found := samples(t)
	for _, pattern := range []string{"/internal/rules/*/testdata/good.yaml", "/webhooks/conversion/*/testdata/*" + version + "*.yaml"} {
		files, err := filepath.Glob(framework.Root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found = append(found, read(t, file)...)
		}
	}
	var out []map[string]any
	for _, o := range found {
		if o.GetKind() == kind && o.GroupVersionKind().Version == version {
			out = append(out, o.Object)
		}
	}
	return out
}

func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := documents(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return objects
}

// schemaOf is the schema of a version in the CRD of a kind.
func schemaOf(t *testing.T, kind, version string) map[string]any {
	t.Helper()
	r := resources[kind]
	text, err := os.ReadFile(fmt.Sprintf("%s/config/crd/bases/%s_%s.yaml", framework.Root, r.Group, r.Resource))
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("%s has no version %s", kind, version)
	return nil
}

func title(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s %s", o.GetAPIVersion(), o.GetKind(), o.GetName())
}

func marshal(t *testing.T, o runtime.Object) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
